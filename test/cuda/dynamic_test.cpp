// SPDX-License-Identifier: Apache-2.0

// Matrices that grow on the device: against a map and against the cpu's.
#include "tulle/core/device_matrix.hpp"
#include "tulle/core/types.hpp"
#include "tulle/dynamic/device_dynamic_csr.hpp"
#include "tulle/gen/generate.hpp"
#include "tulle/op/spmv.hpp"

#include "cuda/grown.hpp"
#include "device/memory.hpp"
#include "support/expect.hpp"
#include "support/zoo.hpp"

#include <cmath>
#include <cuda_runtime_api.h>
#include <limits>
#include <numeric>
#include <thread>

namespace tulle::test::device_dynamic_test {
namespace {

device_dynamic_options some_options(std::mt19937& random, cuda const& where) {
  device_dynamic_options o;
  o.slack.factor = random() % 2 ? .12 : 0;
  o.slack.plus = random() % 3;
  o.slack.mean = random() % 4 == 0;
  o.width = random() % 3 ? 0 : random() % 5;
  o.segments = 2 + static_cast<int>(random() % 7);
  o.duplicates = static_cast<on_duplicate>(random() % 3);
  o.mapped = random() % 16 == 0; // which is slow
  o.where = where;
  return o;
}

/// One sequence: what it did wrong, or nothing.
template <class V, class I>
std::string run(unsigned seed, std::size_t changes, cuda const& where) {
  std::mt19937 random(seed);
  I const rows = static_cast<I>(1 + random() % (random() % 4 ? 7 : 600));
  I const cols = static_cast<I>(1 + random() % (random() % 4 ? 7 : 200));
  model<V, I> m{rows, cols, {}};
  device_dynamic_options const o = some_options(random, where);
  device_dynamic_csr<V, I> a(rows, cols, o);
  for (std::size_t c = 0; c < changes; ++c) {
    unsigned const what = random() % 16;
    auto b =
        random_batch<V, I>(random, rows, cols, random() % 4 ? random() % 12 : 1 + random() % 900);
    if (what == 9)
      for (V& v : b.val)
        v = static_cast<V>(static_cast<int>(random() % 3) - 1);
    device_array<I> const row(b.row, where), col(b.col, where);
    device_array<V> const val(b.val, where);
    bool const there = random() % 2;
    if (what < 5) {
      there ? a.insert(row, col, val) : a.insert(b.row, b.col, b.val);
      m.insert(b);
    } else if (what < 7) {
      there ? a.assign(row, col, val) : a.assign(b.row, b.col, b.val);
      m.assign(b);
    } else if (what < 9) {
      there ? a.erase(row, col) : a.erase(b.row, b.col);
      m.erase(b);
    } else if (what == 9) {
      there ? a.scale_rows(row, val) : a.scale_rows(b.row, b.val);
      m.scale_rows(b);
    } else if (what == 10) {
      model<V, I> other{rows, cols, {}};
      other.insert(b);
      a.merge(borrowed(other.to_csr()));
      for (auto const& [place, v] : other.at)
        m.at[place] += v;
    } else if (what == 14) {
      auto const c = m.to_csr();
      coo<V, I, I> const entries = coo<V, I, I>::from_csr(c.view());
      a = device_dynamic_csr<V, I>::from_coo(entries.view(), o);
    } else if (what == 13) {
      model<V, I> left{rows, cols, {}}, right{cols, cols, {}};
      left.insert(b);
      right.insert(random_batch<V, I>(random, cols, cols, random() % 90));
      device_matrix const l = upload(left.to_csr(), where), r = upload(right.to_csr(), where);
      using there_t = csr_view<V, I, I, space::cuda>;
      a.add_product(l.template view<there_t>(), r.template view<there_t>());
      m.add_product(left, right);
    } else if (what == 11) {
      a.defragment({.sort = random() % 2 == 0, .combine = random() % 2 == 0});
    } else if (what == 12) {
      a = there ? device_dynamic_csr<V, I>::from_csr(a.freeze(), o)
                : device_dynamic_csr<V, I>::from_csr(borrowed(a.to_csr()), o);
    }
    csr<V, I, I> const expected = m.to_csr();
    std::vector<V> x, y(static_cast<std::size_t>(rows), V(3));
    for (I j = 0; j < cols; ++j)
      x.push_back(static_cast<V>(j % 5 - 2));
    device_array<V> const x_there(x, where);
    device_array<V> y_there(y, where);
    spmv(V(2), a, x_there, V(-1), y_there);
    if (from_there(y_there) != m.product(x, y))
      return "spmv is wrong after change " + std::to_string(c);
    if (o.duplicates == on_duplicate::combine && a.shape().entries != expected.val.size())
      return "duplicates were kept";
    if (random() % 4 == 0 || c + 1 == changes) {
      if (!(a.to_csr() == expected))
        return "the matrix is wrong after change " + std::to_string(c);
      if (!a.shape().compact)
        return "to_csr() does not defragment";
    }
  }
  return "";
}

template <class T>
struct device_dynamic : testing::Test {};
TYPED_TEST_SUITE(device_dynamic, dynamic_types);

TYPED_TEST(device_dynamic, sequences_are_those_of_a_map) {
  using V = typename TypeParam::value;
  using I = typename TypeParam::index;
  for (unsigned const seed : sequence_seeds(is_quick() ? 12 : 150))
    ASSERT_EQ((run<V, I>(seed, 1 + seed % 30, cuda{})), "") << "seed " << seed;
}

// Each thread has a stream and matrices of its own, and every fourth sequence.
TEST(device_dynamic_csr, sequences_are_those_of_a_map_on_four_streams) {
  std::vector<std::string> wrong(4);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&wrong, t] {
      own_queue const s;
      for (unsigned const seed : sequence_seeds(is_quick() ? 16 : 160))
        if (seed % 4 == t && wrong[t].empty())
          wrong[t] = run<double, std::int32_t>(seed, 1 + seed % 30, s);
    });
  for (std::thread& t : threads)
    t.join();
  for (std::string const& w : wrong)
    EXPECT_EQ(w, "");
}

