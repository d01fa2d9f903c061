#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/pjrt/buffer.hpp"
#include "glia/pjrt/c_api.hpp"
#include "glia/pjrt/client.hpp"
#include "glia/pjrt/compile.hpp"

namespace glia::detail {

/// A StableHLO module, compiled for the devices of a client and loaded there.
class pjrt_executable {
 public:
  using buffer = std::shared_ptr<const pjrt_buffer>;

  /// A started run: its results and an event for each device.
  struct begun {
    std::vector<buffer> results;
    std::vector<pjrt_api::event*> events;
  };

  /// Compiles a module from its text.
  static std::shared_ptr<const pjrt_executable> compile(std::shared_ptr<const pjrt_client> client,
                                                        std::string module, std::size_t results) {
    const pjrt_api::program program = program_of(module);
    const std::string options = compile_options(client->devices().size());
    pjrt_api::client_compile_args args;
    args.client = client->get();
    args.program = &program;
    args.compile_options = options.data();
    args.compile_options_size = options.size();
    client->plugin().call(client->api().client_compile, args, "compile a graph");
    return std::make_shared<const pjrt_executable>(std::move(client), args.executable, results);
  }
  /// Loads an executable from the bytes that `serialized` returned. Throws `device_error` if the
  /// plugin does not accept them.
  static std::shared_ptr<const pjrt_executable> load(std::shared_ptr<const pjrt_client> client,
                                                     std::string_view bytes, std::size_t results) {
    pjrt_api::executable_deserialize_and_load_args args;
    args.client = client->get();
    args.serialized_executable = bytes.data();
    args.serialized_executable_size = bytes.size();
    client->plugin().call(client->api().executable_deserialize_and_load, args,
                          "load a compiled graph");
    return std::make_shared<const pjrt_executable>(std::move(client), args.loaded_executable,
                                                   results);
  }

  pjrt_executable(std::shared_ptr<const pjrt_client> client, pjrt_api::loaded_executable* raw,
                  std::size_t results)
      : client_(std::move(client)), raw_(raw), results_(results) {}
  pjrt_executable(const pjrt_executable&) = delete;
  pjrt_executable& operator=(const pjrt_executable&) = delete;
  ~pjrt_executable() {
    pjrt_api::loaded_executable_destroy_args args;
    args.executable = raw_;
    client_->plugin().call_quietly(client_->api().loaded_executable_destroy, args);
  }

  /// Returns the executable as bytes that can be loaded later. Throws `device_error` if the plugin
  /// does not support that.
  [[nodiscard]] std::string serialized() const {
    pjrt_api::loaded_executable_get_executable_args get;
    get.loaded_executable = raw_;
    client_->plugin().call(client_->api().loaded_executable_get_executable, get,
                           "access a compiled graph");
    std::string bytes;
    try {
      bytes = serialize(client_->plugin(), get.executable);
    } catch (...) {
      destroy(client_->plugin(), get.executable);
      throw;
    }
    destroy(client_->plugin(), get.executable);
    return bytes;
  }

  /// Starts a run. It consumes the arguments that the graph may overwrite with results, except
  /// those whose indices are in `preserved`.
  [[nodiscard]] begun run(std::span<const pjrt_buffer* const> arguments,
                          std::span<const std::int64_t> preserved) const {
    const std::size_t devices = client_->devices().size();
    std::vector<pjrt_api::buffer*> inputs(devices * arguments.size());
    std::vector<pjrt_api::buffer*> outputs(devices * results_);
    std::vector<pjrt_api::buffer* const*> argument_lists;
    std::vector<pjrt_api::buffer**> result_lists;
    for (std::size_t d = 0; d < devices; ++d) {
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        inputs[d * arguments.size() + i] = arguments[i]->parts()[d];
      }
      argument_lists.push_back(inputs.data() + d * arguments.size());
      result_lists.push_back(outputs.data() + d * results_);
    }
    pjrt_api::execute_options options;
    options.non_donatable_input_indices = preserved.data();
    options.num_non_donatable_input_indices = preserved.size();
    begun result;
    result.events.resize(devices);
    pjrt_api::loaded_executable_execute_args args;
    args.executable = raw_;
    args.options = &options;
    args.argument_lists = argument_lists.data();
    args.num_devices = devices;
    args.num_args = arguments.size();
    args.output_lists = result_lists.data();
    args.device_complete_events = result.events.data();
    client_->plugin().call(client_->api().loaded_executable_execute, args, "run a compiled graph");
    for (std::size_t i = 0; i < results_; ++i) {
      auto result_buffer = std::make_shared<pjrt_buffer>(client_);
      for (std::size_t d = 0; d < devices; ++d) {
        result_buffer->add(outputs[d * results_ + i]);
      }
      result.results.push_back(std::move(result_buffer));
    }
    return result;
  }

  /// Returns a compiled graph as bytes.
  [[nodiscard]] static std::string serialize(const pjrt_plugin& plugin,
                                             const pjrt_api::executable* executable) {
    pjrt_api::executable_serialize_args args;
    args.executable = executable;
    plugin.call(plugin.api().executable_serialize, args, "serialize a compiled graph");
    std::string bytes(args.serialized_bytes, args.serialized_bytes_size);
    args.serialized_executable_deleter(args.serialized_executable);
    return bytes;
  }
  static void destroy(const pjrt_plugin& plugin, pjrt_api::executable* executable) noexcept {
    pjrt_api::executable_destroy_args args;
    args.executable = executable;
    plugin.call_quietly(plugin.api().executable_destroy, args);
  }

 private:
  std::shared_ptr<const pjrt_client> client_;
  pjrt_api::loaded_executable* raw_;
  std::size_t results_;
};

}  // namespace glia::detail
