// SPDX-License-Identifier: Apache-2.0

// C = A .* B: rows are intersected twice, to count and to fill. Bytes that must move, double with
// 32-bit indices: 4 an entry of A and B to count; 12 of each to read and 12 to write an entry of C
// to fill; with a plan 8 of each at places of C, 8 to write and 8 for where they are.
#include "tulle/op/multiply_elements.hpp"

#include "tulle/core/limited.hpp"
#include "tulle/op/detail/canonical_operand.hpp"

#include "op/dense_operands.hpp"
#include "op/dot_row.hpp"
#include "op/each_row.hpp"
#include "op/known_pattern.hpp"
#include "op/merge_bits.hpp"
#include "reference/multiply_elements.hpp"

#include <chrono>

namespace tulle {
namespace {

using detail::canonical_operand;
using detail::check_operand;
using detail::search_intersection;
using detail::search_ratio;

template <class V, class I, class O>
void check_operands(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b, where const& w) {
  check_operand("multiply_elements", "A", a, w);
  check_operand("multiply_elements", "B", b, w);
  if (a.rows != b.rows || a.cols != b.cols)
    fail(errc::shape_mismatch, "multiply_elements: A is %lld x %lld but B is %lld x %lld",
         static_cast<long long>(a.rows), static_cast<long long>(a.cols),
         static_cast<long long>(b.rows), static_cast<long long>(b.cols));
}

/// Columns of a row.
template <class I>
struct columns {
  I const* at;
  std::size_t n;
};
template <class V, class I, class O>
columns<I> columns_of(csr_view<V, I, O> const& a, std::size_t i) {
  return {a.col + a.row_ptr[i], static_cast<std::size_t>(a.row_ptr[i + 1] - a.row_ptr[i])};
}

/// How many two ascending lists share. A step waits for the one before, so there are two that do
/// not wait for each other, from both ends. ms of both passes, from one end and from both: fem 11.5,
/// 10.7; rmat 17 8.9, 5.9.
template <class I>
std::size_t count_from_ends(columns<I> a, columns<I> b) {
  I const *p = a.at, *q = b.at, *r = p + a.n, *s = q + b.n;
  std::size_t n = 0;
  while (r - p >= 2 && s - q >= 2) { // the ends have no entry in common
    I const low_a = *p, low_b = *q, high_a = r[-1], high_b = s[-1];
    n += static_cast<std::size_t>(low_a == low_b) + static_cast<std::size_t>(high_a == high_b);
    p += low_a <= low_b;
    q += low_b <= low_a;
    r -= high_a >= high_b;
    s -= high_b >= high_a;
  }
  return n + detail::count_common(p, static_cast<std::size_t>(r - p), q,
                                  static_cast<std::size_t>(s - q));
}

template <class I>
std::size_t count_common(columns<I> a, columns<I> b) {
  if (a.n > b.n)
    std::swap(a, b);
  if (a.n == 0)
    return 0;
  if (a.n == b.n && detail::same_columns(a.at, b.at, a.n))
    return a.n;
  if (b.n / search_ratio < a.n)
    return count_from_ends(a, b);
  std::size_t n = 0;
  search_intersection(a.at, a.n, b.at, b.n, [&](std::size_t, std::size_t) { ++n; });
  return n;
}

/// match(n, k, l) where the n-th of `count` columns that both have is a's k-th and b's l-th. It may
/// be called before with another k and l.
template <class I, class Match>
void each_common(columns<I> a, columns<I> b, std::size_t count, Match const& match) {
  std::size_t n = 0;
  if (count == a.n && count == b.n) {
    for (; n < count; ++n)
      match(n, n, n);
  } else if (b.n / search_ratio >= a.n) {
    search_intersection(a.at, a.n, b.at, b.n,
                        [&](std::size_t k, std::size_t l) { match(n++, k, l); });
  } else if (a.n / search_ratio >= b.n) {
    search_intersection(b.at, b.n, a.at, a.n,
                        [&](std::size_t l, std::size_t k) { match(n++, k, l); });
  } else { // no branch asks whether two are equal; the count says when there are no more
    std::size_t k = 0, l = 0, k_end = a.n, l_end = b.n, end = count;
    while (end - n >= 2) {
      I const p = a.at[k], q = b.at[l], r = a.at[k_end - 1], s = b.at[l_end - 1];
      match(n, k, l);
      match(end - 1, k_end - 1, l_end - 1);
      n += p == q;
      k += p <= q;
      l += q <= p;
      end -= r == s;
      k_end -= r >= s;
      l_end -= s >= r;
    }
    while (n != end) {
      I const p = a.at[k], q = b.at[l];
      match(n, k, l);
      n += p == q;
      k += p <= q;
      l += q <= p;
    }
  }
}

/// f(i) for each row, by the entries of both.
template <class V, class I, class O, class F>
void each_row_of(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b, where const& w,
                 F const& f) {
  auto const rows = static_cast<std::size_t>(a.rows);
  int const parts = parts_for(
      static_cast<std::size_t>(a.nnz) + static_cast<std::size_t>(b.nnz) + rows, w.threads);
  detail::each_row_by([&](std::size_t i) { return detail::before(a, b, i); }, rows, parts, f);
}

/// C with its columns; values(i, n, k, l) for each entry n of row i, as each_common's match.
template <class V, class I, class O, class Values>
csr<V, I, O> intersected(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b, where const& w,
                         Values const& values) {
  csr<V, I, O> c = detail::build_rows<V, I, O>(
      "multiply_elements", w, static_cast<std::size_t>(a.rows), static_cast<std::size_t>(a.cols),
      [&](auto const& f) { each_row_of(a, b, w, f); },
      [&](std::size_t i) { return count_common(columns_of(a, i), columns_of(b, i)); },
      [&](std::size_t i, std::size_t count, I* col, V* val) {
        columns<I> const of_a = columns_of(a, i);
        each_common(of_a, columns_of(b, i), count,
                    [&](std::size_t n, std::size_t k, std::size_t l) {
                      col[n] = of_a.at[k];
                      values(i, val + n, k, l);
                    });
      });
  return c;
}

} // namespace

namespace detail {

template <class V, class I, class O>
csr<V, I, O> multiply_elements(where const& w, csr_view<V, I, O> a, csr_view<V, I, O> b) {
  stoppable const here;
  check_operands(a, b, w);
  return typed_memory("multiply_elements", [&] {
    canonical_operand<V, I, O> const of_a("multiply_elements", a, w);
    where rest = w;
    rest.workspace_limit -= w.workspace_limit == SIZE_MAX ? 0 : of_a.bytes;
    canonical_operand<V, I, O> const of_b("multiply_elements", b, rest);
    a = of_a.view;
    b = of_b.view;
    if (w.backend == backend::reference)
      return kernels::reference::multiply_elements(a, b, w.memory);
    return intersected(a, b, w, [&](std::size_t i, V* to, std::size_t k, std::size_t l) {
      *to = a.val[static_cast<std::size_t>(a.row_ptr[i]) + k] *
            b.val[static_cast<std::size_t>(b.row_ptr[i]) + l];
    });
  });
}

template <class V, class I, class O>
csr<V, I, O> multiply_elements(where const& w, csr_view<V, I, O> a, dense_view<V const> b) {
  check_operand("multiply_elements", "A", a, w);
  if (static_cast<std::size_t>(a.rows) != b.rows || static_cast<std::size_t>(a.cols) != b.cols)
    fail(errc::shape_mismatch, "multiply_elements: A is %lld x %lld but B is %zu x %zu",
         static_cast<long long>(a.rows), static_cast<long long>(a.cols), b.rows, b.cols);
  if (extent("multiply_elements", "B", b, sizeof(V)) != 0 && !b.data)
    fail(errc::bad_structure, "multiply_elements: B is null but is %zu x %zu", b.rows, b.cols);
  canonical_operand<V, I, O> const from("multiply_elements", a, w);
  a = from.view;
  csr<V, I, O> c = same_pattern(a, w);
  V* const to = c.val.data();
  if (w.backend == backend::reference) {
    kernels::reference::multiply_elements(a, b, to);
    return c;
  }
  each_row(a.row_ptr, b.rows, parts_of_rows(a, w), [&](std::size_t i) {
    for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
      to[k] = a.val[k] * b(i, static_cast<std::size_t>(a.col[k]));
  });
  return c;
}

} // namespace detail

template <class V, class I, class O>
multiply_elements_plan<V, I, O>::multiply_elements_plan(where const& w, csr_view<V, I, O> a,
                                                        csr_view<V, I, O> b)
    : where_(w) {
  detail::typed_memory("multiply_elements", [&] { make(a, b); });
}

template <class V, class I, class O>
void multiply_elements_plan<V, I, O>::make(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b) {
  where const& w = where_;
  auto const start = std::chrono::steady_clock::now();
  check_operands(a, b, w);
  a_canonical_ = a.is_canonical(w.as_cpu());
  b_canonical_ = b.is_canonical(w.as_cpu());
  a_ = detail::know(a, w.threads);
  b_ = detail::know(b, w.threads);
  if (w.backend == backend::reference) {
    result_ = detail::multiply_elements(w, a, b);
    path_ = "reference csr";
  } else {
    canonical_operand<V, I, O> const of_a("multiply_elements", a, w);
    where rest = w;
    rest.workspace_limit -= w.workspace_limit == SIZE_MAX ? 0 : of_a.bytes;
    canonical_operand<V, I, O> const of_b("multiply_elements", b, rest);
    result_ = intersected(of_a.view, of_b.view, w,
                          [](std::size_t, V* to, std::size_t, std::size_t) { *to = V(0); });
    std::size_t const n = result_.val.size();
    std::size_t const bytes = checked_mul(2 * sizeof(O), n, "multiply_elements");
    detail::check_workspace("multiply_elements", bytes + of_a.bytes + of_b.bytes, w);
    workspace_ = array<std::byte>(bytes, w.memory);
    auto* const from_a = reinterpret_cast<O*>(workspace_.data());
    O* const from_b = from_a + n;
    csr<V, I, O> const& c = result_;
    each_row_of(of_a.view, of_b.view, w, [&](std::size_t i) {
      O const first_a = of_a.view.row_ptr[i], first_b = of_b.view.row_ptr[i];
      auto const at = static_cast<std::size_t>(c.row_ptr[i]);
      each_common(columns_of(of_a.view, i), columns_of(of_b.view, i),
                  static_cast<std::size_t>(c.row_ptr[i + 1]) - at,
                  [&](std::size_t m, std::size_t k, std::size_t l) {
                    from_a[at + m] = static_cast<O>(first_a + static_cast<O>(k));
                    from_b[at + m] = static_cast<O>(first_b + static_cast<O>(l));
                  });
    });
    path_ = "cpu csr by places";
  }
  if (!a_canonical_ || !b_canonical_)
    path_ += a_canonical_   ? ", B sorted first"
             : b_canonical_ ? ", A sorted first"
                            : ", A and B sorted first";
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class V, class I, class O>
void multiply_elements_plan<V, I, O>::check_shape(csr_view<V, I, O> const& a,
                                                  csr_view<V, I, O> const& b) const {
  check_operands(a, b, where_);
  if (a.rows != result_.rows || a.cols != result_.cols)
    fail(errc::shape_mismatch, "multiply_elements: the plan is for %lld x %lld, A is %lld x %lld",
         static_cast<long long>(result_.rows), static_cast<long long>(result_.cols),
         static_cast<long long>(a.rows), static_cast<long long>(a.cols));
}

template <class V, class I, class O>
void multiply_elements_plan<V, I, O>::check(csr_view<V, I, O> a, csr_view<V, I, O> b) {
  detail::plan_turn const turn(*this, "multiply_elements");
  check_shape(a, b);
  detail::check_pattern("multiply_elements", "A", a, a_, where_.threads);
  detail::check_pattern("multiply_elements", "B", b, b_, where_.threads);
}

template <class V, class I, class O>
csr<V, I, O> const& multiply_elements_plan<V, I, O>::run(csr_view<V, I, O> a, csr_view<V, I, O> b) {
  detail::plan_turn const turn(*this, "multiply_elements");
  check_shape(a, b);
  detail::recognise("multiply_elements", "A", a, a_, where_.threads);
  detail::recognise("multiply_elements", "B", b, b_, where_.threads);
  if (where_.backend == backend::reference) {
    result_ = detail::multiply_elements(where_, a, b);
    return result_;
  }
  where rest = where_;
  rest.workspace_limit -= rest.workspace_limit == SIZE_MAX ? 0 : workspace_.bytes();
  csr<V, I, O> copy_a, copy_b;
  detail::limited const space("multiply_elements", rest);
  if (!a_canonical_)
    a = (copy_a = a.to_csr(space.counted())).view();
  if (!b_canonical_)
    b = (copy_b = b.to_csr(space.counted())).view();
  std::size_t const n = result_.val.size();
  auto const* const from_a = reinterpret_cast<O const*>(workspace_.data());
  O const* const from_b = from_a + n;
  int const parts = parts_for(n, where_.threads);
  parallel(parts, [&](int part) {
    std::size_t const end = split(n, part + 1, parts);
    for (std::size_t k = split(n, part, parts); k < end; ++k)
      result_.val[k] = a.val[from_a[k]] * b.val[from_b[k]];
  });
  return result_;
}

#define TULLE_MULTIPLY_ELEMENTS(tag, V, I, O)                                                      \
  template csr<V, I, O> detail::multiply_elements(where const&, csr_view<V, I, O>,                 \
                                                  csr_view<V, I, O>);                              \
  template csr<V, I, O> detail::multiply_elements(where const&, csr_view<V, I, O>,                 \
                                                  dense_view<V const>);                            \
  template class multiply_elements_plan<V, I, O>;
TULLE_TYPES(TULLE_MULTIPLY_ELEMENTS)
TULLE_BASIC_TYPES(TULLE_MULTIPLY_ELEMENTS)
#undef TULLE_MULTIPLY_ELEMENTS

} // namespace tulle
