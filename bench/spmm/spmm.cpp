// SPDX-License-Identifier: Apache-2.0
#include "bench/spmm/spmm.hpp"

#include "bench/contest.hpp"
#include "bench/peer_modules.hpp"
#include "bench/source.hpp"
#include "bench/vectors.hpp"

namespace tulle::bench {
namespace {

template <class V, class I>
std::vector<record> run_spmm(std::string const& matrix, csr<V, I, I> const& a, int columns,
                             options const& o, std::vector<std::string>& remarks) {
  auto const width = static_cast<std::size_t>(columns);
  array<V> const x = operand<V>(static_cast<std::size_t>(a.cols) * width);
  array<V> y(static_cast<std::size_t>(a.rows) * width, V(0));
  spmm_problem<V, I> const p{a.view(), x.data(), columns, threads_of(o)};
  contest c;
  c.about = about(matrix, a, "spmm", o);
  c.about.columns = columns;
  c.flops = 2 * static_cast<double>(c.about.nnz) * columns;
  c.vector_bytes = static_cast<double>(x.bytes() + y.bytes());
  c.bound_bytes = static_cast<double>(detail::bytes_of(p.a)) + c.vector_bytes;
  c.verify = [&](contestant const& who) {
    who.result(y.data());
    return is_product(p.a, x.data(), y.data(), width);
  };
  c.contestants = ask_peers(o.peers, {over_types<spmm_problem>(p), o.backend}, remarks);
  return hold(c, o, remarks);
}

} // namespace

std::vector<record> spmm(std::string const& matrix, options const& o,
                         std::vector<std::string>& remarks) {
  return with_matrix(matrix, o, [&](auto const& a) {
    std::vector<record> all;
    for (int const columns : o.columns)
      for (record const& r : run_spmm(matrix, a, columns, o, remarks))
        all.push_back(r);
    return all;
  });
}

} // namespace tulle::bench
