#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "glia/models/zoo/zoo_network.hpp"
#include "glia/models/zoo/zoo_options.hpp"

namespace glia {

namespace detail {

class inception_v3_writer {
 public:
  inception_v3_writer(const zoo_options& options, zoo_form form)
      : net_("inception_v3", form), options_(options), keras_(form == zoo_form::keras) {
    require_width(net_.name(), options);
  }

  [[nodiscard]] zoo_network write() && {
    std::size_t x = in_a_row(
        {{"conv1a_3x3", 32, 3, 2, valid}, {"conv2a_3x3", 32, 3, 1, valid}, {"conv2b_3x3", 64, 3}},
        0);
    x = net_.add("pool1", halving_pool, x);
    x = in_a_row({{"conv3b_1x1", 80, 1}, {"conv4a_3x3", 192, 3, 1, valid}}, x);
    x = net_.add("pool2", halving_pool, x);
    net_.end_stage();
    x = small_block("mixed0", 32, x);
    x = small_block("mixed1", 64, x);
    x = small_block("mixed2", 64, x);
    x = first_halving_block("mixed3", x);
    x = long_block("mixed4", 128, x);
    x = long_block("mixed5", 160, x);
    x = long_block("mixed6", 160, x);
    x = long_block("mixed7", 192, x);
    x = second_halving_block("mixed8", x);
    x = wide_block("mixed9", x);
    x = wide_block("mixed10", x);
    add_top(net_, x, options_, keras_ ? 0 : 0.5);
    return std::move(net_);
  }

 private:
  struct unit {
    std::string name;
    std::size_t filters;
    extent2d kernel;
    extent2d stride = 1;
    padding2d padding = same;
  };

  static constexpr max_pool2d halving_pool{.pool_size = 3, .strides = 2};

  [[nodiscard]] std::size_t small_block(const std::string& name, std::size_t pooled,
                                        std::size_t x) {
    const std::string branch = name + ".branch";
    const std::size_t a = in_a_row({{branch + "1x1", 64, 1}}, x);
    const std::size_t b = in_a_row({{branch + "5x5_1", 48, 1}, {branch + "5x5_2", 64, 5}}, x);
    const std::size_t c = in_a_row(
        {{branch + "3x3dbl_1", 64, 1}, {branch + "3x3dbl_2", 96, 3}, {branch + "3x3dbl_3", 96, 3}},
        x);
    return joined(name, {a, b, c, pooled_branch(branch, pooled, x)});
  }

  [[nodiscard]] std::size_t first_halving_block(const std::string& name, std::size_t x) {
    const std::string branch = name + ".branch";
    const std::size_t a = in_a_row({{branch + "3x3", 384, 3, 2, valid}}, x);
    const std::size_t b = in_a_row({{branch + "3x3dbl_1", 64, 1},
                                    {branch + "3x3dbl_2", 96, 3},
                                    {branch + "3x3dbl_3", 96, 3, 2, valid}},
                                   x);
    return joined(name, {a, b, net_.add(branch + "_pool", halving_pool, x)});
  }

  [[nodiscard]] std::size_t long_block(const std::string& name, std::size_t inner, std::size_t x) {
    const std::string branch = name + ".branch";
    const std::size_t a = in_a_row({{branch + "1x1", 192, 1}}, x);
    const std::size_t b = in_a_row({{branch + "7x7_1", inner, 1},
                                    {branch + "7x7_2", inner, row},
                                    {branch + "7x7_3", 192, column}},
                                   x);
    const std::size_t c = in_a_row({{branch + "7x7dbl_1", inner, 1},
                                    {branch + "7x7dbl_2", inner, column},
                                    {branch + "7x7dbl_3", inner, row},
                                    {branch + "7x7dbl_4", inner, column},
                                    {branch + "7x7dbl_5", 192, row}},
                                   x);
    return joined(name, {a, b, c, pooled_branch(branch, 192, x)});
  }

  [[nodiscard]] std::size_t second_halving_block(const std::string& name, std::size_t x) {
    const std::string branch = name + ".branch";
    const std::size_t a =
        in_a_row({{branch + "3x3_1", 192, 1}, {branch + "3x3_2", 320, 3, 2, valid}}, x);
    const std::size_t b = in_a_row({{branch + "7x7x3_1", 192, 1},
                                    {branch + "7x7x3_2", 192, row},
                                    {branch + "7x7x3_3", 192, column},
                                    {branch + "7x7x3_4", 192, 3, 2, valid}},
                                   x);
    return joined(name, {a, b, net_.add(branch + "_pool", halving_pool, x)});
  }

