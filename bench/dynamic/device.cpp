// SPDX-License-Identifier: Apache-2.0

// The tables of dynamic.cpp on a device. Entries are there before they arrive; the host's clock
// counts from a device that is idle to one that is idle again, and products alone are timed by
// events. Memory that came back is kept for the next who wants as much, here as everywhere on the
// device.
#include "bench/device.hpp"

#include "tulle/dynamic/device_dynamic_csr.hpp"
#include "tulle/format/coo.hpp"
#include "tulle/op/add.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/spgemm.hpp"
#include "tulle/op/spmv.hpp"

#include "bench/backend.hpp"
#include "bench/contest.hpp"
#include "bench/dynamic/dynamic_products.hpp"
#include "bench/dynamic/growth.hpp"
#include "bench/peer_modules.hpp"
#include "bench/peers/seconds.hpp"
#include "bench/source.hpp"
#include "bench/vectors.hpp"

namespace tulle::bench {
namespace {

/// Seconds until the device is through.
template <class F>
double device_seconds(device const& where, F const& f) {
  synchronize(where);
  return seconds_of([&] {
    f();
    synchronize(where);
  });
}

/// All that is on the device: entries as they arrive, the matrix in the end, x and y.
template <class V, class I, space S>
struct device_arrivals {
  device where;
  arrivals<V, I> here;
  device_array<I, S> row, col;
  device_array<V, S> val;
  device_matrix last;
  device_array<V, S> x, y;

  device_arrivals(device const& where, csr<V, I, I> const& a, array<V> const& operand)
      : where(where), here(a), row(here.row, where), col(here.col, where), val(here.val, where),
        last(upload(a, where)), x(operand, where), y(static_cast<std::size_t>(a.rows), where) {}

