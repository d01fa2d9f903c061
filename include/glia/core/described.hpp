#pragma once

#include <concepts>
#include <ostream>
#include <string>

namespace glia {

/// A layer, loss or optimizer with a description, such as dense(400, relu).
template <class D>
concept described = requires(const D& d) {
  { d.description() } -> std::convertible_to<std::string>;
};

template <described D>
std::ostream& operator<<(std::ostream& out, const D& d) {
  return out << d.description();
}

}  // namespace glia
