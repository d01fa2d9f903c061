#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/pjrt/c_api.hpp"
#include "glia/pjrt/client.hpp"

namespace glia::detail {

/// CompileOptionsProto, of XLA: num_replicas 1, num_partitions 1.
inline constexpr std::string_view one_device_options{"\x1a\x04\x20\x01\x28\x01", 6};

/// A StableHLO module, compiled for a device and loaded there.
class pjrt_executable {
 public:
  pjrt_executable(std::shared_ptr<const pjrt_client> client, std::string module,
                  std::size_t results)
      : client_(std::move(client)), results_(results) {
    constexpr std::string_view format = "mlir";
    pjrt_api::program program;
    program.code = module.data();
    program.code_size = module.size();
    program.format = format.data();
    program.format_size = format.size();
    pjrt_api::client_compile_args args;
    args.client = client_->get();
    args.program = &program;
    args.compile_options = one_device_options.data();
    args.compile_options_size = one_device_options.size();
    client_->plugin().call(client_->api().client_compile, args, "compile a program");
    raw_ = args.executable;
  }
  pjrt_executable(const pjrt_executable&) = delete;
  pjrt_executable& operator=(const pjrt_executable&) = delete;
  ~pjrt_executable() {
    pjrt_api::loaded_executable_destroy_args args;
    args.executable = raw_;
    client_->plugin().call_quietly(client_->api().loaded_executable_destroy, args);
  }

  using buffer = std::shared_ptr<const pjrt_buffer>;

  /// Begins to run the program and returns what its results will be. Arguments that the program may
  /// write results over are lost, unless they are among those that are `kept`, by number.
  [[nodiscard]] std::vector<buffer> run(std::span<pjrt_api::buffer* const> arguments,
                                        std::span<const std::int64_t> kept,
                                        pjrt_queue& queue) const {
    std::vector<pjrt_api::buffer*> made(results_);
    pjrt_api::buffer* const* const argument_list = arguments.data();
    pjrt_api::buffer** const result_list = made.data();
    pjrt_api::execute_options options;
    options.non_donatable_input_indices = kept.data();
    options.num_non_donatable_input_indices = kept.size();
    pjrt_api::loaded_executable_execute_args args;
    args.executable = raw_;
    args.options = &options;
    args.argument_lists = &argument_list;
    args.num_devices = 1;
    args.num_args = arguments.size();
    args.output_lists = &result_list;
    pjrt_api::event* done = nullptr;
    args.device_complete_events = &done;
    client_->plugin().call(client_->api().loaded_executable_execute, args, "run a program");
    std::vector<buffer> results;
    for (pjrt_api::buffer* const one : made) {
      results.push_back(std::make_shared<const pjrt_buffer>(client_, one));
    }
    queue.add(done);
    return results;
  }

 private:
  std::shared_ptr<const pjrt_client> client_;
  pjrt_api::loaded_executable* raw_ = nullptr;
  std::size_t results_;
};

}  // namespace glia::detail
