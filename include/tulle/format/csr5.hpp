// SPDX-License-Identifier: Apache-2.0

/// CSR5: the entries of CSR in tiles of omega lanes by sigma steps, each stored step by step, and a
/// word a lane that says where rows begin in it.
///
///     1 . 2 .      row_ptr            0 2 3 4 7
///     . 3 . .      tile_ptr           0 3 4
///     . . . 4      tile_desc          0x0a000000 0x4c000000
///     5 6 7 .      empty_offset_ptr   0 0
///                  empty_offset
///     omega = 2    col                0 3  2 0  1 1   2
///     sigma = 3    val                1 4  2 5  3 6   7
///
///     The tile's lanes are 1 2 3 and 4 5 6; the last entry is no whole tile and stays as in csr.
///     A word from its top:            y_offset 3 bits, seg_offset 1, bit_flag 3, the first step
///     highest. Here:                  000 0 101 and 010 0 110.
///
/// Good for   rows of any and of very different lengths: every tile is the same work; csr in place.
/// Bad for    matrices whose rows are all alike, where sell, dia or bcsr need less.
/// Space      (V + I) * nnz + O * (rows + 1) + 4 * nnz / sigma, and a little for each tile.
/// From       Liu, thesis 2015, ch. 6 and sec. 8.5; Liu & Vinter, ICS 2015.
///
/// Invariants (validate() checks all of them), with tiles = nnz / (omega * sigma), rounded up, of
/// which the last may lack entries, and lane i of a tile holding its entries [i, i + 1) * sigma
///   omega is 2, 4, 8, ... 64; what a lane needs to say fits 32 bits, which bounds sigma
///   row_ptr[0] == 0, non-decreasing, last == nnz
///   tile_ptr[t]: the row of the tile's first entry, the highest bit set where a row in
///   [it, tile_ptr[t + 1]) is empty; last == rows; nothing where nnz == 0
///   tile_desc, a word a lane of each whole tile: y_offset, the rows begun in lanes before (the row
///   that the tile begins in counts as begun in lane 0); seg_offset, how many lanes follow in which
///   no row begins, 0 in a lane of that kind; bit_flag, which steps begin a row
///   empty_offset: for whole tiles with an empty row, each row that has entries, less tile_ptr
///   0 <= col[p] < cols, ascending within a row, no duplicates
#pragma once
#include "tulle/format/csr.hpp"
#include "tulle/format/detail/csr5_tiles.hpp"

namespace tulle {

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct csr5_view {
  using value = V;
  using index = I;
  using offset = O;
  using tile_pointer = std::make_unsigned_t<I>;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  int omega = 4;                            ///< lanes of a tile
  int sigma = 16;                           ///< steps of a tile
  O offsets = 0;                            ///< how many empty_offset holds
  O const* row_ptr = nullptr;               ///< rows + 1; may be null when rows == 0
  tile_pointer const* tile_ptr = nullptr;   ///< tiles + 1, 0 where there are none
  std::uint32_t const* tile_desc = nullptr; ///< omega for each whole tile
  O const* empty_offset_ptr = nullptr;      ///< whole tiles + 1, 0 where there are none
  I const* empty_offset = nullptr;          ///< offsets
  I const* col = nullptr;                   ///< nnz
  V const* val = nullptr;                   ///< nnz
  std::uint64_t serial = 0;                 ///< of the owner's pattern; 0: borrowed arrays

  csr5_view() = default;
  csr5_view(unchecked_t, I rows, I cols, O nnz, int omega, int sigma, O const* row_ptr,
            tile_pointer const* tile_ptr, std::uint32_t const* tile_desc, O const* empty_offset_ptr,
            O offsets, I const* empty_offset, I const* col, V const* val)
      : rows(rows), cols(cols), nnz(nnz), omega(omega), sigma(sigma), offsets(offsets),
        row_ptr(row_ptr), tile_ptr(tile_ptr), tile_desc(tile_desc),
        empty_offset_ptr(empty_offset_ptr), empty_offset(empty_offset), col(col), val(val) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(rows + nnz).
  csr5_view(I rows, I cols, int omega, int sigma, std::span<O const> row_ptr,
            std::span<tile_pointer const> tile_ptr, std::span<std::uint32_t const> tile_desc,
            std::span<O const> empty_offset_ptr, std::span<I const> empty_offset,
            std::span<I const> col, std::span<V const> val) requires(S == space::host);

  std::size_t tile_entries() const {
    return static_cast<std::size_t>(omega) * static_cast<std::size_t>(sigma);
  }
  [[gnu::always_inline]] std::size_t tiles() const {
    return detail::pieces(static_cast<std::size_t>(nnz), tile_entries());
  }
  [[gnu::always_inline]] std::size_t whole_tiles() const {
    return tiles() - (tiles() * tile_entries() != static_cast<std::size_t>(nnz));
  }
  /// Where entry k of csr is stored.
  std::size_t position(std::size_t k) const {
    std::size_t const n = tile_entries();
    if (k / n == whole_tiles())
      return k;
    auto const steps = static_cast<std::size_t>(sigma);
    return k / n * n + k % n % steps * static_cast<std::size_t>(omega) + k % n / steps;
  }

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    std::size_t const whole = whole_tiles();
    f("row_ptr", row_ptr, row_ptr || rows > 0 ? static_cast<std::size_t>(rows) + 1 : 0);
    f("tile_ptr", tile_ptr, nnz > 0 ? tiles() + 1 : 0);
    f("tile_desc", tile_desc, whole * static_cast<std::size_t>(omega));
    f("empty_offset_ptr", empty_offset_ptr, whole > 0 ? whole + 1 : 0);
    f("empty_offset", empty_offset, static_cast<std::size_t>(offsets));
    f("col", col, static_cast<std::size_t>(nnz));
    f("val", val, static_cast<std::size_t>(nnz));
  }

