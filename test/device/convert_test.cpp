// SPDX-License-Identifier: Apache-2.0

// Conversions on the device: the arrays that the host makes, to the last bit, and its errors, over
// the whole zoo in every layout and type.
#include "tulle/format/formats.hpp"
#include "tulle/gen/generate.hpp"
#include "tulle/op/convert.hpp"

#include "device/memory.hpp"
#include "device/operands.hpp"
#include "device/product.hpp"
#include "support/expect.hpp"
#include "support/layouts.hpp"
#include "support/zoo.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <memory>
#include <memory_resource>
#include <optional>

namespace tulle::test::device_convert_test {
namespace {

// What f() makes, or how it fails.
template <class F>
struct outcome {
  std::optional<std::invoke_result_t<F>> made;
  std::string failure;

  explicit outcome(F const& f) {
    try {
      made.emplace(f());
    } catch (error const& e) {
      failure = std::string(name(e.code())) + ": " + e.what();
    }
  }
};

// The arrays of a device matrix in host memory, against those of a host view.
template <class Here, class There>
testing::AssertionResult same_as(There const& there, matrix_ref const& wanted) {
  static_assert(sizeof(Here) == sizeof(There));
  Here here;
  std::memcpy(static_cast<void*>(&here), &there, sizeof here);
  std::vector<std::unique_ptr<std::byte[]>> room;
  here.arrays([&]<class T>(char const*, T const* const& member, std::size_t n) {
    if (n == 0)
      return;
    room.push_back(std::make_unique<std::byte[]>(n * sizeof(T)));
    detail::device_copy(room.back().get(), member, n * sizeof(T), policy{});
    const_cast<T const*&>(member) = reinterpret_cast<T const*>(room.back().get());
  });
  return same_arrays(here, *static_cast<Here const*>(wanted.view));
}

testing::AssertionResult same_as(device_matrix const& there, matrix_ref const& wanted) {
  if (there.format() != wanted.format || there.type() != wanted.type)
    return testing::AssertionFailure() << "a " << name(there.format());
#define TULLE_COMPARE(tag, V, I, O, format)                                                        \
  if (wanted.type == type_tag::tag)                                                                \
    return same_as<format##_view<V, I, O>>(there.view<format##_view<V, I, O, space_there>>(),      \
                                           wanted);
#define TULLE_COMPARE_every(format) TULLE_TYPES(TULLE_COMPARE, format)
#define TULLE_COMPARE_basic(format)                                                                \
  TULLE_TYPES(TULLE_COMPARE, format) TULLE_BASIC_TYPES(TULLE_COMPARE, format)
#define TULLE_FORMAT(name, its_shelf, types, ...)                                                  \
  if (wanted.format == format::name) {                                                             \
    TULLE_COMPARE_##types(name)                                                                    \
  }
#include "tulle/format/formats.def"
#undef TULLE_FORMAT
  return testing::AssertionFailure() << "no type of the device";
}

// TULLE_TEST_QUICK=1: matrices that are not large.
bool is_wanted(any_matrix const& csr, layout const& l) {
  if (is_quick() && csr.nnz() > (is_slow && csr.type() != type_tag::f64_i32 ? 200 : 1'500))
    return false;
  if (!is_on_device(l.format) || !is_looked_at(l.format) || !is_built(l.format, csr.type()))
    return false;
  return csr.type() == type_tag::f64_i32 || l.options.empty() ||
         l.options == layout_for(l.format, backend_there).options;
}

void expect_alike(any_matrix const& csr, layout const& l, std::string const& what) {
  if (!is_wanted(csr, l))
    return;
  device_matrix const from = put(csr);
  outcome const here([&] { return convert(csr, l); });
  outcome const there([&] { return convert(from, l); });
  ASSERT_EQ(here.failure, there.failure) << what << " " << name(l);
  if (!here.made)
    return;
  ASSERT_TRUE(same_as(*there.made, here.made->ref())) << what << " " << name(l);
  ASSERT_EQ(there.made->bytes(), here.made->bytes()) << what << " " << name(l);
  // What is no array: the matrix that it says it is.
  any_matrix const back = download(*there.made);
  any_matrix const wanted = convert(csr, format::csr);
  device_matrix const again = put(back);
  ASSERT_TRUE(same_as(again, wanted.ref())) << what << " " << name(l);
}

class device_convert : public testing::TestWithParam<std::size_t> {
protected:
  type_tag const type = static_cast<type_tag>(GetParam());
};
std::string type_name(testing::TestParamInfo<std::size_t> const& info) {
  return name(static_cast<type_tag>(info.param));
}
INSTANTIATE_TEST_SUITE_P(types, device_convert, testing::Range<std::size_t>(0, type_count),
                         type_name);

TEST_P(device_convert, has_the_arrays_of_the_host) {
  for (animal const& animal : zoo())
    for (format const f : all_formats)
      for (layout const& l : layouts(f)) {
        expect_alike(as_type(animal.matrix, type), l, animal.name);
        if (HasFatalFailure())
          return;
      }
}

// Duplicates are added in the order they are stored, which rounding tells.
TEST_P(device_convert, sums_duplicates_as_the_host_does) {
  for (animal const& animal : zoo())
    if (!animal.twin.empty())
      for (format const f : all_formats) {
        expect_alike(as_type(rough(animal.matrix), type), f, animal.name + " rough");
        if (HasFatalFailure())
          return;
      }
}

TEST(device, large_matrices_convert_alike) {
  std::vector<char const*> texts = {"fem:20000", "lattice:100000", "poisson2d9:300", "rmat:14:16",
                                    "circuit:60000"};
  if (is_slow)
    texts = {"fem:2000", "circuit:3000"};
  for (char const* const text : texts)
    for (format const f : all_formats)
      for (layout const& l : {layout(f), layout_for(f, backend_there)}) {
        expect_alike(csr<double>(generate(text)), l, text);
        if (testing::Test::HasFatalFailure())
          return;
      }
}

TEST(device, options_that_cannot_be_are_refused_in_the_same_words) {
  any_matrix const skewed = find("skewed").matrix;
  any_matrix const wide = from_lengths(60'000, {60'000, 1, 1, 0, 2});
  for (char const* const text : {"csr5:omega=3",
                                 "csr5:omega=32:sigma=99",
                                 "sell:chunk=3",
                                 "sell:chunk=8:sigma=9",
                                 "sell:split=-1",
                                 "dia:block=3",
                                 "dia:fill=2",
                                 "dia:limit=-1",
                                 "dia:limit=0.001:fill=0",
                                 "ell:limit=0",
                                 "ell:limit=0.001",
                                 "hyb:width=-1",
                                 "hyb:limit=0",
                                 "bcsr:rows=9",
                                 "bcsr:cols=-1",
                                 "bcsr:rows=2:cols=3:symmetric=true",
                                 "bcsr:rows=8:cols=8:limit=0.001",
                                 "bcoo:rows=9",
                                 "bccoo:rows=8:cols=8:limit=0.001",
                                 "scoo:rows=0",
                                 "cmrs:height=3",
                                 "cmrs:padded=true:warp=3",
                                 "cmrs:padded=true:modulo=9",
                                 "cmrs:padded=true:limit=0.001",
                                 "sell:limit=0.001",
                                 "csr5:none=1",
                                 "sell:symmetric=true",
                                 "scsr",
                                 "dia:symmetric=true",
                                 "panels:width=3",
                                 "panels:height=0",
                                 "bicrs:block=3",
                                 "bicrs:part=0",
                                 "cbicrs:block=0",
                                 "cbicrs:block=32768",
                                 "vbicrs:block=32768",
                                 "vbicrs:height=3",
                                 "vbicrs:height=32",
                                 "vbicrs:limit=0.001"})
    for (any_matrix const* const a : {&skewed, &wide})
      expect_alike(*a, layout::parse(text), "errors");
  EXPECT_TRUE(fails_with(errc::unsupported, {"option omega"},
                         [&] { convert(put(skewed), layout(format::csr5, "omega=x")); }));
}

TEST(device, arrays_that_are_no_csr_are_refused_in_the_same_words) {
  struct {
    std::vector<int> row_ptr, col;
  } const broken[] = {{{0, 2, 1, 3}, {0, 1, 2}},  {{1, 2, 2, 3}, {0, 1, 2}},
                      {{0, 1, 2, 2}, {0, 1, 2}},  {{0, 1, 2, 3}, {0, 7, 2}},
                      {{0, 1, 2, 3}, {0, 1, -1}}, {{0, 99, 2, 3}, {0, 1, 2}}};
  std::vector<double> const val = {1, 2, 3};
  for (auto const& b : broken) {
    csr_view<double, int, int> const a(unchecked, 3, 3, 3, b.row_ptr.data(), b.col.data(),
                                       val.data());
    device_matrix const there = put(a);
    for (format const f : {format::csr, format::csr5, format::ell}) {
      if (!is_on_device(f))
        continue;
      outcome const here([&] { return convert(matrix_ref(a), f); });
      outcome const device([&] { return convert(there, f); });
      EXPECT_FALSE(here.made);
      EXPECT_EQ(here.failure, device.failure);
    }
  }
}

// Entries in no order, and some of them twice; and columns.
template <class V, class I, class O>
std::pair<any_matrix, any_matrix> as_coo_and_csc(csr<V, I, O> const& a) {
  std::vector<I> row, col;
  std::vector<V> val;
  for (I i = 0; i < a.rows; ++i)
    for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k) {
      row.push_back(i);
      col.push_back(a.col[k]);
      val.push_back(a.val[k]);
    }
  for (std::size_t k = row.size(); k > 1; --k) {
    std::size_t const other = k * 7919 % 104729 % k;
    std::swap(row[k - 1], row[other]);
    std::swap(col[k - 1], col[other]);
    std::swap(val[k - 1], val[other]);
  }
  auto const taken = [](auto const& v) { return array(v.data(), v.size()); };
  return {coo<V, I, O>(a.rows, a.cols, taken(row), taken(col), taken(val)),
          csc<V, I, O>::from_csr(a.view())};
}

TEST_P(device_convert, coo_and_csc_convert_there) {
  for (char const* const animal : {"0x0", "5x0", "skewed", "skewed_unsorted_duplicates", "wide",
                                   "lengths_0_to_70_duplicates", "last_row_empty"}) {
    any_matrix const a = as_type(rough(find(animal).matrix), type);
    auto const [triplets, columns] = visit(type, [&](auto types) {
      using T = decltype(types);
      return as_coo_and_csc(
          *a.get_if<csr<typename T::value, typename T::index, typename T::offset>>());
    });
    for (format const f : {format::csr, format::csc, format::csr5, format::coo}) {
      if (!is_built(f, type) || !is_on_device(f))
        continue;
      any_matrix const of_triplets = convert(triplets, f);
      EXPECT_TRUE(same_as(convert(put(triplets), f), of_triplets.ref()))
          << animal << " coo to " << name(f);
      any_matrix const of_columns = convert(columns, f);
      EXPECT_TRUE(same_as(convert(put(columns), f), of_columns.ref()))
          << animal << " csc to " << name(f);
    }
  }
}

TEST(device, what_cannot_be_converted_there_is_refused) {
  device_matrix const there = put(convert(any_matrix(find("skewed").matrix), format::sell));
  EXPECT_TRUE(
      fails_with(errc::unsupported, {"sell", "download"}, [&] { convert(there, format::csr5); }));
  EXPECT_TRUE(
      fails_with(errc::bad_structure, {"nothing"}, [&] { convert(device_matrix(), format::ell); }));
}

TEST(device, a_conversion_keeps_to_its_queue_and_memory) {
  own_queue const queue;
  counted memory;
  any_matrix const a = find("skewed_unsorted").matrix;
  device_matrix const from = put(a);
  for (format const f : all_formats) {
    if (!is_on_device(f))
      continue;
    outcome const here([&] { return convert(a, layout_for(f, backend_there)); });
    if (!here.made)
      continue;
    memory.left = SIZE_MAX;
    policy where = queue;
    where.memory = &memory;
    {
      device_matrix const there = convert(from, layout_for(f, backend_there), where);
      EXPECT_EQ(memory.now, there.bytes()) << name(f);
      synchronize(where);
      EXPECT_TRUE(same_as(there, here.made->ref())) << name(f);
    }
    EXPECT_EQ(memory.now, 0u) << name(f);
    for (std::size_t const allocations : {0, 1, 2}) {
      memory.left = allocations;
      EXPECT_TRUE(fails_with(errc::out_of_memory, {}, [&] {
        convert(from, layout_for(f, backend_there), where);
      })) << name(f);
      EXPECT_EQ(memory.now, 0u) << name(f);
    }
  }
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"workspace", "limit"},
                         [&] { convert(from, format::csr, policy{.workspace_limit = 1000}); }));
  any_matrix const here = convert(a, format::csr);
  EXPECT_TRUE(same_as(convert(from, format::csr), here.ref()));
}

} // namespace
} // namespace tulle::test::device_convert_test
