// SPDX-License-Identifier: Apache-2.0

// Matrices that grow on the device: against a map, against the cpu's, and their products against
// those of another that grew alike, bit for bit, and of the csr that they freeze to.
#include "tulle/core/device_matrix.hpp"
#include "tulle/core/types.hpp"
#include "tulle/dynamic/device_dynamic_csr.hpp"
#include "tulle/gen/generate.hpp"
#include "tulle/op/spmv.hpp"

#include "cuda/memory.hpp"
#include "cuda/stream.hpp"
#include "dynamic/model.hpp"
#include "support/expect.hpp"
#include "support/zoo.hpp"

#include <cmath>
#include <cstdlib>
#include <cuda_runtime_api.h>
#include <thread>

namespace tulle::test::device_dynamic_test {
namespace {

using matrix = device_dynamic_csr<double>;

bool is_quick() {
  return std::getenv("TULLE_TEST_QUICK") != nullptr;
}

template <class V>
std::vector<V> from_there(device_array<V> const& y) {
  std::vector<V> here(y.size());
  y.copy_to(here.data());
  return here;
}

/// y = A x into memory that was full of NaN.
template <class V, class I>
std::vector<V> product(cuda const& where, device_dynamic_csr<V, I> const& a,
                       std::vector<V> const& x) {
  device_array<V> const there(x, where);
  device_array<V> y(static_cast<std::size_t>(a.rows()), where);
  detail::device_set(y.data(), 0xff, y.bytes(), where);
  spmv(where, V(1), a, there, V(0), y);
  return from_there(y);
}
/// The same by csr.
template <class V, class I>
std::vector<V> product(csr_view<V, I, I, space::device> const& a, std::vector<V> const& x) {
  device_array<V> const there(x);
  device_array<V> y(static_cast<std::size_t>(a.rows));
  spmv(V(1), device_ref{matrix_ref(a)}, there, V(0), y);
  return from_there(y);
}

device_dynamic_options some_options(std::mt19937& random, cuda const& where) {
  device_dynamic_options o;
  o.slack.factor = random() % 2 ? .12 : 0;
  o.slack.plus = random() % 3;
  o.slack.mean = random() % 4 == 0;
  o.segments = 2 + static_cast<int>(random() % 7);
  o.duplicates = static_cast<on_duplicate>(random() % 3);
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
      a.merge(other.to_csr().view());
      for (auto const& [place, v] : other.at)
        m.at[place] += v;
    } else if (what == 11) {
      a.defragment({.sort = random() % 2 == 0, .combine = random() % 2 == 0});
    } else if (what == 12) {
      a = there ? device_dynamic_csr<V, I>::from_csr(a.freeze(), o)
                : device_dynamic_csr<V, I>::from_csr(a.to_csr().view(), o);
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
  char const* const wanted = std::getenv("TULLE_SEQUENCES");
  unsigned const sequences = wanted       ? static_cast<unsigned>(std::atoi(wanted))
                             : is_quick() ? 12
                                          : 150;
  for (unsigned seed = 1; seed <= sequences; ++seed)
    ASSERT_EQ((run<V, I>(seed, 1 + seed % 30, cuda{})), "") << "seed " << seed;
}

// Each thread has a stream and matrices of its own.
TEST(device_dynamic_csr, sequences_are_those_of_a_map_on_four_streams) {
  std::vector<std::string> wrong(4);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&wrong, t] {
      stream const s;
      for (unsigned seed = 1; seed <= (is_quick() ? 4 : 40) && wrong[t].empty(); ++seed)
        wrong[t] = run<double, std::int32_t>(1000 * (t + 1) + seed, 1 + seed % 30, s);
    });
  for (std::thread& t : threads)
    t.join();
  for (std::string const& w : wrong)
    EXPECT_EQ(w, "");
}

TEST(device_dynamic_csr, products_on_four_streams_see_whole_batches) {
  std::mt19937 random(7);
  std::int32_t const n = 5000;
  stream const own;
  stream const others[4];
  device_dynamic_options o;
  o.where = own;
  matrix a(n, n, o);
  model<double, std::int32_t> m{n, n, {}};
  std::vector<double> const x = integers(static_cast<std::size_t>(n), 3);
  device_array<double> const there(x);
  for (int round = 0; round < 10; ++round) {
    auto const b = random_batch<double, std::int32_t>(random, n, n, 3000);
    a.insert(b.row, b.col, b.val);
    m.insert(b);
    std::vector<double> z(static_cast<std::size_t>(n));
    for (auto const& [place, v] : m.at)
      z[static_cast<std::size_t>(place.first)] += v * x[static_cast<std::size_t>(place.second)];
    std::vector<device_array<double>> y;
    for (stream const& s : others) {
      y.emplace_back(z.size(), s);
      spmv(s, 1.0, a, there, 0.0, y.back());
    }
    auto const more = random_batch<double, std::int32_t>(random, n, n, 100);
    a.insert(more.row, more.col, more.val); // behind the products
    m.insert(more);
    for (auto const& one : y)
      EXPECT_EQ(from_there(one), z) << round;
  }
}

