// SPDX-License-Identifier: Apache-2.0

/// HYB, ell and coo: the first entries of each row, up to a width, as ell; the rest as coo.
///
///     1 . 2 .      width = 2      row_len   2 1 1 2              coo_row   3
///     . 3 . .      stride = 4     col       0 1 3 0   2 1 3 1    coo_col   2
///     . . . 4                     val       1 3 4 5   2 0 0 6    coo_val   7
///     5 6 7 .
///
/// Good for   rows of about one length and some long ones.
/// Bad for    lengths that spread over orders of magnitude: most entries are coo.
/// Space      (V + I) * width * stride + I * rows + (V + 2 I) * rest.
/// From       Liu, thesis 2015, sec. 5.3.1; Kirk & Hwu, Programming Massively Parallel Processors,
/// sec. 10.4; the width by Bell & Garland, SC 2009.
///
/// The width is the largest that a third of the rows reach: an entry in ell is taken to be three
/// times as fast as one in coo, so that a column of ell pays from a third full on. Padding is as in
/// ell.
///
/// Invariants (validate() checks all of them)
///   row_len, col and val are an ell
///   coo_row and coo_col ascend together, 0 <= coo_row[k] < rows, 0 <= coo_col[k] < cols
///   an entry of coo follows the last in ell of its row, and that row is full in ell
#pragma once
#include "tulle/format/coo.hpp"
#include "tulle/format/ell.hpp"

#include <optional>

namespace tulle {

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct hyb_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0;                  ///< in both parts, without padding
  I width = 0;                ///< of the ell
  std::size_t stride = 0;     ///< of the ell
  O rest = 0;                 ///< entries of the coo
  I const* row_len = nullptr; ///< rows: in the ell
  I const* col = nullptr;     ///< width * stride
  V const* val = nullptr;     ///< width * stride
  I const* coo_row = nullptr; ///< rest
  I const* coo_col = nullptr; ///< rest
  V const* coo_val = nullptr; ///< rest
  std::uint64_t serial = 0;   ///< of the owner's pattern; 0: borrowed arrays

  hyb_view() = default;
  hyb_view(unchecked_t, ell_view<V, I, O, S> const& regular, coo_view<V, I, O, S> const& others)
      : rows(regular.rows), cols(regular.cols), width(regular.width), stride(regular.stride),
        rest(others.nnz), row_len(regular.row_len), col(regular.col), val(regular.val),
        coo_row(others.row), coo_col(others.col), coo_val(others.val) {
    using unsigned_t = std::make_unsigned_t<O>; // the counts of a broken owner may be any
    nnz = static_cast<O>(static_cast<unsigned_t>(regular.nnz) +
                         static_cast<unsigned_t>(others.nnz));
  }
  /// Borrows the caller's arrays after checking every invariant, once: O(width * stride + rest).
  hyb_view(I rows, I cols, I width, std::size_t stride, std::span<I const> row_len,
           std::span<I const> col, std::span<V const> val, std::span<I const> coo_row,
           std::span<I const> coo_col, std::span<V const> coo_val) requires(S == space::host);

  /// The two parts.
  ell_view<V, I, O, S> regular() const {
    using unsigned_t = std::make_unsigned_t<O>; // a broken owner may have any
    auto const n = static_cast<O>(static_cast<unsigned_t>(nnz) - static_cast<unsigned_t>(rest));
    return {unchecked, rows, cols, n, width, stride, row_len, col, val};
  }
  coo_view<V, I, O, S> others() const {
    return {unchecked, rows, cols, rest, coo_row, coo_col, coo_val};
  }

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    std::size_t const stored = regular().stored();
    f("row_len", row_len, static_cast<std::size_t>(rows));
    f("col", col, stored);
    f("val", val, stored);
    f("coo_row", coo_row, static_cast<std::size_t>(rest));
    f("coo_col", coo_col, static_cast<std::size_t>(rest));
    f("coo_val", coo_val, static_cast<std::size_t>(rest));
  }

  void validate() const;
  csr<V, I, O> to_csr(cpu const& where = {}) const;
};

