#pragma once

#include <memory>
#include <string_view>

#include "glia/backends/device.hpp"
#include "glia/backends/host_backend.hpp"
#include "glia/backends/host_loops.hpp"
#include "glia/backends/reference/arrangement.hpp"
#include "glia/backends/reference/classification.hpp"
#include "glia/backends/reference/elementwise.hpp"
#include "glia/backends/reference/indexing.hpp"
#include "glia/backends/reference/normalization.hpp"
#include "glia/backends/reference/pooling.hpp"
#include "glia/backends/reference/products.hpp"
#include "glia/backends/reference/updates.hpp"

namespace glia {

/// The loops of the `reference` device, for all families of kernels.
template <class T>
struct reference_kernels : detail::host_loops<T>,
                           reference_loops::arrangement<T>,
                           reference_loops::indexing<T>,
                           reference_loops::elementwise<T>,
                           reference_loops::products<T>,
                           reference_loops::pooling<T>,
                           reference_loops::normalizing<T>,
                           reference_loops::classification<T>,
                           reference_loops::updates<T> {
  using value_type = T;
  static constexpr std::string_view name = "reference";

  using detail::host_loops<T>::compute;
  using reference_loops::arrangement<T>::compute;
  using reference_loops::indexing<T>::compute;
  using reference_loops::elementwise<T>::compute;
  using reference_loops::products<T>::compute;
  using reference_loops::pooling<T>::compute;
  using reference_loops::normalizing<T>::compute;
  using reference_loops::classification<T>::compute;
  using reference_loops::updates<T>::compute;
};

/// The device that defines correct results, against which all other devices are tested: each kernel
/// is the plain loop of its formula, on one thread, in `float` or `double`.
template <class T = float>
class reference : public device {
 public:
  using value_type = T;

  reference() : device(std::make_shared<const host_backend<reference_kernels<T>>>()) {}
};

}  // namespace glia
