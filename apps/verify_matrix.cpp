// SPDX-License-Identifier: Apache-2.0
#include "apps/verify_matrix.hpp"

#include "tulle/core/error.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/spmv.hpp"

#include "apps/support/matrix.hpp"
#include "apps/support/progress.hpp"
#include "format/detail/copy.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace tulle::app {
namespace {

using wide = long double;
using big = std::int64_t;
template <class W>
using source_view = csr_view<W, big, big>; // the matrix as read, in the widest types built

constexpr std::size_t failures_kept = 8;
constexpr int thread_counts[] = {1, 2, 3, 7};

template <class V>
inline constexpr bool is_real = std::is_floating_point_v<V>;
template <class V>
using real_t = decltype(std::real(V()));

// Values in [-2, 2] that every type holds exactly, no zeros, the same on every run.
template <class V>
V sample(std::size_t i, std::uint64_t salt) {
  std::uint64_t h = (i + 1) * 0x9e3779b97f4a7c15u + salt * 0xbf58476d1ce4e5b9u;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
  h ^= h >> 31;
  auto pick = [](std::uint64_t bits) {
    auto const k = static_cast<int>(bits % 1024) + 1;
    return static_cast<real_t<V>>((bits & 1024) != 0 ? k : -k) / real_t<V>(512);
  };
  if constexpr (is_real<V>)
    return pick(h);
  else
    return V(pick(h), pick(h >> 20));
}

template <class V>
std::vector<V> samples(std::size_t n, std::uint64_t salt) {
  std::vector<V> x(n);
  for (std::size_t i = 0; i < n; ++i)
    x[i] = sample<V>(i, salt);
  return x;
}

// What a row's sum should be, and what its error is measured by.
struct expected {
  wide re = 0, im = 0;
  wide size = 0; ///< sum of |a_ij x_j|
  std::uint64_t terms = 0;
};

template <class V>
void add_product(expected& e, V a, V x) {
  if constexpr (is_real<V>) {
    wide const p = static_cast<wide>(a) * static_cast<wide>(x);
    e.re += p;
    e.size += std::abs(p);
  } else {
    wide const ar = a.real(), ai = a.imag(), xr = x.real(), xi = x.imag();
    e.re += ar * xr - ai * xi;
    e.im += ar * xi + ai * xr;
    e.size += (std::abs(ar) + std::abs(ai)) * (std::abs(xr) + std::abs(xi));
  }
  ++e.terms;
}

// A x or A^T x with A's values rounded to V first, as the conversion rounds them.
template <class V, class W>
std::vector<expected> oracle(source_view<W> const& a, bool transposed, std::vector<V> const& x) {
  auto const n = static_cast<std::size_t>(a.rows);
  std::vector<expected> y(static_cast<std::size_t>(transposed ? a.cols : a.rows));
  int const parts =
      transposed || a.nnz == 0 ? 1 : tulle::parts_for(static_cast<std::size_t>(a.nnz), 0);
  tulle::parallel(parts, [&](int part) {
    std::size_t const first = parts == 1 ? 0 : tulle::split_by_entries(a.row_ptr, n, part, parts);
    std::size_t const end = parts == 1 ? n : tulle::split_by_entries(a.row_ptr, n, part + 1, parts);
    for (std::size_t i = first; i < end; ++i)
      for (big k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k) {
        auto const j = static_cast<std::size_t>(a.col[k]);
        add_product(y[transposed ? j : i], static_cast<V>(a.val[k]), x[transposed ? i : j]);
      }
  });
  return y;
}

// The same matrix in other types, nullopt where its sizes do not fit them.
template <class W>
std::optional<any_matrix> cast(source_view<W> const& a, type_tag t) {
  return visit(t, [&](auto types) -> std::optional<any_matrix> {
    using T = decltype(types);
    using V = typename T::value;
    using I = typename T::index;
    using O = typename T::offset;
    if constexpr (is_real<V> != is_real<W>) {
      return std::nullopt;
    } else {
      if (!std::in_range<I>(a.rows) || !std::in_range<I>(a.cols) || !std::in_range<O>(a.nnz))
        return std::nullopt;
      auto const n = static_cast<std::size_t>(a.rows);
      auto const entries = static_cast<std::size_t>(a.nnz);
      csr<V, I, O> c(unchecked, static_cast<I>(a.rows), static_cast<I>(a.cols), array<O>(n + 1),
                     array<I>(entries), array<V>(entries));
      c.row_ptr[0] = 0;
      for (std::size_t i = 0; i < n; ++i)
        c.row_ptr[i + 1] = static_cast<O>(a.row_ptr[i + 1]);
      int const parts = tulle::parts_for(entries, 0);
      tulle::parallel(parts, [&](int part) {
        std::size_t const end = tulle::split(entries, part + 1, parts);
        for (std::size_t k = tulle::split(entries, part, parts); k < end; ++k) {
          c.col[k] = static_cast<I>(a.col[k]);
          c.val[k] = static_cast<V>(a.val[k]);
        }
      });
      return any_matrix(std::move(c));
    }
  });
}

// f(owner) for the csr in a.
template <class F>
decltype(auto) with_csr(any_matrix const& a, F&& f) {
  return visit(a.type(), [&](auto types) -> decltype(auto) {
    using T = decltype(types);
    return f(*a.get_if<csr<typename T::value, typename T::index, typename T::offset>>());
  });
}

// By bits, so that NaN equals itself.
bool same_csr(any_matrix const& a, any_matrix const& b) {
  if (a.type() != b.type() || a.format() != format::csr || b.format() != format::csr)
    return false;
  return with_csr(a, [&]<class C>(C const& p) {
    C const& q = *b.get_if<C>();
    auto equal = [](auto const& s, auto const& t) {
      return s.size() == t.size() && detail::same(s.data(), t.data(), s.size());
    };
    return p.rows == q.rows && p.cols == q.cols && equal(p.row_ptr, q.row_ptr) &&
           equal(p.col, q.col) && equal(p.val, q.val);
  });
}

any_matrix with_other_values(any_matrix const& a) {
  return with_csr(a, []<class C>(C copy) -> any_matrix {
    using V = typename owner_traits<C>::value;
    // Mirror images alike: of a symmetric matrix, a layout of one triangle takes no other values.
    for (std::size_t i = 0; i < static_cast<std::size_t>(copy.rows); ++i)
      for (auto k = copy.row_ptr[i]; k < copy.row_ptr[i + 1]; ++k) {
        auto const j = static_cast<std::size_t>(copy.col[k]);
        copy.val[k] = sample<V>(std::min(i, j) * 2654435761u + std::max(i, j), 99);
      }
    return copy;
  });
}

// Why a layout may refuse a matrix: it would pad without measure, or keeps one triangle of what is
// not symmetric. Any other refusal is a fault, and has no such reason.
char const* allowed_reason(error const& e) {
  std::string_view const what = e.what();
  auto const says = [&](char const* words) { return what.find(words) != what.npos; };
  if (e.code() != errc::unsupported)
    return nullptr;
  if (says("symmetric storage of a matrix"))
    return "not symmetric";
  return says("option limit") && says("bytes") ? "beyond its limit" : nullptr;
}

template <class V>
bool is_nan(V v) {
  return std::isnan(std::real(v)) || std::isnan(std::imag(v));
}

template <class V>
std::string text(V v) {
  if constexpr (is_real<V>)
    return fmt::format("{:.9g}", v);
  else
    return fmt::format("{:.9g}{:+.9g}i", v.real(), v.imag());
}

// One matrix under one value type.
template <class V, class W>
class checker {
public:
  checker(source_view<W> const& source, verification& out) : source_(source), out_(out) {
    for (bool const transposed : {false, true}) {
      side& s = sides_[transposed];
      s.x = samples<V>(static_cast<std::size_t>(transposed ? source.rows : source.cols), 1);
      s.y = samples<V>(static_cast<std::size_t>(transposed ? source.cols : source.rows), 2);
      s.sums = oracle(source, transposed, s.x);
    }
    // Where nothing is stored, x may hold anything.
    for (bool const transposed : {false, true})
      for (std::size_t i = 0; i < sides_[!transposed].sums.size(); ++i)
        if (sides_[!transposed].sums[i].terms == 0)
          sides_[transposed].x[i] = nan();
    if (source.nnz != 0)
      poison(source.nnz / 2);
  }

