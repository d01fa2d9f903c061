#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "glia/core/shape.hpp"
#include "glia/pjrt/c_api.hpp"
#include "glia/pjrt/options.hpp"
#include "glia/pjrt/plugin.hpp"

namespace glia::detail {

/// Converts settings for the C API. The result refers to the settings, which must outlive it.
[[nodiscard]] inline std::vector<pjrt_api::named_value> named_values(
    std::span<const pjrt_setting> settings) {
  std::vector<pjrt_api::named_value> result;
  for (const pjrt_setting& setting : settings) {
    pjrt_api::named_value& entry = result.emplace_back();
    entry.name = setting.name.data();
    entry.name_size = setting.name.size();
    entry.value_size = 1;
    std::visit(
        [&]<class Value>(const Value& value) {
          if constexpr (std::is_same_v<Value, bool>) {
            entry.type = pjrt_api::named_value_type::boolean;
            entry.bool_value = value;
          } else if constexpr (std::is_same_v<Value, std::int64_t>) {
            entry.type = pjrt_api::named_value_type::int64;
            entry.int64_value = value;
          } else if constexpr (std::is_same_v<Value, float>) {
            entry.type = pjrt_api::named_value_type::real;
            entry.float_value = value;
          } else {
            entry.type = pjrt_api::named_value_type::string;
            entry.string_value = value.data();
            entry.value_size = value.size();
          }
        },
        setting.value);
  }
  return result;
}

/// A connection to the devices of a plugin, and the list of the devices in use. All objects that a
/// client creates must be destroyed before the client.
class pjrt_client {
 public:
  pjrt_client(pjrt_plugin plugin, const pjrt_options& options) : plugin_(std::move(plugin)) {
    const std::vector<pjrt_api::named_value> settings = named_values(options.settings);
    pjrt_api::client_create_args create;
    create.create_options = settings.data();
    create.num_options = settings.size();
    plugin_.call(api().client_create, create, "access its devices");
    client_ = create.client;
    try {
      take_devices(options.devices);
    } catch (...) {
      destroy();
      throw;
    }
  }
  pjrt_client(const pjrt_client&) = delete;
  pjrt_client& operator=(const pjrt_client&) = delete;
  ~pjrt_client() { destroy(); }

  [[nodiscard]] const pjrt_plugin& plugin() const noexcept { return plugin_; }
  [[nodiscard]] const pjrt_api::api& api() const noexcept { return plugin_.api(); }
  [[nodiscard]] pjrt_api::client* get() const noexcept { return client_; }
  /// Returns the devices that are used.
  [[nodiscard]] const std::vector<pjrt_api::device*>& devices() const noexcept { return devices_; }

  [[nodiscard]] std::string platform() const {
    pjrt_api::client_platform_name_args args;
    args.client = client_;
    plugin_.call(api().client_platform_name, args, "name its platform");
    return {args.platform_name, args.platform_name_size};
  }
  [[nodiscard]] std::string platform_version() const {
    pjrt_api::client_platform_version_args args;
    args.client = client_;
    plugin_.call(api().client_platform_version, args, "name its platform's version");
    return {args.platform_version, args.platform_version_size};
  }
  /// Returns the plugin's name of the first device's hardware, such as NVIDIA H200.
  [[nodiscard]] std::string device_kind() const {
    pjrt_api::device_get_description_args description;
    description.device = devices_.front();
    plugin_.call(api().device_get_description, description, "describe its device");
    pjrt_api::device_description_kind_args kind;
    kind.device_description = description.device_description;
    plugin_.call(api().device_description_kind, kind, "name its device");
    return {kind.device_kind, kind.device_kind_size};
  }

 private:
  void take_devices(std::size_t requested) {
    pjrt_api::client_addressable_devices_args args;
    args.client = client_;
    plugin_.call(api().client_addressable_devices, args, "list its devices");
    const std::size_t found = args.num_addressable_devices;
    require<device_error>(found > 0, "pjrt: ", plugin_.path(), ": found no device");
    require<device_error>(requested <= found, "pjrt: ", plugin_.path(), ": found ", found,
                          found == 1 ? " device" : " devices", ", fewer than the ", requested,
                          " that were requested; use a smaller value of `devices`");
    // In the plugin's order, which is also the order in which a compiled graph gets its parts.
    std::vector<int> ids(requested == 0 ? found : requested);
    pjrt_api::client_default_device_assignment_args assignment;
    assignment.client = client_;
    assignment.num_replicas = 1;
    assignment.num_partitions = static_cast<int>(ids.size());
    assignment.default_assignment_size = ids.size();
    assignment.default_assignment = ids.data();
    plugin_.call(api().client_default_device_assignment, assignment, "assign its devices");
    devices_.reserve(ids.size());
    for (const int id : ids) {
      pjrt_api::client_lookup_device_args device;
      device.client = client_;
      device.id = id;
      plugin_.call(api().client_lookup_device, device, "find its device");
      devices_.push_back(device.device);
    }
  }
  void destroy() noexcept {
    pjrt_api::client_destroy_args args;
    args.client = client_;
    plugin_.call_quietly(api().client_destroy, args);
  }

  pjrt_plugin plugin_;
  pjrt_api::client* client_ = nullptr;
  std::vector<pjrt_api::device*> devices_;
};

/// Waits until an event has happened and destroys it. Throws the failure of the operation, if any.
inline void wait_for(const pjrt_client& client, pjrt_api::event* event,
                     std::string_view operation) {
  pjrt_api::event_await_args await;
  await.event = event;
  const auto destroy = [&] {
    pjrt_api::event_destroy_args args;
    args.event = event;
    client.plugin().call_quietly(client.api().event_destroy, args);
  };
  try {
    client.plugin().call(client.api().event_await, await, operation);
  } catch (...) {
    destroy();
    throw;
  }
  destroy();
}

/// The runs in progress. Their number is limited: a host far ahead of its devices would only fill
/// their memory.
class pjrt_queue {
 public:
  explicit pjrt_queue(std::shared_ptr<const pjrt_client> client) : client_(std::move(client)) {}
  pjrt_queue(const pjrt_queue&) = delete;
  pjrt_queue& operator=(const pjrt_queue&) = delete;
  ~pjrt_queue() { wait_for_all(); }

  /// Adds a started run, with an event for each device. If there are too many runs, waits for the
  /// oldest. A failure of a run is not thrown here, but by the call that waits for one of its
  /// results.
  void add(std::vector<pjrt_api::event*> run) {
    std::vector<pjrt_api::event*> oldest;
    {
      const std::lock_guard guard(lock_);
      running_.push_back(std::move(run));
      if (running_.size() > max_runs) {
        oldest = std::move(running_.front());
        running_.pop_front();
      }
    }
    wait(oldest);
  }

  /// Waits for all runs in progress.
  void wait_for_all() {
    std::deque<std::vector<pjrt_api::event*>> begun;
    {
      const std::lock_guard guard(lock_);
      begun.swap(running_);
    }
    while (!begun.empty()) {
      const std::vector<pjrt_api::event*> run = std::move(begun.front());
      begun.pop_front();
      wait(run);
    }
  }

 private:
  // While one run computes, the next one is ready to start.
  static constexpr std::size_t max_runs = 2;

  void wait(std::span<pjrt_api::event* const> run) const {
    for (pjrt_api::event* const event : run) {
      try {
        wait_for(*client_, event, "run a compiled graph");
      } catch (const device_error&) {  // also reported by the results
      }
    }
  }

  std::shared_ptr<const pjrt_client> client_;
  std::mutex lock_;
  std::deque<std::vector<pjrt_api::event*>> running_;
};

}  // namespace glia::detail
