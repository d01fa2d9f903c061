#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "glia/distributed/rank_group.hpp"

namespace glia {

/// A group of one process.
class lone_rank final : public rank_group {
 public:
  [[nodiscard]] std::size_t rank() const noexcept override { return 0; }
  [[nodiscard]] std::size_t size() const noexcept override { return 1; }
  [[nodiscard]] std::string name_of(std::size_t /*rank*/) const override { return "rank 0"; }
  [[nodiscard]] transfer start_exchange(transfer_kind /*kind*/, rank_blocks /*send*/,
                                        rank_blocks /*receive*/) override {
    return {};
  }
  [[nodiscard]] transfer start_gather(transfer_kind /*kind*/, rank_blocks /*blocks*/) override {
    return {};
  }
  [[nodiscard]] bool is_done(transfer& /*request*/) override { return true; }
  [[nodiscard]] std::shared_ptr<const shared_memory> share_memory(std::size_t /*bytes*/) override {
    return nullptr;
  }
  void look_for_failures() override {}
  void fail(std::string_view /*reason*/) noexcept override {}
};

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/distributed/rank_group_impl.hpp"
#endif
