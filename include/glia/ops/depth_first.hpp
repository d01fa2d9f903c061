#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "glia/backends/backend.hpp"
#include "glia/core/spin_lock.hpp"
#include "glia/ops/tape.hpp"

namespace glia {

/// What one lane keeps of its pieces of a batch from the forward to the backward pass.
template <backend B>
struct lane_record {
  struct piece {
    std::size_t first;  // sample
    std::size_t count;  // samples
    gradient_slot input;
    variable<B> output;
  };

  explicit lane_record(const B& device) : record(device) {}

  tape<B> record;
  std::vector<piece> pieces;
  std::vector<gradient_slot> parameters;  ///< the body's, the same for all pieces
  std::exception_ptr failure;
};

/// What all lanes keep of one run of a body, and where on the batch's own tape the gradients of the
/// body's parameters are collected.
template <backend B>
struct stretch_record {
  std::vector<std::unique_ptr<lane_record<B>>> lanes;
  std::vector<gradient_slot> parameters;

  void clear() {
    parameters.clear();
    for (const auto& lane : lanes) {
      lane->pieces.clear();
      lane->parameters.clear();
      lane->record.clear();
      lane->failure = nullptr;
    }
  }
};

/// How many samples go through a stretch at a time, and the memory of its records, which is reused
/// from step to step. Copies share it; any number of threads may take records at the same time.
template <backend B>
class depth_first_memory {
  struct records {
    spin_lock lock;
    std::vector<std::unique_ptr<stretch_record<B>>> free;
    std::size_t made = 0;
  };

 public:
  /// A record that nobody else holds, until the lease ends.
  class lease {
   public:
    lease(std::shared_ptr<records> home, std::unique_ptr<stretch_record<B>> record)
        : home_(std::move(home)), record_(std::move(record)) {}
    lease(lease&&) noexcept = default;
    lease& operator=(lease&&) = delete;
    ~lease() {
      if (record_) {
        record_->clear();
        const std::lock_guard guard(home_->lock);
        home_->free.push_back(std::move(record_));  // has room: see take
      }
    }
    [[nodiscard]] stretch_record<B>& operator*() const noexcept { return *record_; }
    [[nodiscard]] stretch_record<B>* operator->() const noexcept { return record_.get(); }

   private:
    std::shared_ptr<records> home_;
    std::unique_ptr<stretch_record<B>> record_;
  };

  /// 0 samples: nothing runs depth-first.
  explicit depth_first_memory(std::size_t samples)
      : samples_(samples), records_(std::make_shared<records>()) {}

  [[nodiscard]] std::size_t samples() const { return samples_; }

  [[nodiscard]] lease take(const B& device) const {
    {
      const std::lock_guard guard(records_->lock);
      if (!records_->free.empty()) {
        std::unique_ptr<stretch_record<B>> record = std::move(records_->free.back());
        records_->free.pop_back();
        return {records_, std::move(record)};
      }
    }
    auto record = std::make_unique<stretch_record<B>>();
    for (std::size_t i = 0; i < device.lane_count(); ++i) {
      record->lanes.push_back(std::make_unique<lane_record<B>>(device.lane(i)));
    }
    const std::lock_guard guard(records_->lock);
    records_->free.reserve(++records_->made);
    return {records_, std::move(record)};
  }

 private:
  std::size_t samples_;
  std::shared_ptr<records> records_;
};

}  // namespace glia

