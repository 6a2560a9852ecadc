// SPDX-License-Identifier: Apache-2.0

// Writers and readers at once. Every batch adds v at places of row 0 and -v at the same columns of
// row 1, so whoever sees whole batches only finds that the rows cancel.
#include "tulle/op/assemble.hpp"
#include "tulle/op/spgemm.hpp"
#include "tulle/op/spmm.hpp"
#include "tulle/op/spmv.hpp"

#include "dynamic/model.hpp"

#include <atomic>
#include <numeric>
#include <thread>

namespace tulle::test::threads_test {
namespace {

constexpr std::int32_t cols = 997;

batch<double, std::int32_t> pairs(unsigned writer, unsigned number, std::size_t n) {
  batch<double, std::int32_t> b;
  std::mt19937 random(writer * 1000 + number);
  for (std::size_t k = 0; k < n; ++k) {
    auto const j = static_cast<std::int32_t>(random() % cols);
    auto const v = static_cast<double>(1 + random() % 5);
    b.add(0, j, v);
    b.add(1, j, -v);
    b.add(static_cast<std::int32_t>(2 + random() % 50), j, 1);
  }
  return b;
}

/// A product that adds pairs of the same kind.
struct pair_product {
  csr<double> left = from_triplets<double>(64, 64, std::vector{0, 1}, std::vector{2, 2},
                                           std::vector<double>{1, -1});
  csr<double> right = from_lengths(cols, std::vector<std::int32_t>(64, 300));
  csr<double> sum = spgemm(left, right);
};

void run(int writers, int readers, on_duplicate how, bool in_place, std::size_t pending_from) {
  constexpr unsigned batches = 12;
  dynamic_options o;
  o.duplicates = how;
  o.pending_from = pending_from;
  o.where.threads = 2;
  dynamic_csr<double> a(64, cols, o);
  pair_product const both;
  std::atomic<int> writing = writers;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> all;
  for (int w = 0; w < writers; ++w)
    all.emplace_back([&, w] {
      for (unsigned n = 0; n < batches; ++n) {
        auto const b = pairs(static_cast<unsigned>(w), n, n % 3 == 0 ? 8000 : 40);
        a.insert(b.row, b.col, b.val);
        if (in_place) {
          auto const some = pairs(static_cast<unsigned>(w), n + 100, 20);
          if (n % 4 == 1)
            a.scale_rows(std::vector{0, 1}, std::vector{2.0, 2.0});
          else if (n % 4 == 2)
            a.assign(some.row, some.col, some.val);
          else if (n % 4 == 0)
            a.erase(some.row, some.col);
        }
        if (n % 6 == 5)
          a.merge(both.sum.view());
        if (n % 4 == 3)
          a.add_product(both.left.view(), both.right.view());
        if (n % 5 == 2)
          a.defragment_in_background({.combine = n % 2 == 0});
      }
      --writing;
    });
  for (int r = 0; r < readers; ++r)
    all.emplace_back([&, r] {
      std::vector<double> const ones(cols, 1);
      std::vector<double> y(64);
      do {
        if (r % 5 == 0) {
          spmv(cpu{.threads = 2}, 1.0, a, ones, 0.0, y);
        } else if (r % 5 == 1) {
          spmm(cpu{.threads = 2}, 1.0, a, row_major(ones.data(), cols, 1), 0.0,
               row_major(y.data(), 64, 1));
        } else if (r % 5 == 2) {
          auto const s = a.freeze();
          spmv(cpu{.threads = 2}, 1.0, s.as_csr(), ones, 0.0, y);
        } else if (r % 5 == 3) {
          std::fill(y.begin(), y.end(), 0);
          auto const s = a.snapshot();
          s.for_each(
              [&](std::int32_t i, std::int32_t, double v) { y[static_cast<std::size_t>(i)] += v; });
        } else {
          csr<double> const c = a.to_csr();
          for (std::size_t i = 0; i < 2; ++i)
            y[i] =
                std::accumulate(c.val.data() + c.row_ptr[i], c.val.data() + c.row_ptr[i + 1], 0.0);
        }
        wrong += y[0] + y[1] != 0;
      } while (writing > 0);
    });
  for (std::thread& t : all)
    t.join();
  a.wait();
  a.validate();
  EXPECT_EQ(wrong, 0) << writers << " writers, " << readers << " readers";
  if (in_place)
    return; // scaling and inserting do not commute
  model<double, std::int32_t> m{64, cols, {}};
  batch<double, std::int32_t> product;
  for (std::int32_t k = both.right.row_ptr[2]; k < both.right.row_ptr[3]; ++k) {
    product.add(0, both.right.col[k], both.right.val[k]);
    product.add(1, both.right.col[k], -both.right.val[k]);
  }
  for (int w = 0; w < writers; ++w)
    for (unsigned n = 0; n < batches; ++n) {
      m.insert(pairs(static_cast<unsigned>(w), n, n % 3 == 0 ? 8000 : 40));
      for (int times = (n % 4 == 3) + (n % 6 == 5); times > 0; --times)
        m.insert(product);
    }
  EXPECT_EQ(a.to_csr(), m.to_csr());
}

TEST(dynamic_threads, readers_see_whole_batches_and_all_arrive) {
  for (int const threads : {1, 2, 8})
    for (on_duplicate const how : {on_duplicate::keep, on_duplicate::combine})
      run(threads, threads < 8 ? threads : 5, how, false, 0);
}

TEST(dynamic_threads, readers_see_whole_batches_that_come_pending) {
  for (int const threads : {1, 2, 8})
    run(threads, threads < 8 ? threads : 5, on_duplicate::keep, false, 20);
}

TEST(dynamic_threads, changes_in_place_are_whole_too) {
  for (std::size_t const pending_from : {0, 20})
    run(2, 5, on_duplicate::keep, true, pending_from);
}

} // namespace
} // namespace tulle::test::threads_test
