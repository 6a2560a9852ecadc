// SPDX-License-Identifier: Apache-2.0
#include "bench/spmv/transposed.hpp"

#include "tulle/op/convert.hpp"
#include "tulle/op/spmv.hpp"
#include "tulle/view/transposed.hpp"

#include "bench/contest.hpp"
#include "bench/measure.hpp"
#include "bench/peer_modules.hpp"
#include "bench/peers/result.hpp"
#include "bench/peers/seconds.hpp"
#include "bench/source.hpp"
#include "bench/transposed.hpp"
#include "bench/vectors.hpp"

#include <memory>

namespace tulle::bench {
namespace {

/// By a plan, or by calls without one.
template <class V, class I>
contestant make_tulle(spmv_transposed_problem<V, I> const& p, format f, bool planned) {
  struct entry {
    csr_view<V, I, I> hub;
    any_matrix converted;
    matrix_ref matrix;
    std::unique_ptr<spmv_plan> plan;
  };
  cpu const where{.threads = p.threads};
  auto const e = std::make_shared<entry>();
  contestant c;
  c.convert_seconds = seconds_of([&] {
    e->hub = p.a;
    if (f != format::csr)
      e->converted = convert(matrix_ref(p.a), f, where);
    e->matrix = f == format::csr ? matrix_ref(e->hub) : e->converted.ref();
    e->plan = std::make_unique<spmv_plan>(where, transposed(e->matrix));
  });
  c.format = std::string(name(f)) + (planned ? "" : " unplanned");
  c.threads = p.threads;
  c.path = e->plan->path();
  c.bytes = f == format::csr ? detail::bytes_of(p.a) : e->converted.bytes();
  c.peak_bytes = c.bytes + e->plan->bytes();
  V* const out = keep_result(c, p);
  c.run = [p, e, out, where, planned] {
    vector_view<V const> const x(p.x, static_cast<std::size_t>(p.a.rows));
    vector_view<V> const y(out, static_cast<std::size_t>(p.a.cols));
    if (planned)
      tulle::spmv(*e->plan, V(1), transposed(e->matrix), x, V(0), y);
    else
      tulle::spmv(where, V(1), transposed(e->matrix), x, V(0), y);
  };
  return c;
}

template <class V, class I>
std::vector<record> run(std::string const& matrix, csr<V, I, I> const& a, options const& o,
                        std::vector<std::string>& remarks) {
  array<V> const x = operand<V>(static_cast<std::size_t>(a.rows));
  array<V> y(static_cast<std::size_t>(a.cols), V(0));
  spmv_transposed_problem<V, I> const p{a.view(), x.data(), threads_of(o)};
  csr<V, I, I> const expected = transposed(p.a);
  contest c;
  c.about = about(matrix, a, "spmv transposed", o);
  c.flops = 2 * static_cast<double>(c.about.nnz);
  c.vector_bytes = static_cast<double>(x.bytes() + y.bytes());
  c.bound_bytes = static_cast<double>(detail::bytes_of(p.a)) + c.vector_bytes;
  c.verify = [&](contestant const& who) {
    who.result(y.data());
    return is_product(expected.view(), x.data(), y.data());
  };
  c.contestants.push_back(read_bound({{a.val.data(), a.val.bytes()},
                                      {a.col.data(), a.col.bytes()},
                                      {a.row_ptr.data(), a.row_ptr.bytes()},
                                      {x.data(), x.bytes()},
                                      {y.data(), y.bytes()}},
                                     p.threads));
  for (format const f : {format::csr, format::csc})
    if (is_wanted(o.formats, name(f)))
      for (bool const planned : {true, false})
        c.contestants.push_back(make_tulle(p, f, planned));
  for (auto& peer :
       ask_peers(o.peers, {over_types<spmv_transposed_problem>(p), o.backend}, remarks))
    c.contestants.push_back(std::move(peer));
  return hold(c, o, remarks);
}

} // namespace

std::vector<record> spmv_transposed(std::string const& matrix, options const& o,
                                    std::vector<std::string>& remarks) {
  if (o.backend != "cpu")
    fail(errc::unsupported, "bench spmv --transposed is for the backend cpu");
  return with_matrix(matrix, o, [&](auto const& a) { return run(matrix, a, o, remarks); });
}

} // namespace tulle::bench