  /// Throws errc::bad_structure naming the first broken invariant.
  void validate() const;
  csr<V, I, O> to_csr(cpu const& where = {}) const;
};

struct csr5_options {
  int omega = 0; ///< lanes: 2, 4, 8, 16, 32 or 64; 0: by the value type
  int sigma = 0; ///< steps; 0: by the entries a row has on average

  static constexpr char const* variants[] = {"omega=4:sigma=4",  "omega=2:sigma=3",
                                             "omega=8:sigma=21", "omega=16:sigma=1",
                                             "omega=64:sigma=7", "omega=4:sigma=23"};
  static constexpr char const* on_cuda = "omega=32"; ///< a warp a tile
  static constexpr char const* drawn = "omega=2:sigma=3";

  template <class F>
  void fields(F&& f) {
    f("omega", omega);
    f("sigma", sigma);
  }
};

template <class V, class I = std::int32_t, class O = I>
struct csr5 {
  using options = csr5_options;
  using tile_pointer = typename csr5_view<V, I, O>::tile_pointer;

  I rows = 0;
  I cols = 0;
  int omega = 4;
  int sigma = 16;
  array<O> row_ptr;
  array<tile_pointer> tile_ptr;
  array<std::uint32_t> tile_desc;
  array<O> empty_offset_ptr;
  array<I> empty_offset;
  array<I> col;
  array<V> val;
  detail::serial_number serial; ///< of the pattern

  csr5() = default;
  /// Takes arrays over after checking every invariant.
  csr5(I rows, I cols, int omega, int sigma, array<O> row_ptr, array<tile_pointer> tile_ptr,
       array<std::uint32_t> tile_desc, array<O> empty_offset_ptr, array<I> empty_offset,
       array<I> col, array<V> val);
  csr5(unchecked_t, I rows, I cols, int omega, int sigma, array<O> row_ptr,
       array<tile_pointer> tile_ptr, array<std::uint32_t> tile_desc, array<O> empty_offset_ptr,
       array<I> empty_offset, array<I> col, array<V> val)
      : rows(rows), cols(cols), omega(omega), sigma(sigma), row_ptr(std::move(row_ptr)),
        tile_ptr(std::move(tile_ptr)), tile_desc(std::move(tile_desc)),
        empty_offset_ptr(std::move(empty_offset_ptr)), empty_offset(std::move(empty_offset)),
        col(std::move(col)), val(std::move(val)) {}

