// SPDX-License-Identifier: Apache-2.0

// What every format keeps, written once.
#include "tulle/gen/generate.hpp"

#include "format/detail/copy.hpp"
#include "support/expect.hpp"
#include "support/formats.hpp"
#include "support/layouts.hpp"
#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>

namespace tulle::test::laws_test {
namespace {

template <class F>
class formats : public testing::Test {};
TYPED_TEST_SUITE(formats, every_format, format_names);

// The canonical form, by the plainest means there is: independent of to_csr.
csr<double> canonical(csr<double> const& a) {
  csr<double> b(unchecked, a.rows, a.cols, array<std::int32_t>(a.row_ptr.size()),
                array<std::int32_t>(a.col.size()), array<double>(a.val.size()));
  std::size_t kept = 0;
  b.row_ptr[0] = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i) {
    std::vector<std::pair<std::int32_t, double>> row;
    for (std::int32_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
      row.emplace_back(a.col[k], a.val[k]);
    std::stable_sort(row.begin(), row.end(),
                     [](auto const& l, auto const& r) { return l.first < r.first; });
    std::size_t const first = kept;
    for (auto const& [j, v] : row)
      if (kept > first && b.col[kept - 1] == j) {
        b.val[kept - 1] += v;
      } else {
        b.col[kept] = j;
        b.val[kept++] = v;
      }
    b.row_ptr[i + 1] = static_cast<std::int32_t>(kept);
  }
  return {unchecked,
          a.rows,
          a.cols,
          b.row_ptr,
          array<std::int32_t>(b.col.data(), kept),
          array<double>(b.val.data(), kept)};
}

/// Whether a format takes symmetric matrices alone.
template <class Format>
constexpr bool needs_symmetric = requires {
  requires Format::options::needs_symmetric;
};

/// a itself, or what is most like it among matrices that the format takes.
template <class Format>
csr<double> suited(csr<double> const& a) {
  return needs_symmetric<Format> ? mirrored(a) : a;
}

/// f(matrix in that layout, options, name) for every layout that takes a.
template <class Format, class F>
void in_every_layout(csr<double> const& a, std::string const& what, F&& f) {
  for_each_options<Format>([&](auto const& options, std::string const& text) {
    if (is_sanitized && !text.empty() && a.col.size() > many_entries)
      return;
    if (auto const m = unless_refused([&] { return Format::from_csr(a.view(), options); }))
      f(*m, options, what + " " + text);
  });
}

TYPED_TEST(formats, round_trip_is_canonical) {
  for (animal const& a : zoo()) {
    for (csr<double> const& values : {a.matrix, rough(a.matrix)}) {
      csr<double> const expected = canonical(values);
      in_every_layout<TypeParam>(values, a.name, [&](auto const& m, auto const&, auto const& what) {
        EXPECT_TRUE(same_arrays(borrowed(m.to_csr()), expected.view())) << what;
      });
    }
    if (!a.twin.empty())
      in_every_layout<TypeParam>(a.matrix, a.name, [&](auto const& m, auto const&, auto const&) {
        EXPECT_TRUE(same_arrays(borrowed(m.to_csr()), find(a.twin).matrix.view())) << a.name;
      });
  }
}

TYPED_TEST(formats, what_from_csr_builds_is_valid) {
  for (animal const& a : zoo())
    in_every_layout<TypeParam>(a.matrix, a.name,
                               [&](auto const& m, auto const&, std::string const& what) {
                                 EXPECT_NO_THROW(m.validate()) << what;
                                 EXPECT_EQ(m.rows, a.matrix.rows) << what;
                                 EXPECT_EQ(m.cols, a.matrix.cols) << what;
                                 EXPECT_EQ(m.view().nnz, borrowed(canonical(a.matrix)).nnz) << what;
                               });
}

TYPED_TEST(formats, most_of_the_zoo_is_taken) {
  std::size_t taken = 0;
  for (animal const& a : zoo())
    taken += unless_refused([&] { return TypeParam::from_csr(a.matrix.view()); }).has_value();
  if (!needs_symmetric<TypeParam>)
    EXPECT_GT(taken, zoo().size() / 2);
  else
    EXPECT_GT(taken, 10u);
}

// What is symmetric is in the zoo by the dozen; a layout that refused all of it would pass unseen.
TYPED_TEST(formats, symmetric_layouts_take_what_is_symmetric_and_nothing_else) {
  for_each_options<TypeParam>([&](auto const& options, std::string const& text) {
    bool is_symmetric_layout = needs_symmetric<TypeParam>;
    if constexpr (requires { options.symmetric; })
      is_symmetric_layout = options.symmetric;
    if (!is_symmetric_layout)
      return;
    std::size_t taken = 0;
    for (animal const& a : zoo()) {
      bool lopsided = false;
      try {
        taken += TypeParam::from_csr(a.matrix.view(), options).rows > 1;
      } catch (error const& e) {
        lopsided = std::string(e.what()).find("symmetric storage of a matrix") != std::string::npos;
        EXPECT_EQ(e.code(), errc::unsupported) << a.name;
      }
      EXPECT_EQ(lopsided, !is_symmetric(canonical(a.matrix))) << text << " " << a.name;
    }
    EXPECT_GE(taken, 8u) << text; // some are too large with every diagonal kept
  });
}

TYPED_TEST(formats, an_option_that_is_not_there_is_refused_by_name) {
  any_matrix const a = find("banded").matrix;
  format const f = owner_traits<TypeParam>::format;
  EXPECT_TRUE(fails_with(errc::unsupported, {name(f), "no option 'colour'"},
                         [&] { convert(a, layout(f, "colour=3")); }));
}

TYPED_TEST(formats, a_default_one_is_0_by_0) {
  TypeParam const m;
  EXPECT_NO_THROW(m.validate());
  EXPECT_EQ(m.bytes(), 0u);
  csr<double> const c = m.to_csr();
  EXPECT_EQ(c.rows, 0);
  EXPECT_EQ(c.cols, 0);
  EXPECT_NO_THROW(c.validate());
}

// Bytes of every array, and all of them from the resource that was given.
TYPED_TEST(formats, bytes_add_up_and_come_from_the_resource_given) {
  for (animal const& a : zoo()) {
    failing_memory memory;
    auto const made = unless_refused([&] {
      return TypeParam::from_csr(a.matrix.view(), {}, cpu{.threads = 2, .memory = &memory});
    });
    if (!made) {
      EXPECT_EQ(memory.outstanding(), 0u) << a.name;
      continue;
    }
    TypeParam const& m = *made;
    std::size_t bytes = 0;
    m.view().arrays([&](char const* n, auto const* p, std::size_t size) {
      EXPECT_TRUE(p != nullptr || size == 0) << n;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 64, 0u) << n;
      bytes += size * sizeof(*p);
    });
    EXPECT_EQ(m.bytes(), bytes) << a.name;
    EXPECT_EQ(memory.outstanding(), bytes) << a.name;
  }
}

TYPED_TEST(formats, conversions_are_the_same_for_every_number_of_threads) {
  for (csr<double> const& a :
       {elephant(), unsorted(elephant()), find("banded").matrix,
        find("skewed_unsorted_duplicates").matrix, find("symmetric_banded_unsorted").matrix,
        find("symmetric_scattered").matrix})
    for_each_options<TypeParam>([&](auto const& options, std::string const& text) {
      if (is_sanitized && !text.empty())
        return;
      auto const made =
          unless_refused([&] { return TypeParam::from_csr(a.view(), options, cpu{.threads = 1}); });
      if (!made)
        return;
      TypeParam const& one = *made;
      csr<double> const back = one.to_csr(cpu{.threads = 1});
      for (int const threads : {2, 3, 7}) {
        auto const m = TypeParam::from_csr(a.view(), options, cpu{.threads = threads});
        EXPECT_TRUE(same_arrays(m.view(), one.view())) << text << " " << threads;
        EXPECT_TRUE(same_arrays(borrowed(one.to_csr(cpu{.threads = threads})), back.view()))
            << text << " " << threads;
      }
    });
}

/// Whether arrays of indices that do not follow from the values are the same.
template <class View>
bool same_pattern(View const& a, View const& b) {
  bool same = true;
  a.arrays([&]<class T>(detail::array_name n, T const* p, std::size_t size) {
    b.arrays([&]<class U>(char const* name, U const* q, std::size_t others) {
      if constexpr (std::is_integral_v<T> && std::is_same_v<T, U>)
        if (!n.follows_values && std::string_view(n) == name)
          same = same && std::equal(p, p + size, q, q + others);
    });
  });
  return same;
}

TYPED_TEST(formats, refill_is_from_csr_with_new_values) {
  for (animal const& a : zoo())
    in_every_layout<TypeParam>(
        a.matrix, a.name, [&](auto const& made, auto const& options, std::string const& what) {
          auto m = made;
          csr<double> const fresh = rough(a.matrix, 9);
          m.refill(fresh.view(), cpu{.threads = 3});
          EXPECT_TRUE(same_arrays(m.view(), borrowed(TypeParam::from_csr(fresh.view(), options))))
              << what;
          EXPECT_TRUE(same_pattern(m.view(), made.view())) << what;
        });
}

// So many values go past the caches; rows of a mesh, most entries of which are strays to dia.
TYPED_TEST(formats, refill_of_a_large_matrix_is_no_other) {
  csr<double> const a = generate("fem:36000");
  ASSERT_GT(a.val.bytes(), detail::past_caches_from);
  auto m = TypeParam::from_csr(a.view());
  csr<double> fresh = a;
  for (double& v : fresh.val)
    v = -v;
  m.refill(fresh.view(), cpu{.threads = 2});
  auto const expected = TypeParam::from_csr(fresh.view());
  EXPECT_TRUE(same_arrays(m.view(), expected.view()));
  for (std::size_t const from : {std::size_t(0), a.col.size() / 2, a.col.size() * 3 / 4}) {
    std::size_t k = from; // an entry with room for it to move
    while (a.col[k + 1] <= a.col[k] + 1)
      ++k;
    csr<double> other = a;
    ++other.col[k];
    EXPECT_TRUE(fails_with(errc::bad_structure, {"refill"}, [&] {
      m.refill(other.view(), cpu{.threads = 2});
    })) << k;
    EXPECT_TRUE(same_arrays(m.view(), expected.view())) << k;
  }
}

TYPED_TEST(formats, refill_takes_the_same_pattern_in_another_order) {
  for (char const* const twin :
       {"skewed_unsorted", "skewed_duplicates", "banded_unsorted", "symmetric_banded_unsorted"}) {
    animal const& a = find(twin);
    auto m = unless_refused(
        [&] { return TypeParam::from_csr(borrowed(other_values(find(a.twin).matrix))); });
    if (!m)
      continue;
    m->refill(a.matrix.view());
    EXPECT_TRUE(same_arrays(m->view(), borrowed(TypeParam::from_csr(a.matrix.view())))) << twin;
  }
}

TYPED_TEST(formats, refill_refuses_another_pattern_and_changes_nothing) {
  csr<double> const a = from_lengths(9, {2, 0, 3, 1});
  auto const before = TypeParam::from_csr(borrowed(suited<TypeParam>(a)));
  auto moved = [&](std::size_t k, std::int32_t to) { // one entry in another column, order kept
    csr<double> b = other_values(a);
    b.col[k] = to;
    return b;
  };
  ASSERT_LT(a.col[4], 8);
  ASSERT_NE(a.col[5], 8);
  std::vector<std::pair<char const*, csr<double>>> const others = {
      {"a row more", from_lengths(9, {2, 0, 3, 1, 0})},
      {"a column more", {a.rows, 10, a.row_ptr, a.col, a.val}},
      {"an entry more", from_lengths(9, {2, 0, 3, 2})},
      {"an entry less", from_lengths(9, {2, 0, 3, 0})},
      {"an entry in another row", {a.rows, 9, {0, 1, 2, 5, 6}, a.col, a.val}},
      {"the last entry of a row moved", moved(4, 8)},
      {"the last entry moved", moved(5, 8)},
      {"no entries", from_lengths(9, {0, 0, 0, 0})}};
  for (auto const& [what, b] : others) {
    csr<double> const other = suited<TypeParam>(b);
    if (needs_symmetric<TypeParam> && other == suited<TypeParam>(a))
      continue; // an empty row more, where the columns were more already
    auto m = before;
    EXPECT_TRUE(fails_with(errc::bad_structure, {"refill", name(owner_traits<TypeParam>::format)},
                           [&] { m.refill(other.view()); }))
        << what;
    EXPECT_TRUE(same_arrays(m.view(), before.view())) << what;
  }
}

TYPED_TEST(formats, from_csr_and_refill_refuse_broken_arrays) {
  csr<double> const a = suited<TypeParam>(from_lengths(9, {2, 0, 3, 1}));
  csr<double> bad = a;
  bad.col[3] = 9;
  EXPECT_TRUE(fails_with(errc::bad_structure, {"col[3]", "9", "[0, 9)"},
                         [&] { TypeParam::from_csr(bad.view()); }));
  auto m = TypeParam::from_csr(a.view());
  EXPECT_TRUE(fails_with(errc::bad_structure, {"col[3]"}, [&] { m.refill(bad.view()); }));
  EXPECT_TRUE(same_arrays(m.view(), borrowed(TypeParam::from_csr(a.view()))));
}

TYPED_TEST(formats, copies_are_deep) {
  csr<double> const a = suited<TypeParam>(from_lengths(9, {2, 0, 3, 1}));
  auto m = TypeParam::from_csr(a.view());
  auto const copy = m;
  m.view().arrays([&](char const* n, void const* p, std::size_t size) {
    copy.view().arrays(
        [&](char const*, void const* q, std::size_t) { EXPECT_TRUE(size == 0 || p != q) << n; });
  });
  m.refill(borrowed(other_values(a)));
  EXPECT_TRUE(same_arrays(copy.view(), borrowed(TypeParam::from_csr(a.view()))));
  EXPECT_TRUE(copy == TypeParam::from_csr(a.view()));
  EXPECT_FALSE(copy == m);
}

TYPED_TEST(formats, a_moved_from_one_can_be_assigned_and_destroyed) {
  csr<double> const a = suited<TypeParam>(from_lengths(9, {2, 0, 3, 1}));
  auto m = TypeParam::from_csr(a.view());
  auto const expected = m;
  auto const taken = std::move(m);
  EXPECT_TRUE(same_arrays(taken.view(), expected.view()));
  m = expected;
  EXPECT_TRUE(same_arrays(m.view(), expected.view()));
  auto& self = m;
  m = self;
  EXPECT_TRUE(same_arrays(m.view(), expected.view()));
}

// Every allocation fails in turn: nothing leaks, nothing changes, and the error says what it is.
TYPED_TEST(formats, failing_memory_leaks_nothing_and_changes_nothing) {
  for (char const* const which :
       {"lengths_0_to_70_unsorted_duplicates", "lengths_70_to_0", "0x5"}) {
    csr<double> const a = suited<TypeParam>(find(which).matrix);
    csr<double> const before = a;
    csr<double> const fresh = rough(a, 4);
    auto const whole = TypeParam::from_csr(a.view());
    failing_memory memory;
    cpu const where{.threads = 1, .memory = &memory};
    auto const until_it_works = [&](auto&& f) {
      for (std::size_t k = 1; k < 100; ++k) {
        memory.fail_at(k);
        try {
          f();
        } catch (error const& e) {
          EXPECT_EQ(e.code(), errc::out_of_memory) << e.what();
          EXPECT_EQ(memory.outstanding(), 0u) << which << ", allocation " << k;
          continue;
        }
        EXPECT_EQ(memory.allocations(), k - 1) << "it swallowed a failure";
        return;
      }
      ADD_FAILURE() << "more allocations than one would think";
    };
    until_it_works([&] {
      auto const m = TypeParam::from_csr(a.view(), {}, where);
      EXPECT_TRUE(same_arrays(m.view(), whole.view()));
    });
    EXPECT_TRUE(same_arrays(a.view(), before.view()));
    until_it_works(
        [&] { EXPECT_TRUE(same_arrays(borrowed(whole.to_csr(where)), borrowed(whole.to_csr()))); });
    auto m = whole;
    bool done = false;
    until_it_works([&] {
      EXPECT_TRUE(same_arrays(m.view(), whole.view())); // after each failure
      m.refill(fresh.view(), where);
      done = true;
    });
    EXPECT_TRUE(done);
    EXPECT_TRUE(same_arrays(m.view(), borrowed(TypeParam::from_csr(fresh.view()))));
    EXPECT_EQ(memory.outstanding(), 0u);
  }
}

} // namespace
} // namespace tulle::test::laws_test