  void check_type(type_tag type, any_matrix const& as_read, progress& shown) {
    type_ = name(type);
    any_matrix const canonical =
        with_csr(as_read, [](auto const& a) -> any_matrix { return a.to_csr(); });
    any_matrix const other = with_other_values(canonical);
    run_all("reference", where(reference{}), as_read, {1});
    for (format const f : all_formats) {
      if (!is_built(f, type))
        continue;
      shown.label(fmt::format("verifying {}: {} {}", out_.name, type_, name(f)));
      for (layout const& l : layouts(f))
        check_layout(l, as_read, canonical, other);
    }
  }

private:
  struct side {
    std::vector<V> x, y;
    std::vector<expected> sums;
    std::vector<V> poisoned_x;
    std::vector<bool> poisoned;
  };

  static V nan() { return V(std::numeric_limits<real_t<V>>::quiet_NaN()); }

  // One NaN in x reaches the rows that store something there, and no other.
  void poison(big k) {
    auto const n = static_cast<std::size_t>(source_.rows);
    auto const row = static_cast<std::size_t>(
        std::upper_bound(source_.row_ptr, source_.row_ptr + n, k) - source_.row_ptr - 1);
    auto const col = static_cast<std::size_t>(source_.col[k]);
    for (bool const transposed : {false, true}) {
      side& s = sides_[transposed];
      s.poisoned_x = s.x;
      s.poisoned_x[transposed ? row : col] = nan();
      s.poisoned.assign(s.sums.size(), false);
    }
    for (std::size_t i = 0; i < n; ++i)
      for (big p = source_.row_ptr[i]; p < source_.row_ptr[i + 1]; ++p) {
        auto const j = static_cast<std::size_t>(source_.col[p]);
        if (j == col)
          sides_[false].poisoned[i] = true;
        if (i == row)
          sides_[true].poisoned[j] = true;
      }
  }

