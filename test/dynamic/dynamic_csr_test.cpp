// SPDX-License-Identifier: Apache-2.0

// What a dynamic matrix promises, one by one; sequences_test.cpp mixes it all.
#include "tulle/format/csr_pool.hpp"

#include "dynamic/model.hpp"
#include "support/expect.hpp"
#include "support/memory.hpp"
#include "support/product.hpp"
#include "support/zoo.hpp"

#include <cmath>
#include <limits>

namespace tulle::test::dynamic_csr_test {
namespace {

using matrix = dynamic_csr<double>;
using entries = batch<double, std::int32_t>;

entries some(std::size_t n, std::int32_t rows = 300, std::int32_t cols = 300, unsigned seed = 1) {
  std::mt19937 random(seed);
  return random_batch<double, std::int32_t>(random, rows, cols, n);
}

TEST(dynamic_csr, is_the_one_in_the_picture) {
  csr<double> const a(4, 4, {0, 2, 3, 4, 7}, {0, 2, 1, 3, 0, 1, 2}, {1, 2, 3, 4, 5, 6, 7});
  dynamic_options o;
  o.move_below = 0;
  o.slack.function = [](std::size_t length) { return length == 2 ? 2 : std::size_t(length == 1); };
  matrix d = matrix::from_csr(a.view(), o);
  d.insert(3, 3, 8);
  auto const s = d.snapshot();
  auto const& v = s.view();
  EXPECT_EQ(std::vector(v.length, v.length + 4), (std::vector{2, 1, 1, ~4}));
  EXPECT_EQ(std::vector(v.begin[0], v.begin[0] + 4), (std::vector{0, 4, 6, 8}));
  EXPECT_EQ(std::vector(v.end[0], v.end[0] + 4), (std::vector{4, 6, 8, 11}));
  EXPECT_EQ(v.end[1][3] - v.begin[1][3], 1); // slack of four entries: none by this function
  EXPECT_EQ(stored(s).val, (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(dynamic_csr, goes_through_csr_and_coo_and_back) {
  for (animal const& one : zoo()) {
    csr<double> const expected = one.matrix.to_csr();
    matrix d = matrix::from_csr(one.matrix.view());
    d.validate();
    EXPECT_EQ(d.to_csr(), expected) << one.name;
    EXPECT_EQ(d.snapshot().to_csr(), expected) << one.name;
    EXPECT_EQ(matrix::adopt(csr<double>(one.matrix)).to_csr(), expected) << one.name;
    auto const c = coo<double>::from_csr(one.matrix.view());
    EXPECT_EQ(matrix::from_coo(c.view()).to_csr(), expected) << one.name;
    EXPECT_EQ(d.freeze().as_csr().to_csr(), expected) << one.name;
    EXPECT_TRUE(d.shape().compact);
    d.validate();
  }
}

// The format that stands for dynamic matrices where all formats are compared.
TEST(dynamic_csr, multiplies_to_the_bits_of_csr_pool) {
  for (animal const& one : zoo()) {
    csr<double> const a = rough(one.matrix).to_csr();
    std::vector<double> const x = roughs(static_cast<std::size_t>(a.cols), 3);
    std::vector<double> y = roughs(static_cast<std::size_t>(a.rows), 4), expected = y;
    spmv(1.5, csr_pool<double>::from_csr(a.view()), x, .5, expected);
    spmv(1.5, matrix::from_csr(a.view(), in_rows()), x, .5, y);
    EXPECT_TRUE(same_bits(y, expected)) << one.name;
  }
}

TEST(dynamic_csr, adopts_and_freezes_without_a_copy) {
  csr<double> a = elephant();
  double const* const val = a.val.data();
  std::int32_t const* const col = a.col.data();
  matrix d = matrix::adopt(std::move(a));
  auto const first = d.freeze();
  csr_view<double> const frozen = first.as_csr();
  EXPECT_EQ(frozen.val, val);
  EXPECT_EQ(frozen.col, col);
  auto const kept = d.freeze();
  d.insert(0, 0, 1);
  EXPECT_FALSE(d.shape().compact);
  EXPECT_EQ(kept.as_csr().to_csr(), elephant());
  EXPECT_TRUE(fails_with(errc::unsupported, {"freeze"}, [&] { d.snapshot().as_csr(); }));
}

TEST(dynamic_csr, multiplies_the_zoo_with_any_number_of_threads_to_the_same_bits) {
  auto check = [](csr<double> const& source, std::string const& name, bool by_length) {
    csr<double> const a = rough(source);
    std::vector<double> const x = roughs(static_cast<std::size_t>(a.cols), 3);
    std::vector<double> const start = roughs(static_cast<std::size_t>(a.rows), 4);
    any_matrix const any = a;
    product const p = exact_product(any, false, to_dense(any.type(), x));
    dynamic_options o = in_rows();
    o.segments = 3;
    o.move_below = by_length ? 32 : 0;
    o.by_length = by_length;
    matrix d(a.rows, a.cols, o);
    std::vector<std::vector<std::int32_t>> row(5), col(5);
    std::vector<std::vector<double>> val(5);
    for (std::int32_t i = 0; i < a.rows; ++i) // in five batches: rows of several segments
      for (std::int32_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k) {
        auto const b = static_cast<std::size_t>((k * 7 + i) % 5);
        row[b].push_back(i);
        col[b].push_back(a.col[k]);
        val[b].push_back(a.val[k]);
      }
    for (std::size_t b = 0; b < 5; ++b)
      d.insert(row[b], col[b], val[b]);
    for (int turn = 0; turn < 3; ++turn) { // then in one segment each, then compact
      std::vector<double> first;
      for (int const threads : {1, 2, 3, 7, 64}) {
        std::vector<double> y = start;
        spmv(cpu{.threads = threads}, 1.5, d, x, -.5, y);
        if (first.empty()) {
          first = y;
          EXPECT_TRUE(is_product(p, 1.5, -.5, to_dense(any.type(), start), to_dense(any.type(), y),
                                 epsilon(any.type()), 8))
              << name;
        }
        EXPECT_TRUE(same_bits(first, y)) << name << ", " << threads << " threads";
      }
      turn == 0 ? d.defragment() : static_cast<void>(d.freeze());
    }
  };
  for (bool const by_length : {false, true}) {
    for (animal const& one : zoo())
      check(one.matrix, one.name, by_length);
    check(elephant(), "elephant", by_length);
    check(from_lengths(200000, {3, 100000, 0, 16383, 16384, 16385, 5, 40000}), "long rows",
          by_length);
  }
}

TEST(dynamic_csr, keeps_rows_in_the_order_of_their_lengths) {
  std::vector<std::vector<std::int32_t>> orders;
  for (int const threads : {1, 2, 7}) {
    dynamic_options o;
    o.by_length = true;
    o.where.threads = threads;
    std::vector<std::int32_t> lengths(30000);
    for (std::size_t i = 0; i < lengths.size(); ++i)
      lengths[i] = static_cast<std::int32_t>(i * i % 23);
    matrix d = matrix::from_csr(borrowed(from_lengths(5000, lengths)), o);
    // A row that is out of order has at most two neighbours to show it.
    auto const ascends = [&](char const* when, int out_of_order = 0) {
      d.validate();
      auto const s = d.snapshot();
      auto const& v = s.view();
      ASSERT_TRUE(v.order) << when;
      int descents = 0;
      for (std::int32_t k = 1; k < v.rows; ++k)
        descents += v.size(v.order[k - 1]) > v.size(v.order[k]) && v.size(v.order[k - 1]) <= 16;
      EXPECT_LE(descents, 2 * out_of_order) << when;
    };
    ascends("from csr");
    auto const s = d.snapshot();
    for (std::int32_t k = 1; k < s.rows(); ++k) // so they lie, too
      ASSERT_TRUE(s.view().size(s.view().order[k - 1]) == 0 ||
                  s.view().begin[0][s.view().order[k - 1]] < s.view().begin[0][s.view().order[k]]);
    entries const e = some(20000, 30000, 5000);
    d.insert(e.row, e.col, e.val);
    ascends("inserted", 30000 / 8);
    d.erase(std::span(e.row).first(9000), std::span(e.col).first(9000));
    ascends("erased", 30000 / 8);
    d.defragment({.combine = true});
    ascends("combined", 30000 / 8);
    auto const last = d.snapshot();
    orders.emplace_back(last.view().order, last.view().order + last.rows());
    d.freeze();
    EXPECT_FALSE(borrowed(d.snapshot()).order); // rows as csr has them
    d.insert(1, 1, 1);
    d.defragment();
    ascends("after it was compact");
  }
  EXPECT_TRUE(orders[0] == orders[1] && orders[0] == orders[2]);
}

TEST(dynamic_csr, spmv_reads_neither_y_nor_x_without_need) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  matrix d(2, 2);
  d.insert(0, 0, 1);
  std::vector<double> x = {2, nan}, y = {nan, nan};
  spmv(1.0, d, x, 0.0, y);
  EXPECT_EQ(y, (std::vector<double>{2, 0}));
  x = {nan, nan};
  spmv(0.0, d, x, 2.0, y);
  EXPECT_EQ(y, (std::vector<double>{4, 0}));
  d.erase(0, 0);
  spmv(1.0, d, x, 2.0, y);
  EXPECT_EQ(y, (std::vector<double>{8, 0}));
}

TEST(dynamic_csr, is_the_same_matrix_for_every_number_of_threads) {
  for (on_duplicate const how : {on_duplicate::keep, on_duplicate::combine}) {
    std::vector<batch<double, std::int32_t>> found;
    std::vector<dynamic_shape> shapes;
    for (int const threads : {1, 2, 7}) {
      dynamic_options o = in_rows();
      o.where.threads = threads;
      o.duplicates = how;
      matrix d(500, 400, o);
      for (unsigned b = 0; b < 4; ++b) {
        entries e = some(40000, 500, 400, b);
        for (double& v : e.val)
          v /= 3; // sums round
        d.insert(e.row, e.col, e.val);
        d.assign(std::span(e.row).first(9000), std::span(e.col).first(9000),
                 std::span(e.val).first(9000));
        d.erase(std::span(e.row).last(99), std::span(e.col).last(99));
      }
      d.validate();
      found.push_back(stored(d.snapshot()));
      shapes.push_back(d.shape());
    }
    EXPECT_TRUE(found[0] == found[1] && found[0] == found[2]);
    EXPECT_EQ(shapes[0].places, shapes[2].places);
    EXPECT_EQ(shapes[0].left, shapes[2].left);
  }
}

TEST(dynamic_csr, adds_and_assigns_in_the_order_of_the_batch) {
  double const big = 1e17;
  for (on_duplicate const how :
       {on_duplicate::keep, on_duplicate::at_defragmenting, on_duplicate::combine}) {
    dynamic_options o;
    o.duplicates = how;
    matrix d(2, 2, o);
    std::vector<std::int32_t> const row = {1, 1, 1}, col = {1, 1, 1};
    std::vector<double> const val = {big, 1, -big};
    d.insert(row, col, val);
    EXPECT_EQ(d.at(1, 1), 0); // big + 1 is big; in another order it would be 1
    EXPECT_EQ(d.to_csr().val[0], 0);
    EXPECT_EQ(d.shape().entries, how == on_duplicate::combine ? 1u : 3u);
    d.defragment();
    EXPECT_EQ(d.shape().entries, how == on_duplicate::keep ? 3u : 1u);
    d.assign(row, col, val);
    EXPECT_EQ(d.at(1, 1), -big);
    EXPECT_EQ(d.shape().entries, 1u);
  }
}

TEST(dynamic_csr, keeps_nan_and_infinity) {
  double const inf = std::numeric_limits<double>::infinity();
  matrix d(1, 2);
  d.insert(0, 0, inf);
  d.insert(0, 1, std::nan(""));
  d.defragment({.combine = true});
  EXPECT_EQ(d.at(0, 0), inf);
  EXPECT_TRUE(std::isnan(d.at(0, 1)));
}

// A part that ascends, and behind it runs of every kind; values say which came first.
TEST(dynamic_csr, sorts_rows_as_a_stable_sort_does) {
  constexpr std::int32_t wide = 700;
  std::mt19937 random(9);
  entries all;
  std::int32_t rows = 0;
  for (std::int32_t const ahead : {0, 1, 20, 500})
    for (std::int32_t const behind : {0, 1, 2, 15, 16, 17, 33, 100, 2000})
      for (int const kind : {0, 1, 2, 3}) {
        double number = 0;
        for (std::int32_t k = 0; k < ahead; ++k)
          all.add(rows, k * 600 / ahead, ++number);
        for (std::int32_t k = 0; k < behind; ++k)
          all.add(rows,
                  kind == 0   ? static_cast<std::int32_t>(random() % wide)
                  : kind == 1 ? k * wide / behind
                  : kind == 2 ? (behind - 1 - k) * wide / behind
                              : 300 + k % 2,
                  ++number);
        ++rows;
      }
  std::vector<std::size_t> order(all.row.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(all.row[a], all.col[a]) < std::pair(all.row[b], all.col[b]);
  });
  entries expected;
  for (std::size_t const k : order)
    expected.add(all.row[k], all.col[k], all.val[k]);
  for (bool const compact : {false, true}) {
    matrix d(rows, wide, in_rows());
    d.insert(all.row, all.col, all.val);
    d.defragment({.sort = true, .compact = compact});
    EXPECT_TRUE(stored(d.snapshot()) == expected) << compact;
    d.validate();
  }
}

TEST(dynamic_csr, sorts_rows_when_defragmented_and_keeps_or_adds_duplicates) {
  matrix d(200, 5000);
  for (unsigned b = 0; b < 6; ++b) {
    entries const e = some(20000, 200, 5000, b);
    d.insert(e.row, e.col, e.val);
  }
  csr<double> const expected = d.to_csr();
  auto sorted = [&] {
    auto const s = stored(d.snapshot());
    for (std::size_t k = 1; k < s.val.size(); ++k)
      if (s.row[k] == s.row[k - 1] && s.col[k] < s.col[k - 1])
        return false;
    return true;
  };
  EXPECT_FALSE(sorted());
  d.defragment({.sort = true});
  d.validate();
  EXPECT_TRUE(sorted());
  EXPECT_EQ(d.shape().entries, 120000u);
  EXPECT_EQ(d.to_csr(), expected);
  d.defragment({.combine = true});
  EXPECT_EQ(d.shape().entries, expected.val.size());
  EXPECT_FALSE(d.shape().compact);
  d.defragment({.compact = true});
  EXPECT_TRUE(d.shape().compact);
  EXPECT_EQ(d.to_csr(), expected);
}

TEST(dynamic_csr, defragments_by_itself_when_rows_have_left_much) {
  dynamic_options o = in_rows();
  o.segments = 1;
  matrix d(1000, 1000, o);
  for (unsigned b = 0; b < 40; ++b) {
    entries const e = some(5000, 1000, 1000, b);
    d.insert(e.row, e.col, e.val);
    auto const s = d.shape();
    EXPECT_LE(s.left, s.entries + 5000);
  }
  d.validate();
}

TEST(dynamic_csr, grows_in_chunks_that_stay) {
  matrix d(1000, 1000, in_rows());
  entries const e = some(50000, 1000, 1000);
  d.insert(e.row, e.col, e.val);
  auto const before = d.snapshot();
  double const* const first = before.view().pages[0].val;
  auto const chunks = d.shape().chunks;
  entries const more = some(30000, 1000, 1000, 2);
  d.insert(more.row, more.col, more.val);
  EXPECT_GT(d.shape().chunks, chunks);
  EXPECT_EQ(borrowed(d.snapshot()).pages[0].val, first);
}

TEST(dynamic_csr, refuses_bad_input_by_name_and_stays_as_it_was) {
  dynamic_options o;
  o.limit = 4096;
  matrix d(10, 20, o);
  entries const e = some(100, 10, 20);
  d.insert(e.row, e.col, e.val);
  auto const before = stored(d.snapshot());
  auto refused = [&](errc code, std::vector<std::string> const& words, auto&& f) {
    EXPECT_TRUE(fails_with(code, words, f));
    EXPECT_TRUE(stored(d.snapshot()) == before);
    d.validate();
  };
  expect_refused_batches(d, refused);
  refused(errc::bad_structure, {"at: entry (10, 0)"}, [&] { d.at(10, 0); });
  entries const many = some(5000, 10, 20, 3);
  refused(errc::out_of_memory, {"the limit is 4096"},
          [&] { d.insert(many.row, many.col, many.val); });
  std::vector<double> x(20), y(9);
  refused(errc::shape_mismatch, {"y has 9 entries but A has 10 rows"},
          [&] { spmv(1.0, d, x, 0.0, y); });
  refused(errc::bad_structure, {"overlap"}, [&] { spmv(1.0, d, x, 0.0, std::span(x).first(10)); });
  dynamic_options many_segments;
  many_segments.segments = 9;
  EXPECT_TRUE(fails_with(errc::unsupported, {"9 segments"}, [&] { matrix(1, 1, many_segments); }));
  EXPECT_TRUE(fails_with(errc::bad_structure, {"-1 rows"}, [] { matrix(-1, 1); }));
  csr<double> const a = from_lengths(10, std::vector<std::int32_t>(10, 2));
  for (int const which : {0, 1, 2}) { // whose sums with others would wrap
    dynamic_options wide = in_rows();
    if (which == 0)
      wide.slack.plus = SIZE_MAX;
    else if (which == 1)
      wide.width = std::size_t(1) << 63;
    else
      wide.slack.function = [](std::size_t) { return SIZE_MAX; };
    EXPECT_TRUE(fails_with(which == 2 ? errc::overflow : errc::unsupported, {"dynamic_csr"},
                           [&] { matrix::from_csr(a.view(), wide); }));
  }
  matrix const moved = std::move(d);
  EXPECT_TRUE(fails_with(errc::bad_structure, {"moved from"}, [&] { d.insert(0, 0, 1); }));
}

// A page's rest is no room, nor is there any between rows that are arranged anew.
TEST(dynamic_csr, has_no_more_places_than_its_limit) {
  csr<double> const full = from_lengths(4, std::vector<std::int32_t>(4, 4));
  dynamic_options o = in_rows();
  o.limit = 20;
  matrix d = matrix::from_csr(full.view(), o);
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"the limit is 20"}, [&] {
    for (int k = 0; k < 40; ++k)
      d.insert(0, 0, 1);
  }));
  EXPECT_LE(d.shape().entries, 20u);
  EXPECT_EQ(d.to_csr().val.size(), 16u);
  o.limit = 1000;
  csr<double> ten = from_lengths(100, std::vector<std::int32_t>(100, 10));
  std::int32_t const column = ten.col[0];
  matrix tight = matrix::adopt(std::move(ten), o);
  auto const before = tight.snapshot();
  tight.erase(0, column); // what a snapshot has is copied
  tight.scale_rows(1, 2);
  EXPECT_EQ(tight.shape().entries, 999u);
  EXPECT_EQ(before.entries(), 1000u);
}