/// Entries of a in an order of their own.
batch<double, std::int32_t> shuffled(csr<double> const& a) {
  batch<double, std::int32_t> b;
  std::vector<std::pair<std::int32_t, std::size_t>> all;
  for (std::int32_t i = 0; i < a.rows; ++i)
    for (auto k = a.row_ptr[static_cast<std::size_t>(i)];
         k < a.row_ptr[static_cast<std::size_t>(i) + 1]; ++k)
      all.emplace_back(i, static_cast<std::size_t>(k));
  std::shuffle(all.begin(), all.end(), std::mt19937(5));
  for (auto const& [i, k] : all)
    b.add(i, a.col[k], a.val[k]);
  return b;
}

/// In six batches, by another alike and by the cpu; then from csr, with some of it once more in
/// three batches, few enough that products do not defragment. Sums are exact in every order where
/// `exact` is set.
void expect_grown(csr<double> const& a, bool exact, std::string const& what) {
  auto const b = shuffled(a);
  auto const cols = static_cast<std::size_t>(a.cols);
  std::vector<double> const x = exact ? integers(cols, 4) : roughs(cols, 4);
  std::size_t const n = b.val.size(), parts = 6;
  auto const in = [&](auto& m, std::size_t from, std::size_t count) {
    m.insert(std::span(b.row).subspan(from, count), std::span(b.col).subspan(from, count),
             std::span(b.val).subspan(from, count));
  };
  matrix d(a.rows, a.cols), again(a.rows, a.cols);
  dynamic_csr<double> here(a.rows, a.cols);
  for (std::size_t part = 0; part < parts; ++part) {
    std::size_t const from = n * part / parts, count = n * (part + 1) / parts - from;
    in(d, from, count);
    in(again, from, count);
    in(here, from, count);
    EXPECT_TRUE(same_bits(product({}, d, x), product({}, again, x))) << what;
  }
  EXPECT_EQ(d.shape().entries, n) << what;
  auto const frozen = d.freeze();
  EXPECT_TRUE(same_bits(product({}, d, x), product(frozen, x))) << what;
  EXPECT_EQ(d.freeze().col, frozen.col) << "freezing what is compact copies";
  EXPECT_TRUE(stored(d.download().snapshot()) == stored(here.snapshot())) << what;
  EXPECT_EQ(d.to_csr(), here.to_csr()) << what;
  auto e = matrix::from_csr(a.view()), alike = matrix::from_csr(a.view());
  EXPECT_TRUE(e.shape().compact);
  EXPECT_TRUE(same_bits(product({}, e, x), product(e.freeze(), x))) << what;
  std::size_t const few = n / 40;
  for (std::size_t const from : {n / 2, n - 2 * few, n - few}) {
    in(e, from, few);
    in(alike, from, few);
    std::vector<double> const y = product({}, e, x);
    EXPECT_TRUE(same_bits(y, product({}, alike, x))) << what;
    EXPECT_EQ(e.shape().compact, few == 0) << what;
    auto copy = matrix::from_csr(alike.download().to_csr().view());
    std::vector<double> const z = product(copy.freeze(), x);
    for (std::size_t i = 0; i < y.size(); ++i)
      ASSERT_TRUE(exact ? y[i] == z[i] : std::abs(y[i] - z[i]) <= 1e-11 * (1 + std::abs(z[i])))
          << what << ", row " << i;
    if (few == 0)
      break;
    // What was downloaded is compact; let it grow as the other did.
    alike = matrix::from_csr(a.view());
    for (std::size_t const again_from : {n / 2, n - 2 * few, n - few}) {
      in(alike, again_from, few);
      if (again_from == from)
        break;
    }
  }
  e.defragment({.combine = true});
  EXPECT_EQ(e.shape().entries, a.to_csr().val.size()) << what;
}

