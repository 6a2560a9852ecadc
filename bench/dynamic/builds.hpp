// SPDX-License-Identifier: Apache-2.0

/// All entries in batches, from an empty matrix on (King et al., figure 3, streaming build).
#pragma once
#include "tulle/dynamic/dynamic_csr.hpp"

#include "bench/dynamic/growth.hpp"
#include "bench/dynamic/merged_csr.hpp"
#include "bench/dynamic/rivals.hpp"
#include "bench/peer_modules.hpp"
#include "bench/peers/seconds.hpp"
#include "bench/problem.hpp"
#include "bench/source.hpp"

#include <functional>

namespace tulle::bench {

/// What became of a peer that is asked to build.
struct peer_build {
  contestant who;
  std::size_t entries = 0; ///< that came
  double seconds = 0;
};

/// Peers get whole batches, as many as fit into seconds_each, on top of the first entry: GraphBLAS
/// is not asked to begin with nothing.
template <class V, class I>
std::vector<peer_build> run_peers(csr<V, I, I> const& one, arrivals<V, I> const& all,
                                  std::size_t batch, V const* x, int products, options const& o,
                                  std::vector<std::string>& remarks) {
  std::size_t const n = all.val.size() - 1;
  dynamic_problem<V, I> const p{one.view(),
                                {all.row.data() + 1, n},
                                {all.col.data() + 1, n},
                                {all.val.data() + 1, n},
                                std::min(batch, n),
                                x,
                                products,
                                threads_of(o)};
  std::vector<peer_build> done;
  for (auto& peer : ask_peers(o.peers, {over_types<dynamic_problem>(p), o.backend}, remarks)) {
    peer_build b{std::move(peer)};
    for (; b.entries + p.batch <= n && b.seconds < seconds_each; b.entries += p.batch)
      b.seconds += seconds_of(b.who.run);
    done.push_back(std::move(b));
  }
  return done;
}

template <class V, class I>
std::vector<record> run_builds(record const& about, csr<V, I, I> const& a,
                               arrivals<V, I> const& all, array<V> const& x, options const& o,
                               std::vector<std::string>& remarks) {
  int const threads = threads_of(o);
  std::size_t const n = a.val.size();
  csr<V, I, I> const nothing = all.first(a.rows, a.cols, 0, threads);
  csr<V, I, I> const one = all.first(a.rows, a.cols, 1, threads);
  array<V> y(static_cast<std::size_t>(a.rows));
  std::vector<record> records;
  auto const add = [&](contestant c, std::size_t entries, std::vector<double> const& times,
                       bool right) {
    char text[96];
    std::snprintf(text, sizeof text, "%.1f million entries per second",
                  1e-6 * static_cast<double>(entries) / statistic_of(times).median);
    c.path = text + (c.path.empty() ? "" : "; " + c.path);
    records.push_back(record_of(about, c, times, right));
  };
  struct way {
    contestant c;
    std::function<bool(way&)> build; // times itself and says whether it is right
    std::vector<double> times = {};
    bool right = true;
    double spent = 0;
  };
  std::vector<way> ways;
  auto const add_way = [&](std::string const& name, char const* path, auto const& build) {
    ways.push_back({{}, build});
    ways.back().c.format = name;
    ways.back().c.path = path;
  };
  for (std::size_t const batch : {std::size_t(100000), std::size_t(1000000)}) {
    auto const each = [n, batch, &all](way& w, auto&& f) {
      w.times.push_back(seconds_of([&] {
        for (std::size_t k = 0; k < n; k += batch)
          f(all.row.data() + k, all.col.data() + k, all.val.data() + k, std::min(batch, n - k));
      }));
    };
    std::string const size = batch == 100000 ? " 100K" : " 1M";
    add_way("dynamic" + size, "", [&, each](way& w) {
      dynamic_csr<V, I> d(a.rows, a.cols, options_of(threads));
      each(w, [&](I const* row, I const* col, V const* val, std::size_t m) {
        d.insert({row, m}, {col, m}, {val, m});
      });
      w.c.bytes = d.shape().bytes;
      return d.to_csr() == a;
    });
    add_way("csr merged" + size, "", [&, each](way& w) {
      merged_csr<V, I> m(nothing.view(), n, threads);
      each(w, [&](auto... entries) { m.merge(entries...); });
      w.c.bytes = 2 * a.bytes();
      return m.view().to_csr() == a;
    });
    auto const is_right = [&](auto const& rival) {
      rival.multiply(x.data(), y.data());
      return is_product(a.view(), x.data(), y.data());
    };
    add_way("hashed rows" + size, "", [&, each, is_right](way& w) {
      hashed_rows<V, I> h(nothing.view(), threads);
      each(w, [&](auto... entries) { h.insert(entries...); });
      return is_right(h);
    });
    add_way("hyb grown" + size, "as wide as suits it in the end", [&, each, is_right](way& w) {
      grown_hyb<V, I> h(nothing.view(), threads, grown_hyb<V, I>::width_of(a.view(), threads));
      each(w, [&](auto... entries) { h.insert(entries...); });
      return is_right(h);
    });
    // Once with products, to be looked at, and once without.
    auto const looked_at = run_peers(one, all, batch, x.data(), 1, o, remarks);
    auto const timed = run_peers(one, all, batch, x.data(), 0, o, remarks);
    for (std::size_t k = 0; k < timed.size(); ++k) {
      looked_at[k].who.result(y.data());
      auto const last = all.first(a.rows, a.cols, looked_at[k].entries + 1, threads);
      bool const right = is_product(last.view(), x.data(), y.data());
      contestant c = timed[k].who;
      c.format += size;
      c.bytes = c.peak_bytes = 0; // told before anything came
      if (timed[k].entries + std::min(batch, n - 1) <= n - 1)
        c.path = "stopped after " + std::to_string(timed[k].entries) + " of them; " + c.path;
      add(c, timed[k].entries, {timed[k].seconds}, right);
    }
  }
  add_way("csr at the end", "", [&](way& w) {
    csr<V, I, I> c;
    w.times.push_back(seconds_of([&] { c = all.first(a.rows, a.cols, n, threads); }));
    w.c.bytes = a.bytes();
    return c == a;
  });
  for (std::size_t round = 0; round < builds; ++round)
    for (way& w : ways)
      if (w.spent < seconds_each) {
        // What the one before left: millions of small pieces, which the next large one waits for.
        array<char> const settled(1 << 16);
        w.right = w.build(w) && w.right;
        w.spent += w.times.back();
      }
  for (way const& w : ways)
    add(w.c, n, w.times, w.right);
  return records;
}

} // namespace tulle::bench
