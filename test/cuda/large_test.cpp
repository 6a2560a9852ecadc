// SPDX-License-Identifier: Apache-2.0

// Matrices that are large for a test: what kernels do from a size on, and beyond what 32 bits
// count.
#include "tulle/gen/generate.hpp"
#include "tulle/op/convert.hpp"

#include "device/operands.hpp"
#include "support/layouts.hpp"

#include <gtest/gtest.h>

namespace tulle::test::large_test {
namespace {

std::vector<double> small_integers(std::size_t n) {
  std::vector<double> x(n);
  for (std::size_t j = 0; j < n; ++j)
    x[j] = static_cast<double>(j % 9) - 4;
  return x;
}

/// The pattern of a generated matrix with values whose sums are exact.
csr<double> integer_matrix(char const* spec) {
  csr<double> a = generate(spec);
  for (std::size_t k = 0; k < a.val.size(); ++k)
    a.val[k] = static_cast<double>(k % 5) - 2;
  return a;
}

void expect_product(csr<double> const& a, layout const& l, std::string const& path) {
  std::vector<double> const xs = small_integers(static_cast<std::size_t>(a.cols));
  std::vector<double> wanted(static_cast<std::size_t>(a.rows)), got(wanted.size());
  spmv(1.0, a, xs, 0.0, wanted);
  device_array<double> const x(xs);
  device_array<double> y(wanted.size());
  device_matrix const there = upload(convert(a, l));
  spmv_plan plan(cuda{}, there);
  EXPECT_NE(plan.path().find(path), std::string::npos) << plan.path();
  for (int again = 0; again < 2; ++again) {
    detail::device_set(y.data(), 0xff, y.bytes(), {});
    spmv(plan, 1.0, there, x, 0.0, y);
    y.copy_to(got.data());
    EXPECT_EQ(got, wanted) << name(l);
  }
}

// Few columns have many of the entries: they are numbered anew.
TEST(cuda_large, columns_by_their_entries) {
  csr<double> const a = integer_matrix("rmat:18:8");
  for (char const* const l : {"sell:chunk=32:sigma=1024", "sell:chunk=32:sigma=4194304"})
    expect_product(a, layout::parse(l), "columns by their entries");
}

TEST(cuda_large, panels_of_long_rows) {
  csr<double> const a = integer_matrix("lp:1024:300000:1500");
  for (char const* const l : {"panels:width=8192:height=2048:lanes=32:piece=1",
                              "panels:width=16384:height=4096:lanes=32:piece=1"})
    expect_product(a, layout::parse(l), "panels");
}

// Rows that blocks and tiles cut in many ways.
TEST(cuda_large, rows_in_many_blocks) {
  csr<double> const a = integer_matrix("rmat:17:8");
  for (char const* const l :
       {"bicrs", "bicrs:block=4096", "cbicrs", "cbicrs:block=1024:part=5000", "vbicrs:limit=99",
        "vbicrs:height=1:block=1024:limit=99", "vbicrs:height=8:limit=99"})
    expect_product(a, layout::parse(l), "pieces of rows joined");
}

// Rows far longer than those of the zoo, in every format and both types, converted here and there.
template <class V>
void expect_long_rows() {
  csr<V> a = generate<V, std::int32_t, std::int32_t>("dense:2048");
  for (std::size_t k = 0; k < a.val.size(); ++k)
    a.val[k] = static_cast<V>(k % 5) - 2;
  std::vector<V> xs(static_cast<std::size_t>(a.cols));
  for (std::size_t j = 0; j < xs.size(); ++j)
    xs[j] = static_cast<V>(j % 9) - 4;
  std::vector<V> wanted(static_cast<std::size_t>(a.rows)), got(wanted.size());
  spmv(V(1), a, xs, V(0), wanted);
  device_array<V> const x(xs);
  device_array<V> y(wanted.size());
  device_matrix const csr_there = upload(a);
  auto const expect = [&](device_matrix const& there, layout const& l, char const* from) {
    if (!has_plan(there, false))
      return;
    detail::device_set(y.data(), 0xff, y.bytes(), {});
    spmv(V(1), there, x, V(0), y);
    y.copy_to(got.data());
    ASSERT_EQ(got, wanted) << name(l) << " converted " << from;
  };
  for (format const f : all_formats)
    for (layout const& l : {layout{f, ""}, layout_for(f, backend::cuda)})
      if (auto const host = unless_refused([&] { return convert(a, l); })) {
        expect(upload(*host), l, "here");
        if (is_on_device(f))
          expect(convert(csr_there, l), l, "there");
      }
}
TEST(cuda_large, long_rows_in_every_format) {
  expect_long_rows<double>();
  expect_long_rows<float>();
}

/// A csr on the device whose rows are all the same `length` entries, v * x being known: the first
/// row comes from here, and each copy doubles what is there.
template <class V, class I>
class equal_rows {
public:
  equal_rows(I rows, std::size_t length)
      : rows_(rows), length_(length), nnz_(static_cast<std::size_t>(rows) * length), val_(nnz_),
        col_(nnz_) {
    std::vector<V> v(length);
    std::vector<I> c(length);
    for (std::size_t k = 0; k < length; ++k) {
      v[k] = static_cast<V>(k % 5) - 2;
      c[k] = static_cast<I>(k * 3);
    }
    repeat(val_, v);
    repeat(col_, c);
    std::vector<I> ptr(static_cast<std::size_t>(rows) + 1);
    for (std::size_t i = 0; i < ptr.size(); ++i)
      ptr[i] = static_cast<I>(i * length);
    row_ptr_ = device_array<I>(ptr);
  }
  void expect_product(spmv_method m) const {
    auto const cols = static_cast<I>(length_ * 3);
    csr_view<V, I, I, space::cuda> const a(unchecked, rows_, cols, static_cast<I>(nnz_),
                                           row_ptr_.data(), col_.data(), val_.data());
    std::vector<V> xs(static_cast<std::size_t>(cols), V(1));
    V wanted = 0;
    for (std::size_t k = 0; k < length_; ++k) {
      xs[k * 3] = static_cast<V>(k % 7) - 3;
      wanted += (static_cast<V>(k % 5) - 2) * xs[k * 3];
    }
    device_array<V> const x(xs);
    device_array<V> y(static_cast<std::size_t>(rows_));
    detail::device_set(y.data(), 0xff, y.bytes(), {});
    spmv(V(1), a, x, V(0), y, {m});
    std::vector<V> got(y.size());
    y.copy_to(got.data());
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(got[i], wanted) << "row " << i << " by " << name(m);
  }

private:
  template <class T>
  static void repeat(device_array<T>& to, std::vector<T> const& first) {
    detail::device_copy(to.data(), first.data(), first.size() * sizeof(T), {});
    for (std::size_t n = first.size(); n < to.size(); n *= 2)
      detail::device_copy_there(to.data() + n, to.data(), std::min(n, to.size() - n) * sizeof(T),
                                {});
  }
  I rows_;
  std::size_t length_, nnz_;
  device_array<V> val_;
  device_array<I> col_, row_ptr_;
};

constexpr spmv_method ways[] = {spmv_method::rows, spmv_method::merge, spmv_method::segments};

TEST(cuda_large, more_bytes_than_31_bits_count) {
  equal_rows<double, std::int32_t> const a(300'000, 1000);
  for (spmv_method const m : ways)
    a.expect_product(m);
}

TEST(cuda_large, more_entries_than_31_bits_count) {
  if (devices(backend::cuda).at(0).free_memory < std::size_t{40} << 30)
    GTEST_SKIP() << "needs 40 GB of device memory";
  equal_rows<float, std::int64_t> const a(2'200'000, 1000);
  for (spmv_method const m : ways)
    a.expect_product(m);
}

} // namespace
} // namespace tulle::test::large_test
