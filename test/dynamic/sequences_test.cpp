// SPDX-License-Identifier: Apache-2.0

// Random sequences of changes, against a map.
#include "tulle/core/types.hpp"

#include "dynamic/model.hpp"

#include <rapidcheck/gtest.h>

namespace tulle::test::sequences_test {
namespace {

dynamic_options some_options(std::mt19937& random) {
  dynamic_options o;
  o.slack.factor = random() % 2 ? .12 : 0;
  o.slack.plus = random() % 3;
  o.slack.mean = random() % 4 == 0;
  if (random() % 4 == 0)
    o.slack.function = [](std::size_t length) { return length % 3; };
  o.width = random() % 3;
  o.segments = 1 + static_cast<int>(random() % 8);
  o.move_below = random() % 2 ? 0 : random() % 40;
  o.duplicates = static_cast<on_duplicate>(random() % 3);
  o.waste = random() % 2 ? 1e-9 : .5;
  o.by_length = random() % 2;
  o.where.threads = 1 + static_cast<int>(random() % 3);
  o.pending_from = random() % 2 ? 0 : 1 + random() % 12;
  if (o.pending_from != 0) { // and what goes with that
    o.slack.mean = o.by_length = false;
    o.slack.function = nullptr;
    o.width = 0;
  }
  return o;
}

/// One sequence: what it did wrong, or nothing.
template <class V, class I>
std::string run(unsigned seed, std::size_t changes) {
  std::mt19937 random(seed);
  I rows = static_cast<I>(1 + random() % (random() % 8 ? 7 : 600));
  I cols = static_cast<I>(1 + random() % (random() % 8 ? 7 : 200));
  model<V, I> m{rows, cols, {}};
  dynamic_options const o = some_options(random);
  dynamic_csr<V, I> a(rows, cols, o);
  dynamic_snapshot<V, I> seen;
  csr<V, I, I> when_seen;
  for (std::size_t c = 0; c < changes; ++c) {
    unsigned const what = random() % 17;
    auto b =
        random_batch<V, I>(random, rows, cols, random() % 4 ? random() % 12 : 1 + random() % 90);
    if (what < 5) {
      a.insert(b.row, b.col, b.val);
      m.insert(b);
    } else if (what < 7) {
      a.assign(b.row, b.col, b.val);
      m.assign(b);
    } else if (what < 9) {
      a.erase(b.row, b.col);
      m.erase(b);
    } else if (what == 9) {
      for (V& v : b.val)
        v = static_cast<V>(static_cast<int>(random() % 3) - 1);
      a.scale_rows(b.row, b.val);
      m.scale_rows(b);
    } else if (what == 10) {
      model<V, I> other{rows, cols, {}};
      other.insert(b);
      if (random() % 2) {
        a.merge(borrowed(other.to_csr()));
        for (auto const& [place, v] : other.at)
          m.at[place] += v;
      } else {
        model<V, I> right{cols, cols, {}};
        right.insert(random_batch<V, I>(random, cols, cols, random() % 90));
        a.add_product(borrowed(other.to_csr()), borrowed(right.to_csr()));
        m.add_product(other, right);
      }
    } else if (what == 11) {
      a.defragment(
          {.sort = random() % 2 == 0, .combine = random() % 2 == 0, .compact = random() % 2 == 0});
    } else if (what == 12) {
      a.defragment_in_background({.combine = random() % 2 == 0});
      if (random() % 2)
        a.wait();
    } else if (what == 13) {
      if (seen.entries() != 0 && !(seen.to_csr() == when_seen))
        return "a snapshot has changed";
      seen = random() % 2 ? a.freeze() : a.snapshot();
      when_seen = m.to_csr();
    } else if (what == 14 && !b.val.empty()) {
      a.insert(b.row[0], b.col[0], b.val[0]);
      m.at[{b.row[0], b.col[0]}] += b.val[0];
      a.assign(b.row.back(), b.col.back(), b.val.back());
      m.at[{b.row.back(), b.col.back()}] = b.val.back();
      a.erase(b.row[0], b.col[0]);
      m.at.erase({b.row[0], b.col[0]});
    } else if (what == 15) {
      a = dynamic_csr<V, I>::adopt(a.to_csr(), o);
    } else if (what == 16) {
      auto const another = [&](I n, unsigned most) {
        unsigned const how = random() % 4; // as it is, more, fewer, any
        return how == 0 ? n
               : how == 1
                   ? static_cast<I>(n + static_cast<I>(random() % most))
                   : static_cast<I>(1 + random() % (how == 2 ? static_cast<unsigned>(n) : most));
      };
      rows = another(rows, 700);
      cols = another(cols, 300);
      a.resize(rows, cols);
      m.resize(rows, cols);
      b = random_batch<V, I>(random, rows, cols, 5);
      if (a.rows() != rows || a.cols() != cols)
        return "another size than asked for";
    }
    a.validate();
    if (!b.val.empty()) {
      auto const found = m.at.find({b.row[0], b.col[0]});
      if (a.at(b.row[0], b.col[0]) != (found == m.at.end() ? V(0) : found->second))
        return "at() is wrong after change " + std::to_string(c);
    }
    if (random() % 4 == 0 || c + 1 == changes) {
      csr<V, I, I> const expected = m.to_csr();
      if (!(a.to_csr() == expected))
        return "the matrix is wrong after change " + std::to_string(c);
      if (o.duplicates == on_duplicate::combine && a.shape().entries != expected.val.size())
        return "duplicates were kept";
      std::vector<V> x, y(static_cast<std::size_t>(rows), V(3));
      for (I j = 0; j < cols; ++j)
        x.push_back(static_cast<V>(j % 5 - 2));
      std::vector<V> const z = m.product(x, y);
      spmv(cpu{.threads = o.where.threads}, V(2), a, x, V(-1), y);
      if (y != z)
        return "spmv is wrong after change " + std::to_string(c);
    }
  }
  if (seen.entries() != 0 && !(seen.to_csr() == when_seen))
    return "a snapshot has changed";
  return "";
}

template <class T>
struct dynamic_sequences : testing::Test {};
TYPED_TEST_SUITE(dynamic_sequences, dynamic_types);

TYPED_TEST(dynamic_sequences, are_those_of_a_map) {
  using V = typename TypeParam::value;
  using I = typename TypeParam::index;
  for (unsigned const seed : sequence_seeds(400))
    ASSERT_EQ((run<V, I>(seed, 1 + seed % 40)), "") << "seed " << seed;
}

RC_GTEST_PROP(dynamic_properties, a_sequence_is_that_of_a_map, (unsigned seed)) {
  RC_ASSERT((run<double, std::int32_t>(seed, *rc::gen::inRange<std::size_t>(1, 60))) == "");
}

} // namespace
} // namespace tulle::test::sequences_test
