// SPDX-License-Identifier: Apache-2.0
#include "support/zoo.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <set>
#include <stdexcept>

namespace tulle::test {
namespace {

// splitmix64: the same numbers on every system, which <random>'s distributions do not promise.
std::uint64_t mix(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
std::uint64_t mix(std::uint64_t seed, std::uint64_t k) {
  return mix(mix(seed) + k);
}

double integer(std::uint64_t bits) {
  return static_cast<double>(bits % 9) - 4;
}
double nonzero(std::uint64_t bits) {
  double const v = static_cast<double>(bits % 8) - 4;
  return v < 0 ? v : v + 1;
}
double fraction(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-52 - 1;
}

template <class T>
array<T> to_array(std::vector<T> const& v) {
  return array<T>(v.data(), v.size());
}

struct builder {
  std::int32_t rows, cols;
  std::vector<std::int32_t> row_ptr{0};
  std::vector<std::int32_t> col;
  std::vector<double> val;

  builder(std::int32_t rows, std::int32_t cols) : rows(rows), cols(cols) {}
  void add(std::int32_t j, double v) {
    col.push_back(j);
    val.push_back(v);
  }
  void end_row() { row_ptr.push_back(static_cast<std::int32_t>(col.size())); }
  csr<double> build() {
    while (row_ptr.size() <= static_cast<std::size_t>(rows))
      end_row();
    return {rows, cols, to_array(row_ptr), to_array(col), to_array(val)};
  }
};

csr<double> one_entry(std::int32_t rows, std::int32_t cols, std::int32_t i, std::int32_t j) {
  builder b(rows, cols);
  for (std::int32_t r = 0; r < i; ++r)
    b.end_row();
  b.add(j, 3);
  return b.build();
}

csr<double> one_column(std::int32_t rows, std::int32_t cols, std::int32_t j) {
  builder b(rows, cols);
  for (std::int32_t i = 0; i < rows; ++i) {
    b.add(j, nonzero(mix(3, b.col.size())));
    b.end_row();
  }
  return b.build();
}

csr<double> diagonal(std::int32_t n) {
  builder b(n, n);
  for (std::int32_t i = 0; i < n; ++i) {
    b.add(i, nonzero(mix(4, b.col.size())));
    b.end_row();
  }
  return b.build();
}

// Five a row around the diagonal, or around the other one.
csr<double> banded(std::int32_t n, bool descending) {
  builder b(n, n);
  for (std::int32_t i = 0; i < n; ++i) {
    std::int32_t const centre = descending ? n - 1 - i : i;
    for (std::int32_t j = std::max(0, centre - 2); j <= std::min(n - 1, centre + 2); ++j)
      b.add(j, nonzero(mix(5, b.col.size())));
    b.end_row();
  }
  return b.build();
}

// The first half of the rows touches the first columns, the second half the last ones: blocks with
// a gap between.
csr<double> two_corners(std::int32_t n) {
  builder b(n, 4 * n);
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = 0; j < 6; ++j)
      b.add((i < n / 2 ? 0 : 4 * n - 600) + (i % 100) * 6 + j, nonzero(mix(6, b.col.size())));
    b.end_row();
  }
  return b.build();
}

// n by n points, each with its neighbours to the right and below, around the edges as well.
csr<double> torus(std::int32_t n) {
  builder b(n * n, n * n);
  for (std::int32_t i = 0; i < n * n; ++i) {
    std::int32_t const neighbours[] = {i, i / n * n + (i + 1) % n, (i + n) % (n * n)};
    for (std::int32_t const j :
         std::set<std::int32_t>(std::begin(neighbours), std::end(neighbours)))
      b.add(j, 1);
    b.end_row();
  }
  return b.build();
}

// For each entry the one across the diagonal, itself included; empty where one is missing or not
// the only one.
std::vector<std::size_t> twins(csr<double> const& a) {
  std::vector<std::size_t> twin;
  if (a.rows != a.cols)
    return twin;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i)
    for (std::int32_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k) {
      auto const j = static_cast<std::size_t>(a.col[k]);
      auto const* const begin = a.col.data() + a.row_ptr[j];
      auto const* const end = a.col.data() + a.row_ptr[j + 1];
      if (std::count(begin, end, static_cast<std::int32_t>(i)) != 1)
        return {};
      twin.push_back(static_cast<std::size_t>(std::find(begin, end, static_cast<std::int32_t>(i)) -
                                              a.col.data()));
    }
  return twin;
}

