#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/shape.hpp"
#include "glia/pjrt/c_api.hpp"
#include "glia/pjrt/plugin.hpp"

namespace glia::detail {

/// The devices that a plugin has found, and what can be had from them. What it makes must not
/// outlive it.
class pjrt_client {
 public:
  explicit pjrt_client(pjrt_plugin plugin) : plugin_(std::move(plugin)) {
    pjrt_api::client_create_args create;
    plugin_.call(api().client_create, create, "reach its devices");
    client_ = create.client;
    pjrt_api::client_addressable_devices_args devices;
    devices.client = client_;
    plugin_.call(api().client_addressable_devices, devices, "list its devices");
    devices_.assign(devices.addressable_devices,
                    devices.addressable_devices + devices.num_addressable_devices);
    require<device_error>(!devices_.empty(), "pjrt: ", plugin_.path(), ": has found no device");
  }
  pjrt_client(const pjrt_client&) = delete;
  pjrt_client& operator=(const pjrt_client&) = delete;
  ~pjrt_client() {
    pjrt_api::client_destroy_args args;
    args.client = client_;
    plugin_.call_quietly(api().client_destroy, args);
  }

  [[nodiscard]] const pjrt_plugin& plugin() const noexcept { return plugin_; }
  [[nodiscard]] const pjrt_api::api& api() const noexcept { return plugin_.api(); }
  [[nodiscard]] pjrt_api::client* get() const noexcept { return client_; }
  [[nodiscard]] const std::vector<pjrt_api::device*>& devices() const noexcept { return devices_; }

  [[nodiscard]] std::string platform() const {
    pjrt_api::client_platform_name_args args;
    args.client = client_;
    plugin_.call(api().client_platform_name, args, "name its platform");
    return {args.platform_name, args.platform_name_size};
  }

 private:
  pjrt_plugin plugin_;
  pjrt_api::client* client_ = nullptr;
  std::vector<pjrt_api::device*> devices_;
};

/// Waits until an event has happened, and takes it away. Throws what has failed.
inline void wait_for(const pjrt_client& client, pjrt_api::event* event, std::string_view what) {
  pjrt_api::event_await_args await;
  await.event = event;
  const auto destroy = [&] {
    pjrt_api::event_destroy_args args;
    args.event = event;
    client.plugin().call_quietly(client.api().event_destroy, args);
  };
  try {
    client.plugin().call(client.api().event_await, await, what);
  } catch (...) {
    destroy();
    throw;
  }
  destroy();
}

/// Programs that run, of which there are few at a time: a host that is ahead of its device would
/// only fill the device's memory.
class pjrt_queue {
 public:
  explicit pjrt_queue(std::shared_ptr<const pjrt_client> client) : client_(std::move(client)) {}
  pjrt_queue(const pjrt_queue&) = delete;
  pjrt_queue& operator=(const pjrt_queue&) = delete;
  ~pjrt_queue() {
    for (pjrt_api::event* const event : running_) {
      try {
        wait_for(*client_, event, "run a program");
      } catch (const device_error&) {  // nobody is left to hear of it
      }
    }
  }

  /// Waits for the oldest of too many. Throws what has failed in it.
  void add(pjrt_api::event* done) {
    pjrt_api::event* oldest = nullptr;
    {
      const std::lock_guard guard(lock_);
      running_.push_back(done);
      if (running_.size() > most) {
        oldest = running_.front();
        running_.pop_front();
      }
    }
    if (oldest != nullptr) {
      wait_for(*client_, oldest, "run a program");
    }
  }

 private:
  static constexpr std::size_t most = 2;

  std::shared_ptr<const pjrt_client> client_;
  std::mutex lock_;
  std::deque<pjrt_api::event*> running_;
};

/// A tensor in a device's memory, or one that is still to be computed.
class pjrt_buffer {
 public:
  pjrt_buffer(std::shared_ptr<const pjrt_client> client, pjrt_api::buffer* raw)
      : client_(std::move(client)), raw_(raw) {}
  pjrt_buffer(const pjrt_buffer&) = delete;
  pjrt_buffer& operator=(const pjrt_buffer&) = delete;
  ~pjrt_buffer() {
    pjrt_api::buffer_destroy_args args;
    args.buffer = raw_;
    client_->plugin().call_quietly(client_->api().buffer_destroy, args);
  }
  [[nodiscard]] pjrt_api::buffer* get() const noexcept { return raw_; }
  [[nodiscard]] const std::shared_ptr<const pjrt_client>& client() const noexcept {
    return client_;
  }

 private:
  std::shared_ptr<const pjrt_client> client_;
  pjrt_api::buffer* raw_;
};

/// A buffer with a copy of elements in row-major order.
[[nodiscard]] inline std::shared_ptr<const pjrt_buffer> copy_to_device(
    const std::shared_ptr<const pjrt_client>& client, const void* elements,
    pjrt_api::buffer_type type, const shape& s) {
  const std::vector<std::int64_t> extents(s.begin(), s.end());
  pjrt_api::client_buffer_from_host_buffer_args args;
  args.client = client->get();
  args.data = elements;
  args.type = type;
  args.dims = extents.data();
  args.num_dims = extents.size();
  args.device = client->devices().front();
  client->plugin().call(client->api().client_buffer_from_host_buffer, args,
                        text("copy a tensor ", s, " to the device"));
  auto result = std::make_shared<const pjrt_buffer>(client, args.buffer);
  wait_for(*client, args.done_with_host_buffer, "copy a tensor to the device");
  return result;
}

/// Copies a buffer's elements, of which there are so many bytes, and waits for them.
inline void copy_to_host(const pjrt_buffer& from, std::span<std::byte> to) {
  const pjrt_client& client = *from.client();
  pjrt_api::buffer_to_host_buffer_args args;
  args.src = from.get();
  args.dst = to.data();
  args.dst_size = to.size();
  client.plugin().call(client.api().buffer_to_host_buffer, args, "copy a tensor from the device");
  wait_for(client, args.event, "compute a tensor");
}

}  // namespace glia::detail
