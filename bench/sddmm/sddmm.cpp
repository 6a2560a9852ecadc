// SPDX-License-Identifier: Apache-2.0
#include "bench/sddmm/sddmm.hpp"

#include "tulle/op/sddmm.hpp"

#include "bench/contest.hpp"
#include "bench/measure.hpp"
#include "bench/peer_modules.hpp"
#include "bench/peers/result.hpp"
#include "bench/source.hpp"
#include "bench/vectors.hpp"

namespace tulle::bench {
namespace {

/// Y^T by columns, as Y's rows are; or by rows, which tulle copies first.
template <class V, class I>
contestant make_tulle(sddmm_problem<V, I> const& p, bool by_rows) {
  auto const rows = static_cast<std::size_t>(p.a.rows), cols = static_cast<std::size_t>(p.a.cols);
  auto const width = static_cast<std::size_t>(p.columns);
  auto const turned = std::make_shared<array<V>>(by_rows ? cols * width : 0);
  for (std::size_t j = 0; j < cols && by_rows; ++j)
    for (std::size_t k = 0; k < width; ++k)
      (*turned)[k * cols + j] = p.y[j * width + k];
  contestant c;
  c.format = by_rows ? "csr, B by rows" : "csr";
  c.path = "sddmm into values";
  c.threads = p.threads;
  c.bytes = c.peak_bytes = detail::bytes_of(p.a);
  V* const to = keep_result<V>(c, static_cast<std::size_t>(p.a.nnz));
  c.run = [p, to, turned, rows, cols, width] {
    auto const b = turned->empty() ? col_major(p.y, width, cols)
                                   : row_major<space::host, V const>(turned->data(), width, cols);
    tulle::sddmm(cpu{.threads = p.threads}, V(1), row_major(p.x, rows, width), b, V(0), p.a,
                 vector_view<V>(to, static_cast<std::size_t>(p.a.nnz)));
  };
  return c;
}

/// Each entry within (k + 2) eps sum |x y| of the sum in extended precision.
template <class V, class I>
bool is_sampled(sddmm_problem<V, I> const& p, V const* to) {
  auto const width = static_cast<std::size_t>(p.columns);
  for (I i = 0; i < p.a.rows; ++i)
    for (I e = p.a.row_ptr[i]; e < p.a.row_ptr[i + 1]; ++e) {
      long double sum = 0, size = 0;
      for (std::size_t k = 0; k < width; ++k) {
        auto const product =
            static_cast<long double>(p.x[static_cast<std::size_t>(i) * width + k]) *
            p.y[static_cast<std::size_t>(p.a.col[e]) * width + k];
        sum += product;
        size += std::fabs(product);
      }
      long double const allowed =
          static_cast<long double>(width + 2) * std::numeric_limits<V>::epsilon() * size;
      if (!(std::fabs(static_cast<long double>(to[e]) - sum) <= allowed))
        return false;
    }
  return true;
}

// The bound reads what a call must read, X, Y and the pattern, and what it must write.
template <class V, class I>
std::vector<record> run_sddmm(std::string const& matrix, csr<V, I, I> const& a, int columns,
                              options const& o, std::vector<std::string>& remarks) {
  auto const width = static_cast<std::size_t>(columns);
  array<V> const x = operand<V>(static_cast<std::size_t>(a.rows) * width);
  array<V> const y = operand<V>(static_cast<std::size_t>(a.cols) * width);
  array<V> to(a.val.size(), V(0));
  sddmm_problem<V, I> const p{a.view(), x.data(), y.data(), columns, threads_of(o)};
  contest c;
  c.about = about(matrix, a, "sddmm", o);
  c.about.columns = columns;
  c.flops = 2 * static_cast<double>(c.about.nnz) * columns;
  c.vector_bytes = static_cast<double>(x.bytes() + y.bytes());
  c.bound_bytes = c.moved_bytes = static_cast<double>(detail::bytes_of(p.a)) + c.vector_bytes;
  c.verify = [&](contestant const& who) {
    who.result(to.data());
    return is_sampled(p, to.data());
  };
  std::vector<stretch> memory = stretches({p.a});
  memory.push_back({x.data(), x.bytes()});
  memory.push_back({y.data(), y.bytes()});
  c.contestants.push_back(read_bound(memory, p.threads));
  if (is_wanted(o.formats, "csr"))
    for (bool const by_rows : {false, true})
      c.contestants.push_back(make_tulle(p, by_rows));
  for (auto& peer : ask_peers(o.peers, {over_types<sddmm_problem>(p), o.backend}, remarks))
    c.contestants.push_back(std::move(peer));
  return hold(c, o, remarks);
}

} // namespace

std::vector<record> sampled_products(std::string const& matrix, options const& o,
                                     std::vector<std::string>& remarks) {
  return with_matrix(matrix, o, [&](auto const& a) {
    std::vector<record> all;
    for (int const columns : o.columns)
      for (record const& r : run_sddmm(matrix, a, columns, o, remarks))
        all.push_back(r);
    return all;
  });
}

} // namespace tulle::bench
