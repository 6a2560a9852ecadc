// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, and C = alpha A B + beta C: one loop over the entries of each format.
// What a call points at is read before it returns, but for what is in device memory.
#include "tulle/core/any_matrix.hpp"
#include "tulle/core/types.hpp"

#include "test/backend/cells.hpp"
#include "test/backend/entries.hpp"

#include <algorithm>
#include <type_traits>

namespace tulle::test_device {
namespace {

template <class View>
inline constexpr bool is_csr =
    std::is_same_v<View,
                   csr_view<typename View::value, typename View::index, typename View::offset>>;

work_place place_of(plan_view const& p) {
  return {p.device, p.stream, 0};
}

// A plan keeps something in each case, so that one that is used for another matrix is found out:
// of transposes the sums, of csr its row_ptr.
template <class View>
outcome prepare(void const* a, plan_view& plan, std::size_t& bytes) {
  View const& view = *static_cast<View const*>(a);
  plan.method = plan.wanted == spmv_method::automatic ? "loop" : name(plan.wanted);
  bytes = 0;
  if (plan.transposed)
    bytes = static_cast<std::size_t>(view.cols) * sizeof(typename View::value);
  else if (is_csr<View> && view.rows > 0)
    bytes = (static_cast<std::size_t>(view.rows) + 1) * sizeof(typename View::offset);
  return {};
}

template <class View>
outcome fill(void const* a, plan_view& plan) {
  return guarded([&] {
    if constexpr (is_csr<View>)
      if (View const view = *static_cast<View const*>(a); !plan.transposed && view.rows > 0)
        launch(place_of(plan), [view, work = plan.work] {
          std::copy_n(view.row_ptr, view.rows + 1, static_cast<typename View::offset*>(work));
        });
  });
}

template <class V>
V scaled(V beta, V y) {
  return beta == V(0) ? V(0) : beta * y;
}

template <class View>
outcome run(spmv_call const& c) {
  using V = typename View::value;
  return guarded([&] {
    work_place const at{c.plan->device, c.stream, 0};
    launch(at, [a = *static_cast<View const*>(c.a), alpha = *static_cast<V const*>(c.alpha),
                beta = *static_cast<V const*>(c.beta), x = static_cast<V const*>(c.x),
                y = static_cast<V*>(c.y), transposed = c.plan->transposed,
                work = c.plan->work]() mutable {
      using I = typename View::index;
      if (transposed) {
        V* const sum = static_cast<V*>(work);
        std::fill_n(sum, a.cols, V(0));
        each(a, [&](I i, I j, V v) { sum[j] += v * x[i]; });
        for (I j = 0; j < a.cols; ++j)
          y[j] = alpha * sum[j] + scaled(beta, y[j]);
        return;
      }
      if constexpr (is_csr<View>)
        a.row_ptr = static_cast<typename View::offset const*>(work);
      for (I i = 0; i < a.rows; ++i)
        y[i] = scaled(beta, y[i]);
      each(a, [&](I i, I j, V v) { y[i] += alpha * (v * x[j]); });
    });
  });
}

template <class View>
outcome prepare_dense(void const* a, detail::dense_ref const&, detail::dense_ref const&,
                      plan_view& plan, std::size_t& bytes) {
  return prepare<View>(a, plan, bytes);
}
template <class View>
outcome fill_dense(void const* a, detail::dense_ref const&, plan_view& plan) {
  return fill<View>(a, plan);
}

template <class View>
outcome run_dense(spmm_call const& k) {
  using V = typename View::value;
  return guarded([&] {
    launch(place_of(*k.plan),
           [a = *static_cast<View const*>(k.a), alpha = *static_cast<V const*>(k.alpha),
            beta = *static_cast<V const*>(k.beta), b = k.b, c = k.c,
            work = k.plan->work]() mutable {
             if constexpr (is_csr<View>)
               a.row_ptr = static_cast<typename View::offset const*>(work);
             auto const at = [](detail::dense_ref const& d, std::size_t i, std::size_t j) -> V& {
               return static_cast<V*>(d.data)[i * d.row_stride + j * d.col_stride];
             };
             using I = typename View::index;
             for (std::size_t i = 0; i < c.rows; ++i)
               for (std::size_t j = 0; j < c.cols; ++j)
                 at(c, i, j) = scaled(beta, at(c, i, j));
             each(a, [&](I i, I j, V v) {
               for (std::size_t q = 0; q < c.cols; ++q)
                 at(c, static_cast<std::size_t>(i), q) +=
                     alpha * (v * at(b, static_cast<std::size_t>(j), q));
             });
           });
  });
}

#define TULLE_SPMV(tag, V, I, O, format)                                                           \
  {prepare<format##_view<V, I, O>>, fill<format##_view<V, I, O>>, run<format##_view<V, I, O>>},
#define TULLE_SPMM(tag, V, I, O, format)                                                           \
  {prepare_dense<format##_view<V, I, O>>, fill_dense<format##_view<V, I, O>>,                      \
   run_dense<format##_view<V, I, O>>},
#define TULLE_BASIC(name)                                                                          \
  constexpr spmv_kernel spmv_of_##name[] = {TULLE_TYPES(TULLE_SPMV, name)                          \
                                                TULLE_BASIC_TYPES(TULLE_SPMV, name)};              \
  constexpr spmm_kernel spmm_of_##name[] = {TULLE_TYPES(TULLE_SPMM, name)                          \
                                                TULLE_BASIC_TYPES(TULLE_SPMM, name)};
TULLE_BASIC(csr)
TULLE_BASIC(csc)
TULLE_BASIC(coo)
constexpr spmv_kernel spmv_of_ell[] = {TULLE_TYPES(TULLE_SPMV, ell)};
constexpr spmv_kernel spmv_of_sell[] = {TULLE_TYPES(TULLE_SPMV, sell)};
#undef TULLE_BASIC
#undef TULLE_SPMM
#undef TULLE_SPMV

template <class Kernel, std::size_t n>
Kernel const* at(Kernel const (&cells)[n], int type) {
  return static_cast<std::size_t>(type) < n ? &cells[type] : nullptr;
}

} // namespace

spmv_kernel const* spmv(int f, int type) {
  switch (static_cast<format>(f)) {
  case format::csr:
    return at(spmv_of_csr, type);
  case format::csc:
    return at(spmv_of_csc, type);
  case format::coo:
    return at(spmv_of_coo, type);
  case format::ell:
    return at(spmv_of_ell, type);
  case format::sell:
    return at(spmv_of_sell, type);
  default:
    return nullptr;
  }
}

// The others go column by column.
spmm_kernel const* spmm(int f, int type) {
  switch (static_cast<format>(f)) {
  case format::csr:
    return at(spmm_of_csr, type);
  case format::csc:
    return at(spmm_of_csc, type);
  case format::coo:
    return at(spmm_of_coo, type);
  default:
    return nullptr;
  }
}

} // namespace tulle::test_device
