#include <glia/testing/conformance.hpp>
#include <map>

#include "catch.hpp"
#include "helpers.hpp"

namespace {

/// The cpu backend, which holds every kernel that runs on it to what the kernel says of itself: the
/// specs of its results, and what it does to the samples of a batch. Half of the samples and then
/// the other half must come to the same as all of them.
class lawful : public glia::cpu<double> {
 public:
  struct record {
    std::map<std::string, std::size_t> cut;  // how often each kernel was run in halves
    std::vector<std::string> broken;
  };

  lawful() : glia::cpu<double>({.threads = 1}), record_(std::make_shared<record>()) {}

  [[nodiscard]] const record& found() const { return *record_; }

  template <glia::kernel K, std::same_as<tensor>... Operands>
  requires glia::runs<glia::cpu<double>, K>
  [[nodiscard]] glia::results_t<K, tensor> run(const K& k, Operands... operands) const {
    const auto specs = glia::result_specs(k, glia::spec_of(operands)...);
    const auto results = as_array<K>(glia::cpu<double>::run(k, copy_of(operands)...));
    for (std::size_t i = 0; i < K::results; ++i) {
      if (glia::spec_of(results[i]) != specs[i]) {
        record_->broken.push_back(glia::text(K::name, ": result ", i, " has another spec"));
      }
    }
    check_halves(k, results, {operands...}, std::make_index_sequence<K::operands>{});
    return glia::cpu<double>::run(k, std::move(operands)...);
  }

 private:
  template <class K>
  static std::array<tensor, K::results> as_array(glia::results_t<K, tensor> results) {
    if constexpr (K::results == 1) {
      return {std::move(results)};
    } else {
      return results;
    }
  }
  [[nodiscard]] tensor copy_of(const tensor& x) const { return x ? copy(x) : x; }

  template <class K, std::size_t... I>
  void check_halves(const K& k, const std::array<tensor, K::results>& whole,
                    const std::array<tensor, K::operands>& operands,
                    std::index_sequence<I...>) const {
    const auto axes = glia::axes_of(k, glia::spec_of(operands[I])...);
    std::size_t rows = 0;
    for (std::size_t i = 0; i < K::operands; ++i) {
      if (operands[i] && axes.operands[i] == glia::batch_axis::rows) {
        rows = operands[i].shape()[0];
      }
    }
    const bool cuts = rows > 1 && std::all_of(axes.results.begin(), axes.results.end(), [](auto a) {
                        return a == glia::batch_axis::rows || a == glia::batch_axis::summed;
                      });
    bool counted = true;  // the key's first sample is a number of 32 bits
    for (std::size_t i = 0; i < K::operands; ++i) {
      counted = counted && (axes.operands[i] != glia::batch_axis::key ||
                            glia::step_key::from_words(operands[i].integers()).first_sample < 1000);
    }
    if (!cuts || !counted) {
      return;
    }
    const std::size_t half = rows / 3 + 1;
    std::array<std::array<tensor, K::results>, 2> parts;
    for (const std::size_t part : {0U, 1U}) {
      const std::size_t first = part * half;
      const std::size_t count = part == 0 ? half : rows - half;
      [[maybe_unused]] const auto piece = [&](std::size_t i) {
        if (!operands[i] || axes.operands[i] == glia::batch_axis::shared) {
          return copy_of(operands[i]);
        }
        if (axes.operands[i] == glia::batch_axis::rows) {
          return copy(operands[i].rows(first, count));
        }
        auto key = glia::step_key::from_words(operands[i].integers());
        key.first_sample += static_cast<std::uint32_t>(first);
        const auto words = key.to_words();
        return from_host(std::span<const std::int32_t>(words), {words.size()});
      };
      parts[part] = as_array<K>(glia::cpu<double>::run(
          for_rows(k, count, axes.results[0] == glia::batch_axis::rows), piece(I)...));
    }
    ++record_->cut[std::string(K::name)];
    for (std::size_t i = 0; i < K::results; ++i) {
      if (whole[i] &&
          !agree(whole[i], parts[0][i], parts[1][i], axes.results[i] == glia::batch_axis::summed)) {
        record_->broken.push_back(glia::text(K::name, ": result ", i, " of ", rows, " samples ",
                                             whole[i].shape(), " is another in halves"));
      }
    }
  }

  template <class K>
  static K for_rows(const K& k, std::size_t count, bool gives_rows) {
    if constexpr (requires { k.for_rows(count); }) {
      return gives_rows ? k.for_rows(count) : k;
    } else {
      return k;
    }
  }

  static std::vector<double> numbers(const tensor& x) {
    std::vector<double> result(x.size());
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] = x.type() == glia::element::real    ? x.data()[i]
                  : x.type() == glia::element::index ? x.integers()[i]
                                                     : x.bytes()[i];
    }
    return result;
  }
  static bool agree(const tensor& whole, const tensor& first, const tensor& second, bool summed) {
    const auto expected = numbers(whole);
    auto got = numbers(first);
    const auto more = numbers(second);
    if (summed) {
      for (std::size_t i = 0; i < got.size() && i < more.size(); ++i) {
        got[i] += more[i];
      }
    } else {
      got.insert(got.end(), more.begin(), more.end());
    }
    if (got.size() != expected.size()) {
      return false;
    }
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (std::abs(got[i] - expected[i]) > 1e-9 * std::max(1.0, std::abs(expected[i]))) {
        return false;
      }
    }
    return true;
  }

  std::shared_ptr<record> record_;
};

}  // namespace

TEST_CASE("kernels keep what they say of the shapes of their results and of the samples") {
  const lawful device;
  glia::testing::detail::for_each_case([&](const std::string&, const auto& kernel) {
    glia::testing::detail::bench<lawful> b(device, false);
    kernel(b);
  });
  for (const std::string& what : device.found().broken) {
    UNSCOPED_INFO(what);
  }
  CHECK(device.found().broken.empty());
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
                           "select",
                           "fake_quantize",
                           "batched_matmul"}) {
    INFO(name);
    CHECK(device.found().cut.count(name) == 1);
  }
}
