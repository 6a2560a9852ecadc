// SPDX-License-Identifier: Apache-2.0
#include "bench/convert/convert.hpp"

#include "tulle/core/device_matrix.hpp"
#include "tulle/core/error.hpp"
#include "tulle/core/recycling.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/spmv.hpp"

#include "bench/contest.hpp"
#include "bench/device.hpp"
#include "bench/measure.hpp"
#include "bench/peer_modules.hpp"
#include "bench/source.hpp"

#include <memory>
#include <optional>

namespace tulle::bench {
namespace {

/// A matrix in memory that the next one uses again: fresh pages are not what is measured here. And
/// what its products take.
template <class V>
struct entry {
  recycling_memory memory;
  any_matrix matrix;
  std::optional<spmv_plan> plan;
  array<V> x, y;
};

template <class V, class I>
contestant make_tulle(convert_problem<V, I> const& p, layout const& f, bool refills) {
  auto const kept = std::make_shared<entry<V>>();
  cpu const where{.threads = p.threads, .memory = &kept->memory};
  contestant c;
  c.format = name(f) + (refills ? " refill" : "");
  c.path = (refills ? "values of csr to " : "csr to ") + name(f);
  auto const convert_again = [p, f, where, kept] {
    kept->matrix = any_matrix(); // its memory first, as in a loop of a user's
    kept->matrix = convert(matrix_ref(p.a), f, where);
  };
  convert_again();
  if (refills)
    c.run = [p, where, kept] { kept->matrix.refill(matrix_ref(p.a), where); };
  else
    c.run = convert_again;
  kept->plan.emplace(where, kept->matrix);
  kept->x = array<V>(static_cast<std::size_t>(p.a.cols), V(1));
  kept->y = array<V>(static_cast<std::size_t>(p.a.rows), V(0));
  c.product = [kept] { spmv(*kept->plan, V(1), kept->matrix, kept->x, V(0), kept->y); };
  c.bytes = c.peak_bytes = kept->matrix.bytes();
  c.result = [kept, threads = p.threads](void* to) {
    any_matrix back = convert(kept->matrix, format::csr, {.threads = threads});
    *static_cast<csr<V, I, I>*>(to) = std::move(*back.get_if<csr<V, I, I>>());
  };
  return c;
}

/// The same on a device, from a csr that is there.
template <class V, class I>
contestant make_there(std::shared_ptr<device_matrix> const& csr_there, layout const& f, int threads,
                      std::shared_ptr<stopwatch> const& watch) {
  device const& where = csr_there->where();
  auto const kept = std::make_shared<kept_matrix>(where);
  contestant c;
  c.backend = name(where.backend);
  c.format = name(f);
  c.path = "csr to " + name(f);
  c.watch = watch;
  c.run = [csr_there, f, kept, there = with_memory(where, *kept->memory)] {
    kept->matrix = device_matrix();
    kept->matrix = convert(*csr_there, f, there);
  };
  c.run();
  c.bytes = c.peak_bytes = kept->matrix.bytes();
  c.result = [kept, threads](void* to) {
    any_matrix back = download(kept->matrix, {.threads = threads});
    *static_cast<csr<V, I, I>*>(to) = std::move(*back.get_if<csr<V, I, I>>());
  };
  return c;
}

template <class V, class I>
std::vector<record> run_convert(std::string const& matrix, csr<V, I, I> const& a, options const& o,
                                std::vector<std::string>& remarks) {
  convert_problem<V, I> const p{a.view(), threads_of(o)};
  csr<V, I, I> const expected = a.to_csr({.threads = p.threads});
  contest c;
  c.about = about(matrix, a, "convert", o);
  c.bound_bytes = static_cast<double>(a.bytes());
  c.verify = [&](contestant const& who) {
    csr<V, I, I> found;
    who.result(&found);
    return found == expected;
  };
  auto const each_layout = [&](auto&& make) {
    for (layout const& l : wanted_layouts(o))
      if (l.format != format::csr)
        c.entrants.push_back({"tulle " + name(l),
                              o.backend == "cpu" ? 2 * bytes_to_make(p.a, l) : 0,
                              [=] { return make(l); }});
  };
  if (o.backend == "cpu") {
    c.contestants.push_back(read_bound(stretches({a.view()}), p.threads));
    each_layout([p](layout const& l) {
      return std::vector<contestant>{make_tulle(p, l, false), make_tulle(p, l, true)};
    });
  } else if (auto const where = device_for(o, remarks)) {
    auto const watch = event_watch(*where);
    auto const there = std::make_shared<device_matrix>(upload(a, *where));
    c.contestants.push_back(copy_bound(*where, a.bytes(), watch));
    each_layout([there, watch, threads = p.threads](layout const& l) {
      return std::vector<contestant>{make_there<V, I>(there, l, threads, watch)};
    });
  }
  any_problem const asked{over_types<convert_problem>(p), o.backend};
  for (entrant& peer : peer_entrants(o.peers, asked, bytes_of_peer(p.a)))
    c.entrants.push_back(std::move(peer));
  return hold(c, o, remarks);
}

} // namespace

std::vector<record> conversions(std::string const& matrix, options const& o,
                                std::vector<std::string>& remarks) {
  return with_matrix(matrix, o, [&](auto const& a) { return run_convert(matrix, a, o, remarks); });
}

} // namespace tulle::bench