// Each call is one after the other; what comes of it hangs on no order, since rows are apart.
TEST(device_dynamic_csr, takes_batches_of_several_threads) {
  constexpr std::int32_t rows = 400, cols = 300;
  matrix d(rows, cols);
  model<double, std::int32_t> m{rows, cols, {}};
  std::vector<std::vector<batch<double, std::int32_t>>> batches(4);
  for (unsigned t = 0; t < batches.size(); ++t) {
    std::mt19937 random(t);
    for (int k = 0; k < 10; ++k) {
      auto b = random_batch<double, std::int32_t>(random, rows / 4, cols, 200);
      for (std::int32_t& i : b.row)
        i = i * 4 + static_cast<std::int32_t>(t);
      k % 3 == 2 ? m.erase(b) : m.insert(b);
      batches[t].push_back(b);
    }
  }
  std::vector<std::thread> threads;
  for (auto const& of_one : batches)
    threads.emplace_back([&d, &of_one] {
      for (std::size_t k = 0; k < of_one.size(); ++k) {
        auto const& b = of_one[k];
        if (k % 3 == 2)
          d.erase(b.row, b.col);
        else
          d.insert(b.row, b.col, b.val);
        product({}, d, std::vector<double>(cols, 1));
      }
    });
  for (std::thread& t : threads)
    t.join();
  EXPECT_EQ(d.to_csr(), m.to_csr());
}