  void fail_with(std::string message) {
    ++out_.failed;
    if (out_.failures.size() < failures_kept)
      out_.failures.push_back(type_ + " " + std::move(message));
  }

  void note(std::string text) { // once: types have most in common
    if (std::find(out_.notes.begin(), out_.notes.end(), text) == out_.notes.end())
      out_.notes.push_back(std::move(text));
  }

  // A check is a call that returns what is wrong, or nothing.
  template <class F>
  void check(std::string const& what, F&& f) {
    ++out_.checks;
    try {
      if (std::string const wrong = f(); !wrong.empty())
        fail_with(what + ": " + wrong);
    } catch (std::exception const& e) {
      fail_with(what + ": " + e.what());
    }
  }

  void check_layout(layout const& l, any_matrix const& as_read, any_matrix const& canonical,
                    any_matrix const& other) {
    std::string const layout_name = name(l);
    any_matrix b;
    check(layout_name, [&] {
      try {
        b = convert(as_read, l);
        b.validate();
      } catch (error const& e) {
        char const* const reason = allowed_reason(e);
        if (!reason)
          throw;
        note(layout_name + ": " + reason);
      }
      return std::string();
    });
    if (b.empty())
      return;
    check(layout_name + " to csr", [&] {
      return same_csr(convert(b, format::csr), canonical) ? "" : "not the matrix that went in";
    });
    std::vector<int> const threads(std::begin(thread_counts), std::end(thread_counts));
    run_all(layout_name, where(cpu{}), b, threads);
    auto const methods = spmv_methods(l.format);
    for (std::size_t m = 1; m < methods.size(); ++m) // the first is the default
      run_all(layout_name + " " + name(methods[m]), where(cpu{}), b, threads, {methods[m]});
    check(layout_name + " refill", [&] {
      b.refill(other);
      b.validate();
      return same_csr(convert(b, format::csr), other) ? "" : "not the values that went in";
    });
  }

