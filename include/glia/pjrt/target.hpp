#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/backends/compilations.hpp"
#include "glia/backends/device.hpp"
#include "glia/backends/program.hpp"
#include "glia/backends/shape_backend.hpp"
#include "glia/graph/graph.hpp"
#include "glia/pjrt/c_api.hpp"
#include "glia/pjrt/client.hpp"
#include "glia/pjrt/compile.hpp"
#include "glia/pjrt/executable.hpp"
#include "glia/pjrt/options.hpp"
#include "glia/pjrt/plugin.hpp"
#include "glia/stablehlo/module.hpp"

namespace glia {

/// Options of `pjrt_target`.
struct pjrt_target_options {
  std::filesystem::path plugin;  ///< Path of the shared library that compiles for the target.
  /// Name of the target in the plugin, such as "v2:2x2" for a TPU. GPUs have no name, only
  /// settings.
  std::string topology = {};
  /// Settings of the plugin. For a GPU: {{"target_config", text}}, where the text describes the
  /// GPU.
  std::vector<pjrt_setting> settings = {};
  std::size_t devices = 1;  ///< Number of devices among which a batch is split, from 1.
  product_precision precision = product_precision::fast;
};

/// A graph that was compiled for a target, with its memory needs.
struct target_program {
  graph calls;
  std::string module;  ///< The graph as StableHLO text.
  /// The graph in the format that the plugin loads; empty if the plugin cannot serialize it.
  std::string executable = {};
  double seconds = 0;  ///< Time of the compilation.
  // The sizes are in bytes on each device.
  std::int64_t argument_bytes = 0;
  std::int64_t result_bytes = 0;
  std::int64_t shared_bytes = 0;  ///< Bytes of results that are written over arguments.
  std::int64_t temporary_bytes = 0;
  std::int64_t code_bytes = 0;

  /// Returns the memory that the compiled graph takes on each device while it runs, in bytes.
  [[nodiscard]] std::int64_t bytes() const noexcept {
    return argument_bytes + result_bytes - shared_bytes + temporary_bytes + code_bytes;
  }
  /// Returns the number of floating-point operations of the kernels; a multiply-add counts as two.
  [[nodiscard]] double flops() const {
    double sum = 0;
    for (const graph_node& node : calls.nodes()) {
      sum += node.kernel.flops(calls.specs(node.operands));
    }
    return sum;
  }
};

/// The backend of a `pjrt_target`.
template <std::floating_point T>
class pjrt_target_backend final : public detail::shape_backend {
 public:
  explicit pjrt_target_backend(const pjrt_target_options& options) : state_(options) {}

  [[nodiscard]] std::string_view name() const override { return "pjrt_target"; }
  [[nodiscard]] std::size_t real_bytes() const override { return sizeof(T); }
  [[nodiscard]] const std::vector<target_program>& programs() const { return state_.programs; }
  [[nodiscard]] glia::compilations compilations() const override {
    glia::compilations result{.compiled = programs().size()};
    for (const target_program& p : programs()) {
      result.seconds += p.seconds;
    }
    return result;
  }

  /// Returns the shapes of a kernel's results. Does not compile the kernel.
  void run(const kernel_call& call) const override {
    std::vector<tensor_spec> operands;
    for (const tensor& operand : call.operands) {
      operands.push_back(spec_of(operand));
    }
    std::vector<tensor_spec> results(call.results.size());
    call.type.specs(call.kernel, operands, results);
    for (std::size_t i = 0; i < results.size(); ++i) {
      call.results[i] = tensor_of(results[i]);
    }
  }
  [[nodiscard]] bool compiles_whole_graphs() const override { return true; }
  /// Compiles a graph, unless it has already been compiled.
  [[nodiscard]] std::shared_ptr<const executable> compile(graph calls) const override {
    if (detail::gives_something(calls)) {
      state_.compile(calls);
    }
    return std::make_shared<const compiled_graph>(std::move(calls));
  }

 private:
  [[nodiscard]] tensor make(const tensor_spec& spec) const override { return tensor_of(spec); }
  /// Makes a tensor that has only a shape and an identity.
  [[nodiscard]] static tensor tensor_of(const tensor_spec& spec) {
    return spec ? tensor::holding(std::make_shared<char>(), spec) : tensor();
  }

  /// A graph that was compiled for a target. A run returns only the shapes of its results.
  class compiled_graph final : public executable {
   public:
    using executable::executable;

