#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "glia/core/shape.hpp"
#include "glia/pjrt/c_api.hpp"
#include "glia/pjrt/client.hpp"

namespace glia::detail {

/// The distribution of a tensor's elements among several devices. `everywhere`: each device has all
/// elements. `by_rows`: each device has an equal number of rows.
enum class device_layout : std::uint8_t { everywhere, by_rows };

/// A tensor in the memory of the devices. Its computation can still be in progress.
class pjrt_buffer {
 public:
  explicit pjrt_buffer(std::shared_ptr<const pjrt_client> client,
                       device_layout layout = device_layout::everywhere)
      : client_(std::move(client)), layout_(layout) {
    parts_.reserve(client_->devices().size());
  }
  pjrt_buffer(const pjrt_buffer&) = delete;
  pjrt_buffer& operator=(const pjrt_buffer&) = delete;
  ~pjrt_buffer() {
    for (pjrt_api::buffer* const part : parts_) {
      pjrt_api::buffer_destroy_args args;
      args.buffer = part;
      client_->plugin().call_quietly(client_->api().buffer_destroy, args);
    }
  }
  /// Adds the part on the next device. The buffer takes ownership of this part.
  void add(pjrt_api::buffer* part) { parts_.push_back(part); }
  [[nodiscard]] std::span<pjrt_api::buffer* const> parts() const noexcept { return parts_; }
  [[nodiscard]] device_layout layout() const noexcept { return layout_; }
  [[nodiscard]] const std::shared_ptr<const pjrt_client>& client() const noexcept {
    return client_;
  }

 private:
  std::shared_ptr<const pjrt_client> client_;
  std::vector<pjrt_api::buffer*> parts_;
  device_layout layout_;
};

/// Copies elements in row-major order to a new buffer.
[[nodiscard]] inline std::shared_ptr<const pjrt_buffer> copy_to_devices(
    const std::shared_ptr<const pjrt_client>& client, std::span<const std::byte> elements,
    pjrt_api::buffer_type type, const shape& s, device_layout layout) {
  const std::size_t devices = client->devices().size();
  const std::size_t pieces = layout == device_layout::by_rows ? devices : 1;
  std::vector<std::int64_t> extents(s.begin(), s.end());
  if (pieces > 1) {
    extents[0] /= static_cast<std::int64_t>(pieces);
  }
  const std::size_t piece_bytes = elements.size() / pieces;
  auto result = std::make_shared<pjrt_buffer>(client, layout);
  for (std::size_t d = 0; d < devices; ++d) {
    pjrt_api::client_buffer_from_host_buffer_args args;
    args.client = client->get();
    args.data = elements.data() + (pieces > 1 ? d * piece_bytes : 0);
    args.type = type;
    args.dims = extents.data();
    args.num_dims = extents.size();
    args.device = client->devices()[d];
    client->plugin().call(client->api().client_buffer_from_host_buffer, args,
                          text("copy a tensor ", s, " to the device"));
    result->add(args.buffer);
    // The elements were copied before the call returned; this wait only reports failures.
    wait_for(*client, args.done_with_host_buffer, "copy a tensor to the device");
  }
  return result;
}

/// Starts to copy the elements of a buffer of shape `s` to the host, in row-major order. Adds one
/// event for each device that holds a part of the buffer.
inline void start_copy_to_host(const pjrt_buffer& source, const shape& s,
                               std::span<std::byte> destination,
                               std::vector<pjrt_api::event*>& events) {
  if (destination.empty()) {
    return;
  }
  const pjrt_client& client = *source.client();
  std::vector<std::int64_t> axes(s.rank());
  std::iota(axes.rbegin(), axes.rend(), std::int64_t{0});
  pjrt_api::memory_layout row_major;
  row_major.tiled.minor_to_major = axes.data();
  row_major.tiled.minor_to_major_size = axes.size();
  const std::size_t pieces = source.layout() == device_layout::by_rows ? source.parts().size() : 1;
  const std::size_t piece_bytes = destination.size() / pieces;
  events.reserve(events.size() + pieces);
  for (std::size_t d = 0; d < pieces; ++d) {
    pjrt_api::buffer_to_host_buffer_args args;
    args.src = source.parts()[d];
    args.host_layout = &row_major;
    args.dst = destination.data() + d * piece_bytes;
    args.dst_size = piece_bytes;
    client.plugin().call(client.api().buffer_to_host_buffer, args, "copy a tensor from the device");
    events.push_back(args.event);
  }
}

/// Calls start(events), which starts copies to host memory, and waits for all copies. Waits even if
/// one copy fails, because the devices write to the memory until all have ended. Throws the first
/// failure.
void wait_for_copies(const pjrt_client& client, const auto& start) {
  std::vector<pjrt_api::event*> events;
  std::exception_ptr failure;
  try {
    start(events);
  } catch (...) {
    failure = std::current_exception();
  }
  for (pjrt_api::event* const event : events) {
    try {
      wait_for(client, event, "compute a tensor");
    } catch (...) {
      failure = failure ? failure : std::current_exception();
    }
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

/// Copies the elements of a buffer of shape `s` to the host, in row-major order.
inline void copy_to_host(const pjrt_buffer& source, const shape& s,
                         std::span<std::byte> destination) {
  wait_for_copies(*source.client(),
                  [&](auto& events) { start_copy_to_host(source, s, destination, events); });
}

}  // namespace glia::detail
