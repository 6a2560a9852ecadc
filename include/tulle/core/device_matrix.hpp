// SPDX-License-Identifier: Apache-2.0

/// A matrix on a device: the twin of any format, array by array.
///
///     auto d = tulle::upload(a);                  // a in host memory, any format
///     tulle::device_array<double> x(xs), y(n);
///     tulle::spmv(1.0, d, x, 0.0, y);             // runs where d is
#pragma once
#include "tulle/core/any_matrix.hpp"
#include "tulle/core/device.hpp"

namespace tulle {

namespace detail {
struct device_maker; // src/backend/device_result.hpp
}

/// A matrix_ref to arrays on a device.
struct device_ref {
  matrix_ref matrix;
  device where; ///< the policy of operations called without one

  explicit device_ref(matrix_ref const& m) : matrix(m), where(m.space) {}
  device_ref(matrix_ref const& m, device const& where_) : matrix(m), where(where_) {}
};

/// Owns the arrays of a format in device memory.
class device_matrix {
public:
  device_matrix() = default;

  bool empty() const noexcept { return blocks_.empty() && ref_.view == nullptr; }
  tulle::format format() const noexcept { return ref_.format; }
  type_tag type() const noexcept { return ref_.type; }
  std::size_t rows() const noexcept { return ref_.rows; }
  std::size_t cols() const noexcept { return ref_.cols; }
  std::size_t nnz() const noexcept { return ref_.nnz; }
  std::size_t bytes() const noexcept;
  /// The device that holds it.
  device const& where() const noexcept { return where_; }
  device_ref ref() const&;
  device_ref ref() const&& = delete; ///< it points into the matrix

  /// The view inside, as in view<csr_view<double, int, int, space::cuda>>(); errc::unsupported if
  /// it is another.
  template <class View>
  requires view_traits<View>::is_view View view()
  const {
    View v;
    matrix_ref const wanted(v);
    check(wanted.format, wanted.type, wanted.space);
    __builtin_memcpy(static_cast<void*>(&v), view_.get(), sizeof v);
    v.serial = ref_.serial; // a plan for one is a plan for the other
    return v;
  }

private:
  friend device_matrix upload(matrix_ref a, device const& where);
  friend struct detail::device_maker;
  void check(tulle::format f, type_tag t, tulle::space s) const;

  matrix_ref ref_;
  device where_;
  std::unique_ptr<std::byte[]> view_; // what ref points at
  std::vector<detail::device_block> blocks_;
};

/// The same format, array by array, in device memory. errc::backend where there is no device.
/// convert() (op/convert.hpp) goes from there to another.
device_matrix upload(matrix_ref a, device const& where = {});
template <class A>
requires owner_traits<A>::is_owner || view_traits<A>::is_view device_matrix
upload(A const& a, device const& where = {}) {
  if constexpr (owner_traits<A>::is_owner)
    return upload(a.view(), where);
  else
    return upload(matrix_ref(a), where);
}
inline device_matrix upload(any_matrix const& a, device const& where = {}) {
  return upload(a.ref(), where);
}

/// As a csr in host memory. A csr comes back unchanged; other formats become canonical.
any_matrix download(device_matrix const& a, cpu const& where = {});

} // namespace tulle