TEST(device_dynamic_csr, keeps_what_is_not_a_number) {
  double const inf = std::numeric_limits<double>::infinity();
  double const nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::int32_t> const row{0, 1, 2, 2, 3}, col{0, 1, 0, 1, 2};
  std::vector<double> const val{nan, inf, inf, -inf, 1};
  matrix d(5, 3);
  d.insert(row, col, val);
  auto const c = d.to_csr();
  ASSERT_EQ(c.val.size(), 5u);
  EXPECT_TRUE(std::isnan(c.val[0]));
  EXPECT_EQ(c.val[1], inf);
  EXPECT_EQ(c.val[3], -inf);
  auto const y = product({}, d, {1, 1, 1});
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], inf);
  EXPECT_TRUE(std::isnan(y[2]));
  EXPECT_EQ(y[3], 1);
  EXPECT_EQ(y[4], 0);
}

TEST(device_dynamic_csr, takes_the_order_of_the_cpu) {
  std::mt19937 random(3);
  for (on_duplicate const how : {on_duplicate::keep, on_duplicate::combine}) {
    device_dynamic_options there;
    dynamic_options here;
    there.duplicates = here.duplicates = how;
    matrix a(60, 40, there);
    dynamic_csr<double> b(60, 40, here);
    for (int k = 0; k < 12; ++k) {
      auto e = random_batch<double, std::int32_t>(random, 60, 40, 500);
      for (double& v : e.val)
        v = std::sin(v + static_cast<double>(random() % 1000));
      auto const change = [&](auto& m) {
        if (k % 4 == 1)
          m.assign(e.row, e.col, e.val);
        else if (k % 4 == 3)
          m.erase(std::span(e.row).first(100), std::span(e.col).first(100));
        else
          m.insert(e.row, e.col, e.val);
      };
      change(a);
      change(b);
      ASSERT_TRUE(stored(a.download().snapshot()) == stored(b.snapshot())) << k;
    }
  }
}

/// Rows 1 and 3 get most of them.
batch<double, std::int32_t> crowded(std::mt19937& random, std::int32_t rows, std::int32_t cols,
                                    std::size_t n) {
  auto b = random_batch<double, std::int32_t>(random, rows, cols, n);
  for (std::size_t k = 0; k < n; ++k) {
    if (k % 3 != 0)
      b.row[k] = random() % 4 == 0 ? 3 : 1;
    b.val[k] = std::sin(static_cast<double>(k));
  }
  return b;
}

