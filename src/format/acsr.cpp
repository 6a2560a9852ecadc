// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/acsr.hpp"

#include "tulle/core/limited.hpp"

#include "format/detail/check_pointers.hpp"
#include "format/detail/counting_sort.hpp"
#include "format/detail/refill.hpp"
#include "format/detail/row_lengths.hpp"
#include "format/instantiate.hpp"

namespace tulle {

template <class V, class I, class O, space S>
acsr_view<V, I, O, S>::acsr_view(csr_view<V, I, O> const& a, std::span<I const> bin_ptr,
                                 std::span<I const> bin_row) requires(S == space::host)
    : acsr_view(unchecked, a, I(0), bin_ptr.data(), bin_row.data()) {
  detail::check_shape("acsr", rows, cols);
  if (bin_row.size() != static_cast<std::size_t>(rows))
    fail(errc::bad_structure, "acsr: bin_row has %zu elements, expected %lld", bin_row.size(),
         static_cast<long long>(rows));
  if (bin_ptr.empty())
    this->bin_ptr = nullptr;
  else
    bins = narrow<I>(bin_ptr.size() - 1, "number of bins");
  validate();
}

template <class V, class I, class O, space S>
void acsr_view<V, I, O, S>::validate() const {
  as_csr().validate();
  if (bins < 0 || bins > detail::most_bins)
    fail(errc::bad_structure, "acsr: %lld bins, expected 0 to %d", static_cast<long long>(bins),
         detail::most_bins);
  auto const n = static_cast<std::size_t>(bins);
  detail::check_pointers("acsr: bin_ptr", bin_ptr, n, rows);
  detail::check_indices("acsr: bin_row", bin_row, static_cast<std::size_t>(rows), rows);
  // A row has one bin and ascends in it: so each is there once.
  for (std::size_t b = 0; b < n; ++b)
    for (auto q = static_cast<std::size_t>(bin_ptr[b]);
         q < static_cast<std::size_t>(bin_ptr[b + 1]); ++q) {
      I const i = bin_row[q];
      if (std::cmp_greater(q, bin_ptr[b]) && i <= bin_row[q - 1])
        fail(errc::bad_structure, "acsr: bin_row[%zu] is %lld after %lld, expected ascending", q,
             static_cast<long long>(i), static_cast<long long>(bin_row[q - 1]));
      auto const length = static_cast<std::size_t>(row_ptr[i + 1] - row_ptr[i]);
      if (detail::bin_of(length) != b)
        fail(errc::bad_structure, "acsr: row %lld of %zu entries is in bin %zu",
             static_cast<long long>(i), length, b);
    }
}

template <class V, class I, class O>
acsr<V, I, O> acsr<V, I, O>::from_csr(csr_view<V, I, O> a, acsr_options o, cpu const& policy) {
  detail::limited const space("acsr", policy);
  cpu const& where = space.counted();
  csr<V, I, O> c = csr<V, I, O>::from_csr(a, {}, where);
  auto const n = static_cast<std::size_t>(c.rows);
  auto const bin = [ptr = c.row_ptr.data()](std::size_t i) {
    return detail::bin_of(static_cast<std::uint64_t>(ptr[i + 1] - ptr[i]));
  };
  acsr b;
  b.rows = c.rows;
  b.cols = c.cols;
  b.streams = o.streams;
  b.bin_row = array<I>(n, where.memory);
  auto const longest =
      static_cast<std::uint64_t>(n == 0 ? O(0) : detail::longest_row(c.row_ptr.data(), n, where));
  b.bin_ptr = detail::counting_sort<I>(
      n == 0 ? 0 : detail::bin_of(longest) + 1, n,
      [&](int part, int parts, auto&& f) {
        for (std::size_t i = split(n, part, parts), end = split(n, part + 1, parts); i < end; ++i)
          f(bin(i), static_cast<I>(i));
      },
      [to = b.bin_row.data()](std::size_t at, I const*, I i) { to[at] = i; }, where);
  b.row_ptr = std::move(c.row_ptr);
  b.col = std::move(c.col);
  b.val = std::move(c.val);
  return b;
}

template <class V, class I, class O>
void acsr<V, I, O>::refill(csr_view<V, I, O> a, cpu const& policy) {
  detail::limited const space("acsr", policy);
  cpu const& where = space.counted();
  detail::check_arrays("acsr", *this);
  detail::refill_rows("acsr", rows, cols, view().nnz, a, row_ptr.data(), col.data(), val.data(),
                      where);
}

} // namespace tulle

TULLE_INSTANTIATE_FORMAT(acsr, every)
