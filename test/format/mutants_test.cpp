// SPDX-License-Identifier: Apache-2.0

// Every format with one thing wrong at a time: an element of an array, the size of an array, a
// member that is no array, an array that is not there; and matrices that were moved from. What is
// refused is refused by a tulle::error; what is taken is the same matrix to every operation.
// Nothing crashes, loops for ever or asks for memory by a number that it did not check.
//
// TULLE_MUTANTS=all: every element of more matrices in every layout, some minutes.
#include "tulle/tulle.hpp"

#include "support/expect.hpp"
#include "support/formats.hpp"
#include "support/guarded.hpp"
#include "support/layouts.hpp"
#include "support/zoo.hpp"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <set>

namespace tulle::test::mutants_test {
namespace {

constexpr cpu one{.threads = 1}; // what runs is a child process

bool is_thorough() {
  char const* const wanted = std::getenv("TULLE_MUTANTS");
  return wanted && std::string(wanted) == "all";
}

/// One element of so many is changed, unless all are.
std::size_t elements_a_case() {
  return is_thorough() ? 1 : 40;
}

/// f(name, array) for each array of an owner.
template <class Owner, class F>
void arrays_of(Owner& m, F&& f) {
  std::vector<char const*> names;
  Owner().view().arrays([&](char const* name, auto...) { names.push_back(name); });
  Owner::members(m, [&](auto&... a) {
    ASSERT_EQ(names.size(), sizeof...(a));
    auto name = names.begin();
    (f(*name++, a), ...);
  });
}

/// f(where) for each flag of an owner or a view, whose bytes may be 0 or 1 alone.
template <class M, class F>
void flags(M& m, F&& f) {
  auto const at = [&](bool& flag) {
    f(static_cast<std::size_t>(reinterpret_cast<char*>(&flag) - reinterpret_cast<char*>(&m)));
  };
  if constexpr (requires { m.symmetric; })
    at(m.symmetric);
  if constexpr (requires { m.streams; })
    at(m.streams);
  if constexpr (requires { m.layout.sorted; })
    at(m.layout.sorted);
  if constexpr (requires {
                  bool(m.serial);
                  requires std::same_as<decltype(m.serial), bool>;
                })
    at(m.serial);
}

template <class T>
std::vector<T> others(T v) {
  std::vector<T> all;
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    all = {T(0),
           T(-1),
           T(U(v) + 1),
           T(U(v) - 1),
           std::numeric_limits<T>::max(),
           std::numeric_limits<T>::min()};
    for (int bit = 0; bit < static_cast<int>(8 * sizeof(T));
         bit += is_thorough() || bit < 3 ? 1 : 5)
      all.push_back(static_cast<T>(U(v) ^ static_cast<U>(U(1) << bit)));
  } else {
    all = {T(0), T(7), std::numeric_limits<T>::quiet_NaN()};
  }
  return all;
}

/// What is wrong with the outcome for a matrix that may be no matrix: nothing where it is refused
/// by a tulle::error, or taken and the same to all operations.
template <class Owner>
std::string outcome(Owner& m, typename owner_traits<Owner>::index rows, bool refills) {
  using V = typename owner_traits<Owner>::value;
  using I = typename owner_traits<Owner>::index;
  using O = typename owner_traits<Owner>::offset;
  std::string refused; // by validate
  auto const refusal = [](char const* what, auto&& f) -> std::string {
    try {
      f();
    } catch (error const& e) {
      if (e.code() == errc::out_of_memory)
        return std::string(what) + " asks for memory: " + e.what();
    } catch (std::exception const& e) {
      return std::string(what) + " throws " + e.what();
    }
    return {};
  };
  bool is_valid = false;
  std::string wrong = refusal("validate", [&] {
    m.validate();
    is_valid = true;
  });
  wrong += refusal("bytes", [&] { m.bytes(); });
  // One without an array of its rows may have more of them than is worth a row_ptr here.
  if (is_valid && m.rows > 20'000)
    return wrong;
  csr<V, I, O> c;
  bool is_taken = false;
  wrong += refusal("to_csr", [&] {
    c = m.to_csr(one);
    is_taken = true;
  });
  if (is_valid != is_taken)
    wrong += is_valid ? "validate takes what to_csr refuses" : "to_csr takes what validate refuses";
  bool is_converted = false;
  wrong += refusal("convert", [&] {
    any_matrix const any = Owner(m);
    is_converted = convert(any, format::csr, one).rows() == static_cast<std::size_t>(m.rows);
  });
  if (is_valid != is_converted)
    wrong += is_valid ? "convert refuses what is valid" : "convert takes what validate refuses";
  if (!wrong.empty())
    return wrong;
  csr<V, I, O> fresh;
  fresh.rows = rows;
  fresh.cols = rows;
  fresh.row_ptr = array<O>(static_cast<std::size_t>(rows) + 1, O(0));
  if (!is_valid)
    return !refills ? std::string()
                    : refusal("refill", [&] { Owner(m).refill(fresh.view(), one); });

  wrong = refusal("to_csr's result", [&] {
    is_valid = false;
    c.validate();
    is_valid = c.view().is_canonical();
  });
  if (!is_valid || !wrong.empty())
    return "to_csr gives what is not canonical" + wrong;
  // These may be as they came; then refill() has another pattern to compare.
  constexpr bool is_basic = std::is_same_v<Owner, csr<V, I, O>> ||
                            std::is_same_v<Owner, csc<V, I, O>> ||
                            std::is_same_v<Owner, coo<V, I, O>> || requires {
    m.view().as_csr();
  };
  bool const c_is_other =
      is_basic && !same_arrays(m.view(), Owner::from_csr(c.view(), {}, one).view());
  if (c.rows != m.rows || c.cols != m.cols || c.view().nnz > m.view().nnz)
    return "to_csr gives another shape";
  auto const n = static_cast<std::size_t>(c.rows);
  if (c.cols > 5'000)
    return {};
  std::vector<V> x(static_cast<std::size_t>(c.cols)), y(n, V(1));
  for (std::size_t j = 0; j < x.size(); ++j)
    x[j] = static_cast<V>(j % 5 + 1);
  wrong = refusal("spmv", [&] { spmv(one, V(2), m, x, V(0), y); });
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0, size = 0;
    for (O k = c.row_ptr[i]; k < c.row_ptr[i + 1]; ++k) {
      double const term = 2.0 * static_cast<double>(c.val[k]) * static_cast<double>(x[c.col[k]]);
      sum += term;
      size += std::abs(term);
    }
    auto const got = static_cast<double>(y[i]);
    if (!(std::abs(got - sum) <= 1e-5 * size) && !(std::isnan(got) && std::isnan(sum)) &&
        got != sum)
      return "spmv and to_csr differ in row " + std::to_string(i);
  }
  for (V& v : c.val)
    v = -v;
  wrong += refusal("refill", [&] {
    is_valid = false;
    Owner copy = m;
    copy.refill(c.view(), one);
    csr<V, I, O> const back = copy.to_csr(one);
    is_valid =
        back.col == c.col && back.row_ptr == c.row_ptr &&
        (c.val.size() == 0 || std::memcmp(back.val.data(), c.val.data(), c.val.bytes()) == 0);
  });
  if (!is_valid && !c_is_other)
    wrong += "refill with its own pattern fails";
  return wrong;
}

/// Elements, sizes and other members of m.
template <class Owner>
void mutate(guard& g, Owner const& intact, std::string const& what, bool elements) {
  Owner m = intact;
  auto const rows = intact.rows;
  // refill() looks at sizes of arrays alone.
  auto const look = [&](bool refills = false) {
    if (std::string const wrong = outcome(m, rows, refills); !wrong.empty())
      g.failed(wrong);
  };
  if (g.begin("%s as it is", what.c_str()))
    look();
  std::size_t counted = 0;
  arrays_of(m, [&](char const* name, auto& a) {
    using T = std::remove_cvref_t<decltype(a[0])>;
    for (std::size_t k = 0; k < a.size() && elements; ++k) {
      T const old = a[k];
      for (T const v : others(old)) {
        // The first and the last of each array always.
        bool const is_drawn = k == 0 || k + 1 == a.size() ||
                              (++counted * 0x9e3779b97f4a7c15u >> 32) % elements_a_case() == 0;
        if (is_drawn && v != old &&
            g.begin("%s, %s[%zu] = %.17g", what.c_str(), name, k, static_cast<double>(v))) {
          a[k] = v;
          look();
          a[k] = old;
        }
      }
    }
    array<T> const old = a;
    for (std::size_t const n :
         {std::size_t(0), old.size() - 1, old.size() / 2, old.size() + 1, 2 * old.size() + 1})
      if (n <= 2 * old.size() + 1 && n != old.size() &&
          g.begin("%s, %s of size %zu for %zu", what.c_str(), name, n, old.size())) {
        a = array<T>(n, T{});
        for (std::size_t k = 0; k < n; ++k)
          a[k] = old.empty() ? T{} : old[std::min(k, old.size() - 1)];
        look(true);
        a = old;
      }
  });
  // What is no array, 4 and 8 bytes at a time.
  auto* const bytes = reinterpret_cast<char*>(&m);
  std::set<std::size_t> apart; // words of arrays and of flags
  arrays_of(m, [&](char const*, auto& a) {
    auto const at = static_cast<std::size_t>(reinterpret_cast<char*>(&a) - bytes);
    for (std::size_t b = at; b < at + sizeof a; b += 4)
      apart.insert(b);
  });
  flags(m, [&](std::size_t at) { apart.insert(at / 4 * 4); });
  auto const words = [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t at = 0; at + sizeof(T) <= sizeof m; at += sizeof(T)) {
      bool skip = false;
      for (std::size_t b = at; b < at + sizeof(T); b += 4)
        skip = skip || apart.contains(b);
      if (skip)
        continue;
      T old;
      std::memcpy(&old, bytes + at, sizeof old);
      std::vector<T> all = others(old);
      for (std::int64_t const v :
           {std::int64_t(7), std::int64_t(64), std::int64_t(65), std::int64_t(1000),
            std::int64_t(INT32_MAX), std::int64_t(1) << 62, std::int64_t(1) << 61})
        if (std::in_range<T>(v))
          all.push_back(static_cast<T>(v));
      for (T const v : all)
        if (v != old && g.begin("%s, member at %zu = %lld for %lld", what.c_str(), at,
                                static_cast<long long>(v), static_cast<long long>(old))) {
          std::memcpy(bytes + at, &v, sizeof v);
          look();
          std::memcpy(bytes + at, &old, sizeof old);
        }
    }
  };
  words(std::int32_t(0));
  words(std::int64_t(0));
  flags(m, [&](std::size_t at) {
    if (g.begin("%s, flag at %zu", what.c_str(), at)) {
      bytes[at] ^= 1;
      look();
      bytes[at] ^= 1;
    }
  });
}

/// A view without one of its arrays, or with a number less.
template <class Owner>
void mutate_view(guard& g, Owner const& intact, std::string const& what) {
  auto const view = intact.view();
  auto v = view;
  auto const look = [&] {
    try {
      v.validate();
      v.to_csr(one).validate();
    } catch (error const& e) {
      if (e.code() == errc::out_of_memory)
        g.failed(e.what());
    }
  };
  view.arrays([&](char const* name, auto const* p, std::size_t) {
    auto* const bytes = reinterpret_cast<char*>(&v);
    for (std::size_t at = 0; at + sizeof p <= sizeof v && p; at += sizeof p)
      if (std::memcmp(bytes + at, &p, sizeof p) == 0 &&
          g.begin("%s, view without %s", what.c_str(), name)) {
        std::memset(bytes + at, 0, sizeof p);
        look();
        std::memcpy(bytes + at, &p, sizeof p);
      }
  });
  for (auto const less : {-1, std::numeric_limits<std::int32_t>::min()}) {
    if (g.begin("%s, view of %d rows", what.c_str(), less)) {
      v = view;
      v.rows = less;
      look();
    }
    if (g.begin("%s, view of %d columns", what.c_str(), less)) {
      v = view;
      v.cols = less;
      look();
    }
    if (g.begin("%s, view of %d entries", what.c_str(), less)) {
      v = view;
      v.nnz = less;
      look();
    }
  }
}

/// Small matrices in which every kind of part of a format is: long rows, empty ones, blocks.
std::vector<std::pair<std::string, csr<double>>> const& matrices() {
  static auto const all = [] {
    std::vector<std::pair<std::string, csr<double>>> m;
    m.emplace_back("7x9", from_lengths(9, {2, 0, 3, 1, 9, 0, 4}));
    m.emplace_back("symmetric", mirrored(from_lengths(12, {3, 0, 2, 5, 1, 12, 0, 1})));
    std::vector<std::int32_t> lengths(90, 1);
    lengths[3] = 70;
    lengths[40] = 80;
    lengths[41] = 3;
    lengths[60] = 0;
    m.emplace_back("long_rows", from_lengths(90, lengths));
    m.emplace_back("stairs", stairs(40, {0, 1, 5}));
    m.emplace_back("no_entries", from_lengths(4, {0, 0, 0}));
    m.emplace_back("0x5", find("0x5").matrix);
    if (is_thorough())
      for (animal const& a : zoo())
        if (a.matrix.col.size() <= 300 && a.matrix.rows <= 300)
          m.emplace_back(a.name, a.matrix);
    return m;
  }();
  return all;
}

template <class F>
auto of_type(csr<double> const& a) {
  any_matrix const c = as_type(a, owner_traits<F>::type);
  return *c.get_if<csr<typename owner_traits<F>::value, typename owner_traits<F>::index,
                       typename owner_traits<F>::offset>>();
}

template <class F>
struct grown {
  std::string name;
  bool is_default;
  F matrix;
};
/// Every matrix in every layout.
template <class F>
std::vector<grown<F>> layouts_of() {
  std::vector<grown<F>> all;
  for (auto const& [name, a] : matrices())
    for_each_options<F>([&, &name = name, &a = a](auto const& options, std::string const& text) {
      if (auto m = unless_refused([&] { return F::from_csr(of_type<F>(a).view(), options, one); }))
        all.push_back({name + " " + text, text.empty(), *std::move(m)});
    });
  return all;
}

template <class F>
void expect_results_or_errors(bool all_layouts) {
  if (!is_looked_at(owner_traits<F>::format))
    return;
  auto const all = layouts_of<F>();
  ASSERT_FALSE(all.empty());
  std::size_t cases = 0;
  auto const failures = run_guarded(
      [&](guard& g) {
        std::size_t layout = 0; // of four other than the default one each
        for (auto const& m : all)
          if (all_layouts ? m.is_default || ++layout % 4 == 0 || is_thorough() : m.is_default) {
            mutate(g, m.matrix, m.name, all_layouts || is_thorough());
            mutate_view(g, m.matrix, m.name);
          }
      },
      cases);
  EXPECT_GT(cases, 100u);
  testing::Test::RecordProperty("cases", static_cast<int>(cases));
  std::size_t told = 0;
  for (std::string const& f : failures)
    if (++told <= 100)
      ADD_FAILURE() << "CASE " << f;
  EXPECT_EQ(failures.size(), 0u);
}

template <class F>
class mutants : public testing::Test {};
TYPED_TEST_SUITE(mutants, every_format, format_names);

TYPED_TEST(mutants, give_a_result_or_an_error) {
  expect_results_or_errors<TypeParam>(true);
}

using every_wide_format = to_gtest<formats_over<double, std::int64_t, std::int64_t>::type>::type;
template <class F>
class wide_mutants : public testing::Test {};
TYPED_TEST_SUITE(wide_mutants, every_wide_format, format_names);

// Members up to 2^63, where what is multiplied wraps around.
TYPED_TEST(wide_mutants, give_a_result_or_an_error) {
  expect_results_or_errors<TypeParam>(false);
}

/// Every operation on m gives a result or an error.
template <class F>
void use(guard& g, F& m, F const& whole) {
  using V = typename owner_traits<F>::value;
  auto const look = [&](char const* what, auto&& f) {
    if (!g.begin("%s", what))
      return;
    try {
      f();
    } catch (error const& e) {
      if (e.code() != errc::bad_structure)
        g.failed(e.what());
    } catch (std::exception const& e) {
      g.failed(std::string("threw ") + e.what());
    }
  };
  auto const n = static_cast<std::size_t>(whole.rows);
  csr<V, typename owner_traits<F>::index, typename owner_traits<F>::offset> const c =
      whole.to_csr(one);
  std::vector<V> x(2 * n, V(1)), y(2 * n, V(1));
  std::span<V const> const in(x.data(), n);
  std::span<V> const out(y.data(), n);
  look("validate", [&] { m.validate(); });
  look("bytes", [&] { m.bytes(); });
  look("view", [&] { m.view().validate(); });
  look("copy", [&] { F(m).bytes(); });
  look("equal", [&] { static_cast<void>(m == whole); });
  look("to_csr", [&] { m.to_csr(one).validate(); });
  look("refill", [&] { F(m).refill(c.view(), one); });
  look("spmv", [&] { spmv(one, V(1), m, in, V(1), out); });
  look("spmv^T", [&] { spmv(one, V(1), transposed(m), in, V(1), out); });
  look("spmv_plan", [&] { spmv_plan(one, m); });
  look("spmm", [&] {
    spmm(one, V(1), m, row_major(std::as_const(x).data(), n, 2), V(1), row_major(y.data(), n, 2));
  });
  look("any_matrix", [&] { any_matrix(m).validate(); });
  look("convert", [&] { convert(any_matrix(m), format::csr5, one).validate(); });
  look("convert a view", [&] {
    auto const v = m.view();
    convert(matrix_ref(v), format::csr5, one).validate();
  });
  look("transpose", [&] { transpose(one, m).validate(); });
  look("spgemm A", [&] { spgemm(one, m, whole).validate(); });
  look("spgemm B", [&] { spgemm(one, whole, m).validate(); });
  look("add A", [&] { add(one, V(1), m, V(1), whole).validate(); });
  look("add B", [&] { add(one, V(1), whole, V(1), m).validate(); });
}

// Its numbers are as they were, and its arrays are gone.
TYPED_TEST(mutants, one_that_was_moved_from_gives_a_result_or_an_error) {
  for (grown<TypeParam> const& m : layouts_of<TypeParam>())
    if (m.matrix.rows == m.matrix.cols) {
      std::size_t cases = 0;
      auto const failures = run_guarded(
          [&](guard& g) {
            TypeParam from = m.matrix;
            TypeParam const taken = std::move(from);
            use(g, from, taken);
          },
          cases);
      for (std::string const& f : failures)
        ADD_FAILURE() << m.name << ": " << f;
      EXPECT_EQ(cases, 19u);
    }
}

} // namespace
} // namespace tulle::test::mutants_test
