#include <glia/testing/conformance.hpp>
#include <map>

#include "catch.hpp"
#include "forwarding_backend.hpp"
#include "helpers.hpp"

namespace {

using glia::batch_axis;
using glia::tensor;
using glia::tensor_spec;

/// The cpu backend, which holds every kernel that runs on it to what the kernel says of itself: the
/// specs of its results, and what it does to the samples of a batch. Half of the samples and then
/// the other half must come to the same as all of them.
class lawful : public test::forwarding_backend {
 public:
  struct record {
    std::map<std::string, std::size_t> cut;  // how often each kernel was run in halves
    std::vector<std::string> broken;
  };

  lawful() : lawful(glia::cpu<double>({.threads = 1})) {}

  [[nodiscard]] const record& found() const { return record_; }

  void run(const glia::kernel_call& call) const override {
    std::vector<tensor_spec> specs(call.operands.size());
    std::transform(call.operands.begin(), call.operands.end(), specs.begin(), glia::spec_of);
    std::vector<tensor_spec> expected(call.results.size());
    call.type.specs(call.kernel, specs, expected);
    std::vector<tensor> operands;
    for (const tensor& x : call.operands) {
      operands.push_back(copy_of(x));
    }
    const glia::any_kernel kernel(call.type, call.kernel);
    const std::vector<tensor> results = results_of(kernel, operands);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (glia::spec_of(results[i]) != expected[i]) {
        record_.broken.push_back(glia::text(call.type.name, ": result ", i, " has another spec"));
      }
    }
    check_halves(kernel, results, call.operands, specs);
    forwarding_backend::run(call);
  }

 private:
  explicit lawful(const glia::device& target)
      : forwarding_backend(target),
        host_(static_cast<const glia::host_memory_backend&>(target.implementation())) {}

  [[nodiscard]] tensor copy_of(const tensor& x) const { return x ? host_.copy(x) : x; }
  [[nodiscard]] std::vector<tensor> results_of(const glia::any_kernel& kernel,
                                               std::vector<tensor> operands) const {
    std::vector<tensor> results(kernel.type().results);
    host_.run({kernel.type(), kernel.value(), operands, results});
    return results;
  }

  void check_halves(const glia::any_kernel& kernel, const std::vector<tensor>& whole,
                    std::span<const tensor> operands, std::span<const tensor_spec> specs) const {
    std::vector<batch_axis> operand_axes(operands.size());
    std::vector<batch_axis> result_axes(whole.size());
    kernel.axes(specs, operand_axes, result_axes);
    std::size_t rows = 0;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] && operand_axes[i] == batch_axis::rows) {
        rows = operands[i].shape()[0];
      }
    }
    const bool cuts = rows > 1 && std::all_of(result_axes.begin(), result_axes.end(), [](auto a) {
                        return a == batch_axis::rows || a == batch_axis::summed;
                      });
    bool counted = true;  // the key's first sample is a number of 32 bits
    for (std::size_t i = 0; i < operands.size(); ++i) {
      counted = counted && (operand_axes[i] != batch_axis::key ||
                            glia::step_key::from_words(operands[i].integers()).first_sample < 1000);
    }
    if (!cuts || !counted) {
      return;
    }
    const std::size_t half = rows / 3 + 1;
    std::array<std::vector<tensor>, 2> parts;
    for (const std::size_t part : {0U, 1U}) {
      const std::size_t first = part * half;
      const std::size_t count = part == 0 ? half : rows - half;
      std::vector<tensor> pieces;
      for (std::size_t i = 0; i < operands.size(); ++i) {
        if (!operands[i] || operand_axes[i] == batch_axis::shared) {
          pieces.push_back(copy_of(operands[i]));
        } else if (operand_axes[i] == batch_axis::rows) {
          pieces.push_back(host_.copy(operands[i].rows(first, count)));
        } else {
          auto key = glia::step_key::from_words(operands[i].integers());
          key.first_sample += static_cast<std::uint32_t>(first);
          const auto words = key.to_words();
          pieces.push_back(from_host(std::span<const std::int32_t>(words), {words.size()}));
        }
      }
      parts[part] = results_of(result_axes[0] == batch_axis::rows ? kernel.for_rows(count) : kernel,
                               std::move(pieces));
    }
    ++record_.cut[std::string(kernel.name())];
    for (std::size_t i = 0; i < whole.size(); ++i) {
      if (whole[i] &&
          !agree(whole[i], parts[0][i], parts[1][i], result_axes[i] == batch_axis::summed)) {
        record_.broken.push_back(glia::text(kernel.name(), ": result ", i, " of ", rows,
                                            " samples ", whole[i].shape(),
                                            " is another in halves"));
      }
    }
  }

  static std::vector<double> numbers(const tensor& x) {
    std::vector<double> result(x.size());
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] = x.type() == glia::element::real    ? test::data_of<double>(x)[i]
                  : x.type() == glia::element::index ? x.integers()[i]
                                                     : x.bytes()[i];
    }
    return result;
  }
  static bool agree(const tensor& whole, const tensor& first, const tensor& second, bool summed) {
    const auto expected = numbers(whole);
    auto actual = numbers(first);
    const auto remaining = numbers(second);
    if (summed) {
      for (std::size_t i = 0; i < actual.size() && i < remaining.size(); ++i) {
        actual[i] += remaining[i];
      }
    } else {
      actual.insert(actual.end(), remaining.begin(), remaining.end());
    }
    if (actual.size() != expected.size()) {
      return false;
    }
    for (std::size_t i = 0; i < actual.size(); ++i) {
      if (std::abs(actual[i] - expected[i]) > 1e-9 * std::max(1.0, std::abs(expected[i]))) {
        return false;
      }
    }
    return true;
  }

  const glia::host_memory_backend& host_;
  mutable record record_;
};

}  // namespace

TEST_CASE("kernels keep what they say of the shapes of their results and of the samples") {
  const auto watched = std::make_shared<const lawful>();
  const glia::device device(watched);
  glia::testing::detail::for_each_case([&](const std::string&, const auto& kernel) {
    glia::testing::detail::bench b(device, false);
    kernel(b);
  });
  for (const std::string& failure : watched->found().broken) {
    UNSCOPED_INFO(failure);
  }
  CHECK(watched->found().broken.empty());
  for (const char* name : {"unary",
                           "unary_gradient",
                           "binary",
                           "sum_to",
                           "matmul",
                           "dense",
                           "packed_dense",
                           "conv2d",
                           "conv2d_input_gradient",
                           "conv2d_kernel_gradient",
                           "conv2d_max_pool2d",
                           "packed_conv2d",
                           "packed_conv2d_max_pool2d",
                           "conv2d_max_pool2d_gradient",
                           "conv2d_chain",
                           "max_pool2d",
                           "max_pool2d_gradient",
                           "avg_pool2d",
                           "avg_pool2d_gradient",
                           "normalize",
                           "normalize_gradient",
                           "dropout",
                           "softmax",
                           "softmax_gradient",
                           "softmax_cross_entropy",
                           "softmax_cross_entropy_gradient",
                           "one_hot",
                           "argmax",
                           "in_top_k",
                           "reshape",
                           "broadcast_to",
                           "concat",
                           "slice",
                           "pad",
                           "permute_axes",
                           "gather",
                           "scatter_add",
                           "update_slice",
                           "select",
                           "fake_quantize",
                           "batched_matmul"}) {
    INFO(name);
    CHECK(watched->found().cut.count(name) == 1);
  }
}