// Batches that are counted and batches that are sorted; rows of one entry, of some, of many.
TEST(device_dynamic_csr, rows_have_entries_in_the_order_they_came) {
  std::mt19937 random(11);
  for (std::size_t const n : {3u, 700u, 20'000u, 131'072u, 131'073u}) {
    if (is_quick() && n > 20'000)
      break;
    matrix a(2000, 5000);
    dynamic_csr<double> b(2000, 5000);
    for (int k = 0; k < 3; ++k) {
      auto const e = crowded(random, 2000, 5000, n);
      a.insert(e.row, e.col, e.val);
      b.insert(e.row, e.col, e.val);
      ASSERT_TRUE(stored(a.download().snapshot()) == stored(b.snapshot())) << n;
    }
  }
}

TEST(device_dynamic_csr, rows_have_their_entries_in_any_order_where_exact_is_not_wanted) {
  std::mt19937 random(12);
  device_dynamic_options o;
  o.where.exact = false;
  matrix a(2000, 50, o);
  model<double, std::int32_t> m{2000, 50, {}};
  for (int k = 0; k < 4; ++k) {
    auto e = crowded(random, 2000, 50, 9000);
    for (double& v : e.val)
      v = static_cast<double>(random() % 9);
    a.insert(e.row, e.col, e.val);
    m.insert(e);
    ASSERT_EQ(a.to_csr(), m.to_csr()) << k;
  }
}

// Short rows by blocks, long ones by a sort; those that are in order stay.
TEST(device_dynamic_csr, defragmenting_sorts_and_adds_up_as_the_cpu_does) {
  std::mt19937 random(13);
  for (std::int32_t const rows : {7, 29, 900, 60'000})
    for (bool const combine : {false, true}) {
      matrix a(rows, 3000);
      dynamic_csr<double> b(rows, 3000);
      for (std::size_t const n : {30'000u, 500u, 9u}) {
        auto const e = crowded(random, rows, 3000, n);
        a.insert(e.row, e.col, e.val);
        b.insert(e.row, e.col, e.val);
        a.defragment({.sort = true, .combine = combine});
        b.defragment({.sort = true, .combine = combine});
        ASSERT_EQ(a.shape().entries, b.shape().entries) << rows;
        ASSERT_TRUE(stored(a.download().snapshot()) == stored(b.snapshot())) << rows << combine;
        a.defragment({.combine = combine}); // of what is in order
        ASSERT_TRUE(stored(a.download().snapshot()) == stored(b.snapshot())) << rows << combine;
      }
    }
}

TEST(device_dynamic_csr, rows_begin_as_wide_as_they_are_told) {
  device_dynamic_options o;
  o.width = 3;
  matrix d(1000, 50, o);
  EXPECT_GE(d.shape().places, 3000u);
  std::vector<std::int32_t> row, col;
  for (std::int32_t k = 0; k < 3000; ++k) {
    row.push_back(k % 1000);
    col.push_back(k / 1000);
  }
  std::size_t const places = d.shape().places;
  d.insert(row, col, std::vector<double>(3000, 1));
  EXPECT_EQ(d.shape().places, places);
  EXPECT_EQ(d.shape().segments, 1u);
  EXPECT_EQ(product({}, d, std::vector<double>(50, 1)), std::vector<double>(1000, 3));
  o.limit = 100;
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"the limit is 100"}, [&] { matrix(40, 1, o); }));
  o.width = SIZE_MAX;
  EXPECT_TRUE(fails_with(errc::overflow, {"rows of that width"}, [&] { matrix(40, 1, o); }));
}

TEST(device_dynamic_csr, from_coo_adds_up_entries_of_one_place) {
  coo<double> const a(3, 4, {2, 0, 2, 2}, {1, 3, 1, 0}, {1, 2, 4, 8});
  matrix d = matrix::from_coo(a.view());
  EXPECT_EQ(d.shape().entries, 3u);
  EXPECT_EQ(d.to_csr(), a.to_csr());
  EXPECT_EQ(matrix::from_coo(borrowed(coo<double>(3, 4, {}, {}, {}))).shape().entries, 0u);
}

TEST(device_dynamic_csr, adds_itself) {
  csr<double> const a = from_lengths(900, std::vector<std::int32_t>(700, 9));
  csr<double> twice = a;
  for (double& v : twice.val)
    v *= 2;
  matrix d = matrix::from_csr(a.view());
  d.merge(d.freeze()); // whose arrays are the pool that must grow for it
  EXPECT_EQ(d.to_csr(), twice);
}

// Its pool is the driver's memory and no other's, grows by an eighth, and keeps to its limit.
TEST(device_dynamic_csr, a_mapped_pool_grows_in_its_place) {
  counted memory, other;
  std::mt19937 random(3);
  device_dynamic_options o;
  o.limit = 3'000'000;
  o.where.memory = &other;
  matrix copied(20'000, 30'000, o);
  o.where.memory = &memory;
  o.mapped = true;
  matrix d(20'000, 30'000, o);
  for (int k = 0; k < 8; ++k) {
    auto const e = random_batch<double, std::int32_t>(random, 20'000, 30'000, 250'000);
    d.insert(e.row, e.col, e.val);
    copied.insert(e.row, e.col, e.val);
    EXPECT_LE(8 * d.shape().places, 9 * copied.shape().places);
  }
  EXPECT_EQ(d.shape().entries, 2'000'000u);
  EXPECT_FALSE(d.shape().compact);
  EXPECT_LT(memory.most + 12'000'000, other.most);
  EXPECT_EQ(d.to_csr(), copied.to_csr());
  auto const many = random_batch<double, std::int32_t>(random, 20'000, 30'000, 1'100'000);
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"the limit is 3000000"},
                         [&] { d.insert(many.row, many.col, many.val); }));
  EXPECT_EQ(d.to_csr(), copied.to_csr());
}