TEST(dynamic_csr, stores_the_same_after_a_batch_that_fails) {
  dynamic_options o;
  o.duplicates = on_duplicate::at_defragmenting;
  o.limit = 40000;
  matrix d(300, 300, o);
  std::vector<std::int32_t> const row(200, 5), col(200, 7);
  std::vector<double> const val(200, 1);
  for (int k = 0; k < 3; ++k)
    d.insert(row, col, val);
  auto const before = stored(d.snapshot());
  entries const many = some(50000, 300, 300);
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"the limit is 40000"},
                         [&] { d.insert(many.row, many.col, many.val); }));
  EXPECT_TRUE(stored(d.snapshot()) == before);
}

TEST(dynamic_csr, is_the_same_whether_a_snapshot_is_there_or_not) {
  csr<double> const a = from_lengths(20000, std::vector<std::int32_t>(20000, 37));
  entries const e = some(1000, 20000, 20000);
  std::vector<double> const x = roughs(20000, 3);
  std::vector<double> y[2];
  for (bool const is_there : {false, true}) {
    matrix d = matrix::from_csr(a.view());
    dynamic_snapshot<double> seen;
    if (is_there)
      seen = d.snapshot();
    d.scale_rows(3, .5);
    d.insert(e.row, e.col, e.val);
    EXPECT_EQ(d.shape().pending, 1000u);
    y[is_there].resize(20000);
    spmv(1.0, d, x, 0.0, y[is_there]);
  }
  EXPECT_TRUE(same_bits(y[0], y[1]));
}

