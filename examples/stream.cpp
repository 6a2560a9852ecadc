// SPDX-License-Identifier: Apache-2.0
// Edges arrive in batches; PageRank follows with a few products each, from the ranks it had. In the
// end they are those that come out from scratch.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

using ranks = std::vector<double>;

// How many products by A it took until ranks moved by less than 1e-8 in all.
template <class A>
int follow(A const& links, ranks const& links_of, ranks& rank) {
  std::size_t const n = rank.size();
  ranks share(n), next(n);
  int products = 0;
  for (double change = 1; change > 1e-8; ++products) {
    double lost = 0; // of pages without links
    for (std::size_t i = 0; i < n; ++i) {
      share[i] = links_of[i] > 0 ? rank[i] / links_of[i] : 0;
      lost += links_of[i] > 0 ? 0 : rank[i];
    }
    tulle::spmv(0.85, links, share, 0.0, next);
    change = 0;
    for (std::size_t i = 0; i < n; ++i) {
      next[i] += (0.15 + 0.85 * lost) / n;
      change += std::abs(next[i] - rank[i]);
    }
    rank.swap(next);
  }
  return products;
}

int main() {
  auto const graph = tulle::transpose(tulle::generate("rmat:12:16")); // who is linked to, by whom
  auto const edges = tulle::coo<double>::from_csr(graph.view());
  std::size_t const n = graph.rows, all = edges.val.size(), batch = all / 8 + 1;
  std::vector<int> row, col; // in an order that has nothing to do with rows
  for (std::size_t k = 0, at = 0; k < all; ++k, at = (at + 40503) % all) {
    row.push_back(edges.row[at]);
    col.push_back(edges.col[at]);
  }

  tulle::dynamic_csr<double> links(n, n);
  std::vector<double> const ones(batch, 1.0);
  ranks links_of(n, 0.0), rank(n, 1.0 / n), scratch = rank;
  for (std::size_t first = 0; first < all; first += batch) {
    std::size_t const m = std::min(batch, all - first);
    links.insert({row.data() + first, m}, {col.data() + first, m}, {ones.data(), m});
    for (std::size_t k = first; k < first + m; ++k)
      links_of[col[k]] += 1;
    int const products = follow(links, links_of, rank);
    auto const top = std::max_element(rank.begin(), rank.end()) - rank.begin();
    std::printf("%zu edges, %d products: page %td leads\n", first + m, products, top);
  }

  int const products = follow(links.freeze().as_csr(), links_of, scratch);
  double apart = 0; // each is within 1e-8 * 0.85 / 0.15 of what it nears
  for (std::size_t i = 0; i < n; ++i)
    apart += std::abs(rank[i] - scratch[i]);
  bool const same = apart < 2e-7;
  std::printf("from scratch, %d products: ranks are %s\n", products, same ? "the same" : "OTHERS");
  return same ? 0 : 1;
}