  [[nodiscard]] std::size_t wide_block(const std::string& name, std::size_t x) {
    const std::string branch = name + ".branch";
    const std::size_t a = in_a_row({{branch + "1x1", 320, 1}}, x);
    const std::size_t b = parted(branch + "3x3", "_2", in_a_row({{branch + "3x3_1", 384, 1}}, x));
    const std::size_t c =
        parted(branch + "3x3dbl", "_3",
               in_a_row({{branch + "3x3dbl_1", 448, 1}, {branch + "3x3dbl_2", 384, 3}}, x));
    return joined(name, {a, b, c, pooled_branch(branch, 192, x)});
  }

  /// Adds a 1x3 and a 3x1 convolution of the same input and concatenates their outputs.
  [[nodiscard]] std::size_t parted(const std::string& branch, const std::string& number,
                                   std::size_t x) {
    const std::size_t a = in_a_row({{branch + number + "a", 384, {1, 3}}}, x);
    const std::size_t b = in_a_row({{branch + number + "b", 384, {3, 1}}}, x);
    return net_.add(branch + "_concat", join::concat{}, {a, b});
  }

  [[nodiscard]] std::size_t pooled_branch(const std::string& branch, std::size_t filters,
                                          std::size_t x) {
    if (keras_) {
      x = net_.add(branch + "_pool_mean", avg_pool2d{.pool_size = 3, .strides = 1, .padding = same},
                   x);
    } else {
      // In torchvision, average pooling counts the padded zeros.
      x = net_.add(branch + "_pool_pad", zero_pad2d{1}, x);
      x = net_.add(branch + "_pool_mean", avg_pool2d{.pool_size = 3, .strides = 1}, x);
    }
    return in_a_row({{branch + "_pool", filters, 1}}, x);
  }

  [[nodiscard]] std::size_t joined(const std::string& name, std::vector<std::size_t> branches) {
    const std::size_t x = net_.add(name + ".concat", join::concat{}, std::move(branches));
    net_.end_stage();
    return x;
  }

  /// Adds convolutions one after another, each with normalization and activation.
  [[nodiscard]] std::size_t in_a_row(std::initializer_list<unit> units, std::size_t x) {
    for (const unit& u : units) {
      const conv2d convolution{.filters = scaled_channels(u.filters, options_),
                               .kernel_size = u.kernel,
                               .strides = u.stride,
                               .padding = u.padding,
                               .use_bias = false,
                               .kernel_initializer = he_normal()};
      const batch_norm normalization{
          .momentum = keras_ ? 0.99 : 0.9, .epsilon = 1e-3, .scale = !keras_};
      x = net_.add(u.name + "_bn", normalization, net_.add(u.name, convolution, x));
      x = net_.add(u.name + "_relu", relu, x);
    }
    return x;
  }

  static constexpr extent2d row{1, 7};
  static constexpr extent2d column{7, 1};

  zoo_network net_;
  zoo_options options_;
  bool keras_;
};

}  // namespace detail

/// Inception v3, a convolutional network. It has no auxiliary classifier. It maps images (N, H, W,
/// 3) to features (N, 2048 * width), where `width` is an option, or to the logits of a classifier.
///
/// It is designed for RGB images of 299x299 with values from -1 to 1, and accepts any size from
/// 75x75.
///
/// There are two variants. In the Keras variant, batch normalization has no gamma. With 1,000
/// classes, this variant has 23,851,784 parameters, including running statistics. The torchvision
/// variant has gamma, average pooling that counts the padded zeros, and dropout before the
/// classifier.
///
/// The stages are the convolutions before the blocks, the blocks mixed0 to mixed10, and the top
/// (global average pooling and the classifier). Without the top, the outputs are feature maps.
/// Parameters have names such as conv1a_3x3.kernel, mixed0.branch5x5_1.kernel and
/// mixed0.branch5x5_1_bn.beta. Blocks are numbered as in Keras, and branches have torchvision's
/// names.
///
/// Throws `value_error` if the width is not positive.
///
/// Source: Szegedy et al., "Rethinking the Inception Architecture for Computer Vision", CVPR 2016.
[[nodiscard]] inline zoo_network inception_v3(const zoo_options& options = {},
                                              zoo_form form = zoo_form::keras) {
  return detail::inception_v3_writer(options, form).write();
}

}  // namespace glia
