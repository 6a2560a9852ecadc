// SPDX-License-Identifier: Apache-2.0
#include "bench/multiply_elements/multiply_elements.hpp"

#include "tulle/op/multiply_elements.hpp"

#include "bench/contest.hpp"
#include "bench/measure.hpp"
#include "bench/new_matrix.hpp"
#include "bench/peer_modules.hpp"
#include "bench/peers/result.hpp"
#include "bench/peers/seconds.hpp"
#include "bench/shifted.hpp"
#include "bench/source.hpp"

namespace tulle::bench {
namespace {

template <class V, class I>
contestant make_tulle(multiply_elements_problem<V, I> const& p) {
  cpu const where{.threads = p.threads};
  return make_new_matrix<V, I>("multiply_elements",
                               [p, where] { return tulle::multiply_elements(where, p.a, p.b); });
}

template <class V, class I>
contestant make_planned(multiply_elements_problem<V, I> const& p) {
  using plan_type = multiply_elements_plan<V, I, I>;
  std::shared_ptr<plan_type> plan;
  double const seconds =
      seconds_of([&] { plan = std::make_shared<plan_type>(cpu{.threads = p.threads}, p.a, p.b); });
  return make_planned_matrix<V, I>(plan, seconds,
                                   [p, plan] { tulle::multiply_elements(*plan, p.a, p.b); });
}

/// A .* B by a loop that merges rows, without the zeros that come out.
template <class V, class I>
csr<V, I, I> plain_product(multiply_elements_problem<V, I> const& p) {
  std::vector<I> row_ptr{0}, col;
  std::vector<V> val;
  for (I i = 0; i < p.a.rows; ++i) {
    I l = p.b.row_ptr[i];
    for (I k = p.a.row_ptr[i]; k < p.a.row_ptr[i + 1]; ++k) {
      while (l < p.b.row_ptr[i + 1] && p.b.col[l] < p.a.col[k])
        ++l;
      if (l == p.b.row_ptr[i + 1] || p.b.col[l] != p.a.col[k] || p.a.val[k] * p.b.val[l] == V(0))
        continue;
      col.push_back(p.a.col[k]);
      val.push_back(p.a.val[k] * p.b.val[l]);
    }
    row_ptr.push_back(static_cast<I>(col.size()));
  }
  return csr<V, I, I>(unchecked, p.a.rows, p.a.cols, array<I>(row_ptr.data(), row_ptr.size()),
                      array<I>(col.data(), col.size()), array<V>(val.data(), val.size()));
}

// The bound reads what a call must read, A and B, and what it must write, C.
template <class V, class I>
std::vector<record> run_multiply(std::string const& matrix, csr<V, I, I> const& source,
                                 options const& o, std::vector<std::string>& remarks) {
  csr<V, I, I> const a = source.to_csr({.threads = threads_of(o)});
  csr<V, I, I> const b = o.with == "same" ? a : shifted(a.view());
  multiply_elements_problem<V, I> const p{a.view(), b.view(), threads_of(o)};
  csr<V, I, I> const expected = plain_product(p);
  contest c;
  c.about = about(o.with == "shift" ? matrix : matrix + " .* " + o.with, a, "multiply_elements", o);
  c.bound_bytes = c.moved_bytes = static_cast<double>(a.bytes() + b.bytes() + expected.bytes());
  c.verify = [&](contestant const& who) {
    csr<V, I, I> found;
    who.result(&found);
    return without_zeros(std::move(found)) == expected;
  };
  c.contestants.push_back(read_bound(stretches({a.view(), b.view(), expected.view()}), p.threads));
  if (is_wanted(o.formats, "csr")) {
    c.contestants.push_back(make_tulle(p));
    c.contestants.push_back(make_planned(p));
  }
  for (auto& peer :
       ask_peers(o.peers, {over_types<multiply_elements_problem>(p), o.backend}, remarks))
    c.contestants.push_back(std::move(peer));
  return hold(c, o, remarks);
}

} // namespace

std::vector<record> element_products(std::string const& matrix, options const& o,
                                     std::vector<std::string>& remarks) {
  return with_matrix(matrix, o, [&](auto const& a) { return run_multiply(matrix, a, o, remarks); });
}

} // namespace tulle::bench