TEST(device_dynamic_csr, products_repeat_and_are_those_of_what_it_freezes_to) {
  for (animal const& animal : zoo())
    if (!is_quick() || animal.matrix.val.size() < 1000)
      for (bool const exact : {false, true})
        expect_grown(exact ? animal.matrix : rough(animal.matrix), exact, animal.name);
  for (char const* const text :
       {"rmat:12:16", "poisson2d5:90", "circuit:20000", "fem:900", "lattice:5000", "dense:200",
        "random:3000:100:3000", "lp:40:20000:260"})
    if (!is_quick() || generate(text).val.size() < 20'000)
      for (bool const exact : {false, true})
        expect_grown(exact ? other_values(generate(text)) : rough(generate(text)), exact, text);
}

// Rows that a block adds up, rows that blocks share, and rows with segments behind segments.
TEST(device_dynamic_csr, products_add_what_long_rows_have_behind) {
  std::int32_t const scale = is_quick() ? 1 : 3;
  std::vector<std::int32_t> lengths(400, 100);
  lengths[7] = scale * 100'000; // a fortieth at a time: pieces of one batch, of two, of three
  lengths[200] = scale * 40'000;
  lengths[300] = scale * 20'000;
  lengths[399] = scale * 3'000;
  for (bool const exact : {false, true}) {
    csr<double> const a = from_lengths(400'000, lengths);
    expect_grown(exact ? a : rough(a), exact, "long rows");
  }
}

// A row has some room that takes no segment; rows in lists stay there when the pool grows.
TEST(device_dynamic_csr, products_add_what_slack_and_lists_have) {
  csr<double> const a = from_lengths(1000, std::vector<std::int32_t>(1000, 20));
  std::vector<double> const x = integers(1000, 5);
  auto d = matrix::from_csr(a.view());
  model<double, std::int32_t> m{1000, 1000, {}};
  m.insert(shuffled(a));
  auto const grow = [&](std::int32_t row, std::int32_t n) {
    batch<double, std::int32_t> b;
    for (std::int32_t k = 0; k < n; ++k)
      b.add(row, k * 7 % 1000, k % 5 - 2.);
    d.insert(b.row, b.col, b.val);
    m.insert(b);
    std::vector<double> twice = product({}, d, x);
    for (double& v : twice)
      v *= 2;
    EXPECT_EQ(twice, m.product(x, std::vector<double>(1000))) << row;
  };
  grow(1, 1);
  EXPECT_EQ(d.shape().segments, 1u);
  grow(2, 7);
  EXPECT_EQ(d.shape().segments, 2u);
  grow(3, 20);
  grow(5, 600);
  std::size_t const places = d.shape().places;
  grow(7, 2700);
  EXPECT_GT(d.shape().places, places);
  EXPECT_FALSE(d.shape().compact);
}

// Rows that have grown a little: by their list while they are few, also those that lost what they
// had and got it again; then by going through all rows.
TEST(device_dynamic_csr, products_add_what_few_rows_have) {
  csr<double> const a = other_values(generate("poisson2d5:60"));
  std::vector<double> const x = integers(3600, 5);
  auto d = matrix::from_csr(a.view());
  model<double, std::int32_t> m{3600, 3600, {}};
  m.insert(shuffled(a));
  auto const change = [&](bool adds, std::int32_t from, std::int32_t n) {
    batch<double, std::int32_t> b;
    for (std::int32_t i = from; i < from + 9 * n; i += 9)
      b.add(i, (i + 1800) % 3600, i % 7 + 1.);
    if (adds) {
      d.insert(b.row, b.col, b.val);
      m.insert(b);
    } else {
      d.erase(b.row, b.col);
      m.erase(b);
    }
    std::vector<double> twice = product({}, d, x);
    for (double& v : twice)
      v *= 2;
    EXPECT_EQ(twice, m.product(x, std::vector<double>(3600))) << adds << " " << from << " " << n;
    EXPECT_FALSE(d.shape().compact);
  };
  change(true, 0, 60);
  change(false, 0, 30);
  change(true, 0, 60);
  change(true, 1, 60);
  change(true, 2, 300);
}

TEST(device_dynamic_csr, adds_sparse_products_as_the_cpu_does) {
  csr<double> const a = other_values(generate("poisson2d5:40"));
  auto d = matrix::from_csr(a.view());
  auto here = dynamic_csr<double>::from_csr(a.view());
  device_matrix const there = upload(a);
  auto const view = there.view<csr_view<double, std::int32_t, std::int32_t, space::device>>();
  d.add_product(view, view);
  here.add_product(a.view(), a.view());
  EXPECT_TRUE(stored(d.download().snapshot()) == stored(here.snapshot()));
  auto const frozen = d.freeze(); // of itself
  d.add_product(frozen, view);
  here.add_product(here.freeze().as_csr(), a.view());
  EXPECT_EQ(d.to_csr(), here.to_csr());
  EXPECT_TRUE(fails_with(errc::shape_mismatch, {"add_product: B C is 1600 x 1600, A is 3 x 1600"},
                         [&] { matrix(3, 1600).add_product(view, view); }));
}

// Products pay for rows that have grown until they have paid for a copy.
TEST(device_dynamic_csr, products_defragment_in_time) {
  csr<double> const a = generate("poisson2d5:60");
  auto const b = shuffled(a);
  matrix d = matrix::from_csr(a.view());
  std::size_t const few = b.val.size() / 40;
  d.insert(std::span(b.row).first(few), std::span(b.col).first(few), std::span(b.val).first(few));
  std::vector<double> const x(static_cast<std::size_t>(a.cols), 1);
  int products = 0;
  for (; !d.shape().compact && products < 100; ++products)
    product({}, d, x);
  EXPECT_GT(products, 3);
  EXPECT_LT(products, 20);
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
  for (std::int32_t const rows : {7, 900, 60'000})
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

TEST(device_dynamic_csr, adds_itself) {
  csr<double> const a = from_lengths(900, std::vector<std::int32_t>(700, 9));
  csr<double> twice = a;
  for (double& v : twice.val)
    v *= 2;
  matrix d = matrix::from_csr(a.view());
  d.merge(d.freeze()); // whose arrays are the pool that must grow for it
  EXPECT_EQ(d.to_csr(), twice);
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
    spmv(1.0, d, vector_view<double const, space::device>(both.data(), 20), 0.0,
         vector_view<double, space::device>(both.data() + 15, 10));
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