// b, which has the pattern of a, made symmetric if a is.
csr<double> as_symmetric_as(csr<double> const& a, csr<double> b) {
  if (is_symmetric(a)) {
    std::vector<std::size_t> const twin = twins(a);
    for (std::size_t k = 0; k < twin.size(); ++k)
      b.val[k] = b.val[std::min(k, twin[k])];
  }
  return b;
}

csr<double> with_values(csr<double> a, double (*value)(std::size_t)) {
  for (std::size_t k = 0; k < a.val.size(); ++k)
    a.val[k] = value(k);
  return a;
}

using lengths = std::vector<std::int32_t>;

lengths repeat(std::size_t n, std::int32_t length) {
  return lengths(n, length);
}
lengths join(std::initializer_list<lengths> parts) {
  lengths all;
  for (lengths const& p : parts)
    all.insert(all.end(), p.begin(), p.end());
  return all;
}

std::vector<animal> build_zoo() {
  std::vector<animal> z;
  auto const add = [&](std::string name, csr<double> a) {
    z.push_back({std::move(name), std::move(a), ""});
  };
  auto const add_twins = [&](std::string const& name, csr<double> const& a) {
    z.push_back({name, a, ""});
    z.push_back({name + "_unsorted", unsorted(a), name});
    z.push_back({name + "_duplicates", duplicated(a), name});
    z.push_back({name + "_unsorted_duplicates", unsorted(duplicated(a)), name});
  };

  // Shapes.
  add("0x0", builder(0, 0).build());
  add("5x0", builder(5, 0).build());
  add("0x5", builder(0, 5).build());
  add("1x1", one_entry(1, 1, 0, 0));
  add("1x1_empty", builder(1, 1).build());
  add("all_rows_empty", builder(7, 4).build());
  add("20000_empty_rows", builder(20000, 3).build()); // tiles with no entry in them
  add("entry_first_first", one_entry(5, 7, 0, 0));
  add("entry_first_last", one_entry(5, 7, 0, 6));
  add("entry_last_first", one_entry(5, 7, 4, 0));
  add("entry_last_last", one_entry(5, 7, 4, 6));
  add("last_row_empty", from_lengths(9, {2, 3, 1, 0}));
  add("first_rows_empty", from_lengths(9, {0, 0, 0, 4, 2}));
  add("empty_rows_between", from_lengths(9, {1, 0, 0, 5, 0, 2, 0}));
  add("one_dense_row", from_lengths(300, {0, 1, 300, 2, 0}));
  add("one_dense_column", one_column(300, 5, 3));
  add("diagonal", diagonal(50));
  add("dense", from_lengths(19, repeat(17, 19)));
  add("wide", from_lengths(1000, {20, 0, 33}));
  add("tall", from_lengths(3, join({repeat(300, 1), repeat(300, 2), repeat(100, 3), {0}})));
  add("row_of_entries", from_lengths(400, {400}));
  add("column_with_holes", from_lengths(1, {1, 0, 1, 1, 0}));

  // Every length of a SIMD tail, forwards and backwards.
  lengths to_70(71);
  std::iota(to_70.begin(), to_70.end(), 0);
  add_twins("lengths_0_to_70", from_lengths(100, to_70));
  lengths const from_70(to_70.rbegin(), to_70.rend());
  add("lengths_70_to_0", from_lengths(100, from_70));

  // Rows and tiles of 8192 steps, a step being an entry or a row's end; in coo a tile is 8192
  // entries.
  for (std::int32_t const n : {8190, 8191, 8192, 8193}) {
    add("row_of_" + std::to_string(n), from_lengths(9000, {n}));
    add("row_of_" + std::to_string(n) + "_between", from_lengths(9000, {0, n - 1, 5, 0, 3}));
    add("six_rows_of_" + std::to_string(n), from_lengths(9000, repeat(6, n), 7));
  }
  // The last entry of a row in one tile and its end in the next, the row having come from a tile
  // before.
  for (std::int32_t const n : {16383, 16384, 16385})
    add("row_of_" + std::to_string(n), from_lengths(20000, {n, 3}));
  add("long_rows_end_with_tiles",
      from_lengths(30000, {16384, 16383, 16383, 24575, 8191, 16383, 2}));
  add("rows_of_half_a_tile", from_lengths(5000, repeat(12, 4095)));
  add("tile_ends_in_empty_rows",
      from_lengths(9000, join({{8100}, repeat(200, 0), repeat(160, 50), repeat(300, 0), {7}})));
  add("tile_begins_with_empty_rows",
      from_lengths(9000, join({{8191}, repeat(8192, 0), {8192}, repeat(3, 0), {8188, 1, 0}})));
  add("row_over_many_tiles", from_lengths(60000, {3, 60000, 0, 2}));
  add("two_rows_over_tiles", from_lengths(30000, {30000, 30000}));
  add("long_rows_with_crumbs", from_lengths(20000, {20000, 1, 20000, 0, 0, 20000, 4}));
  add("rows_of_one", from_lengths(50, repeat(30000, 1)));
  add("last_row_over_tiles", from_lengths(40000, join({repeat(100, 3), {40000}})));
  add("mostly_empty_rows", [] {
    lengths l(60000, 0);
    for (std::size_t i = 999; i < l.size(); i += 1000)
      l[i] = 3;
    return from_lengths(60, l);
  }());
  add_twins("skewed", [] {
    lengths l(3000);
    for (std::size_t i = 0; i < l.size(); ++i)
      l[i] = static_cast<std::int32_t>(3000 / (mix(11, i) % 3000 + 1));
    l[1500] = 9000;
    return from_lengths(9000, l);
  }());

  // Scatter: blocks of at least 4096 entries, merged until their ranges of y sum to half the
  // entries.
  add_twins("banded", banded(12000, false));
  add("banded_descending", banded(12000, true));
  add("blocks_over_all_columns", from_lengths(3000, repeat(6000, 10)));
  add("blocks_merged_to_two", from_lengths(9000, repeat(6000, 10)));
  add("blocks_merged_to_one", from_lengths(40000, repeat(2500, 10)));
  add("blocks_with_a_gap", two_corners(4000));
  add("whole_blocks_and_an_empty_row", from_lengths(3, {3, 3, 3, 0}));
  add("column_over_blocks", one_column(20000, 2, 1));
  add("4095_entries", from_lengths(300, repeat(4095, 1)));
  add("8191_entries", from_lengths(300, repeat(8191, 1)));
  add("8192_entries", from_lengths(300, repeat(8192, 1)));
  add("8193_entries", from_lengths(300, repeat(8193, 1)));

  // Symmetric: of all these one triangle may be stored. Diagonals that are full and not, whole and
  // broken; blocks of rows with and without a window above them, merged to some and to one.
  add("symmetric_2x2", mirrored(from_lengths(2, {2, 1})));
  add("symmetric_no_diagonal", mirrored(one_entry(5, 7, 4, 6)));
  add("symmetric_empty_rows", mirrored(from_lengths(40, {1, 0, 0, 5, 0, 2, 0, 0, 0, 9, 0})));
  add("symmetric_dense_row",
      mirrored(from_lengths(300, join({repeat(150, 1), {300}, repeat(149, 1)}))));
  add("symmetric_dense", mirrored(from_lengths(67, repeat(67, 67))));
  add("symmetric_lengths", mirrored(from_lengths(100, to_70)));
  add("symmetric_torus", mirrored(torus(37)));
  add("symmetric_banded", mirrored(banded(9000, false)));
  z.push_back({"symmetric_banded_unsorted", unsorted(z.back().matrix), "symmetric_banded"});
  add("symmetric_descending", mirrored(banded(3000, true)));
  add("symmetric_scattered", mirrored(from_lengths(4000, repeat(4000, 9))));
  add("symmetric_skewed", mirrored(from_lengths(3000, [] {
        lengths l(3000);
        for (std::size_t i = 0; i < l.size(); ++i)
          l[i] = static_cast<std::int32_t>(900 / (mix(19, i) % 900 + 1));
        return l;
      }())));

  // Values.
  add("explicit_zeros", with_values(from_lengths(40, repeat(30, 11)), [](std::size_t k) {
        return k % 3 == 0 ? 0.0 : static_cast<double>(k % 5) - 2;
      }));
  add("only_zeros", with_values(from_lengths(40, repeat(20, 7)), [](std::size_t) { return 0.0; }));
  add("negative_zeros", with_values(from_lengths(40, repeat(20, 9)),
                                    [](std::size_t k) { return k % 2 ? -0.0 : 0.0; }));
  add("zeros_that_cancel", [] { // duplicates whose sum is a zero that stays stored
    builder b(2, 3);
    for (double const v : {2.0, -2.0})
      b.add(1, v);
    b.end_row();
    for (double const v : {-0.0, -0.0})
      b.add(2, v);
    return b.build();
  }());
  z.back().twin = "zeros_that_cancelled";
  add("zeros_that_cancelled", [] {
    builder b(2, 3);
    b.add(1, 0.0);
    b.end_row();
    b.add(2, -0.0);
    return b.build();
  }());
  add("one_column_many_times", [] { // a row over two tiles that is one entry
    builder b(3, 4);
    b.end_row();
    for (int k = 0; k < 10000; ++k)
      b.add(2, nonzero(mix(13, static_cast<std::uint64_t>(k))));
    return b.build();
  }());
  z.back().twin = "one_column_once";
  add("one_column_once", [&] {
    builder b(3, 4);
    b.end_row();
    csr<double> const& many = z.back().matrix;
    b.add(2, std::accumulate(many.val.begin(), many.val.end(), 0.0));
    return b.build();
  }());
  return z;
}

} // namespace