// Where rows follow one another, row_ptr is all there is of them, until they are to change.
TEST(dynamic_csr, takes_no_more_than_csr_while_it_is_compact) {
  csr<double> const a = from_lengths(20000, std::vector<std::int32_t>(20000, 7));
  matrix d = matrix::from_csr(a.view());
  std::size_t const compact = d.shape().bytes;
  EXPECT_LE(compact, a.bytes() + a.bytes() / 50);
  auto const seen = d.freeze();
  d.scale_rows(3, 1);
  EXPECT_GE(d.shape().bytes, compact + 3 * 20000 * sizeof(std::int32_t));
  d.validate();
  EXPECT_TRUE(stored(seen) == stored(d.snapshot()));
  d.insert(5, 6, 1);
  d.erase(5, 6);
  d.validate();
  for (dynamic_defragment const how : {dynamic_defragment{.compact = true},
                                       {.sort = true, .compact = true},
                                       {.combine = true, .compact = true}}) {
    d.defragment(how);
    d.validate();
    EXPECT_LE(d.shape().bytes, compact) << how.sort << how.combine;
    EXPECT_TRUE(d.shape().compact);
  }
}

TEST(dynamic_csr, leaves_nothing_in_a_snapshot_that_was_moved) {
  matrix d(3, 3);
  d.insert(1, 1, 1);
  auto seen = d.snapshot();
  auto const moved = std::move(seen);
  EXPECT_EQ(moved.entries(), 1u);
  EXPECT_EQ(seen.entries(), 0u); // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(seen.rows(), 0);
}

