// SPDX-License-Identifier: Apache-2.0
#include "bench/spmv/spmv.hpp"

#include "tulle/op/convert.hpp"
#include "tulle/op/optimize.hpp"
#include "tulle/op/spmv.hpp"

#include "bench/contest.hpp"
#include "bench/device.hpp"
#include "bench/measure.hpp"
#include "bench/peer_modules.hpp"
#include "bench/peers/result.hpp"
#include "bench/peers/seconds.hpp"
#include "bench/source.hpp"
#include "bench/spmv/device.hpp"
#include "bench/spmv/transposed.hpp"
#include "bench/sweep.hpp"
#include "bench/vectors.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>

namespace tulle::bench {
namespace {

template <class V, class I>
contestant make_tulle(spmv_problem<V, I> const& p, layout const& l, spmv_method method) {
  struct entry {
    csr_view<V, I, I> hub; // csr itself is used as it is, without a copy
    any_matrix converted;
    matrix_ref matrix;
    std::unique_ptr<spmv_plan> plan;
  };
  cpu const where{.threads = p.threads};
  auto const e = std::make_shared<entry>();
  bool const is_hub = l.format == format::csr && l.options.empty();
  contestant c;
  c.convert_seconds = seconds_of([&] {
    e->hub = p.a;
    if (!is_hub)
      e->converted = convert(matrix_ref(p.a), l, where);
    e->matrix = is_hub ? matrix_ref(e->hub) : e->converted.ref();
    e->plan = std::make_unique<spmv_plan>(where, e->matrix, spmv_options{method});
  });
  c.format = name(l);
  if (method != spmv_method::automatic)
    c.format += std::string(" ") + name(method);
  c.threads = p.threads;
  c.path = e->plan->path();
  c.bytes = is_hub ? detail::bytes_of(p.a) : e->converted.bytes();
  c.peak_bytes = c.bytes + e->plan->bytes();
  V* const out = keep_result(c, p);
  c.run = [p, e, out] {
    vector_view<V const> const x(p.x, static_cast<std::size_t>(p.a.cols));
    vector_view<V> const y(out, static_cast<std::size_t>(p.a.rows));
    tulle::spmv(*e->plan, V(1), e->matrix, x, V(0), y);
  };
  return c;
}

// What was picked, and the one reason that says most.
std::string reason(std::vector<candidate> const& considered) {
  candidate const& picked = considered.front();
  std::string const called = name(picked.layout);
  auto const csr = std::find_if(considered.begin(), considered.end(), [](candidate const& c) {
    return c.layout.format == format::csr && c.layout.options.empty();
  });
  if (csr == considered.end())
    return called;
  if (&*csr == &picked)
    return "csr: no other format is predicted to be faster";
  double const share = csr->bytes > 0 ? picked.bytes / csr->bytes : 1;
  std::string const gain =
      share < .97 ? fmt::format("{:.0f} % fewer bytes than csr", 100 * (1 - share))
                  : fmt::format("predicted {:.2f}x csr's speed", csr->call / picked.call);
  return fmt::format("{}: {}", called, gain);
}

// What optimize() picks for the thousand products that it assumes. The choice counts as conversion.
template <class V, class I>
contestant make_optimized(spmv_problem<V, I> const& p) {
  cpu const where{.threads = p.threads};
  std::vector<candidate> considered;
  double const seconds = seconds_of([&] {
    optimized const best = optimize(matrix_ref(p.a), {}, where);
    spmv_plan const plan(where, best.ref());
    considered = best.considered();
  });
  contestant c = make_tulle(p, considered.front().layout, spmv_method::automatic);
  c.format = "optimize";
  c.convert_seconds = seconds;
  c.why = reason(considered);
  return c;
}

// The default of a format, and what --method names, where it has that.
std::vector<spmv_method> wanted_methods(format f, options const& o) {
  std::vector<spmv_method> wanted = {spmv_method::automatic};
  for (spmv_method const m : spmv_methods(f))
    for (std::string const& text : o.methods)
      if (text == name(m) || text == "all")
        wanted.push_back(m);
  return wanted;
}

template <class V, class I>
std::vector<record> run_spmv(std::string const& matrix, csr<V, I, I> const& a, options const& o,
                             std::vector<std::string>& remarks) {
  array<V> const x = operand<V>(static_cast<std::size_t>(a.cols));
  array<V> y(static_cast<std::size_t>(a.rows), V(0));
  spmv_problem<V, I> const p{a.view(), x.data(), threads_of(o)};
  contest c;
  c.about = about(matrix, a, "spmv", o);
  c.flops = 2 * static_cast<double>(c.about.nnz);
  c.vector_bytes = static_cast<double>(x.bytes() + y.bytes());
  c.bound_bytes = static_cast<double>(detail::bytes_of(p.a)) + c.vector_bytes;
  c.verify = [&](contestant const& who) {
    who.result(y.data());
    return is_product(p.a, x.data(), y.data());
  };
  auto const is_listed = [](std::vector<std::string> const& list, char const* word) {
    return std::find(list.begin(), list.end(), word) != list.end();
  };
  auto const each_layout = [&](auto&& make) {
    for (layout const& l : wanted_layouts(o))
      for (spmv_method const method : wanted_methods(l.format, o))
        c.entrants.push_back({"tulle " + name(l), o.backend == "cpu" ? bytes_to_make(p.a, l) : 0,
                              [=] { return std::vector<contestant>{make(l, method)}; }});
  };
  if (o.backend == "cpu") {
    c.contestants.push_back(read_bound({{a.val.data(), a.val.bytes()},
                                        {a.col.data(), a.col.bytes()},
                                        {a.row_ptr.data(), a.row_ptr.bytes()},
                                        {x.data(), x.bytes()},
                                        {y.data(), y.bytes()}},
                                       p.threads));
    for (sweep_point const& point : sweep_points(o.sweep)) {
      spmv_problem<V, I> q = p;
      if (point.option == "threads")
        q.threads = number_of(point);
      auto const swept = [point](contestant who) {
        who.option = point.option;
        who.option_value = point.value;
        return who;
      };
      each_layout([q, swept](layout const& l, spmv_method method) {
        return swept(make_tulle(q, l, method));
      });
      if (is_listed(o.formats, "optimize"))
        c.entrants.push_back({"tulle optimize", bytes_to_make(p.a, {format::sell}), [q, swept] {
                                return std::vector<contestant>{swept(make_optimized(q))};
                              }});
    }
  } else if (auto const where = device_for(o, remarks)) {
    auto const watch = event_watch(*where);
    c.contestants.push_back(copy_bound(*where, static_cast<std::size_t>(c.bound_bytes), watch));
    each_layout(formats_on_device(*where, p, watch));
  }
  any_problem const asked{over_types<spmv_problem>(p), o.backend};
  if (o.sweep.empty())
    for (entrant& peer : peer_entrants(o.peers, asked, bytes_of_peer(p.a)))
      c.entrants.push_back(std::move(peer));
  return hold(c, o, remarks);
}

} // namespace

std::vector<record> spmv(std::string const& matrix, options const& o,
                         std::vector<std::string>& remarks) {
  if (o.transposed)
    return spmv_transposed(matrix, o, remarks);
  return with_matrix(matrix, o, [&](auto const& a) { return run_spmv(matrix, a, o, remarks); });
}

} // namespace tulle::bench