  template <class M>
  void insert(M& to, std::size_t from, std::size_t n) const {
    using index_there = vector_view<I const, S>;
    to.insert(index_there(row.data() + from, n), index_there(col.data() + from, n),
              vector_view<V const, S>(val.data() + from, n));
  }
  coo_view<V, I, I, S> first(I rows, I cols, std::size_t n) const {
    return {unchecked, rows, cols, static_cast<I>(n), row.data(), col.data(), val.data()};
  }
};

template <class V, class I, space S>
using grower = device_dynamic_csr<V, I, S>;

device_dynamic_options options_there(device const& where) {
  device_dynamic_options o;
  o.where = where;
  return o;
}

/// One who takes part, by the host's clock.
contestant named(device const& where, std::string format, std::string path = "") {
  contestant c;
  c.backend = name(where.backend);
  c.format = std::move(format);
  c.path = std::move(path);
  return c;
}

template <class V, class I, space S>
std::vector<record> run_builds(record const& about, csr<V, I, I> const& a,
                               device_arrivals<V, I, S> const& all, array<V> const& x,
                               options const& o, std::vector<std::string>& remarks) {
  std::size_t const n = a.val.size();
  std::vector<record> records;
  auto const add = [&](contestant c, std::size_t entries, std::vector<double> const& times,
                       bool right) {
    char text[64];
    std::snprintf(text, sizeof text, "%.2f billion entries per second",
                  1e-9 * static_cast<double>(entries) / statistic_of(times).median);
    c.path = text;
    records.push_back(record_of(about, c, times, right));
  };
  auto const memory = kept_memory(all.where);
  csr<V, I, I> const nothing(a.rows, a.cols, array<I>(static_cast<std::size_t>(a.rows) + 1, I(0)),
                             {}, {});
  for (std::size_t const batch : {std::size_t(100000), std::size_t(1000000)}) {
    std::string const size = batch == 100000 ? "100K" : "1M";
    struct way {
      char const* name;
      bool exact, mapped;
    };
    for (way const w :
         {way{"", true, false}, {" unordered", false, false}, {" mapped", true, true}}) {
      contestant c = named(all.where, "dynamic " + size + w.name);
      std::vector<double> times;
      bool right = true;
      for (std::size_t round = 0; round <= builds; ++round) {
        device_dynamic_options options = options_there(with_memory(all.where, *memory));
        options.where.exact = w.exact;
        options.mapped = w.mapped;
        grower<V, I, S> d(a.rows, a.cols, options);
        double const seconds = device_seconds(all.where, [&] {
          for (std::size_t k = 0; k < n; k += batch)
            all.insert(d, k, std::min(batch, n - k));
        });
        if (round == 0) { // kernels are loaded, memory is fresh
          right = d.to_csr() == a;
          continue;
        }
        times.push_back(seconds);
        c.bytes = d.shape().bytes;
      }
      add(c, n, times, right);
    }
    // Whole batches: once with products, to be looked at and for the driver to load kernels, and
    // once without.
    std::vector<bool> peer_right;
    array<V> y(static_cast<std::size_t>(a.rows));
    for (int const some : {1, 0}) {
      dynamic_problem<V, I> const p{nothing.view(), all.here.row, all.here.col, all.here.val,
                                    batch,          x.data(),     some,         1};
      auto peers = ask_peers(o.peers, {over_types<dynamic_problem>(p), o.backend}, remarks);
      for (std::size_t at = 0; at < peers.size() && n >= batch; ++at) {
        double const seconds = device_seconds(all.where, [&] {
          for (std::size_t k = 0; k + batch <= n; k += batch)
            peers[at].run();
        });
        if (some == 1) {
          peers[at].result(y.data());
          auto const came = all.here.first(a.rows, a.cols, n / batch * batch, threads_of(o));
          peer_right.push_back(is_product(came.view(), x.data(), y.data()));
          continue;
        }
        peers[at].format += " " + size;
        add(peers[at], n / batch * batch, {seconds}, peer_right[at]);
      }
    }
  }
  std::vector<double> times;
  bool right = true;
  auto const triplets = all.first(a.rows, a.cols, n);
  for (std::size_t round = 0; round <= builds; ++round) {
    device_matrix c;
    double const seconds = device_seconds(
        all.where, [&] { c = convert(device_ref{matrix_ref(triplets)}, format::csr, all.where); });
    if (round == 0)
      right = *download(c).template get_if<csr<V, I, I>>() == a;
    else
      times.push_back(seconds);
  }
  add(named(all.where, "csr at the end"), n, times, right);
  return records;
}

template <class V, class I, space S>
std::vector<record> run_rounds(record const& about, csr<V, I, I> const& a,
                               device_arrivals<V, I, S>& all, array<V> const& x, options const& o,
                               std::vector<std::string>& remarks) {
  std::size_t const batch = std::max<std::size_t>(1, a.val.size() / round_part);
  std::size_t const before = a.val.size() - std::min(a.val.size(), rounds * batch);
  std::size_t const n = a.val.size() - before;
  csr<V, I, I> const start = all.here.first(a.rows, a.cols, before, threads_of(o));
  auto const memory = kept_memory(all.where);
  struct player {
    contestant c;
    std::function<void(std::size_t)> run; // a round
    std::function<std::size_t()> bytes = [] { return std::size_t(0); };
    bool multiplies = true;
    bool is_last = false; // the matrix as it is in the end
    std::vector<double> times = {};
    bool right = false;
    std::function<void()> product = {}; // of one who does not multiply, to be looked at
    std::size_t like = 0;               // who does the same and multiplies, where there is none
  };
  std::vector<player> players;
  auto const multiply = [&](auto const& f) {
    for (int k = 0; k < products; ++k)
      f();
  };
  auto const add_dynamic = [&](char const* name, bool mean, bool multiplies) {
    device_dynamic_options options = options_there(with_memory(all.where, *memory));
    options.slack.mean = mean;
    auto const d =
        std::make_shared<grower<V, I, S>>(grower<V, I, S>::from_csr(start.view(), options));
    players.push_back({named(all.where, name, "insert"),
                       [&, d, multiplies](std::size_t round) {
                         all.insert(*d, before + round * batch, batch);
                         if (multiplies)
                           multiply([&] { spmv(V(1), *d, all.x, V(0), all.y); });
                       },
                       [d] { return d->shape().bytes; }, multiplies});
    players.back().product = [&, d] { spmv(V(1), *d, all.x, V(0), all.y); };
  };
  add_dynamic("dynamic", false, true);
  add_dynamic("dynamic slack=mean", true, true);
  add_dynamic("dynamic batch alone", false, false);
  players.push_back(
      {named(all.where, "csr rebuilt", "all entries so far from coo"), [&](std::size_t round) {
         auto const triplets = all.first(a.rows, a.cols, before + (round + 1) * batch);
         auto const c = convert(device_ref{matrix_ref(triplets)}, format::csr,
                                with_memory(all.where, *memory));
         spmv_plan plan(c);
         multiply([&] { spmv(plan, V(1), c, all.x, V(0), all.y); });
         synchronize(all.where);
       }});
  auto const plan = std::make_shared<spmv_plan>(all.last);
  players.push_back(
      {named(all.where, "csr static", "the products alone, of the matrix as it is in the end"),
       [&, plan](std::size_t) {
         multiply([&] { spmv(*plan, V(1), all.last, all.x, V(0), all.y); });
       }});
  players.back().is_last = true;
  for (int const some : {products, 0}) {
    dynamic_problem<V, I> const p{start.view(),
                                  {all.here.row.data() + before, n},
                                  {all.here.col.data() + before, n},
                                  {all.here.val.data() + before, n},
                                  batch,
                                  x.data(),
                                  some,
                                  1};
    auto peers = ask_peers(o.peers, {over_types<dynamic_problem>(p), o.backend}, remarks);
    for (auto& peer : peers) {
      if (some == 0)
        peer.format += " alone";
      players.push_back({peer, [run = peer.run](std::size_t) { run(); }});
      players.back().multiplies = some != 0;
      players.back().like = players.size() - 1 - peers.size();
    }
  }
  array<V> y(static_cast<std::size_t>(a.rows));
  for (std::size_t round = 0; round < n / batch; ++round)
    for (std::size_t k = 0; k < players.size(); ++k) {
      player& p = players[(k + round) % players.size()];
      p.times.push_back(device_seconds(all.where, [&] { p.run(round); }));
      if (round + 1 < n / batch || (!p.multiplies && !p.product))
        continue;
      if (!p.multiplies)
        p.product();
      if (p.c.result)
        p.c.result(y.data());
      else
        all.y.copy_to(y.data());
      auto const so_far =
          all.here.first(a.rows, a.cols, before + (round + 1) * batch, threads_of(o));
      p.right = is_product(p.is_last ? a.view() : so_far.view(), x.data(), y.data());
    }
  std::vector<record> records;
  for (player& p : players) {
    if (std::size_t const bytes = p.bytes())
      p.c.bytes = bytes;
    bool const looked_at = p.multiplies || p.product;
    records.push_back(
        record_of_rounds(about, p.c, p.times, looked_at ? p.right : players[p.like].right));
  }
  return records;
}

template <class V, class I, space S>
std::vector<record> run_products(record const& about, csr<V, I, I> const& a,
                                 device_arrivals<V, I, S>& all, array<V> const& x, options const& o,
                                 std::vector<std::string>& remarks) {
  std::size_t const n = a.val.size();
  contest c = contest_of_products(about, a, x);
  auto const watch = event_watch(all.where);
  c.contestants.push_back(copy_bound(all.where, static_cast<std::size_t>(c.bound_bytes), watch));
  auto const add = [&](char const* name, std::size_t bytes, auto const& run) {
    contestant one = named(all.where, name);
    one.bytes = bytes;
    one.watch = watch;
    one.run = run;
    one.result = [&all](void* to) { all.y.copy_to(static_cast<V*>(to)); };
    one.poison = [&all] { detail::device_set(all.y.data(), 0xff, all.y.bytes(), all.where); };
    c.contestants.push_back(one);
  };
  auto const add_dynamic = [&](char const* name, grower<V, I, S>&& d) {
    auto const kept = std::make_shared<grower<V, I, S>>(std::move(d));
    add(name, kept->shape().bytes, [kept, &all] { spmv(V(1), *kept, all.x, V(0), all.y); });
  };
  device_dynamic_options const options = options_there(all.where);
  grower<V, I, S> streamed(a.rows, a.cols, options);
  for (std::size_t k = 0; k < n; k += 1000000)
    all.insert(streamed, k, std::min<std::size_t>(1000000, n - k));
  add_dynamic("dynamic streamed", std::move(streamed));
  std::size_t const batch = std::max<std::size_t>(1, n / round_part);
  std::size_t const before = n - std::min(n, rounds * batch);
  auto const first = all.here.first(a.rows, a.cols, before, threads_of(o));
  auto grown = grower<V, I, S>::from_csr(first.view(), options);
  for (std::size_t k = before; k < n; k += batch)
    all.insert(grown, k, std::min(batch, n - k));
  add_dynamic("dynamic after rounds", std::move(grown));
  add_dynamic("dynamic defragmented", grower<V, I, S>::from_csr(a.view(), options));
  auto const plan = std::make_shared<spmv_plan>(all.last);
  add("csr", all.last.bytes(), [plan, &all] { spmv(*plan, V(1), all.last, all.x, V(0), all.y); });
  return hold(c, o, remarks);
}

template <class V, class I, space S>
std::vector<record> run_upkeep(record const& about, csr<V, I, I> const& a,
                               device_arrivals<V, I, S>& all, array<V> const& x, options const& o) {
  std::size_t const n = a.val.size();
  std::size_t const batch = std::max<std::size_t>(1, n / round_part), tenth = rounds * batch;
  // Sums of two that are equal are exact.
  csr<V, I, I> const more =
      tulle::add(cpu{}, V(1), a, V(1), all.here.first(a.rows, a.cols, tenth, threads_of(o)));
  device_matrix const start = upload(all.here.first(a.rows, a.cols, n - tenth, threads_of(o)),
                                     all.where); // the last tenth is missing
  device_matrix const all_but_singles =
      upload(all.here.first(a.rows, a.cols, n - singles, threads_of(o)), all.where);
  spmv_plan plan(all.last);
  std::vector<double> product;
  struct task {
    char const *name, *about = "";
    std::vector<double> times = {};
    bool right = false;
  };
  enum { from_csr, single, behind, defragment, combine, to_host };
  task tasks[] = {{"from csr"},
                  {"1000 single inserts", " for 1000 batches of one"},
                  {"a tenth behind"},
                  {"defragment", " after a tenth in 50 batches"},
                  {"defragment combine", " after a tenth in one batch"},
                  {"to host"}};
  auto const memory = kept_memory(all.where);
  device_dynamic_options const options = options_there(with_memory(all.where, *memory));
  using csr_there = typename grower<V, I, S>::csr_there;
  for (std::size_t round = 0; round <= builds; ++round) {
    auto const time = [&](int at, auto&& f, int times = 1) {
      double const one = device_seconds(all.where, [&] {
        for (int k = 0; k < products; ++k)
          spmv(plan, V(1), all.last, all.x, V(0), all.y);
      });
      double const it = device_seconds(all.where, [&] {
        for (int k = 0; k < times; ++k)
          f();
      });
      if (round == 0)
        return;
      product.push_back(one / products);
      tasks[at].times.push_back(it / times);
    };
    std::unique_ptr<grower<V, I, S>> d;
    // Looked at once, in the round that is not timed.
    auto const look = [&](int at, csr<V, I, I> const& expected) {
      if (round == 0)
        tasks[at].right = d->to_csr() == expected;
    };
    time(from_csr, [&] {
      d = std::make_unique<grower<V, I, S>>(
          grower<V, I, S>::from_csr(all.last.template view<csr_there>(), options));
    });
    look(from_csr, a);
    *d = grower<V, I, S>::from_csr(all_but_singles.template view<csr_there>(), options);
    time(single, [&] {
      for (std::size_t k = n - singles; k < n; ++k)
        all.insert(*d, k, 1);
    });
    look(single, a);
    *d = grower<V, I, S>::from_csr(start.template view<csr_there>(), options);
    auto const multiply = [&] { spmv(V(1), *d, all.x, V(0), all.y); };
    multiply(); // which plans
    for (std::size_t k = n - tenth; k < n; k += batch)
      all.insert(*d, k, batch);
    time(behind, multiply, products);
    if (round == 0) {
      array<V> y(static_cast<std::size_t>(a.rows));
      all.y.copy_to(y.data());
      tasks[behind].right = is_product(a.view(), x.data(), y.data());
    }
    time(defragment, [&] { d->defragment(); });
    look(defragment, a);
    all.insert(*d, 0, tenth);
    time(combine, [&] { d->defragment({.combine = true}); });
    look(combine, more);
    csr<V, I, I> c;
    if (round <= 1)
      time(to_host, [&] { c = d->to_csr(); });
    if (round == 0)
      tasks[to_host].right = c == more;
  }
  double const one = statistic_of(product).median;
  std::vector<record> records;
  for (task const& t : tasks) {
    char text[96];
    std::snprintf(text, sizeof text, "%.1f products of csr%s", statistic_of(t.times).median / one,
                  t.about);
    records.push_back(record_of(about, named(all.where, t.name, text), t.times, t.right));
  }
  return records;
}

template <class V, class I, space S>
ground<grower<V, I, S>, device_matrix> on_device(device_matrix const& a) {
  using matrix = grower<V, I, S>;
  using csr_there = typename matrix::csr_there;
  device const& where = a.where();
  std::shared_ptr<std::pmr::memory_resource> const memory = kept_memory(where);
  device_dynamic_options const o = options_there(with_memory(where, *memory));
  auto const view = a.template view<csr_there>();
  ground<matrix, device_matrix> g;
  g.backend = name(where.backend);
  g.multiplied = [&a, where, memory] { return spgemm(with_memory(where, *memory), a, a); };
  g.nothing = [view, o] { return matrix(view.rows, view.cols, o); };
  g.from_csr = [o](device_matrix const& c) {
    return matrix::from_csr(c.template view<csr_there>(), o);
  };
  g.merge = [](matrix& to, device_matrix const& c) { to.merge(c.template view<csr_there>()); };
  g.add_product = [view](matrix& to) { to.add_product(view, view); };
  g.seconds = [where](std::function<void()> const& f) { return device_seconds(where, f); };
  return g;
}

template <space S, class V, class I>
std::vector<record> run_growth_in(device const& where, std::string const& matrix,
                                  csr<V, I, I> const& source, options const& o,
                                  std::vector<std::string>& remarks) {
  csr<V, I, I> const a = source.to_csr({.threads = threads_of(o)});
  if (a.val.size() < rounds * round_part) {
    remarks.push_back(matrix + " has too few entries to grow in rounds");
    return {};
  }
  array<V> const x = operand<V>(static_cast<std::size_t>(a.cols));
  device_arrivals<V, I, S> all(where, a, x);
  auto const named = [&](char const* what) { return about(matrix + what, a, "dynamic", o); };
  std::vector<record> records = run_builds(named(": all in batches"), a, all, x, o, remarks);
  auto const add = [&](std::vector<record> const& more) {
    records.insert(records.end(), more.begin(), more.end());
  };
  add(run_rounds(named(": a batch of 0.2 %, five products"), a, all, x, o, remarks));
  add(run_products(named(": y = A x"), a, all, x, o, remarks));
  add(run_upkeep(named(": upkeep"), a, all, x, o));
  add(run_into(matrix, a, on_device<V, I, S>(all.last), o, remarks));
  return records;
}

} // namespace

template <class V, class I>
std::vector<record> run_growth_on_device(device const& where, std::string const& matrix,
                                         csr<V, I, I> const& source, options const& o,
                                         std::vector<std::string>& remarks) {
  return with_space(where.backend,
                    [&]<space S>() { return run_growth_in<S>(where, matrix, source, o, remarks); });
}

#define TULLE_GROWTH(tag, V, I, O)                                                                 \
  template std::vector<record> run_growth_on_device(device const&, std::string const&,             \
                                                    csr<V, I, I> const&, options const&,           \
                                                    std::vector<std::string>&);
TULLE_TYPES(TULLE_GROWTH)

} // namespace tulle::bench