TEST(device_dynamic_csr, slack_gives_way_where_places_come_to_an_end) {
  std::mt19937 random(14);
  auto const e = crowded(random, 10, 3000, 4000);
  device_dynamic_options o;
  o.slack.factor = 1e6; // of 2667 entries
  matrix a(10, 3000, o);
  a.insert(e.row, e.col, e.val);
  a.insert(e.row, e.col, e.val);
  EXPECT_EQ(a.shape().entries, 8000u);
  o.slack.factor = 3;
  o.limit = 4100;
  matrix b(10, 3000, o);
  b.insert(e.row, e.col, e.val);
  EXPECT_EQ(b.shape().entries, 4000u);
  EXPECT_LE(b.shape().places, 4100u);
}

// What the slack of all rows has room for, one row may have.
TEST(device_dynamic_csr, one_row_gets_the_slack_of_all) {
  csr<double> const start = from_lengths(200, std::vector<std::int32_t>(100, 4));
  device_dynamic_options o;
  o.slack = {};
  o.slack.factor = 0;
  o.slack.plus = 1;
  o.limit = 510;
  for (bool const is_compact : {true, false}) {
    matrix d = matrix::from_csr(start.view(), o), wanted = matrix::from_csr(start.view());
    auto const in_row = [](auto& to, std::int32_t row, std::int32_t from, std::int32_t n) {
      std::vector<std::int32_t> const rows(static_cast<std::size_t>(n), row);
      std::vector<std::int32_t> cols(rows.size());
      std::iota(cols.begin(), cols.end(), from);
      to.insert(rows, cols, std::vector<double>(rows.size(), 1.0));
    };
    for (matrix* const a : {&d, &wanted}) {
      if (!is_compact)
        in_row(*a, 3, 0, 2);
      in_row(*a, 50, 0, 20);
      in_row(*a, 50, 100, 60);
    }
    EXPECT_EQ(d.to_csr(), wanted.to_csr());
    EXPECT_LE(d.shape().places, 510u);
    EXPECT_TRUE(
        fails_with(errc::out_of_memory, {"the limit is 510"}, [&] { in_row(d, 9, 0, 60); }));
    EXPECT_EQ(d.to_csr(), wanted.to_csr());
  }
}

TEST(device_dynamic_csr, refuses_bad_input_by_name_and_stays_as_it_was) {
  device_dynamic_options o;
  o.limit = 4096;
  matrix d(10, 20, o);
  std::mt19937 random(1);
  auto const e = random_batch<double, std::int32_t>(random, 10, 20, 100);
  d.insert(e.row, e.col, e.val);
  std::vector<double> const x(20, 1);
  csr<double> const before = matrix::from_csr(d.freeze()).to_csr();
  auto refused = [&](errc code, std::vector<std::string> const& words, auto&& f) {
    EXPECT_TRUE(fails_with(code, words, f));
    EXPECT_EQ(d.to_csr(), before);
  };
  expect_refused_batches(d, refused);
  auto const many = random_batch<double, std::int32_t>(random, 10, 20, 5000);
  refused(errc::out_of_memory, {"the limit is 4096"},
          [&] { d.insert(many.row, many.col, many.val); });
  device_array<double> in(x), out(9), both(30);
  refused(errc::shape_mismatch, {"y has 9 entries but A has 10 rows"},
          [&] { spmv(1.0, d, in, 0.0, out); });
  refused(errc::bad_structure, {"overlap"}, [&] {
    spmv(1.0, d, vector_view<double const, space::cuda>(both.data(), 20), 0.0,
         vector_view<double, space::cuda>(both.data() + 15, 10));
  });
  csr<double> broken = before;
  broken.col[3] = 20;
  EXPECT_TRUE(fails_with(errc::bad_structure, {"col"}, [&] {
    device_array<std::int32_t> const ptr(broken.row_ptr), col(broken.col);
    device_array<double> const val(broken.val);
    matrix::from_csr(matrix::csr_there(unchecked, 10, 20, broken.row_ptr.back(), ptr.data(),
                                       col.data(), val.data()));
  }));
  device_dynamic_options segments;
  segments.segments = 1;
  EXPECT_TRUE(fails_with(errc::unsupported, {"1 segments"}, [&] { matrix(1, 1, segments); }));
  EXPECT_TRUE(fails_with(errc::bad_structure, {"-1 rows"}, [] { matrix(-1, 1); }));
  matrix const moved = std::move(d);
  EXPECT_TRUE(
      fails_with(errc::bad_structure, {"moved from"}, [&] { d.insert(e.row, e.col, e.val); }));
}