  // Plain and transposed, with the first number of threads against the oracle, with the others
  // against the first.
  void run_all(std::string const& what, where w, any_matrix const& a,
               std::vector<int> const& threads, spmv_options o = {}) {
    for (bool const transposed : {false, true}) {
      if (transposed && o.method != spmv_method::automatic) // which has the default alone
        break;
      side const& s = sides_[transposed];
      std::string const label = what + (transposed ? " transposed" : "");
      std::vector<V> plain_1;
      std::vector<V> scaled_1;
      for (int const t : threads) {
        w.threads = t;
        std::string const on = fmt::format("{}, {} thread{}", label, t, t == 1 ? "" : "s");
        std::vector<V> plain(s.y.size(), nan()); // which beta == 0 does not read
        std::vector<V> scaled = s.y;
        V const alpha = V(real_t<V>(-1.5));
        V const beta = V(real_t<V>(0.5));
        check(on, [&] {
          multiply(w, V(1), a, transposed, s.x, V(0), plain, o);
          return t == threads[0] ? compare(plain, s, V(1), V(0), {}) : compare_bits(plain, plain_1);
        });
        check(on + ", alpha and beta", [&] {
          multiply(w, alpha, a, transposed, s.x, beta, scaled, o);
          return t == threads[0] ? compare(scaled, s, alpha, beta, {})
                                 : compare_bits(scaled, scaled_1);
        });
        if (t != threads[0])
          continue;
        plain_1 = plain;
        scaled_1 = scaled;
        if (!s.poisoned.empty())
          check(on + ", NaN in x", [&] {
            multiply(w, V(1), a, transposed, s.poisoned_x, V(0), plain, o);
            return compare(plain, s, V(1), V(0), s.poisoned);
          });
      }
    }
  }

  static void multiply(where const& w, V alpha, any_matrix const& a, bool transposed_,
                       std::vector<V> const& x, V beta, std::vector<V>& y, spmv_options o) {
    if (transposed_)
      spmv(w, alpha, transposed(a), x, beta, y, o);
    else
      spmv(w, alpha, a, x, beta, y, o);
  }

  static std::string compare_bits(std::vector<V> const& y, std::vector<V> const& first) {
    for (std::size_t i = 0; i < y.size(); ++i)
      if (std::memcmp(&y[i], &first[i], sizeof(V)) != 0 && !(is_nan(y[i]) && is_nan(first[i])))
        return fmt::format("y[{}] is {}, and with 1 thread {}", i, text(y[i]), text(first[i]));
    return "";
  }

