// SPDX-License-Identifier: Apache-2.0
#include "support/product.hpp"

#include <cstring>
#include <limits>

namespace tulle::test {
namespace {

template <class V>
constexpr bool is_complex = !std::is_floating_point_v<V>;

wide widen(std::complex<double> v) {
  return {v.real(), v.imag()};
}

// What V is summed in: imaginary parts that are zero took up to half the time of the longest test.
template <class V>
using sum_of = std::conditional_t<is_complex<V>, wide, long double>;
template <class V>
sum_of<V> part_of(wide w) {
  if constexpr (is_complex<V>)
    return w;
  else
    return w.real();
}
template <class V>
sum_of<V> as_sum(V v) {
  return part_of<V>(widen(std::complex<double>(v)));
}

long double times(long double a, long double b) {
  return a * b;
}
// By hand: the library's product looks for infinities, which costs ten times the multiplication.
wide times(wide a, wide b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

long double size_of(long double a) {
  return std::abs(a);
}
long double size_of(wide a) {
  return std::abs(a.real()) + std::abs(a.imag());
}

} // namespace

std::size_t dense::size() const {
  return std::visit([](auto const& v) { return v.size(); }, values);
}

dense to_dense(type_tag t, std::vector<double> const& v) {
  dense d;
  switch (visit(t, [](auto types) { return detail::kind_of<typename decltype(types)::value>; })) {
  case detail::value_kind::f32:
    d.values = std::vector<float>(v.size());
    break;
  case detail::value_kind::f64:
    d.values = std::vector<double>(v.size());
    break;
  case detail::value_kind::c32:
    d.values = std::vector<std::complex<float>>(v.size());
    break;
  case detail::value_kind::c64:
    d.values = std::vector<std::complex<double>>(v.size());
    break;
  }
  std::visit(
      [&](auto& to) {
        using V = std::remove_reference_t<decltype(to[0])>;
        for (std::size_t i = 0; i < v.size(); ++i)
          to[i] = round_to<V>({v[i], v[(i + 1) % v.size()]});
      },
      d.values);
  return d;
}

dense constant(type_tag t, std::size_t n, double v) {
  return to_dense(t, std::vector<double>(n, v));
}

std::vector<wide> widen(dense const& v) {
  std::vector<wide> w(v.size());
  std::visit(
      [&](auto const& from) {
        for (std::size_t i = 0; i < w.size(); ++i)
          w[i] = widen(std::complex<double>(from[i]));
      },
      v.values);
  return w;
}

void set(dense& v, std::size_t i, double value) {
  std::visit(
      [&](auto& to) {
        using V = std::remove_reference_t<decltype(to[0])>;
        to[i] = round_to<V>({value, value});
      },
      v.values);
}

bool same_bits(dense const& a, dense const& b) {
  return a.values.index() == b.values.index() && a.size() == b.size() &&
         std::visit(
             [&](auto const& left) {
               auto const& right = std::get<std::remove_cvref_t<decltype(left)>>(b.values);
               return left.empty() || std::memcmp(static_cast<void const*>(left.data()),
                                                  right.data(), left.size() * sizeof(left[0])) == 0;
             },
             a.values);
}

wide scalar(type_tag t, double v) {
  bool const has_imaginary = name(t)[0] == 'c' && v != 0 && v != 1;
  return {v, has_imaginary ? 0.5L * v : 0.0L};
}

double epsilon(type_tag t) {
  return visit(t, [](auto types) {
    using V = typename decltype(types)::value;
    return std::is_same_v<V, float> || std::is_same_v<V, std::complex<float>>
               ? static_cast<double>(std::numeric_limits<float>::epsilon())
               : std::numeric_limits<double>::epsilon();
  });
}

void multiply(where const& w, wide alpha, any_matrix const& a, bool transposed, dense const& x,
              wide beta, dense& y, spmv_plan* plan) {
  std::visit(
      [&](auto& out) {
        using vector = std::remove_reference_t<decltype(out)>;
        using V = typename vector::value_type;
        auto const& in = std::get<vector>(x.values);
        V const al = round_to<V>(alpha);
        V const be = round_to<V>(beta);
        auto const t = tulle::transposed(a);
        if (plan)
          transposed ? spmv(*plan, al, t, in, be, out) : spmv(*plan, al, a, in, be, out);
        else
          transposed ? spmv(w, al, t, in, be, out) : spmv(w, al, a, in, be, out);
      },
      y.values);
}

product exact_product(any_matrix const& csr, bool transposed, dense const& x) {
  std::size_t const n = transposed ? csr.cols() : csr.rows();
  product p{std::vector<wide>(n), std::vector<long double>(n)};
  std::vector<wide> const xs = widen(x);
  visit(csr.type(), [&](auto types) {
    using T = decltype(types);
    using V = typename T::value;
    using owner = tulle::csr<V, typename T::index, typename T::offset>;
    owner const& a = *csr.get_if<owner>();
    for (std::size_t i = 0; i < csr.rows(); ++i)
      for (auto k = static_cast<std::size_t>(a.row_ptr[i]);
           k < static_cast<std::size_t>(a.row_ptr[i + 1]); ++k) {
        auto const j = static_cast<std::size_t>(a.col[k]);
        std::size_t const to = transposed ? j : i;
        sum_of<V> const term = times(as_sum(a.val[k]), part_of<V>(xs[transposed ? i : j]));
        p.sum[to] += term;
        p.magnitude[to] += size_of(term);
      }
  });
  return p;
}

testing::AssertionResult is_product(product const& p, wide alpha, wide beta, dense const& y,
                                    dense const& got, double epsilon, double c) {
  if (got.size() != p.sum.size())
    return testing::AssertionFailure() << got.size() << " elements, expected " << p.sum.size();
  return std::visit(
      [&](auto const& found) -> testing::AssertionResult {
        using vector = std::remove_cvref_t<decltype(found)>;
        using V = typename vector::value_type;
        using sum = sum_of<V>;
        auto const& old = std::get<vector>(y.values);
        sum const al = part_of<V>(alpha);
        sum const be = part_of<V>(beta);
        for (std::size_t i = 0; i < found.size(); ++i) {
          sum const before = be == sum(0) ? sum(0) : times(be, as_sum(old[i]));
          sum const expected = (al == sum(0) ? sum(0) : times(al, part_of<V>(p.sum[i]))) + before;
          sum const value = as_sum(found[i]);
          if (value == expected)
            continue;
          long double const bound = c * epsilon * (size_of(al) * p.magnitude[i] + size_of(before));
          if (!(size_of(value - expected) <= bound)) // NaN fails
            return testing::AssertionFailure() << "y[" << i << "] is " << value << ", expected "
                                               << expected << " within " << bound;
        }
        return testing::AssertionSuccess();
      },
      got.values);
}

} // namespace tulle::test