csr<double> from_lengths(std::int32_t cols, lengths const& length, unsigned seed) {
  builder b(static_cast<std::int32_t>(length.size()), cols);
  for (std::size_t i = 0; i < length.size(); ++i) {
    auto const n = static_cast<std::int64_t>(length[i]);
    if (n > cols)
      throw std::logic_error("from_lengths: a row longer than the matrix is wide");
    for (std::int64_t t = 0; t < n; ++t) { // one column of each of n equal stretches
      std::int64_t const begin = t * cols / n;
      std::int64_t const end = (t + 1) * cols / n;
      std::uint64_t const bits = mix(seed, b.col.size());
      b.add(static_cast<std::int32_t>(
                begin +
                static_cast<std::int64_t>((bits >> 8) % static_cast<std::uint64_t>(end - begin))),
            nonzero(bits));
    }
    b.end_row();
  }
  return b.build();
}

csr<double> stairs(std::int32_t rows, std::vector<std::int32_t> const& first) {
  builder b(rows, rows + first.back());
  for (std::int32_t i = 0; i < rows; ++i) {
    for (std::int32_t const j : first)
      b.add(i + j, nonzero(mix(1, b.col.size())));
    b.end_row();
  }
  return b.build();
}

std::vector<animal> const& zoo() {
  static std::vector<animal> const z = build_zoo();
  return z;
}

