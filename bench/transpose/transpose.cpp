// SPDX-License-Identifier: Apache-2.0
#include "bench/transpose/transpose.hpp"

#include "tulle/op/transpose.hpp"

#include "bench/contest.hpp"
#include "bench/measure.hpp"
#include "bench/new_matrix.hpp"
#include "bench/peer_modules.hpp"
#include "bench/peers/result.hpp"
#include "bench/peers/seconds.hpp"
#include "bench/source.hpp"
#include "bench/transposed.hpp"

namespace tulle::bench {
namespace {

template <class V, class I>
contestant make_tulle(transpose_problem<V, I> const& p) {
  cpu const where{.threads = p.threads};
  return make_new_matrix<V, I>("transpose", [p, where] { return tulle::transpose(where, p.a); });
}

template <class V, class I>
contestant make_planned(transpose_problem<V, I> const& p) {
  using plan_type = transpose_plan<V, I, I>;
  std::shared_ptr<plan_type> plan;
  double const seconds =
      seconds_of([&] { plan = std::make_shared<plan_type>(cpu{.threads = p.threads}, p.a); });
  return make_planned_matrix<V, I>(plan, seconds, [p, plan] { tulle::transpose(*plan, p.a); });
}

// The bound reads what a call must read, A, and what it must write, A^T.
template <class V, class I>
std::vector<record> run_transpose(std::string const& matrix, csr<V, I, I> const& a,
                                  options const& o, std::vector<std::string>& remarks) {
  transpose_problem<V, I> const p{a.view(), threads_of(o)};
  csr<V, I, I> const expected = transposed(p.a);
  contest c;
  c.about = about(matrix, a, "transpose", o);
  c.bound_bytes = c.moved_bytes = static_cast<double>(a.bytes() + expected.bytes());
  c.verify = [&](contestant const& who) {
    csr<V, I, I> found;
    who.result(&found);
    return found == expected;
  };
  c.contestants.push_back(read_bound(stretches({a.view(), expected.view()}), p.threads));
  if (is_wanted(o.formats, "csr")) {
    c.contestants.push_back(make_tulle(p));
    c.contestants.push_back(make_planned(p));
  }
  for (auto& peer : ask_peers(o.peers, {over_types<transpose_problem>(p), o.backend}, remarks))
    c.contestants.push_back(std::move(peer));
  return hold(c, o, remarks);
}

} // namespace

std::vector<record> transposes(std::string const& matrix, options const& o,
                               std::vector<std::string>& remarks) {
  return with_matrix(matrix, o,
                     [&](auto const& a) { return run_transpose(matrix, a, o, remarks); });
}

} // namespace tulle::bench