TEST(dynamic_csr, stays_as_it_was_when_any_allocation_fails) {
  failing_memory memory;
  {
    entries const e = some(300, 40, 40);
    entries const more = some(200, 40, 40, 2);
    csr<double> const other = from_lengths(40, std::vector<std::int32_t>(40, 2));
    dynamic_options with[3] = {in_rows(), in_rows(), {}};
    with[1].duplicates = on_duplicate::combine;
    with[2].pending_from = 1;
    for (dynamic_options o : with) {
      o.where = {.threads = 2, .memory = &memory};
      auto survives_as = [&](bool compact, char const* what, auto&& change) {
        memory.fail_at(SIZE_MAX);
        matrix d(40, 40, o);
        d.insert(e.row, e.col, e.val);
        d.insert(std::span(more.row).first(20), std::span(more.col).first(20),
                 std::span(more.val).first(20)); // pending in the last
        if (compact)
          d.freeze();
        auto const before = stored(d.snapshot());
        std::size_t const bytes = d.shape().bytes;
        for (std::size_t k = 1;; ++k) {
          ASSERT_LT(k, 100u) << what;
          memory.fail_at(k);
          try {
            change(d);
            break;
          } catch (error const& error) {
            EXPECT_EQ(error.code(), errc::out_of_memory) << what;
          }
          memory.fail_at(SIZE_MAX);
          d.validate();
          EXPECT_TRUE(stored(d.snapshot()) == before) << what << ", allocation " << k;
          EXPECT_EQ(d.shape().bytes, bytes) << what << ", allocation " << k;
        }
        memory.fail_at(SIZE_MAX);
        d.validate();
      };
      auto survives = [&](char const* what, auto&& change) {
        survives_as(false, what, change);
        survives_as(true, what, change);
      };
      survives("insert", [&](matrix& d) { d.insert(more.row, more.col, more.val); });
      survives("assign", [&](matrix& d) { d.assign(more.row, more.col, more.val); });
      survives("erase", [&](matrix& d) { d.erase(more.row, more.col); });
      survives("scale_rows", [&](matrix& d) { d.scale_rows(more.row, more.val); });
      survives("merge", [&](matrix& d) { d.merge(other.view()); });
      survives("add_product", [&](matrix& d) { d.add_product(other.view(), other.view()); });
      survives("defragment", [&](matrix& d) { d.defragment(); });
      survives("freeze", [&](matrix& d) { d.freeze(); });
      survives("to_csr", [&](matrix& d) { d.to_csr(); });
      for (std::size_t k = 1; k < 30; ++k) {
        memory.fail_at(k);
        csr<double> whole = other;
        try {
          matrix::adopt(std::move(whole), o);
          break;
        } catch (error const&) {
          EXPECT_EQ(whole, other);
        }
      }
    }
  }
  EXPECT_EQ(memory.outstanding(), 0u);
}

} // namespace
} // namespace tulle::test::dynamic_csr_test