animal const& find(std::string const& name) {
  for (animal const& a : zoo())
    if (a.name == name)
      return a;
  throw std::logic_error("no animal is called " + name);
}

csr<double> const& elephant() {
  static csr<double> const a = [] {
    lengths l(60000);
    for (std::size_t i = 0; i < l.size(); ++i)
      l[i] = static_cast<std::int32_t>(mix(17, i) % 41);
    l[20000] = 100000;
    l[40000] = 90000;
    return rough(from_lengths(100000, l));
  }();
  return a;
}

csr<double> rough(csr<double> const& a, unsigned seed) {
  csr<double> b = a;
  for (std::size_t k = 0; k < b.val.size(); ++k)
    b.val[k] = fraction(mix(seed + 100, k));
  return as_symmetric_as(a, std::move(b));
}

csr<double> other_values(csr<double> const& a, unsigned seed) {
  csr<double> b = a;
  for (std::size_t k = 0; k < b.val.size(); ++k)
    b.val[k] = nonzero(mix(seed + 200, k));
  return as_symmetric_as(a, std::move(b));
}

csr<double> mirrored(csr<double> const& a, unsigned seed) {
  std::int32_t const n = std::max(a.rows, a.cols);
  std::vector<std::set<std::int32_t>> rows(static_cast<std::size_t>(n));
  for (std::int32_t i = 0; i < a.rows; ++i)
    for (std::int32_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k) {
      rows[static_cast<std::size_t>(i)].insert(a.col[k]);
      rows[static_cast<std::size_t>(a.col[k])].insert(i);
    }
  builder b(n, n);
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t const j : rows[static_cast<std::size_t>(i)])
      b.add(j, nonzero(mix(mix(seed, static_cast<std::uint64_t>(std::min(i, j))),
                           static_cast<std::uint64_t>(std::max(i, j)))));
    b.end_row();
  }
  return b.build();
}

