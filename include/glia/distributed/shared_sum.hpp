#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "glia/backends/host_backend.hpp"
#include "glia/distributed/batch_sum.hpp"
#include "glia/distributed/gradient_program.hpp"
#include "glia/training/distribution.hpp"

namespace glia::detail {

/// The sum of a vector over the pieces of a batch. The pieces are on several ranks. Contains the
/// memory and the thread for the sum.
class shared_sum {
 public:
  explicit shared_sum(sum_layout layout) : layout_(std::move(layout)) {}
  shared_sum(const shared_sum&) = delete;
  shared_sum& operator=(const shared_sum&) = delete;
  virtual ~shared_sum() = default;

  [[nodiscard]] const sum_layout& layout() const { return layout_; }
  [[nodiscard]] virtual const batch_sum_record& record() const = 0;
  virtual void begin() = 0;
  virtual void finish() = 0;

  /// The tensors to which the backward pass of a piece writes its results, on devices in host
  /// memory.
  [[nodiscard]] virtual std::vector<tensor> places_for(std::size_t piece) const = 0;
  /// Adds a segment of a piece. The segment is already in the memory of the sum.
  virtual void add(std::size_t piece, std::size_t index) = 0;
  /// Copies a segment of a piece from the device and adds it.
  virtual void add(const device& source, std::size_t piece, std::size_t index,
                   const tensor& values) = 0;
  /// Adds zeros for a piece without samples.
  virtual void add_nothing(std::size_t piece) = 0;

  /// The sum of a segment of one number.
  [[nodiscard]] virtual double number(const sum_layout::segment& segment) const = 0;
  /// The sum of a segment, copied to the device.
  [[nodiscard]] virtual tensor copied_to(const device& destination,
                                         const sum_layout::segment& segment) const = 0;
  /// The sum of a segment, on the device. On devices in host memory it is not copied.
  [[nodiscard]] virtual tensor values_on(const device& destination,
                                         const sum_layout::segment& segment) const = 0;

 private:
  sum_layout layout_;
};

/// Returns the backend of a device in host memory, or null for other devices.
[[nodiscard]] inline const host_memory_backend* host_memory_of(const glia::device& device) {
  return dynamic_cast<const host_memory_backend*>(&device.implementation());
}

/// A sum of numbers of type T.
template <class T>
class shared_sum_of final : public shared_sum {
 public:
  shared_sum_of(const distribution& shared, rank_group& ranks, const sum_layout& layout)
      : shared_sum(layout),
        sum_(ranks, layout.size(),
             {.pieces = shared.pieces(),
              .bucket_bytes = shared.options.bucket_bytes,
              .rounded = shared.options.bfloat16_gradients ? layout.gradients() : 0,
              .overlap = shared.options.overlap,
              .share_memory = shared.options.share_memory}) {}

  [[nodiscard]] const batch_sum_record& record() const override { return sum_.record(); }
  void begin() override { sum_.begin(); }
  void finish() override { sum_.finish(); }

  [[nodiscard]] std::vector<tensor> places_for(std::size_t piece) const override {
    std::vector<tensor> places;
    for (const sum_layout::segment& segment : layout().segments) {
      places.push_back(
          tensor::wrap(sum_.memory_for(piece) + segment.first, real_of(segment.shape), sizeof(T)));
    }
    return places;
  }
  void add(std::size_t piece, std::size_t index) override {
    const sum_layout::segment& segment = layout().segments[index];
    sum_.add(piece, segment.first, segment.end());
  }
  void add(const device& source, std::size_t piece, std::size_t index,
           const tensor& values) override {
    const sum_layout::segment& segment = layout().segments[index];
    source.to_host(values, std::span(sum_.memory_for(piece) + segment.first, segment.shape.size()));
    add(piece, index);
  }
  void add_nothing(std::size_t piece) override {
    std::fill_n(sum_.memory_for(piece), layout().size(), T(0));
    sum_.add(piece, 0, layout().size());
  }

  [[nodiscard]] double number(const sum_layout::segment& segment) const override {
    return static_cast<double>(sum_.sum()[segment.first]);
  }
  [[nodiscard]] tensor copied_to(const device& destination,
                                 const sum_layout::segment& segment) const override {
    return destination.from_host(
        std::span<const T>(sum_.sum() + segment.first, segment.shape.size()), segment.shape);
  }
  [[nodiscard]] tensor values_on(const device& destination,
                                 const sum_layout::segment& segment) const override {
    return host_memory_of(destination) == nullptr
               ? copied_to(destination, segment)
               : tensor::wrap(sum_.sum() + segment.first, real_of(segment.shape), sizeof(T));
  }

 private:
  batch_sum<T> sum_;
};

}  // namespace glia::detail
