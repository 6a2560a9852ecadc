// SPDX-License-Identifier: Apache-2.0

/// C = A A and C += A A where C is dynamic: rows computed where they stay, against a csr of the
/// product that is taken in.
#pragma once
#include "tulle/dynamic/dynamic_csr.hpp"
#include "tulle/op/spgemm.hpp"

#include "bench/dynamic/growth.hpp"
#include "bench/measure.hpp"

#include <functional>

namespace tulle::bench {

inline constexpr std::size_t most_into = 200000000; // products of entries

template <class V, class I>
std::vector<record> run_into(record const& about, csr<V, I, I> const& a, int threads) {
  using matrix = dynamic_csr<V, I>;
  dynamic_options o;
  o.where.threads = threads;
  auto const multiplied = [&] { return spgemm(cpu{.threads = threads}, a, a); };
  csr<V, I, I> const product = multiplied();
  csr<V, I, I> const twice = [&] { // sums of two that are equal are exact
    csr<V, I, I> c = product;
    for (V& v : c.val)
      v += v;
    return c;
  }();
  struct way {
    char const* name;
    bool has_one; // C is A A already
    std::function<void(matrix&)> run;
    std::vector<double> times;
    std::size_t bytes = 0;
    bool right = false;
  };
  way ways[] = {
      {"= spgemm, a csr alone", false, [&](matrix&) { multiplied(); }, {}},
      {"= add_product", false, [&](matrix& c) { c.add_product(a.view(), a.view()); }, {}},
      {"= spgemm, from_csr",
       false,
       [&](matrix& c) { c = matrix::from_csr(multiplied().view(), o); },
       {}},
      {"= spgemm, adopt", false, [&](matrix& c) { c = matrix::adopt(multiplied(), o); }, {}},
      {"= spgemm, merge", false, [&](matrix& c) { c.merge(multiplied().view()); }, {}},
      {"+= add_product", true, [&](matrix& c) { c.add_product(a.view(), a.view()); }, {}},
      {"+= spgemm, merge", true, [&](matrix& c) { c.merge(multiplied().view()); }, {}},
  };
  for (std::size_t round = 0; round < builds; ++round)
    for (way& w : ways) {
      matrix c = w.has_one ? matrix::from_csr(product.view(), o) : matrix(a.rows, a.cols, o);
      w.times.push_back(seconds_of([&] { w.run(c); }));
      w.bytes = c.shape().bytes;
      if (round == 0)
        w.right = &w == ways ? product == spgemm(reference{}, a, a)
                             : c.to_csr() == (w.has_one ? twice : product);
    }
  std::vector<record> records;
  for (way const& w : ways) {
    contestant c;
    c.format = std::string("dynamic ") + w.name;
    c.bytes = w.bytes;
    records.push_back(record_of(about, c, w.times, w.right));
  }
  return records;
}

} // namespace tulle::bench
