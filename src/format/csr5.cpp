// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/csr5.hpp"

#include "tulle/core/limited.hpp"

#include "format/detail/canonical.hpp"
#include "format/detail/check_pointers.hpp"
#include "format/detail/copy.hpp"
#include "format/detail/csr5_tiles.hpp"
#include "format/detail/refill.hpp"
#include "format/instantiate.hpp"

namespace tulle {
namespace detail {

/// tile_ptr, tile_desc and the two arrays of empty rows, from row_ptr.
template <class V, class I, class O>
void describe_tiles(O const* row_ptr, csr5<V, I, O>& b, std::size_t nnz, cpu const& where) {
  if (nnz == 0)
    return;
  using describer = csr5_describer<I, O>;
  auto const rows = static_cast<std::size_t>(b.rows);
  auto const lanes = static_cast<std::size_t>(b.omega);
  std::size_t const n = lanes * static_cast<std::size_t>(b.sigma);
  std::size_t const whole = nnz / n;
  std::size_t const tiles = whole + (nnz % n != 0);
  b.tile_ptr = array<csr5_pointer<I>>(tiles + 1, where.memory);
  b.tile_desc = array<std::uint32_t>(whole * lanes, where.memory);
  b.empty_offset_ptr = array<O>(whole > 0 ? whole + 1 : 0, where.memory);
  int const parts = parts_for(nnz, where.threads);
  parallel(parts, [&](int part) {
    std::size_t const end = split(tiles, part + 1, parts);
    std::size_t const begin = split(tiles, part, parts);
    describer d(row_ptr, rows, nnz, b.omega, b.sigma, begin);
    for (std::size_t t = begin; t < end; ++t) {
      d.describe(t);
      b.tile_ptr[t] = static_cast<csr5_pointer<I>>(d.first) | (d.has_empty ? csr5_mark<I> : 0);
      if (t < whole) {
        std::copy_n(d.words, lanes, b.tile_desc.data() + t * lanes);
        b.empty_offset_ptr[t + 1] = d.has_empty ? static_cast<O>(d.segments) : 0;
      }
    }
  });
  b.tile_ptr[tiles] = static_cast<csr5_pointer<I>>(rows);
  if (whole == 0)
    return;
  b.empty_offset_ptr[0] = 0;
  for (std::size_t t = 0; t < whole; ++t)
    b.empty_offset_ptr[t + 1] = static_cast<O>(b.empty_offset_ptr[t + 1] + b.empty_offset_ptr[t]);
  b.empty_offset = array<I>(static_cast<std::size_t>(b.empty_offset_ptr[whole]), where.memory);
  parallel(parts, [&](int part) {
    std::size_t const end = split(whole, part + 1, parts);
    std::size_t const begin = split(whole, part, parts);
    describer d(row_ptr, rows, nnz, b.omega, b.sigma, begin);
    for (std::size_t t = begin; t < end; ++t) {
      if (!(b.tile_ptr[t] & csr5_mark<I>))
        continue;
      I* out = b.empty_offset.data() + b.empty_offset_ptr[t];
      d.next = b.tile_ptr[t] & ~csr5_mark<I>;
      d.rows_of(t, [&](std::size_t i, std::size_t) { *out++ = static_cast<I>(i - d.first); });
    }
  });
}

} // namespace detail

template <class V, class I, class O, space S>
csr5_view<V, I, O, S>::csr5_view(I rows, I cols, int omega, int sigma, std::span<O const> row_ptr,
                                 std::span<tile_pointer const> tile_ptr,
                                 std::span<std::uint32_t const> tile_desc,
                                 std::span<O const> empty_offset_ptr,
                                 std::span<I const> empty_offset, std::span<I const> col,
                                 std::span<V const> val) requires(S == space::host)
    : rows(rows), cols(cols), omega(omega), sigma(sigma), row_ptr(row_ptr.data()),
      tile_ptr(tile_ptr.data()), tile_desc(tile_desc.data()),
      empty_offset_ptr(empty_offset_ptr.data()), empty_offset(empty_offset.data()), col(col.data()),
      val(val.data()) {
  detail::check_shape("csr5", rows, cols);
  nnz = detail::check_sizes<O>("csr5", row_ptr.size(), rows, col.size(), val.size());
  detail::check_csr5_shape(errc::bad_structure, omega, sigma);
  offsets = narrow<O>(empty_offset.size(), "number of empty_offset");
  auto const expect = [](char const* name, std::size_t size, std::size_t expected) {
    if (size != expected)
      fail(errc::bad_structure, "csr5: %s has %zu elements, expected %zu", name, size, expected);
  };
  std::size_t const whole = whole_tiles();
  expect("tile_ptr", tile_ptr.size(), nnz > 0 ? tiles() + 1 : 0);
  expect("tile_desc", tile_desc.size(), whole * static_cast<std::size_t>(omega));
  expect("empty_offset_ptr", empty_offset_ptr.size(), whole > 0 ? whole + 1 : 0);
  validate();
}

template <class V, class I, class O, space S>
void csr5_view<V, I, O, S>::validate() const {
  detail::check_shape("csr5", rows, cols);
  detail::check_csr5_shape(errc::bad_structure, omega, sigma);
  auto const n = static_cast<std::size_t>(rows);
  detail::check_pointers("csr5: row_ptr", row_ptr, n, nnz);
  detail::check_indices("csr5: col", col, static_cast<std::size_t>(nnz), cols);
  arrays([](char const* name, auto const* p, std::size_t size) {
    if (p == nullptr && size != 0)
      fail(errc::bad_structure, "csr5: %s is null, but it has %zu elements", name, size);
  });
  if (offsets < 0)
    fail(errc::bad_structure, "csr5: %lld elements of empty_offset; that may not be negative",
         static_cast<long long>(offsets));

  // Each tile as row_ptr says it should be.
  auto const expect = [](char const* name, std::size_t at, auto is, auto expected) {
    if (is != expected)
      fail(errc::bad_structure, "csr5: %s[%zu] is %lld, expected %lld", name, at,
           static_cast<long long>(is), static_cast<long long>(expected));
  };
  std::size_t const whole = whole_tiles();
  std::size_t const all = tiles();
  auto const lanes = static_cast<std::size_t>(omega);
  detail::csr5_describer<I, O> d(row_ptr, n, static_cast<std::size_t>(nnz), omega, sigma, 0);
  std::size_t used = 0; // of empty_offset
  if (whole > 0)
    expect("empty_offset_ptr", 0, empty_offset_ptr[0], O(0));
  for (std::size_t t = 0; t < all; ++t) {
    d.describe(t);
    expect("tile_ptr", t, tile_ptr[t],
           static_cast<tile_pointer>(static_cast<tile_pointer>(d.first) |
                                     (d.has_empty ? detail::csr5_mark<I> : tile_pointer(0))));
    if (t >= whole)
      break;
    for (std::size_t i = 0; i < lanes; ++i)
      expect("tile_desc", t * lanes + i, tile_desc[t * lanes + i], d.words[i]);
    std::size_t const end = used + (d.has_empty ? d.segments : 0);
    expect("empty_offset_ptr", t + 1, empty_offset_ptr[t + 1], static_cast<O>(end));
    if (end > static_cast<std::size_t>(offsets))
      fail(errc::bad_structure, "csr5: %lld elements of empty_offset, expected %zu or more",
           static_cast<long long>(offsets), end);
    if (d.has_empty) {
      std::size_t const next = d.next;
      d.next = d.first;
      d.rows_of(t, [&](std::size_t i, std::size_t) {
        expect("empty_offset", used, empty_offset[used], static_cast<I>(i - d.first));
        ++used;
      });
      d.next = next;
    }
  }
  if (all > 0)
    expect("tile_ptr", all, tile_ptr[all], static_cast<tile_pointer>(rows));
  if (used != static_cast<std::size_t>(offsets))
    fail(errc::bad_structure, "csr5: %lld elements of empty_offset, expected %zu",
         static_cast<long long>(offsets), used);

  auto const lane_entries = static_cast<std::size_t>(sigma); // tiles are whole numbers of lanes
  int const parts = parts_for(static_cast<std::size_t>(nnz), 0, 1 << 18);
  if (nnz > 0)
    parallel(parts, [&](int part) {
      std::size_t const end = split_by_entries(row_ptr, n, part + 1, parts);
      std::size_t i = split_by_entries(row_ptr, n, part, parts);
      auto k = static_cast<std::size_t>(row_ptr[i]);
      std::size_t p = 0, step = 0, left = 0; // of entry k and those that follow in its lane
      for (; i < end; ++i) {
        std::size_t const first = k;
        for (std::size_t q = 0; k < static_cast<std::size_t>(row_ptr[i + 1]); ++k) {
          if (left == 0) {
            bool const is_whole = k / tile_entries() < whole;
            p = position(k);
            step = is_whole ? lanes : 1;
            left = is_whole ? lane_entries - k % lane_entries : static_cast<std::size_t>(nnz) - k;
          }
          if (k > first && col[q] >= col[p])
            fail(errc::bad_structure,
                 "csr5: columns of row %zu do not ascend: col[%zu] is %lld, after it col[%zu] is "
                 "%lld",
                 i, q, static_cast<long long>(col[q]), p, static_cast<long long>(col[p]));
          q = p;
          p += step;
          --left;
        }
      }
    });
}

template <class V, class I, class O, space S>
csr<V, I, O> csr5_view<V, I, O, S>::to_csr(cpu const& policy) const {
  detail::limited const space("csr5", policy);
  cpu const& where = space.counted();
  auto const n = static_cast<std::size_t>(rows) + 1;
  auto const entries = static_cast<std::size_t>(nnz);
  csr<V, I, O> c(unchecked, rows, cols, array<O>(n, where.memory), array<I>(entries, where.memory),
                 array<V>(entries, where.memory));
  if (row_ptr)
    std::copy_n(row_ptr, n, c.row_ptr.data());
  else
    c.row_ptr[0] = 0;
  detail::turn_tiles<true>(col, c.col.data(), entries, omega, sigma, where);
  detail::turn_tiles<true>(val, c.val.data(), entries, omega, sigma, where);
  return c;
}

template <class V, class I, class O>
csr5<V, I, O>::csr5(I rows, I cols, int omega, int sigma, array<O> row_ptr,
                    array<tile_pointer> tile_ptr, array<std::uint32_t> tile_desc,
                    array<O> empty_offset_ptr, array<I> empty_offset, array<I> col, array<V> val)
    : csr5(unchecked, rows, cols, omega, sigma, std::move(row_ptr), std::move(tile_ptr),
           std::move(tile_desc), std::move(empty_offset_ptr), std::move(empty_offset),
           std::move(col), std::move(val)) {
  validate();
}

template <class V, class I, class O>
csr5<V, I, O> csr5<V, I, O>::from_csr(csr_view<V, I, O> a, csr5_options o, cpu const& policy) {
  detail::limited const space("csr5", policy);
  cpu const& where = space.counted();
  detail::canonical<V, I, O> const c(a, where);
  auto const n = static_cast<std::size_t>(a.rows) + 1;
  auto const entries = static_cast<std::size_t>(c.view.nnz);
  o = detail::csr5_layout<V>(o, n - 1, entries);
  csr5 b(unchecked, a.rows, a.cols, o.omega, o.sigma, {}, {}, {}, {}, {}, {}, {});
  b.row_ptr = array<O>(n, where.memory);
  b.col = array<I>(entries, where.memory);
  b.val = array<V>(entries, where.memory);
  if (c.view.row_ptr)
    std::copy_n(c.view.row_ptr, n, b.row_ptr.data());
  else
    b.row_ptr[0] = 0;
  detail::describe_tiles(b.row_ptr.data(), b, entries, where);
  detail::turn_tiles<false>(c.view.col, b.col.data(), entries, o.omega, o.sigma, where);
  detail::turn_tiles<false>(c.view.val, b.val.data(), entries, o.omega, o.sigma, where);
  return b;
}

template <class V, class I, class O>
csr5<V, I, O> csr5<V, I, O>::from_csr(csr<V, I, O>&& a, csr5_options o, cpu const& policy) {
  detail::limited const space("csr5", policy);
  cpu const& where = space.counted();
  a.validate(where);
  if (!a.view().is_canonical(where)) {
    csr5 b = from_csr(a.to_csr(where), o, where);
    a = {};
    return b;
  }
  o = detail::csr5_layout<V>(o, static_cast<std::size_t>(a.rows), a.col.size());
  csr5 b(unchecked, a.rows, a.cols, o.omega, o.sigma, {}, {}, {}, {}, {}, {}, {});
  detail::describe_tiles(a.row_ptr.data(), b, a.col.size(), where);
  // Nothing fails from here on.
  b.row_ptr.swap(a.row_ptr);
  b.col.swap(a.col);
  b.val.swap(a.val);
  a = {};
  detail::turn_tiles<false>(b.col.data(), b.col.data(), b.col.size(), b.omega, b.sigma, where);
  detail::turn_tiles<false>(b.val.data(), b.val.data(), b.val.size(), b.omega, b.sigma, where);
  return b;
}

template <class V, class I, class O>
csr<V, I, O> csr5<V, I, O>::to_csr(cpu const& policy) && {
  detail::limited const space("csr5", policy);
  cpu const& where = space.counted();
  validate();
  if (row_ptr.empty())
    row_ptr = array<O>(1, O(0), where.memory);
  csr<V, I, O> c(unchecked, rows, cols, std::move(row_ptr), std::move(col), std::move(val));
  detail::turn_tiles<true>(c.col.data(), c.col.data(), c.col.size(), omega, sigma, where);
  detail::turn_tiles<true>(c.val.data(), c.val.data(), c.val.size(), omega, sigma, where);
  *this = csr5();
  return c;
}

template <class V, class I, class O>
void csr5<V, I, O>::refill(csr_view<V, I, O> a, cpu const& policy) {
  detail::limited const space("csr5", policy);
  cpu const& where = space.counted();
  detail::check_arrays("csr5", *this);
  detail::check_csr5_shape(errc::bad_structure, omega, sigma);
  auto const lanes = static_cast<std::size_t>(omega);
  std::size_t const n = lanes * static_cast<std::size_t>(sigma);
  std::size_t const whole = col.size() / n;
  auto const is = [&](csr_view<V, I, O> const& c) {
    bool all =
        rows == 0 || detail::same(c.row_ptr, row_ptr.data(), static_cast<std::size_t>(rows) + 1);
    int const parts = parts_for(col.size(), where.threads);
    if (all)
      parallel(parts, [&](int part) {
        bool good = part != 0 ||
                    detail::same(c.col + whole * n, col.data() + whole * n, col.size() - whole * n);
        I tile[detail::csr5_most_entries];
        std::size_t const end = split(whole, part + 1, parts);
        for (std::size_t t = split(whole, part, parts); t < end && good; ++t) {
          detail::turn_tile<false>(c.col + t * n, tile, lanes, n / lanes);
          good = detail::same(tile, col.data() + t * n, n);
        }
        if (!good)
          __atomic_store_n(&all, false, __ATOMIC_RELAXED);
      });
    return all;
  };
  detail::refill_if("csr5", rows, cols, view().nnz, a, where, is, [&](csr_view<V, I, O> const& c) {
    detail::turn_tiles<false>(c.val, val.data(), col.size(), omega, sigma, where);
  });
}

template <class V, class I, class O>
std::size_t csr5<V, I, O>::find(I i, I j) const {
  csr5_view<V, I, O> const a = view();
  if (i >= 0 && i < rows) {
    auto lo = static_cast<std::size_t>(row_ptr[static_cast<std::size_t>(i)]);
    auto const end = static_cast<std::size_t>(row_ptr[static_cast<std::size_t>(i) + 1]);
    for (std::size_t hi = end; lo < hi;) {
      std::size_t const mid = lo + (hi - lo) / 2;
      if (col[a.position(mid)] < j)
        lo = mid + 1;
      else
        hi = mid;
    }
    if (lo < end && col[a.position(lo)] == j)
      return a.position(lo);
  }
  fail(errc::bad_structure, "csr5: nothing is stored at (%lld, %lld) of a %lld x %lld matrix",
       static_cast<long long>(i), static_cast<long long>(j), static_cast<long long>(rows),
       static_cast<long long>(cols));
}

} // namespace tulle

TULLE_INSTANTIATE_FORMAT(csr5, every)
