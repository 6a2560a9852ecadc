// SPDX-License-Identifier: Apache-2.0

// scsr: what is kept, what is refused, and arrays that are not what they claim to be.
#include "tulle/format/scsr.hpp"

#include "support/expect.hpp"

#include <functional>
#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::scsr_test {
namespace {

using ints = array<std::int32_t>;
using doubles = array<double>;

// As in the header.
csr<double> example() {
  return {4, 4, {0, 2, 4, 6, 8}, {0, 2, 1, 3, 0, 2, 1, 3}, {1, 2, 3, 6, 2, 4, 6, 5}};
}

TEST(scsr, keeps_what_is_on_and_below_the_diagonal) {
  auto const m = scsr<double>::from_csr(borrowed(example()));
  EXPECT_EQ(m.row_ptr, (ints{0, 1, 2, 4, 6}));
  EXPECT_EQ(m.col, (ints{0, 1, 0, 2, 1, 3}));
  EXPECT_EQ(m.val, (doubles{1, 3, 2, 4, 6, 5}));
  EXPECT_EQ(m.nnz, 8);
  EXPECT_EQ(m.bytes(), 6 * 12 + 5 * 4u);
  EXPECT_EQ(m.to_csr(), example());
  EXPECT_EQ(m, scsr<double>(4, {0, 1, 2, 4, 6}, {0, 1, 0, 2, 1, 3}, {1, 3, 2, 4, 6, 5}));
}

TEST(scsr, rows_in_any_order_with_duplicates_are_summed_first) {
  csr<double> const b(2, 2, {0, 3, 4}, {1, 0, 1, 0}, {1, 7, 2, 3});
  auto const m = scsr<double>::from_csr(b.view());
  EXPECT_EQ(m.val, (doubles{7, 3}));
  EXPECT_EQ(m.nnz, 3);
}

TEST(scsr, inf_and_nan_come_back_bit_by_bit) {
  csr<double> a = example();
  a.val[1] = a.val[4] = -std::numeric_limits<double>::infinity();
  a.val[3] = a.val[6] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(same_arrays(borrowed(scsr<double>::from_csr(a.view()).to_csr()), a.view()));
}

TEST(scsr, the_first_entry_without_an_equal_twin_is_named) {
  auto const refused = [](std::vector<std::string> const& words, csr<double> const& a) {
    EXPECT_TRUE(fails_with(errc::unsupported, words, [&] { scsr<double>::from_csr(a.view()); }));
  };
  csr<double> a = example();
  a.val[6] = 1; // (3, 1)
  refused({"scsr", "symmetric storage of a matrix whose (1, 3) is 6 and (3, 1) is 1"}, a);
  a.val[4] = 9; // (2, 0), whose twin comes first
  refused({"(0, 2) is 2 and (2, 0) is 9"}, a);
  refused({"(1, 0) is stored and (0, 1) is not"}, {2, 2, {0, 1, 3}, {0, 0, 1}, {1, 2, 3}});
  refused({"(0, 1) is stored and (1, 0) is not"}, {2, 2, {0, 2, 3}, {0, 1, 1}, {1, 2, 3}});
  refused({"1 rows and 2 columns"}, {1, 2, {0, 1}, {0}, {1}});
}

TEST(scsr, refill_takes_symmetric_values_alone_and_changes_nothing_else) {
  auto const before = scsr<double>::from_csr(borrowed(example()));
  auto m = before;
  csr<double> a = example();
  a.val[1] = 9;
  EXPECT_TRUE(fails_with(errc::unsupported, {"scsr", "(0, 2) is 9 and (2, 0) is 2"},
                         [&] { m.refill(a.view()); }));
  EXPECT_EQ(m, before);
  csr<double> moved = example();
  moved.col[1] = 3; // as many entries, without twins
  EXPECT_TRUE(fails_with(errc::bad_structure, {"scsr", "refill"}, [&] { m.refill(moved.view()); }));
  EXPECT_EQ(m, before);
  a.val[4] = 9;
  m.refill(a.view());
  EXPECT_EQ(m, scsr<double>::from_csr(a.view()));
}

struct parts {
  std::int32_t n = 4;
  std::vector<std::int32_t> row_ptr{0, 1, 2, 4, 6}, col{0, 1, 0, 2, 1, 3};
  std::vector<double> val{1, 3, 2, 4, 6, 5};

  template <class T>
  static array<T> owned(std::vector<T> const& v) {
    return {v.data(), v.size()};
  }
  scsr<double> owner() const { return {n, owned(row_ptr), owned(col), owned(val)}; }
  scsr<double> unseen() const {
    scsr<double> m;
    m.rows = m.cols = n;
    m.nnz = 8;
    m.row_ptr = owned(row_ptr);
    m.col = owned(col);
    m.val = owned(val);
    return m;
  }
};

TEST(scsr, broken_arrays_are_refused_by_every_constructor) {
  EXPECT_EQ(parts().owner().to_csr(), example());
  EXPECT_NO_THROW(parts().unseen().validate());
  struct broken {
    char const* what;
    std::vector<std::string> words;
    std::function<void(parts&)> change;
  };
  for (broken const& b : std::vector<broken>{
           {"rows negative", {"-4"}, [](parts& p) { p.n = -4; }},
           {"a row more", {"pointers"}, [](parts& p) { p.n = 5; }},
           {"first pointer 1", {"row_ptr[0] is 1"}, [](parts& p) { p.row_ptr[0] = 1; }},
           {"a pointer decreases", {"row_ptr", "4 to 3"}, [](parts& p) { p.row_ptr[4] = 3; }},
           {"pointers end early", {"row_ptr ends at 5"}, [](parts& p) { p.row_ptr[4] = 5; }},
           {"a column negative", {"col[2] is -1"}, [](parts& p) { p.col[2] = -1; }},
           {"a column beyond", {"col[5] is 4"}, [](parts& p) { p.col[5] = 4; }},
           {"a column above the diagonal",
            {"col[1] is 3", "above the diagonal of row 1"},
            [](parts& p) { p.col[1] = 3; }},
           {"columns equal", {"col", "2 to 2 at 3"}, [](parts& p) { p.col[2] = 2; }},
           {"a value missing", {"6 indices but 5 values"}, [](parts& p) { p.val.pop_back(); }},
       }) {
    parts p;
    b.change(p);
    EXPECT_TRUE(fails_with(errc::bad_structure, b.words, [&] {
      scsr_view<double>(p.n, p.row_ptr, p.col, p.val);
    })) << b.what;
    EXPECT_TRUE(fails_with(errc::bad_structure, b.words, [&] { p.owner(); })) << b.what;
    scsr<double> const unseen = p.unseen();
    EXPECT_TRUE(fails_with(errc::bad_structure, b.words, [&] { unseen.validate(); })) << b.what;
  }
}

TEST(scsr, another_number_of_entries_than_stored_is_refused) {
  scsr<double> m = parts().unseen();
  m.nnz = 9;
  EXPECT_TRUE(fails_with(errc::bad_structure, {"8 entries", "nnz is 9"}, [&] { m.validate(); }));
  EXPECT_TRUE(
      fails_with(errc::bad_structure, {"8 entries", "nnz is 9"}, [&] { m.view().validate(); }));
}

TEST(scsr, ordinary_emptiness_is_accepted) {
  EXPECT_NO_THROW((scsr<double>(0, {}, {}, {})));
  EXPECT_NO_THROW((scsr<double>(0, {0}, {}, {})));
  EXPECT_NO_THROW((scsr<double>(3, {0, 0, 0, 0}, {}, {})));
}

} // namespace
} // namespace tulle::test::scsr_test