struct hyb_options {
  int width = 0;    ///< of the ell; 0: by the lengths of the rows
  double limit = 8; ///< times the bytes of csr, above which a matrix is refused

  template <class F>
  void fields(F&& f) {
    f("width", width);
    f("limit", limit);
  }
  static constexpr char const* variants[] = {"width=1", "width=3", "width=64"};
};

template <class V, class I = std::int32_t, class O = I>
struct hyb {
  using options = hyb_options;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  I width = 0;
  std::size_t stride = 0;
  array<I> row_len;
  array<I> col;
  array<V> val;
  array<I> coo_row;
  array<I> coo_col;
  array<V> coo_val;
  detail::serial_number serial; ///< of the pattern

  hyb() = default;
  /// Takes arrays over after checking every invariant.
  hyb(I rows, I cols, I width, std::size_t stride, array<I> row_len, array<I> col, array<V> val,
      array<I> coo_row, array<I> coo_col, array<V> coo_val);
  /// Puts two parts of one shape together.
  hyb(unchecked_t, ell<V, I, O> regular, coo<V, I, O> others)
      : rows(regular.rows), cols(regular.cols),
        nnz(static_cast<O>(static_cast<std::size_t>(regular.nnz) + others.val.size())),
        width(regular.width), stride(regular.stride), row_len(std::move(regular.row_len)),
        col(std::move(regular.col)), val(std::move(regular.val)), coo_row(std::move(others.row)),
        coo_col(std::move(others.col)), coo_val(std::move(others.val)) {}

  static hyb from_csr(csr_view<V, I, O> a, hyb_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  /// New values on the same pattern; errc::bad_structure if the pattern differs.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  hyb_view<V, I, O> view() const& {
    auto const rest = static_cast<O>(coo_val.size());
    using bits = std::make_unsigned_t<O>; // nnz may be anything in an owner that is broken
    auto const first = static_cast<O>(static_cast<bits>(nnz) - static_cast<bits>(rest));
    return detail::numbered(
        hyb_view<V, I, O>{
            unchecked,
            {unchecked, rows, cols, first, width, stride, row_len.data(), col.data(), val.data()},
            {unchecked, rows, cols, rest, coo_row.data(), coo_col.data(), coo_val.data()}},
        serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const;
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.row_len, m.col, m.val, m.coo_row, m.coo_col, m.coo_val);
  }
  friend bool operator==(hyb const&, hyb const&) = default;
};

namespace detail {

inline void check_hyb_options(hyb_options const& o) {
  check_limit("hyb", o.limit);
  if (o.width < 0)
    fail(errc::unsupported, "hyb: option width is %d, expected 0 or more", o.width);
}

/// The bytes of an ell of that width and so many entries beside it.
template <class V, class I>
double hyb_bytes(std::size_t rows, I width, std::size_t rest) {
  return ell_bytes<V>(rows, width) +
         static_cast<double>(rest) * static_cast<double>(sizeof(V) + 2 * sizeof(I));
}

/// The largest width that a third of the rows reach. So many rows of so many entries are nnz at
/// most: the histogram ends there, however long the longest row is.
template <class O>
std::size_t width_by_lengths(O const* row_ptr, std::size_t rows, cpu const& where) {
  if (rows == 0)
    return 0;
  std::size_t const third = (rows + 2) / 3;
  std::size_t const most = static_cast<std::size_t>(row_ptr[rows]) / third;
  int const parts = parts_for(rows, where.threads, most + (1 << 17));
  // Rows of each length, of `most` and more in the last.
  array<std::size_t> count(checked_mul(most + 1, static_cast<std::size_t>(parts), "hyb"),
                           where.memory);
  parallel(parts, [&](int part) {
    std::size_t* const mine = count.data() + static_cast<std::size_t>(part) * (most + 1);
    std::fill_n(mine, most + 1, std::size_t{0});
    for (std::size_t i = split(rows, part, parts), end = split(rows, part + 1, parts); i < end; ++i)
      ++mine[std::min(most, static_cast<std::size_t>(row_ptr[i + 1] - row_ptr[i]))];
  });
  std::size_t width = most;
  for (std::size_t reach = 0; width > 0; --width) {
    for (std::size_t part = 0; part < static_cast<std::size_t>(parts); ++part)
      reach += count[part * (most + 1) + width];
    if (reach >= third)
      break;
  }
  return width;
}

/// What a row holds beyond the width.
template <class O>
std::size_t beyond(O const* row_ptr, std::size_t i, std::size_t width) {
  auto const length = static_cast<std::size_t>(row_ptr[i + 1] - row_ptr[i]);
  return length > width ? length - width : 0;
}

/// The entries beyond the width, in order whatever the number of parts: each part of the rows knows
/// how many lie before it.
template <class O>
struct rest_parts {
  O const* row_ptr;
  std::size_t rows;
  std::size_t width;
  int parts;
  array<std::size_t> before; // of each part

