// SPDX-License-Identifier: Apache-2.0

/// C = A A and C += A A where C is dynamic: rows computed where they stay, against a csr of the
/// product that is taken in.
#pragma once
#include "tulle/dynamic/dynamic_csr.hpp"
#include "tulle/op/spgemm.hpp"
#include "tulle/op/spgemm_forecast.hpp"

#include "bench/dynamic/growth.hpp"
#include "bench/measure.hpp"
#include "bench/source.hpp"

#include <functional>

namespace tulle::bench {

inline constexpr std::size_t most_into = 200000000; // products of entries

/// Where it happens: M is dynamic, P a csr.
template <class M, class P>
struct ground {
  std::string backend = "cpu";
  std::function<P()> multiplied;
  std::function<M()> nothing;
  std::function<M(P const&)> from_csr;
  std::function<M(P&&)> adopt; // if there is such a thing
  std::function<void(M&, P const&)> merge;
  std::function<void(M&)> add_product;
  std::function<double(std::function<void()> const&)> seconds;
};

template <class V, class I, class M, class P>
std::vector<record> run_into(std::string const& matrix, csr<V, I, I> const& a,
                             ground<M, P> const& g, options const& o,
                             std::vector<std::string>& remarks) {
  if (a.rows != a.cols || spgemm_forecast(a, a).products > most_into) {
    remarks.push_back(matrix + " is not multiplied by itself: that would take too long");
    return {};
  }
  csr<V, I, I> const product = spgemm(reference{}, a, a);
  csr<V, I, I> const twice = [&] { // sums of two that are equal are exact
    csr<V, I, I> c = product;
    for (V& v : c.val)
      v += v;
    return c;
  }();
  P const one = g.multiplied();
  struct way {
    char const* name;
    bool has_one; // C is A A already
    std::function<void(M&)> run;
    std::vector<double> times = {};
    std::size_t bytes = 0;
    bool right = false;
  };
  std::vector<way> ways = {
      {"= spgemm, a csr alone", false, [&](M&) { g.multiplied(); }},
      {"= add_product", false, [&](M& c) { g.add_product(c); }},
      {"= spgemm, from_csr", false, [&](M& c) { c = g.from_csr(g.multiplied()); }},
      {"= spgemm, merge", false, [&](M& c) { g.merge(c, g.multiplied()); }},
      {"+= add_product", true, [&](M& c) { g.add_product(c); }},
      {"+= spgemm, merge", true, [&](M& c) { g.merge(c, g.multiplied()); }},
  };
  if (g.adopt)
    ways.push_back({"= spgemm, adopt", false, [&](M& c) { c = g.adopt(g.multiplied()); }});
  for (std::size_t round = 0; round <= builds; ++round) // the first is not timed
    for (way& w : ways) {
      M c = w.has_one ? g.from_csr(one) : g.nothing();
      double const seconds = g.seconds([&] { w.run(c); });
      w.bytes = c.shape().bytes;
      if (round != 0)
        w.times.push_back(seconds);
      else
        w.right = (&w == ways.data() ? g.from_csr(one) : std::move(c)).to_csr() ==
                  (w.has_one ? twice : product);
    }
  std::vector<record> records;
  for (way const& w : ways) {
    contestant c;
    c.backend = g.backend;
    c.format = std::string("dynamic ") + w.name;
    c.bytes = w.bytes;
    records.push_back(
        record_of(about(matrix + ": C and A A", a, "dynamic", o), c, w.times, w.right));
  }
  return records;
}

} // namespace tulle::bench
