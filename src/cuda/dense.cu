// SPDX-License-Identifier: Apache-2.0

// Operations on dense operands that products need: C = beta C, a copy of a column between strides,
// and conjugates.
#include "cuda/conjugate.cuh"
#include "cuda/dense.hpp"
#include "cuda/scale.cuh"
#include "cuda/spmm/scale_dense.cuh"
#include "cuda/types.hpp"

namespace tulle::kernels::cuda {
namespace {

using detail::dense_ref;
using detail::value_kind;

/// Calls f(V{}) with the kernels' type for the values, on the device and the stream of the call.
template <class F>
outcome on(work_place const& at, value_kind kind, F const& f) {
  return guarded([&] {
    device_guard const here(at.device);
    switch (kind) {
    case value_kind::f32:
      return f(float{});
    case value_kind::f64:
      return f(double{});
    case value_kind::c32:
      return f(complex<float>{});
    case value_kind::c64:
      return f(complex<double>{});
    }
  });
}

template <class V>
void copy(V* to, std::size_t to_stride, V const* from, std::size_t from_stride, std::size_t n,
          void* stream) {
  check_aligned<V, V>(to, from);
  each(n, stream, [=] __device__(std::size_t k) { to[k * to_stride] = from[k * from_stride]; });
}

} // namespace

outcome scale_there(work_place const& at, value_kind kind, void const* beta, dense_ref const& c) {
  return on(at, kind, [&]<class V>(V) {
    auto* const first = static_cast<V*>(c.data);
    check_aligned(static_cast<V const*>(first));
    if (c.cols == 1 && c.row_stride == 1)
      scale(factor_at<V>(beta), first, c.rows, at.queue);
    else
      scale_dense(factor_at<V>(beta), c, at.queue);
  });
}

outcome conjugate_there(work_place const& at, value_kind kind, dense_ref const& from,
                        dense_ref const& to) {
  return on(at, kind, [&]<class V>(V) { conjugate_dense<V>(from, to, at.queue); });
}

outcome copy_column_there(work_place const& at, value_kind kind, void* to, std::size_t to_stride,
                          void const* from, std::size_t from_stride, std::size_t n) {
  return on(at, kind, [&]<class V>(V) {
    copy(static_cast<V*>(to), to_stride, static_cast<V const*>(from), from_stride, n, at.queue);
  });
}

} // namespace tulle::kernels::cuda