    void run(std::span<tensor* const> inputs, std::span<tensor> outputs,
             const fixed_inputs& /*fixed*/, const probe_function* /*probe*/,
             timeline* /*times*/) const override {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (calls().inputs()[i].changes()) {
          *inputs[i] = tensor_of(calls().spec(calls().inputs()[i].next));
        }
      }
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        outputs[i] = tensor_of(calls().spec(calls().outputs()[i].value));
      }
    }
  };

  class state {
   public:
    explicit state(const pjrt_target_options& options)
        : plugin_(options.plugin),
          compile_options_(detail::compile_options(options.devices)),
          module_options_(detail::module_options_for<T>(options.precision, options.devices)) {
      const std::vector<pjrt_api::named_value> settings = detail::named_values(options.settings);
      pjrt_api::topology_description_create_args args;
      args.topology_name = options.topology.data();
      args.topology_name_size = options.topology.size();
      args.create_options = settings.data();
      args.num_options = settings.size();
      plugin_.call(plugin_.api().topology_description_create, args,
                   text("describe the target '", options.topology, '\''));
      topology_ = args.topology;
    }
    state(const state&) = delete;
    state& operator=(const state&) = delete;
    ~state() {
      pjrt_api::topology_description_destroy_args args;
      args.topology = topology_;
      plugin_.call_quietly(plugin_.api().topology_description_destroy, args);
    }

    void compile(const graph& calls) {
      target_program compiled{.calls = calls,
                              .module = stablehlo::module_text(calls, module_options_)};
      const bool known =
          std::any_of(programs.begin(), programs.end(),
                      [&](const target_program& p) { return p.module == compiled.module; });
      if (known) {
        return;
      }
      const auto start = std::chrono::steady_clock::now();
      const pjrt_api::program program = detail::program_of(compiled.module);
      pjrt_api::compile_args args;
      args.topology = topology_;
      args.program = &program;
      args.compile_options = compile_options_.data();
      args.compile_options_size = compile_options_.size();
      plugin_.call(plugin_.api().compile, args, "compile a graph");
      compiled.seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      try {
        describe(compiled, args.executable);
      } catch (...) {
        detail::pjrt_executable::destroy(plugin_, args.executable);
        throw;
      }
      detail::pjrt_executable::destroy(plugin_, args.executable);
      programs.push_back(std::move(compiled));
    }

    std::vector<target_program> programs;

   private:
    void describe(target_program& compiled, pjrt_api::executable* executable) const {
      pjrt_api::executable_get_compiled_memory_stats_args memory;
      memory.executable = executable;
      plugin_.call(plugin_.api().executable_get_compiled_memory_stats, memory,
                   "measure the memory of a compiled graph");
      compiled.argument_bytes = memory.argument_size_in_bytes;
      compiled.result_bytes = memory.output_size_in_bytes;
      compiled.shared_bytes = memory.alias_size_in_bytes;
      compiled.temporary_bytes = memory.temp_size_in_bytes;
      compiled.code_bytes = memory.generated_code_size_in_bytes;
      try {
        compiled.executable = detail::pjrt_executable::serialize(plugin_, executable);
      } catch (const device_error&) {  // the plugin cannot serialize it
      }
    }

    detail::pjrt_plugin plugin_;
    std::string compile_options_;
    stablehlo::module_options module_options_;
    pjrt_api::topology_description* topology_ = nullptr;
  };

  mutable state state_;
};

/// A device that compiles for hardware elsewhere and computes nothing. It compiles every graph that
/// a model or trainer would run, and lists the compiled graphs as `programs`. Its tensors are
/// shapes, and all numbers that are read from them are 0.
///
///     const glia::pjrt_target target({.plugin = "libtpu.so", .topology = "v2:2x2"});
///     glia::model net{description, {784}, target};
///     glia::trainer{net, loss, glia::adam{}}.fit(data, {.batch_size = 100});
///     for (const glia::target_program& p : target.programs()) { ... }
///
/// Throws `device_error` if the plugin cannot be loaded, does not know the target, or cannot
/// compile for it. Copies share the compiled graphs. Do not use a target from several
/// threads at the same time.
template <std::floating_point T = float>
class pjrt_target : public device {
 public:
  /// Loads the plugin and describes the target.
  explicit pjrt_target(const pjrt_target_options& options)
      : device(std::make_shared<const pjrt_target_backend<T>>(options)) {}

  /// Returns the compiled graphs, in the order of their compilation.
  [[nodiscard]] const std::vector<target_program>& programs() const {
    return static_cast<const pjrt_target_backend<T>&>(implementation()).programs();
  }
};

pjrt_target(const pjrt_target_options&)->pjrt_target<float>;

}  // namespace glia
