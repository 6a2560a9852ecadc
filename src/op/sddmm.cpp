// SPDX-License-Identifier: Apache-2.0

// C = alpha (A B) .* spy(C) + beta C. Bytes that must move: A and B once, 4 an entry of 32-bit
// index, a value out. B's columns come in the order of C's, so beyond the caches each entry reads k
// values of B.
#include "tulle/op/sddmm.hpp"

#include "backend/cpu_csr.hpp"
#include "kernel/sddmm.hpp"
#include "op/dense_operands.hpp"
#include "op/each_row.hpp"
#include "reference/scale.hpp"
#include "reference/sddmm.hpp"

#include <complex>

namespace tulle::detail {
namespace {

/// A or B with steps of one along k. Copied where it has others, the entries are worth it and the
/// workspace limit has room.
template <class V>
class packed_lines {
public:
  /// `lines` of k values: line l begins at data + l * line_stride.
  packed_lines(dense_view<V const> d, bool by_columns, std::size_t entries, where const& w,
               std::size_t& left)
      : view_(d) {
    std::size_t const lines = by_columns ? d.cols : d.rows, k = by_columns ? d.rows : d.cols;
    std::size_t const step = by_columns ? d.row_stride : d.col_stride;
    std::size_t const apart = by_columns ? d.col_stride : d.row_stride;
    // A copy moves each value twice; without one an entry reads a cache line for each of its k.
    constexpr std::size_t worth = 4;
    std::size_t const bytes = checked_mul(lines, k, "sddmm") * sizeof(V);
    if (step == 1 || k <= 1 || lines / worth > entries || bytes > left)
      return;
    left -= bytes;
    copy_ = array<V>(lines * k, w.memory);
    V* const to = copy_.data();
    V const* const from = d.data;
    int const parts = parts_for(lines * k, w.threads);
    parallel(parts, [&](int part) {
      constexpr std::size_t block = 64; // lines at a time, which lie side by side
      constexpr std::size_t piece = 8;  // of each: a cache line of the copy is written at once
      std::size_t const end = split(lines, part + 1, parts);
      for (std::size_t l = split(lines, part, parts); l < end; l += block) {
        std::size_t const last = std::min(end, l + block);
        std::size_t q = 0;
        for (; q + piece <= k; q += piece)
          for (std::size_t m = l; m < last; ++m) {
            V const* const source = from + m * apart + q * step;
            V* const target = to + m * k + q;
            for (std::size_t p = 0; p < piece; ++p)
              target[p] = source[p * step];
          }
        for (; q < k; ++q)
          for (std::size_t m = l; m < last; ++m)
            to[m * k + q] = from[m * apart + q * step];
      }
    });
    view_.data = to;
    (by_columns ? view_.row_stride : view_.col_stride) = 1;
    (by_columns ? view_.col_stride : view_.row_stride) = k;
  }
  dense_view<V const> view() const { return view_; }

private:
  dense_view<V const> view_;
  array<V> copy_;
};

/// A byte per entry: 1 where its place comes earlier in the row. Nothing for a canonical C.
template <class V, class I, class O>
array<std::uint8_t> repeats_of(csr_view<V, I, O> const& c, where const& w, std::size_t& left) {
  if (c.is_canonical(w.as_cpu()))
    return {};
  auto const entries = static_cast<std::size_t>(c.nnz), cols = static_cast<std::size_t>(c.cols);
  std::size_t const each = checked_mul(cols, sizeof(I), "sddmm");
  auto parts = static_cast<std::size_t>(parts_of_rows(c, w));
  while (parts > 1 && checked_mul(parts, each, "sddmm") + entries > left)
    --parts;
  std::size_t const bytes = parts * each + entries;
  if (bytes > left)
    fail(errc::out_of_memory, "sddmm: %zu bytes of workspace wanted, the limit is %zu", bytes,
         left);
  left -= bytes;
  array<std::uint8_t> repeats(entries, w.memory);
  array<I> seen(parts * cols, I(-1), w.memory); // the row in which a column was met last
  auto const rows = static_cast<std::size_t>(c.rows);
  int const n = static_cast<int>(parts);
  parallel(n, [&](int part) {
    I* const last = seen.data() + static_cast<std::size_t>(part) * cols;
    std::size_t const end = split_by_entries(c.row_ptr, rows, part + 1, n);
    for (std::size_t i = split_by_entries(c.row_ptr, rows, part, n); i < end; ++i)
      for (O k = c.row_ptr[i]; k < c.row_ptr[i + 1]; ++k) {
        repeats[k] = last[c.col[k]] == static_cast<I>(i);
        last[c.col[k]] = static_cast<I>(i);
      }
  });
  return repeats;
}

template <class V, class I, class O>
void check_operands(where const& w, dense_view<V const> a, dense_view<V const> b,
                    csr_view<V, I, O> const& c, char const* who) {
  check_host_operand("sddmm", c, w);
  auto const rows = static_cast<std::size_t>(c.rows), cols = static_cast<std::size_t>(c.cols);
  if (a.rows != rows)
    fail(errc::shape_mismatch, "sddmm: A has %zu rows but %s has %zu", a.rows, who, rows);
  if (b.cols != cols)
    fail(errc::shape_mismatch, "sddmm: B has %zu columns but %s has %zu", b.cols, who, cols);
  if (a.cols != b.rows)
    fail(errc::shape_mismatch, "sddmm: A has %zu columns but B has %zu rows", a.cols, b.rows);
  if (extent("sddmm", "A", a, sizeof(V)) != 0 && !a.data)
    fail(errc::bad_structure, "sddmm: A is null but is %zu x %zu", a.rows, a.cols);
  if (extent("sddmm", "B", b, sizeof(V)) != 0 && !b.data)
    fail(errc::bad_structure, "sddmm: B is null but is %zu x %zu", b.rows, b.cols);
}

/// That `to` is apart from all that is read but C's values themselves.
template <class V, class I, class O>
void check_result(dense_view<V const> a, dense_view<V const> b, csr_view<V, I, O> const& c,
                  vector_view<V> to) {
  auto const n = static_cast<std::size_t>(c.nnz);
  if (to.size() != n)
    fail(errc::shape_mismatch, "sddmm: there are %zu values but C has %zu entries", to.size(), n);
  if (n != 0 && to.data() == nullptr)
    fail(errc::bad_structure, "sddmm: the values are null but there are %zu", n);
  check_apart("sddmm", "C", to, "A", a.data, extent("sddmm", "A", a, 1));
  check_apart("sddmm", "C", to, "B", b.data, extent("sddmm", "B", b, 1));
  csr_view<V, I, O> rest = c;
  if (to.data() == c.val)
    rest.val = nullptr;
  if (overlaps(rest, to.data(), to.data() + n))
    fail(errc::bad_structure, "sddmm: the result overlaps the arrays of C");
}

/// After all checks.
template <class V, class I, class O>
void multiply(where const& w, V alpha, dense_view<V const> a, dense_view<V const> b, V beta,
              csr_view<V, I, O> const& c, bool times_values, V* to) {
  auto const entries = static_cast<std::size_t>(c.nnz);
  if (alpha == V(0) || entries == 0) { // neither A nor B is read
    for (std::size_t e = 0; e < entries; ++e)
      to[e] = times_values || beta == V(0) ? V(0) : beta * c.val[e];
    return;
  }
  if (w.backend == backend::reference)
    return kernels::reference::sddmm(alpha, a, b, beta, c, times_values, to);
  std::size_t left = w.workspace_limit;
  array<std::uint8_t> const repeats = repeats_of(c, w, left);
  packed_lines<V> const of_a(a, false, entries, w, left), of_b(b, true, entries, w, left);
  sddmm_call const call{&alpha, of_a.view(),  of_b.view(),    &beta,
                        &c,     times_values, repeats.data(), to};
  sddmm_kernel const& kernel = formats::cpu_sddmm(active_isa(), type_of<V, I, O>::value);
  int const parts = parts_for(checked_mul(entries, a.cols + 1, "sddmm"), w.threads);
  parallel(parts, [&](int part) {
    kernel.run(call, static_cast<std::int64_t>(split(entries, part, parts)),
               static_cast<std::int64_t>(split(entries, part + 1, parts)));
  });
}

} // namespace

template <class V, class I, class O>
void sddmm(where const& w, V alpha, dense_view<V const> a, dense_view<V const> b, V beta,
           csr_view<V, I, O> c, vector_view<V> to) {
  check_operands(w, a, b, c, "C");
  check_result(a, b, c, to);
  multiply(w, alpha, a, b, beta, c, false, to.data());
}

template <class V, class I, class O>
csr<V, I, O> sddmm(where const& w, V alpha, dense_view<V const> a, dense_view<V const> b,
                   csr_view<V, I, O> s, sddmm_options o) {
  check_operands(w, a, b, s, "S");
  canonical_operand<V, I, O> const from("sddmm", s, w);
  csr<V, I, O> c = same_pattern(from.view, w);
  where rest = w;
  rest.workspace_limit -= w.workspace_limit == SIZE_MAX ? 0 : from.bytes;
  multiply(rest, alpha, a, b, V(0), from.view, o.times_values, c.val.data());
  return c;
}

#define TULLE_SDDMM(tag, V, I, O)                                                                  \
  template void sddmm(where const&, V, dense_view<V const>, dense_view<V const>, V,                \
                      csr_view<V, I, O>, vector_view<V>);                                          \
  template csr<V, I, O> sddmm(where const&, V, dense_view<V const>, dense_view<V const>,           \
                              csr_view<V, I, O>, sddmm_options);
TULLE_TYPES(TULLE_SDDMM)
TULLE_BASIC_TYPES(TULLE_SDDMM)
#undef TULLE_SDDMM

} // namespace tulle::detail
