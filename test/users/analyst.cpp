// SPDX-License-Identifier: Apache-2.0
// A graph analyst: ranks of pages by power iteration, before and after links arrive.
// prints: links added: page 7 had [0-9.]+ and has [0-9.]+, and page 7 leads
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <tulle/tulle.hpp>
#include <vector>

using graph = tulle::dynamic_csr<double>; // entry (to, from) for a link

std::vector<double> rank_pages(graph const& links, std::vector<double> const& out) {
  std::size_t const n = out.size();
  std::vector<double> rank(n, 1.0 / static_cast<double>(n)), share(n), next(n);
  for (int step = 0; step < 60; ++step) {
    for (std::size_t i = 0; i < n; ++i)
      share[i] = out[i] > 0 ? rank[i] / out[i] : 0;
    tulle::spmv(0.85, links, share, 0.0, next);
    double const rest = 1 - std::accumulate(next.begin(), next.end(), 0.0);
    for (std::size_t i = 0; i < n; ++i)
      rank[i] = next[i] + rest / static_cast<double>(n);
  }
  return rank;
}

int main() {
  auto const a = tulle::generate("gen:rmat:10:8");
  auto const incoming = tulle::transpose(a);
  auto links = graph::from_csr(incoming.view());
  std::vector<double> out(1024);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = a.row_ptr[i + 1] - a.row_ptr[i];
  double const was = rank_pages(links, out)[7];
  for (int page = 0; page < 1024; ++page, out[page - 1] += 1)
    links.insert(7, page, 1.0); // once more perhaps
  auto const now = rank_pages(links, out);
  auto const top = std::max_element(now.begin(), now.end()) - now.begin();
  std::printf("links added: page 7 had %.3f and has %.3f, and page %td leads\n", was, now[7], top);
}