namespace glia::ops {

namespace detail {

/// Calls work(lane, number) for every lane, side by side; then throws the first lane's failure.
template <lane_backend B, class Work>
void for_each_lane(const B& device, const stretch_record<B>& record, const Work& work) {
  device.for_each_lane([&](std::size_t i) {
    lane_record<B>& lane = *record.lanes[i];
    try {
      work(lane, i);
    } catch (...) {
      lane.failure = std::current_exception();
    }
  });
  for (const auto& lane : record.lanes) {
    if (lane->failure) {
      std::rethrow_exception(lane->failure);
    }
  }
}

/// A batch of shape `s` from rows_of(lane, piece) of all pieces.
template <lane_backend B, class RowsOf>
[[nodiscard]] typename B::tensor assemble(const B& device, const stretch_record<B>& record,
                                          const shape& s, const RowsOf& rows_of) {
  typename B::tensor whole = device.uninitialized(real_of(s));
  for_each_lane(device, record, [&](lane_record<B>& lane, std::size_t) {
    for (auto& piece : lane.pieces) {
      device.store_rows(rows_of(lane, piece), piece.first, whole);
    }
  });
  return whole;
}

template <lane_backend B>
void run_backward(gradients<B>& to, const stretch_record<B>& record, const typename B::tensor& dy,
                  gradient_slot from, const shape& input) {
  const B& device = to.device();
  for_each_lane(device, record, [&](lane_record<B>& lane, std::size_t) {
    for (const auto& piece : lane.pieces) {
      lane.record.add_gradient(piece.output.slot(), device.rows(dy, piece.first, piece.count));
    }
    lane.record.run_adjoints();
  });
  for (const auto& lane : record.lanes) {
    for (std::size_t i = 0; i < record.parameters.size(); ++i) {
      if (record.parameters[i]) {
        if (auto gradient = lane->record.take_gradient(lane->parameters[i])) {
          to.add(record.parameters[i], std::move(gradient));
        }
      }
    }
  }
  if (from) {
    to.add(from, assemble(device, record, input, [&](lane_record<B>& lane, const auto& piece) {
             auto dx = lane.record.take_gradient(piece.input);
             return dx ? dx
                       : lane.record.device().run(
                             kernels::full{batch_of(piece.count, sample_of(input)), 0});
           }));
  }
}

}  // namespace detail

/// body(x) for a body that treats every sample on its own: a few samples at a time go through all
/// of it, forward and backward, so that what passes between its layers stays in the cache. On x's
/// tape all of it is one op.
///
/// Pieces belong to the backend's lanes, whose number is fixed. Each lane sums its own gradients of
/// the parameters in order, and the lanes are summed in order, so the threads do not show.
///
/// `body(lane, piece, first_sample)` runs on the lane's tape and names its parameters' slots there
/// in `lane.parameters`, the same for all pieces. `adopt(record)` then gives each of them its slot
/// on x's tape in `record.parameters`.
template <lane_backend B, class Body, class Adopt>
[[nodiscard]] variable<B> depth_first(const variable<B>& x, const depth_first_memory<B>& memory,
                                      const Body& body, const Adopt& adopt) {
  const B& device = x.device();
  const std::size_t samples = x.shape()[0];
  typename depth_first_memory<B>::lease record = memory.take(device);
  detail::for_each_lane(device, *record, [&](lane_record<B>& lane, std::size_t i) {
    const std::size_t end = (i + 1) * samples / record->lanes.size();
    for (std::size_t first = i * samples / record->lanes.size(); first < end;) {
      const std::size_t count = std::min(end - first, memory.samples());
      auto rows = device.rows(x.value(), first, count);
      variable<B> piece = x.needs_gradient() ? lane.record.leaf(std::move(rows))
                                             : lane.record.constant(std::move(rows));
      const gradient_slot input = piece.slot();
      lane.pieces.push_back({first, count, input, body(lane, std::move(piece), first)});
      first += count;
    }
  });
  adopt(*record);

  const variable<B>& some = record->lanes.front()->pieces.front().output;
  const bool wanted = some.needs_gradient();
  auto y = detail::assemble(device, *record, batch_of(samples, sample_of(some.shape())),
                            [](auto&, auto& piece) { return std::move(piece.output).value(); });
  return x.owner().record(
      std::move(y), wanted,
      [record = std::move(record), from = x.slot(), input = x.shape()](auto& to, auto dy) {
        detail::run_backward(to, *record, dy, from, input);
      });
}

}  // namespace glia::ops
