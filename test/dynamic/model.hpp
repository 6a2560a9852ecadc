// SPDX-License-Identifier: Apache-2.0

/// The matrix that a dynamic_csr is held against: a map of places to values.
#pragma once
#include "tulle/core/types.hpp"
#include "tulle/dynamic/dynamic_csr.hpp"

#include "support/expect.hpp"
#include "support/zoo.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <random>
#include <vector>

namespace tulle::test {

/// Rows take entries at once.
inline dynamic_options in_rows() {
  dynamic_options o;
  o.pending_from = 0;
  return o;
}

/// Seeds of random sequences: 1 on, as many as are quick. TULLE_SEQUENCES=1000000 wants as many,
/// TULLE_FIRST_SEQUENCE says from which on.
inline std::vector<unsigned> sequence_seeds(unsigned quick) {
  auto const wanted = [](char const* name, unsigned otherwise) {
    char const* const text = std::getenv(name);
    return text ? static_cast<unsigned>(std::atoi(text)) : otherwise;
  };
  std::vector<unsigned> seeds(wanted("TULLE_SEQUENCES", quick));
  std::iota(seeds.begin(), seeds.end(), wanted("TULLE_FIRST_SEQUENCE", 1));
  return seeds;
}

template <class V, class I>
struct batch {
  std::vector<I> row, col;
  std::vector<V> val;

  void add(I i, I j, V v) {
    row.push_back(i);
    col.push_back(j);
    val.push_back(v);
  }
};

/// n entries with small integers for values, so that sums are exact in every order.
template <class V, class I>
batch<V, I> random_batch(std::mt19937& random, I rows, I cols, std::size_t n) {
  batch<V, I> b;
  for (std::size_t k = 0; k < n; ++k)
    b.add(static_cast<I>(random() % static_cast<unsigned>(rows)),
          static_cast<I>(random() % static_cast<unsigned>(cols)),
          static_cast<V>(static_cast<int>(random() % 9) - 4));
  return b;
}

template <class V, class I>
struct model {
  I rows, cols;
  std::map<std::pair<I, I>, V> at;

  void insert(batch<V, I> const& b) {
    for (std::size_t k = 0; k < b.val.size(); ++k)
      at[{b.row[k], b.col[k]}] += b.val[k];
  }
  void assign(batch<V, I> const& b) {
    for (std::size_t k = 0; k < b.val.size(); ++k)
      at[{b.row[k], b.col[k]}] = b.val[k];
  }
  void erase(batch<V, I> const& b) {
    for (std::size_t k = 0; k < b.val.size(); ++k)
      at.erase({b.row[k], b.col[k]});
  }
  void resize(I n, I m) {
    rows = n;
    cols = m;
    std::erase_if(
        at, [=](auto const& entry) { return entry.first.first >= n || entry.first.second >= m; });
  }
  void scale_rows(batch<V, I> const& b) {
    for (std::size_t k = 0; k < b.val.size(); ++k)
      for (auto& [place, v] : at)
        if (place.first == b.row[k])
          v *= b.val[k];
  }
  void add_product(model const& b, model const& c) {
    for (auto const& [left, v] : b.at)
      for (auto right = c.at.lower_bound({left.second, I(0)});
           right != c.at.end() && right->first.first == left.second; ++right)
        at[{left.first, right->first.second}] += v * right->second;
  }

  /// 2 A x - y.
  std::vector<V> product(std::vector<V> const& x, std::vector<V> y) const {
    for (V& v : y)
      v = -v;
    for (auto const& [place, v] : at)
      y[static_cast<std::size_t>(place.first)] += 2 * v * x[static_cast<std::size_t>(place.second)];
    return y;
  }
  csr<V, I, I> to_csr() const {
    csr<V, I, I> a(unchecked, rows, cols, array<I>(static_cast<std::size_t>(rows) + 1, I(0)),
                   array<I>(at.size()), array<V>(at.size()));
    std::size_t k = 0;
    for (auto const& [place, v] : at) {
      ++a.row_ptr[static_cast<std::size_t>(place.first) + 1];
      a.col[k] = place.second;
      a.val[k++] = v;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i)
      a.row_ptr[i + 1] = static_cast<I>(a.row_ptr[i + 1] + a.row_ptr[i]);
    return a;
  }
};

/// The entries of a snapshot as they are stored, to compare bit for bit.
template <class V, class I>
batch<V, I> stored(dynamic_snapshot<V, I> const& s) {
  batch<V, I> b;
  s.for_each([&](I i, I j, V v) { b.add(i, j, v); });
  return b;
}
template <class V, class I>
bool operator==(batch<V, I> const& a, batch<V, I> const& b) {
  return a.row == b.row && a.col == b.col && a.val == b.val;
}

/// refused(code, words, call) for batches that a matrix of 10 x 20 must not take.
template <class D, class F>
void expect_refused_batches(D& d, F&& refused) {
  using list = std::vector<std::int32_t>;
  std::vector<double> const v(4, 1);
  list const good = {0, 1, 2, 3};
  refused(errc::bad_structure, {"insert: entry 2 is (7, 20), outside a 10 x 20 matrix"}, [&] {
    d.insert(list{0, 9, 7, 10}, list{0, 19, 20, 0}, v);
  });
  refused(errc::bad_structure, {"assign: entry 3 is (-1, 0)"}, [&] {
    d.assign(list{0, 9, 7, -1}, list{0, 19, 0, 0}, v);
  });
  refused(errc::bad_structure, {"erase: entry 0 is (0, -5)"}, [&] {
    d.erase(good, list{-5, 19, 0, 0});
  });
  refused(errc::bad_structure, {"scale_rows: row[1] is 10, outside [0, 10)"}, [&] {
    d.scale_rows(list{1, 10, 2, 3}, v);
  });
  refused(errc::shape_mismatch, {"insert: 3 row indices, 4 column indices, 4 values"}, [&] {
    d.insert(list{1, 2, 3}, good, v);
  });
  refused(errc::shape_mismatch, {"erase"}, [&] { d.erase(good, list{1}); });
  refused(errc::shape_mismatch, {"scale_rows: 4 rows, 1 factors"},
          [&] { d.scale_rows(good, std::vector<double>{1}); });
  refused(errc::shape_mismatch, {"merge: B is 10 x 10, A is 10 x 20"},
          [&] { d.merge(borrowed(from_lengths(10, std::vector<std::int32_t>(10, 1)))); });
}

#define TULLE_PAIR(tag, V, I, O) , type_list<V, I, O>
template <class First, class... Rest>
using without_first = testing::Types<Rest...>;
/// Those that dynamic matrices are for.
using dynamic_types = without_first<void TULLE_TYPES(TULLE_PAIR)>;
#undef TULLE_PAIR

} // namespace tulle::test