  std::string compare(std::vector<V> const& y, side const& s, V alpha, V beta,
                      std::vector<bool> const& poisoned) const {
    using real = real_t<V>;
    constexpr wide eps = std::numeric_limits<real>::epsilon();
    constexpr wide tiny = std::numeric_limits<real>::denorm_min();
    constexpr wide most = std::numeric_limits<real>::max();
    wide const a = std::real(alpha);
    wide const b = std::real(beta);
    for (std::size_t i = 0; i < y.size(); ++i) {
      expected const& e = s.sums[i];
      if (!poisoned.empty() && poisoned[i]) {
        if (!is_nan(y[i]))
          return fmt::format("y[{}] is {}, expected NaN", i, text(y[i]));
        continue;
      }
      wide const y0r = b == 0 ? 0 : std::real(s.y[i]);
      wide const y0i = b == 0 ? 0 : std::imag(s.y[i]);
      wide const re = a * e.re + b * y0r;
      wide const im = a * e.im + b * y0i;
      wide const size = std::abs(a) * e.size + std::abs(b) * (std::abs(y0r) + std::abs(y0i));
      if (!std::isfinite(size)) {
        // Inf and NaN are among the stored values. What a complex product makes of them is left to
        // the compiler.
        if (is_real<V> && !(std::isnan(re) ? is_nan(y[i]) : std::real(y[i]) == re))
          return fmt::format("y[{}] is {}, expected {}", i, text(y[i]), static_cast<double>(re));
        continue;
      }
      if (4 * size > most) // sums on the way may overflow
        continue;
      // Rounding errors walk at random: c grows as the root of the row's length. Complex products
      // have two roundings more.
      wide const c = (4 + std::sqrt(static_cast<wide>(e.terms))) * (is_real<V> ? 1 : 2);
      wide const bound = c * eps * size + static_cast<wide>(2 * e.terms + 2) * tiny;
      wide const off = std::max(std::abs(std::real(y[i]) - re), std::abs(std::imag(y[i]) - im));
      if (!(off <= bound))
        return fmt::format("y[{}] is {}, expected {:.9g}{} within {:.2g}", i, text(y[i]),
                           static_cast<double>(re),
                           is_real<V> ? "" : fmt::format("{:+.9g}i", static_cast<double>(im)),
                           static_cast<double>(bound));
    }
    return "";
  }

  source_view<W> source_;
  verification& out_;
  std::string type_;
  side sides_[2]; ///< plain, transposed
};

// Whether every finite value stays finite when rounded to V.
template <class V, class W>
bool fits(source_view<W> const& a) {
  constexpr double most = std::numeric_limits<real_t<V>>::max();
  for (big k = 0; k < a.nnz; ++k)
    for (double const part : {std::real(a.val[k]), std::imag(a.val[k])})
      if (std::isfinite(part) && std::abs(part) > most)
        return false;
  return true;
}

template <class V, class W>
void check_value(source_view<W> const& a, verification& out, progress& shown) {
  if (!fits<V>(a)) {
    out.notes.push_back("values beyond f32: single precision left out");
    return;
  }
  checker<V, W> checks(a, out);
  for (std::size_t t = 0; t < type_count; ++t) {
    auto const type = static_cast<type_tag>(t);
    bool const mine =
        visit(type, [](auto types) { return std::is_same_v<typename decltype(types)::value, V>; });
    if (!mine)
      continue;
    std::optional<any_matrix> const m = cast(a, type);
    if (!m) {
      out.notes.push_back(fmt::format("too large for {}", name(type)));
      continue;
    }
    out.types.push_back(name(type));
    checks.check_type(type, *m, shown);
  }
}

template <class W>
void check_matrix(any_matrix const& a, verification& out) {
  progress shown("verifying " + out.name);
  a.validate();
  auto const view = *static_cast<source_view<W> const*>(a.ref().view);
  using half = std::conditional_t<is_real<W>, float, std::complex<float>>;
  check_value<half>(view, out, shown);
  check_value<W>(view, out, shown);
}

} // namespace

verification verify_matrix(std::string const& spec) {
  auto const start = std::chrono::steady_clock::now();
  verification out;
  out.name = spec;
  for (format const f : all_formats)
    out.formats.push_back(name(f));
  try {
    loaded const in = load(spec, {.wide = true});
    out.name = in.name;
    out.rows = in.matrix.rows();
    out.cols = in.matrix.cols();
    out.nnz = in.matrix.nnz();
    ++out.checks;
    if (is_complex(in.matrix.type()))
      check_matrix<std::complex<double>>(in.matrix, out);
    else
      check_matrix<double>(in.matrix, out);
  } catch (std::exception const& e) {
    ++out.failed;
    out.failures.push_back(e.what());
  }
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

} // namespace tulle::app
