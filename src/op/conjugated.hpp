// SPDX-License-Identifier: Apache-2.0

// Products with adjoint(a) and conjugated(a) of complex values, by those without conjugation:
// conj(A) B = conj(A conj(B)). A conjugation changes a sign bit, so undoing it after a failure is
// exact, and the sums are rounded as those of the other product.
#pragma once
#include "tulle/core/narrow.hpp"

#include "backend/tables.hpp"
#include "op/operands.hpp"

#include <complex>

namespace tulle::detail {

inline bool is_complex(value_kind kind) {
  return kind == value_kind::c32 || kind == value_kind::c64;
}

/// Bytes of a copy of b, and b as it lies there.
inline std::size_t copy_bytes(char const* op, dense_ref const& b, value_kind kind) {
  return checked_mul(checked_mul(b.rows, b.cols, op), bytes_of(kind), op);
}
inline dense_ref copy_at(void* data, dense_ref b) {
  b.data = data;
  b.row_stride = b.cols;
  b.col_stride = 1;
  return b;
}

/// Memory for a copy, where the policy works: what a plan keeps for it, else its own for one call.
/// On a device that is of the queue's pool, which takes it back in the queue's order.
class copy_memory {
public:
  copy_memory(where const& w, void* kept, std::size_t bytes) : kept_(kept) {
    if (kept)
      return;
    if (space_of(w) == space::host) {
      here_ = array<std::byte>(bytes, w.memory);
    } else {
      device d = w.as_device();
      d.memory = nullptr;
      there_ = device_block(bytes, d);
    }
  }
  void* data() {
    return kept_ ? kept_ : there_.data() ? there_.data() : static_cast<void*>(here_.data());
  }

private:
  void* kept_;
  array<std::byte> here_;
  device_block there_;
};

/// product(&conj_alpha, copy, &conj_beta), which has c's conjugate for C, for a copy of b's
/// conjugate. c is not read where beta is zero, and as it was where the product fails.
template <class Product>
void multiply_conjugated(char const* op, where const& w, value_kind kind, void const* alpha,
                         dense_ref const& b, dense_ref const& copy, void const* beta,
                         dense_ref const& c, Product const& product) {
  auto const& conjugate = table_of(w.backend).conjugate;
  work_place const at = place_of(w);
  check(conjugate(at, kind, b, copy), op);
  with_value(kind, [&]<class V>(V) {
    if constexpr (!std::is_floating_point_v<V>) {
      V const conj_alpha = std::conj(*static_cast<V const*>(alpha));
      V const conj_beta = std::conj(*static_cast<V const*>(beta));
      bool const reads_c = conj_beta != V(0);
      if (reads_c)
        check(conjugate(at, kind, c, c), op);
      try {
        product(&conj_alpha, &conj_beta);
      } catch (...) {
        if (reads_c)
          conjugate(at, kind, c, c);
        throw;
      }
      check(conjugate(at, kind, c, c), op);
    }
  });
}

} // namespace tulle::detail