  static csr5 from_csr(csr_view<V, I, O> a, csr5_options o = {}, cpu const& where = {});
  /// Takes the arrays of a over and turns their tiles in place; a is left 0 x 0. Where a is not
  /// canonical, of a sorted copy.
  static csr5 from_csr(csr<V, I, O>&& a, csr5_options o = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const& {
    return detail::checked(*this, where).to_csr(where);
  }
  /// Gives the arrays back, turned in place; this one is left 0 x 0.
  csr<V, I, O> to_csr(cpu const& where = {}) &&;
  void refill(csr_view<V, I, O> a, cpu const& where = {});

  /// The value at (i, j); errc::bad_structure where nothing is stored. O(log row length).
  V at(I i, I j) const { return val[find(i, j)]; }
  /// Changes the value at (i, j); errc::bad_structure where nothing is stored.
  void set(I i, I j, V v) { val[find(i, j)] = v; }

  csr5_view<V, I, O> view() const& {
    return detail::numbered(csr5_view<V, I, O>{unchecked, rows, cols, static_cast<O>(col.size()),
                                               omega, sigma, row_ptr.data(), tile_ptr.data(),
                                               tile_desc.data(), empty_offset_ptr.data(),
                                               static_cast<O>(empty_offset.size()),
                                               empty_offset.data(), col.data(), val.data()},
                            serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const {
    csr5_view<V, I, O>(rows, cols, omega, sigma, row_ptr, tile_ptr, tile_desc, empty_offset_ptr,
                       empty_offset, col, val);
  }
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.row_ptr, m.tile_ptr, m.tile_desc, m.empty_offset_ptr, m.empty_offset, m.col, m.val);
  }
  friend bool operator==(csr5 const&, csr5 const&) = default;

private:
  std::size_t find(I i, I j) const; // the position of (i, j) in col and val
};

namespace detail {

/// Thesis, sec. 6.3.2: r up to r entries a row, as many as there are up to s, s up to t, then u.
/// There it is 16 on every CPU, which is r = s = u.
constexpr double csr5_r = 16, csr5_s = 16, csr5_t = 256, csr5_u = 16;
/// u where omega is 32, for a GPU: H200, shares of the bound with 4, 8, 12, 16: dense 2048 .97,
/// .79, .73, .47; lp .46, .42, .39, .40.
constexpr double csr5_u_of_warps = 4;

/// Both options as they will be; errc::unsupported for what cannot be.
template <class V>
csr5_options csr5_layout(csr5_options o, std::size_t rows, std::size_t nnz) {
  if (o.omega == 0)
    o.omega = 32 / static_cast<int>(sizeof(V)); // a vector of 256 bits
  if (o.sigma == 0) {
    double const length = rows == 0 ? 0 : static_cast<double>(nnz) / static_cast<double>(rows);
    double const wanted = length <= csr5_r   ? csr5_r
                          : length <= csr5_s ? length
                          : length <= csr5_t ? csr5_s
                          : o.omega == 32    ? csr5_u_of_warps
                                             : csr5_u;
    check_csr5_shape(errc::unsupported, o.omega, 1);
    o.sigma = std::min(static_cast<int>(wanted), csr5_most_steps(o.omega));
  }
  check_csr5_shape(errc::unsupported, o.omega, o.sigma);
  return o;
}

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
  int const parts = detail::parts_for(static_cast<std::size_t>(nnz), 0, 1 << 18);
  if (nnz > 0)
    detail::parallel(parts, [&](int part) {
      std::size_t const end = detail::split_by_entries(row_ptr, n, part + 1, parts);
      std::size_t i = detail::split_by_entries(row_ptr, n, part, parts);
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
csr<V, I, O> csr5_view<V, I, O, S>::to_csr(cpu const& where) const {
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
csr5<V, I, O> csr5<V, I, O>::from_csr(csr_view<V, I, O> a, csr5_options o, cpu const& where) {
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
csr5<V, I, O> csr5<V, I, O>::from_csr(csr<V, I, O>&& a, csr5_options o, cpu const& where) {
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
csr<V, I, O> csr5<V, I, O>::to_csr(cpu const& where) && {
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
void csr5<V, I, O>::refill(csr_view<V, I, O> a, cpu const& where) {
  detail::check_arrays("csr5", *this);
  detail::check_csr5_shape(errc::bad_structure, omega, sigma);
  auto const lanes = static_cast<std::size_t>(omega);
  std::size_t const n = lanes * static_cast<std::size_t>(sigma);
  std::size_t const whole = col.size() / n;
  auto const is = [&](csr_view<V, I, O> const& c) {
    bool all =
        rows == 0 || detail::same(c.row_ptr, row_ptr.data(), static_cast<std::size_t>(rows) + 1);
    int const parts = detail::parts_for(col.size(), where.threads);
    if (all)
      detail::parallel(parts, [&](int part) {
        bool good = part != 0 ||
                    detail::same(c.col + whole * n, col.data() + whole * n, col.size() - whole * n);
        I tile[detail::csr5_most_entries];
        std::size_t const end = detail::split(whole, part + 1, parts);
        for (std::size_t t = detail::split(whole, part, parts); t < end && good; ++t) {
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
