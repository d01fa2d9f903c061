#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"
#include "glia/kernels/updates.hpp"

namespace glia::testing::detail {

/// The test cases of optimizer steps.
template <class Check>
void check_updates(const Check& check) {
  for (std::size_t n : {std::size_t{1}, std::size_t{517}, std::size_t{40000}}) {
    const shape s{n};
    const std::string name = text(" of ", n, " elements");
    check("sgd" + name, [&](auto& b) {
      b.out(b.device().run(kernels::sgd{0, 0.01, false}, b.input(s, 34), b.input(s, 35), b.absent(),
                           b.input({1}, std::vector{0.1F}))[0]);
    });
    for (const bool nesterov : {false, true}) {
      check(text("sgd with momentum", nesterov ? ", nesterov" : "", name), [&](auto& b) {
        const auto [p, v] =
            b.device().run(kernels::sgd{0.9, 0.01, nesterov}, b.input(s, 34), b.input(s, 35),
                           b.input(s, 36), b.input({1}, std::vector{0.1F}));
        b.out(p);
        b.out(v);
      });
    }
    check("adam" + name, [&](auto& b) {
      const auto [p, m, v] = b.device().run(
          kernels::adam{0.9, 0.99, 0.01}, b.input(s, 34), b.input(s, 35), b.input(s, 36),
          b.input(s, 37, 0.5F, 0.6F), b.input({3}, std::vector{0.1F, 1e-3F, 0.98F}));
      b.out(p);
      b.out(m);
      b.out(v);
    });
    for (const bool momentum : {false, true}) {
      check(text("rmsprop", momentum ? " with momentum" : "", name), [&](auto& b) {
        auto velocity = momentum ? b.input(s, 36) : b.absent();
        const auto [p, v, u] = b.device().run(
            kernels::rmsprop{0.9, momentum ? 0.5 : 0, 1e-3, 0.01}, b.input(s, 34), b.input(s, 35),
            b.input(s, 37, 0.5F, 0.6F), std::move(velocity), b.input({1}, std::vector{0.1F}));
        b.out(p);
        b.out(v);
        if (momentum) {
          b.out(u);
        }
      });
    }
    check("adagrad" + name, [&](auto& b) {
      const auto [p, v] =
          b.device().run(kernels::adagrad{1e-3, 0.01}, b.input(s, 34), b.input(s, 35),
                         b.input(s, 37, 0.5F, 0.6F), b.input({1}, std::vector{0.1F}));
      b.out(p);
      b.out(v);
    });
  }
}

}  // namespace glia::testing::detail