  rest_parts(O const* row_ptr, std::size_t rows, std::size_t nnz, std::size_t width,
             cpu const& where)
      : row_ptr(row_ptr), rows(rows), width(width), parts(parts_for(nnz + rows, where.threads)),
        before(static_cast<std::size_t>(parts) + 1, where.memory) {
    before[0] = 0;
    parallel(parts, [&](int part) {
      std::size_t sum = 0;
      for (std::size_t i = begin(part), end = begin(part + 1); i < end; ++i)
        sum += beyond(row_ptr, i, width);
      before[static_cast<std::size_t>(part) + 1] = sum;
    });
    for (std::size_t p = 0; p < static_cast<std::size_t>(parts); ++p)
      before[p + 1] += before[p];
  }

  std::size_t begin(int part) const {
    return rows == 0 ? 0 : split_by_entries(row_ptr, rows, part, parts);
  }
  std::size_t size() const { return before[static_cast<std::size_t>(parts)]; }

  /// f(i, k, n, at) for each row i with n entries beyond the width, k and up, which are `at` and
  /// up of all such.
  template <class F>
  void each(F&& f) const {
    if (size() == 0)
      return;
    parallel(parts, [&](int part) {
      std::size_t at = before[static_cast<std::size_t>(part)];
      for (std::size_t i = begin(part), end = begin(part + 1); i < end; ++i) {
        std::size_t const n = beyond(row_ptr, i, width);
        if (n != 0)
          f(i, static_cast<std::size_t>(row_ptr[i + 1]) - n, n, at);
        at += n;
      }
    });
  }
};

} // namespace detail

template <class V, class I, class O, space S>
hyb_view<V, I, O, S>::hyb_view(I rows, I cols, I width, std::size_t stride,
                               std::span<I const> row_len, std::span<I const> col,
                               std::span<V const> val, std::span<I const> coo_row,
                               std::span<I const> coo_col,
                               std::span<V const> coo_val) requires(S == space::host)
    : rows(rows), cols(cols), width(width), stride(stride), row_len(row_len.data()),
      col(col.data()), val(val.data()), coo_row(coo_row.data()), coo_col(coo_col.data()),
      coo_val(coo_val.data()) {
  std::size_t const first =
      detail::check_ell_sizes("hyb", rows, cols, width, stride, row_len, col.size(), val.size());
  if (coo_row.size() != coo_val.size() || coo_col.size() != coo_val.size())
    fail(errc::bad_structure, "hyb: %zu row indices, %zu column indices, %zu values in coo",
         coo_row.size(), coo_col.size(), coo_val.size());
  rest = narrow<O>(coo_val.size(), "number of entries");
  nnz = narrow<O>(first + coo_val.size(), "number of entries");
  validate();
}