TEST(device_dynamic_csr, stays_as_it_was_when_any_allocation_fails) {
  counted memory;
  {
    std::mt19937 random(9);
    auto const e = random_batch<double, std::int32_t>(random, 40, 40, 300);
    auto const more = random_batch<double, std::int32_t>(random, 40, 40, 900);
    csr<double> const other = from_lengths(40, std::vector<std::int32_t>(40, 2));
    for (on_duplicate const how : {on_duplicate::keep, on_duplicate::combine}) {
      device_dynamic_options o;
      o.where.memory = &memory;
      o.duplicates = how;
      auto survives = [&](char const* what, auto&& change) {
        for (std::size_t k = 0;; ++k) {
          ASSERT_LT(k, 100u) << what;
          memory.left = SIZE_MAX;
          matrix d(40, 40, o); // the first insert takes memory of its own
          d.assign(e.row, e.col, e.val);
          auto const entries = d.shape().entries;
          memory.left = k;
          try {
            change(d);
            memory.left = SIZE_MAX;
            break;
          } catch (error const& error) {
            EXPECT_EQ(error.code(), errc::out_of_memory) << what;
          }
          memory.left = SIZE_MAX;
          d.assign(e.row, e.col, e.val); // finds nothing that the one which failed has left
          EXPECT_EQ(d.shape().entries, entries) << what << ", allocation " << k;
          matrix wanted(40, 40);
          wanted.assign(e.row, e.col, e.val);
          EXPECT_EQ(d.to_csr(), wanted.to_csr()) << what << ", allocation " << k;
        }
      };
      survives("insert", [&](matrix& d) { d.insert(more.row, more.col, more.val); });
      survives("assign", [&](matrix& d) { d.assign(more.row, more.col, more.val); });
      survives("erase", [&](matrix& d) { d.erase(more.row, more.col); });
      survives("scale_rows", [&](matrix& d) { d.scale_rows(more.row, more.val); });
      survives("merge", [&](matrix& d) { d.merge(other.view()); });
      device_matrix const there = upload(other);
      survives("add_product", [&](matrix& d) {
        d.add_product(there.view<matrix::csr_there>(), there.view<matrix::csr_there>());
      });
      survives("defragment", [&](matrix& d) { d.defragment({.sort = true}); });
      survives("freeze", [&](matrix& d) { d.freeze(); });
      survives("spmv", [&](matrix& d) { product({}, d, std::vector<double>(40, 1)); });
      for (std::size_t k = 0; k < 30; ++k) {
        memory.left = k;
        try {
          matrix::from_csr(other.view(), o);
          break;
        } catch (error const& error) {
          EXPECT_EQ(error.code(), errc::out_of_memory);
        }
      }
      memory.left = SIZE_MAX;
    }
  }
  EXPECT_EQ(memory.now, 0u);
}

} // namespace
} // namespace tulle::test::device_dynamic_test
