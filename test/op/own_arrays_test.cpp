// SPDX-License-Identifier: Apache-2.0

// Arrays as people have them: other integers, C arrays, pointers, counted from 1; vectors with
// gaps.
#include "tulle/format/coo.hpp"
#include "tulle/format/csc.hpp"
#include "tulle/interop/arrays.hpp"
#include "tulle/interop/mdspan.hpp"
#include "tulle/op/spmm.hpp"
#include "tulle/op/spmv.hpp"

#include "support/expect.hpp"

#include <array>
#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::own_arrays_test {
namespace {

//     1 . 2
//     . 3 .
template <class P, class I>
struct small {
  std::vector<P> row_ptr{0, 2, 3};
  std::vector<I> col{0, 2, 1};
  std::vector<double> val{1, 2, 3};
  small(P base = 0) {
    for (P& p : row_ptr)
      p = static_cast<P>(p + base);
    for (I& j : col)
      j = static_cast<I>(j + static_cast<I>(base));
  }
};
std::vector<double> const x{1, 10, 100};
std::vector<double> const ax{201, 30};

template <class A>
std::vector<double> times_x(A const& a) {
  std::vector<double> y(2);
  spmv(1.0, a, x, 0.0, y);
  return y;
}

template <class View, class A>
constexpr bool is(A const&) {
  return std::is_same_v<View, A>;
}

TEST(csr_view, borrows_integers_that_are_as_wide) {
  small<long long, unsigned long long> const wide;
  csr_view const a(2, 3, wide.row_ptr, wide.col, wide.val);
  EXPECT_TRUE((is<csr_view<double, std::int64_t>>(a)));
  EXPECT_EQ(static_cast<void const*>(a.row_ptr), wide.row_ptr.data()) << "not a copy";
  EXPECT_EQ(static_cast<void const*>(a.col), wide.col.data());
  EXPECT_EQ(times_x(a), ax);
  small<std::size_t, std::uint32_t> const mixed;
  csr_view const b(2u, std::size_t{3}, mixed.row_ptr, mixed.col, mixed.val);
  EXPECT_TRUE((is<csr_view<double, std::int32_t, std::int64_t>>(b)));
  EXPECT_EQ(times_x(b), ax);
  small<unsigned, unsigned> const narrow;
  EXPECT_EQ(times_x(csr_view<double>(2, 3, narrow.row_ptr, narrow.col, narrow.val)), ax);
}

TEST(csr_view, borrows_c_arrays_std_arrays_and_spans) {
  int row_ptr[] = {0, 2, 3};
  int const col[] = {0, 2, 1};
  std::array<double, 3> val{1, 2, 3};
  csr_view const a(2, 3, row_ptr, col, val);
  EXPECT_TRUE((is<csr_view<double>>(a)));
  EXPECT_EQ(a.col, col);
  EXPECT_EQ(times_x(a), ax);
  EXPECT_EQ(times_x(csr_view(2, 3, std::span(row_ptr), std::span(col), std::span(val))), ax);
  double y[2];
  spmv(1.0, a, x, 0.0, y);
  EXPECT_EQ(y[0], 201);
  int const too_many[] = {0, 2, 1, 1};
  EXPECT_TRUE(fails_with(errc::bad_structure, {"4 indices", "3 values"},
                         [&] { csr_view(2, 3, row_ptr, too_many, val); }));
}

TEST(csr_view, borrows_pointers_and_asks_row_ptr_for_their_length) {
  small<int, int> const s;
  int const *const row_ptr = s.row_ptr.data(), *const col = s.col.data();
  double const* const val = s.val.data();
  csr_view const a(2, 3, row_ptr, col, val);
  EXPECT_EQ(a.nnz, 3);
  EXPECT_EQ(times_x(a), ax);
  EXPECT_EQ(times_x(csr_view(2, 3, 3, row_ptr, col, val)), ax);
  EXPECT_TRUE(fails_with(errc::bad_structure, {"row_ptr", "3", "4"},
                         [&] { csr_view(2, 3, 4, row_ptr, col, val); }));
  EXPECT_TRUE(fails_with(errc::bad_structure, {"row_ptr", "null"},
                         [&] { csr_view(2, 3, static_cast<int const*>(nullptr), col, val); }));
  int const down[] = {0, 2, -1};
  EXPECT_TRUE(
      fails_with(errc::bad_structure, {"csr", "-1"}, [&] { csr_view(2, 3, &down[0], col, val); }));
  EXPECT_NO_THROW(csr_view(0, 3, static_cast<int const*>(nullptr), col, val));
}

TEST(csr_view, refuses_sizes_and_indices_that_its_types_cannot_hold) {
  small<unsigned, unsigned> s;
  EXPECT_TRUE(fails_with(errc::overflow, {"number of rows", "4294967298"},
                         [&] { csr_view(std::size_t{1} << 32 | 2, 3, s.row_ptr, s.col, s.val); }));
  EXPECT_TRUE(fails_with(errc::overflow, {"number of columns", "3000000000"},
                         [&] { csr_view(2, 3'000'000'000u, s.row_ptr, s.col, s.val); }));
  s.col[1] = 3'000'000'000u;
  EXPECT_TRUE(fails_with(errc::bad_structure, {"col[1]", "outside [0, 3)"},
                         [&] { csr_view(2, 3, s.row_ptr, s.col, s.val); }));
  EXPECT_TRUE(fails_with(errc::bad_structure, {"-1 rows"},
                         [&] { csr_view(-1, 3, s.row_ptr, s.col, s.val); }));
}

TEST(csr_view, is_made_of_an_owner_where_a_view_is_wanted) {
  small<int, int> const s;
  csr<double> const a(2, 3, {0, 2, 3}, {0, 2, 1}, {1, 2, 3});
  csr_view<double> const v = a;
  EXPECT_EQ(v.col, a.col.data());
  EXPECT_EQ(csc<double>::from_csr(a).val.size(), 3u);
}

TEST(coo_and_csc_views, borrow_the_same_arrays) {
  unsigned const row[] = {0, 0, 1}, col[] = {0, 2, 1}, col_ptr[] = {0, 1, 2, 3};
  double const val[] = {1, 2, 3}, by_columns[] = {1, 3, 2};
  unsigned const rows_by_columns[] = {0, 1, 0};
  EXPECT_EQ(times_x(coo_view(2, 3, row, col, val)), ax);
  EXPECT_EQ(times_x(coo_view(2, 3, 3, &row[0], &col[0], &val[0])), ax);
  EXPECT_EQ(times_x(csc_view(2, 3, col_ptr, rows_by_columns, by_columns)), ax);
  EXPECT_EQ(times_x(csc_view(2, 3, &col_ptr[0], &rows_by_columns[0], &by_columns[0])), ax);
  EXPECT_TRUE(fails_with(errc::bad_structure, {"coo", "pointers"},
                         [&] { coo_view(2, 3, &row[0], &col[0], &val[0]); }));
}

TEST(csr_from, takes_any_integers_and_base) {
  EXPECT_EQ(times_x(csr_from(2, 3, small<short, unsigned char>().row_ptr,
                             small<short, unsigned char>().col, std::vector<double>{1, 2, 3})),
            ax);
  small<std::size_t, long long> const fortran(1);
  auto const a = csr_from(2, 3, fortran.row_ptr, fortran.col, fortran.val, {.base = 1});
  EXPECT_TRUE((std::is_same_v<csr<double> const, decltype(a)>));
  EXPECT_EQ(times_x(a), ax);
  EXPECT_NO_THROW(a.validate());
  auto const b = csr_from<double, std::int64_t>(2, 3, fortran.row_ptr, fortran.col,
                                                std::vector<int>{1, 2, 3}, {.base = 1});
  EXPECT_TRUE((std::is_same_v<csr<double, std::int64_t> const, decltype(b)>));
  EXPECT_EQ(times_x(b), ax);
  EXPECT_EQ(times_x(csr_from(2, 3, fortran.row_ptr.data(), fortran.col.data(), fortran.val.data(),
                             {.base = 1})),
            ax);
  int const row[] = {1, 1, 2}, col[] = {1, 3, 2}, col_ptr[] = {1, 2, 3, 4},
            by_columns[] = {1, 2, 1};
  EXPECT_EQ(times_x(coo_from(2, 3, row, col, fortran.val, {.base = 1})), ax);
  EXPECT_EQ(times_x(csc_from<double>(2, 3, col_ptr, by_columns, std::array{1, 3, 2}, {.base = 1})),
            ax);
}

TEST(csr_from, names_the_entry_as_the_caller_counts) {
  small<int, int> s(1);
  auto const from = [&](auto const& row_ptr, auto const& col, int base = 1) {
    return [&, base] { csr_from(2, 3, row_ptr, col, s.val, {.base = base}); };
  };
  auto const refused = [](std::vector<std::string> const& words, auto const& f) {
    EXPECT_TRUE(fails_with(errc::bad_structure, words, f));
  };
  refused({"row_ptr[0] is 1, expected 0"}, from(s.row_ptr, s.col, 0));
  s.col[1] = 0;
  refused({"col[1] is 0, expected 1 to 3"}, from(s.row_ptr, s.col));
  s.col[1] = 4;
  refused({"col[1] is 4, expected 1 to 3"}, from(s.row_ptr, s.col));
  std::vector<std::uint64_t> const far{1, std::numeric_limits<std::uint64_t>::max(), 2};
  refused({"col[1] is 18446744073709551615"}, from(s.row_ptr, far));
  std::vector<std::int64_t> const near{1, std::numeric_limits<std::int64_t>::min(), 2};
  refused({"col[1] is -9223372036854775808"}, from(s.row_ptr, near));
  std::vector<int> const down{1, 4, 3};
  refused({"row_ptr decreases from 4 to 3 at 2"}, from(down, s.col));
  std::vector<std::int64_t> const beyond{1, 3, 3'000'000'000};
  refused({"row_ptr[2] is 3000000000"}, from(beyond, s.col));
  std::vector<int> const few{1, 4};
  refused({"2 pointers for 2 lines"}, from(few, s.col));
  EXPECT_TRUE(fails_with(errc::overflow, {"number of rows"},
                         [&] { csr_from(3'000'000'000, 3, s.row_ptr, s.col, s.val); }));
  EXPECT_TRUE(fails_with(errc::bad_structure, {"coo_from: row[2] is 2, expected 0 to 1"}, [&] {
    coo_from(2, 3, std::array{0, 1, 2}, std::array{0, 1, 2}, s.val);
  }));
}

/// A row of a matrix stored by columns, as run time knows it, and a matrix; names as Eigen's.
struct some_elements {
  double* first;
  std::ptrdiff_t m, n, down, across;
  double* data() const { return first; }
  std::ptrdiff_t size() const { return m * n; }
  std::ptrdiff_t rows() const { return m; }
  std::ptrdiff_t cols() const { return n; }
  std::ptrdiff_t rowStride() const { return down; }
  std::ptrdiff_t colStride() const { return across; }
};
struct strided {
  double* first;
  double* data() const { return first; }
  std::size_t size() const { return 3; }
  std::size_t stride() const { return 2; }
};

TEST(vector_view, refuses_elements_with_gaps) {
  small<int, int> const s;
  csr_view const a(2, 3, s.row_ptr, s.col, s.val);
  std::vector<double> m{1, 10, 2, 20, 3, 30, 4}, y(2, 7);
  auto const product = [&](auto const& in) { return [&] { spmv(1.0, a, in, 0.0, y); }; };
  expect_refused(errc::bad_structure, {"2 apart", "expected 1"}, y,
                 product(some_elements{m.data(), 1, 3, 1, 2}));
  expect_refused(errc::bad_structure, {"3 apart", "expected 1"}, y,
                 product(some_elements{m.data(), 3, 1, 3, 1}));
  expect_refused(errc::bad_structure, {"2 apart", "expected 1"}, y, product(strided{m.data()}));
  expect_refused(errc::shape_mismatch, {"vector", "3 x 2"}, y,
                 product(some_elements{m.data(), 3, 2, 1, 3}));
  EXPECT_NO_THROW(product(some_elements{m.data(), 3, 1, 1, 7})());
  EXPECT_NO_THROW(product(some_elements{m.data(), 1, 3, 7, 1})());
  EXPECT_TRUE(fails_with(errc::bad_structure, {"2 apart"}, [&] {
    spmv(1.0, a, x, 0.0, some_elements{m.data(), 1, 2, 1, 2});
  }));
}

TEST(dense_view, of_one_column_multiplies_a_vector_with_gaps) {
  small<int, int> const s;
  csr_view const a(2, 3, s.row_ptr, s.col, s.val);
  std::vector<double> m{1, -1, 10, -1, 100, -1}, y(2);
  dense_view<double const> const in{m.data(), 3, 1, 2, 1};
  spmm(1.0, a, in, 0.0, col_major(y.data(), 2, 1));
  EXPECT_EQ(y, ax);
}

/// The interface of std::mdspan, for libraries that have none.
template <class T, std::size_t dimensions>
struct look_alike {
  using element_type = T;
  using reference = T&;
  static constexpr std::size_t rank() { return dimensions; }
  T* first;
  std::array<std::size_t, dimensions> extents, strides;
  bool has_strides = true;
  T* data_handle() const { return first; }
  std::size_t extent(std::size_t r) const { return extents[r]; }
  std::size_t stride(std::size_t r) const { return strides[r]; }
  bool is_strided() const { return has_strides; }
};
/// One whose elements are computed.
struct scaled_look_alike : look_alike<double, 1> {
  using reference = double;
};

TEST(from_mdspan, gives_vectors_and_matrices) {
  static_assert(detail::strided_mdspan<look_alike<double, 1>>);
  static_assert(!detail::strided_mdspan<look_alike<double, 3>>);
  static_assert(!detail::strided_mdspan<scaled_look_alike>);
  small<int, int> const s;
  csr_view const a(2, 3, s.row_ptr, s.col, s.val);
  std::vector<double> m{1, 2, 10, 20, 100, 200}, y(4);
  look_alike<double const, 1> const in{x.data(), {3}, {1}};
  spmv(1.0, a, from_mdspan(in), 0.0, from_mdspan(look_alike<double, 1>{y.data(), {2}, {1}}));
  EXPECT_EQ(y, (std::vector<double>{201, 30, 0, 0}));
  EXPECT_TRUE(fails_with(errc::bad_structure, {"2 apart"}, [&] {
    from_mdspan(look_alike<double, 1>{m.data(), {3}, {2}});
  }));
  spmm(1.0, a, from_mdspan(look_alike<double, 2>{m.data(), {3, 2}, {2, 1}}), 0.0,
       from_mdspan(look_alike<double, 2>{y.data(), {2, 2}, {1, 2}}));
  EXPECT_EQ(y, (std::vector<double>{201, 30, 402, 60}));
  EXPECT_TRUE(fails_with(errc::bad_structure, {"no strides"}, [&] {
    from_mdspan(look_alike<double, 1>{m.data(), {3}, {1}, false});
  }));
}

} // namespace
} // namespace tulle::test::own_arrays_test