template <class V, class I, class O, space S>
void hyb_view<V, I, O, S>::validate() const {
  if (rest < 0 || nnz < rest)
    fail(errc::bad_structure, "hyb: %lld entries, %lld of them in coo", static_cast<long long>(nnz),
         static_cast<long long>(rest));
  detail::check_ell("hyb", regular());
  auto const n = static_cast<std::size_t>(rest);
  detail::check_indices("hyb: coo_row", coo_row, n, rows);
  detail::check_indices("hyb: coo_col", coo_col, n, cols);
  detail::check_present("hyb: coo_val", coo_val, n);
  int const parts = detail::parts_for(n, 0, 1 << 18);
  detail::parallel(parts, [&](int part) {
    for (std::size_t k = detail::split(n, part, parts), end = detail::split(n, part + 1, parts);
         k < end; ++k) {
      auto const i = static_cast<std::size_t>(coo_row[k]);
      if (row_len[i] != width)
        fail(errc::bad_structure, "hyb: coo[%zu] is in row %zu, which holds %lld of %lld in ell", k,
             i, static_cast<long long>(row_len[i]), static_cast<long long>(width));
      if (k > 0 && coo_row[k] < coo_row[k - 1])
        fail(errc::bad_structure, "hyb: coo_row[%zu] is %lld after %lld, expected ascending", k,
             static_cast<long long>(coo_row[k]), static_cast<long long>(coo_row[k - 1]));
      bool const goes_on = k > 0 && coo_row[k] == coo_row[k - 1];
      if (!goes_on && width == 0)
        continue;
      I const before =
          goes_on ? coo_col[k - 1] : col[static_cast<std::size_t>(width - 1) * stride + i];
      if (coo_col[k] <= before)
        fail(errc::bad_structure,
             "hyb: coo_col[%zu] is %lld after %lld in row %zu, expected ascending", k,
             static_cast<long long>(coo_col[k]), static_cast<long long>(before), i);
    }
  });
}

template <class V, class I, class O, space S>
csr<V, I, O> hyb_view<V, I, O, S>::to_csr(cpu const& where) const {
  auto const lines = static_cast<std::size_t>(rows);
  auto const entries = static_cast<std::size_t>(nnz);
  auto const n = static_cast<std::size_t>(rest);
  csr<V, I, O> c(unchecked, rows, cols, array<O>(lines + 1, where.memory),
                 array<I>(entries, where.memory), array<V>(entries, where.memory));
  // Where a row's entries in coo begin, and with those of ell before it, where it does.
  array<O> const rest_ptr = detail::counting_sort<O>(
      lines, n,
      [&](int part, int parts, auto&& f) {
        for (std::size_t k = detail::split(n, part, parts), end = detail::split(n, part + 1, parts);
             k < end; ++k)
          f(static_cast<std::size_t>(coo_row[k]));
      },
      [](std::size_t, O const*) {}, where);
  array<O> const first_ptr = detail::pointers_of<O>(
      lines, [&](std::size_t i) { return row_len[i]; }, where);
  for (std::size_t i = 0; i <= lines; ++i)
    c.row_ptr[i] = static_cast<O>(first_ptr[i] + rest_ptr[i]);
  detail::each_entry(regular(), where, [&](std::size_t i, std::size_t s, std::size_t at) {
    std::size_t const k = static_cast<std::size_t>(c.row_ptr[i]) + s;
    c.col[k] = col[at];
    c.val[k] = val[at];
  });
  int const parts = detail::parts_for(n, where.threads);
  detail::parallel(parts, [&](int part) {
    for (std::size_t k = detail::split(n, part, parts), end = detail::split(n, part + 1, parts);
         k < end; ++k) {
      std::size_t const at =
          static_cast<std::size_t>(first_ptr[static_cast<std::size_t>(coo_row[k]) + 1]) + k;
      c.col[at] = coo_col[k];
      c.val[at] = coo_val[k];
    }
  });
  return c;
}