bool is_symmetric(csr<double> const& a) {
  std::vector<std::size_t> const twin = twins(a);
  if (a.rows != a.cols || twin.size() != a.val.size())
    return false;
  for (std::size_t k = 0; k < twin.size(); ++k)
    if (std::bit_cast<std::uint64_t>(a.val[k]) != std::bit_cast<std::uint64_t>(a.val[twin[k]]))
      return false;
  return true;
}

csr<double> unsorted(csr<double> const& a) {
  csr<double> b = a;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i) {
    std::int32_t const begin = a.row_ptr[i];
    std::int32_t const n = a.row_ptr[i + 1] - begin;
    // Reversed, then dealt by a stride: neighbours in a row are far apart in b. Order among equals
    // need not be kept, as the values are exact.
    std::int32_t const stride = n % 7 != 0 ? 7 : n % 5 != 0 ? 5 : 1;
    for (std::int32_t t = 0; t < n; ++t) {
      std::int32_t const from =
          begin + n - 1 - static_cast<std::int32_t>(std::int64_t{t} * stride % n);
      b.col[static_cast<std::size_t>(begin + t)] = a.col[static_cast<std::size_t>(from)];
      b.val[static_cast<std::size_t>(begin + t)] = a.val[static_cast<std::size_t>(from)];
    }
  }
  return b;
}

csr<double> duplicated(csr<double> const& a) {
  builder b(a.rows, a.cols);
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i) {
    auto const begin = static_cast<std::size_t>(a.row_ptr[i]);
    auto const end = static_cast<std::size_t>(a.row_ptr[i + 1]);
    for (std::size_t k = begin; k < end; ++k)
      b.add(a.col[k], a.val[k] + 2);
    for (std::size_t k = begin; k < end; ++k)
      b.add(a.col[k], -2);
    b.end_row();
  }
  return b.build();
}

any_matrix as_type(csr<double> const& a, type_tag t) {
  return visit(t, [&](auto types) -> any_matrix {
    using T = decltype(types);
    using V = typename T::value;
    std::size_t const n = a.val.size();
    csr<V, typename T::index, typename T::offset> b(unchecked, a.rows, a.cols,
                                                    array<typename T::offset>(a.row_ptr.size()),
                                                    array<typename T::index>(n), array<V>(n));
    std::copy_n(a.row_ptr.data(), a.row_ptr.size(), b.row_ptr.data());
    std::copy_n(a.col.data(), n, b.col.data());
    for (std::size_t k = 0; k < n; ++k)
      if constexpr (std::is_floating_point_v<V>)
        b.val[k] = static_cast<V>(a.val[k]);
      else
        b.val[k] = V(static_cast<typename V::value_type>(a.val[k]),
                     static_cast<typename V::value_type>(a.val[(k + 1) % n]));
    return b;
  });
}

std::vector<double> integers(std::size_t n, unsigned seed) {
  std::vector<double> v(n);
  for (std::size_t i = 0; i < n; ++i)
    v[i] = integer(mix(seed + 300, i));
  return v;
}

std::vector<double> roughs(std::size_t n, unsigned seed) {
  std::vector<double> v(n);
  for (std::size_t i = 0; i < n; ++i)
    v[i] = fraction(mix(seed + 400, i));
  return v;
}

} // namespace tulle::test
