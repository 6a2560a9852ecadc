// SPDX-License-Identifier: Apache-2.0
#include "bench/assemble/assemble.hpp"

#include "tulle/op/assemble.hpp"

#include "bench/contest.hpp"
#include "bench/measure.hpp"
#include "bench/peer_modules.hpp"
#include "bench/peers/result.hpp"
#include "bench/source.hpp"

#include <random>

namespace tulle::bench {
namespace {

/// The entries of a matrix, shuffled: the same way every time.
template <class V, class I>
struct triplets {
  array<I> row, col;
  array<V> val;

  explicit triplets(csr<V, I, I> const& a) : row(a.col.size()), col(a.col), val(a.val) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i)
      std::fill(row.data() + a.row_ptr[i], row.data() + a.row_ptr[i + 1], static_cast<I>(i));
    std::mt19937_64 random(1);
    for (std::size_t k = val.size(); k > 1; --k) {
      std::size_t const other = random() % k;
      std::swap(row[k - 1], row[other]);
      std::swap(col[k - 1], col[other]);
      std::swap(val[k - 1], val[other]);
    }
  }
  std::size_t bytes() const { return row.bytes() + col.bytes() + val.bytes(); }
};

template <class V, class I>
contestant make_tulle(assemble_problem<V, I> const& p) {
  cpu const where{.threads = p.threads};
  contestant c;
  c.threads = p.threads;
  c.path =
      "from_triplets, " + std::to_string(p.threads) + (p.threads == 1 ? " thread" : " threads");
  auto const kept = keep_matrix<V, I>(c);
  c.run = [p, where, kept] {
    *kept = {}; // its memory first, as in a loop of a user's
    *kept = from_triplets<V, I>(p.rows, p.cols, p.row, p.col, p.val, combine::sum, where);
  };
  c.run();
  c.bytes = kept->bytes();
  c.peak_bytes = c.bytes + p.row.size_bytes() + p.col.size_bytes() + p.val.size_bytes();
  return c;
}

// The bound reads what a call must read, the triplets, and what it must write, the matrix.
template <class V, class I>
std::vector<record> run_assemble(std::string const& matrix, csr<V, I, I> const& a, options const& o,
                                 std::vector<std::string>& remarks) {
  csr<V, I, I> const expected = a.to_csr({.threads = threads_of(o)});
  triplets<V, I> const t(expected);
  assemble_problem<V, I> const p{a.rows, a.cols, t.row, t.col, t.val, threads_of(o)};
  contest c;
  c.about = about(matrix, expected, "assemble", o);
  c.bound_bytes = c.moved_bytes = static_cast<double>(t.bytes() + expected.bytes());
  c.verify = [&](contestant const& who) {
    csr<V, I, I> found;
    who.result(&found);
    return found == expected;
  };
  std::vector<stretch> memory = stretches({expected.view()});
  memory.push_back({t.row.data(), t.row.bytes()});
  memory.push_back({t.col.data(), t.col.bytes()});
  memory.push_back({t.val.data(), t.val.bytes()});
  c.contestants.push_back(read_bound(memory, p.threads));
  if (is_wanted(o.formats, "csr")) {
    c.contestants.push_back(make_tulle(p));
    if (p.threads > 1) { // most peers have one, and are compared by core
      assemble_problem<V, I> alone = p;
      alone.threads = 1;
      c.contestants.push_back(make_tulle(alone));
      c.contestants.back().format = "csr 1 thread";
    }
  }
  for (auto& peer : ask_peers(o.peers, {over_types<assemble_problem>(p), o.backend}, remarks))
    c.contestants.push_back(std::move(peer));
  return hold(c, o, remarks);
}

} // namespace

std::vector<record> assemblies(std::string const& matrix, options const& o,
                               std::vector<std::string>& remarks) {
  return with_matrix(matrix, o, [&](auto const& a) { return run_assemble(matrix, a, o, remarks); });
}

} // namespace tulle::bench