template <class V, class I, class O>
hyb<V, I, O>::hyb(I rows, I cols, I width, std::size_t stride, array<I> row_len, array<I> col,
                  array<V> val, array<I> coo_row, array<I> coo_col, array<V> coo_val)
    : rows(rows), cols(cols), width(width), stride(stride), row_len(std::move(row_len)),
      col(std::move(col)), val(std::move(val)), coo_row(std::move(coo_row)),
      coo_col(std::move(coo_col)), coo_val(std::move(coo_val)) {
  nnz = hyb_view<V, I, O>(rows, cols, width, stride, this->row_len, this->col, this->val,
                          this->coo_row, this->coo_col, this->coo_val)
            .nnz;
}

template <class V, class I, class O>
void hyb<V, I, O>::validate() const {
  hyb_view<V, I, O> const seen(rows, cols, width, stride, row_len, col, val, coo_row, coo_col,
                               coo_val);
  if (seen.nnz != nnz)
    view().validate(); // says so
}

template <class V, class I, class O>
hyb<V, I, O> hyb<V, I, O>::from_csr(csr_view<V, I, O> a, hyb_options o, cpu const& where) {
  detail::check_hyb_options(o);
  detail::canonical<V, I, O> const c(a, where);
  O const* const row_ptr = c.view.row_ptr;
  auto const n = static_cast<std::size_t>(c.view.rows);
  // No width is above that of the longest row, which is an I.
  std::size_t const width =
      o.width == 0 ? detail::width_by_lengths(row_ptr, n, where)
                   : std::min(static_cast<std::size_t>(o.width),
                              static_cast<std::size_t>(detail::longest_row(row_ptr, n, where)));
  detail::rest_parts<O> const parts(row_ptr, n, static_cast<std::size_t>(c.view.nnz), width, where);
  std::size_t const rest = parts.size();
  detail::check_room("hyb", detail::hyb_bytes<V>(n, static_cast<I>(width), rest),
                     detail::bytes_of(c.view), o.limit);
  coo<V, I, O> others(unchecked, a.rows, a.cols, array<I>(rest, where.memory),
                      array<I>(rest, where.memory), array<V>(rest, where.memory));
  parts.each([&](std::size_t i, std::size_t k, std::size_t count, std::size_t at) {
    std::fill_n(others.row.data() + at, count, static_cast<I>(i));
    std::copy_n(c.view.col + k, count, others.col.data() + at);
    std::copy_n(c.view.val + k, count, others.val.data() + at);
  });
  return {unchecked, detail::first_entries(c.view, static_cast<I>(width), where),
          std::move(others)};
}

template <class V, class I, class O>
void hyb<V, I, O>::refill(csr_view<V, I, O> a, cpu const& where) {
  detail::check_arrays("hyb", *this);
  std::optional<detail::rest_parts<O>> rest;
  detail::refill_if(
      "hyb", rows, cols, nnz, a, where,
      [&](csr_view<V, I, O> const& c) {
        if (!detail::holds_first_entries(view().regular(), c, where))
          return false;
        rest.emplace(c.row_ptr, static_cast<std::size_t>(rows), static_cast<std::size_t>(nnz),
                     static_cast<std::size_t>(width), where);
        bool good = rest->size() == coo_val.size();
        if (good)
          rest->each([&](std::size_t i, std::size_t k, std::size_t n, std::size_t at) {
            I other = 0; // no branch an entry
            for (std::size_t e = 0; e < n; ++e)
              other |= static_cast<I>((coo_row[at + e] ^ static_cast<I>(i)) |
                                      (coo_col[at + e] ^ c.col[k + e]));
            if (other != 0)
              __atomic_store_n(&good, false, __ATOMIC_RELAXED);
          });
        return good;
      },
      [&](csr_view<V, I, O> const& c) {
        detail::refill_first_entries(view().regular(), c, val.data(), where);
        rest->each([&](std::size_t, std::size_t k, std::size_t n, std::size_t at) {
          std::copy_n(c.val + k, n, coo_val.data() + at);
        });
      });
}

} // namespace tulle
