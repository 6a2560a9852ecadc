// SPDX-License-Identifier: Apache-2.0

// Five tables per matrix, after King et al.: entries that arrive in batches (streaming build),
// rounds of a small batch and a few products (their figure 3), products by what became of the
// matrix (figure 4, with the memory of table 2), what conversion and defragmenting take (tables 3
// and 4), and products of sparse matrices into a dynamic one (their sec. 3.2). Rounds keep batches
// pending by default, which King et al. do not; "in rows" is their way. Unlike there: no sweep over
// the number of segments, no conversion from coo or hyb, and on devices no hyb.
#include "bench/dynamic/dynamic.hpp"

#include "tulle/dynamic/dynamic_csr.hpp"
#include "tulle/format/hyb.hpp"
#include "tulle/op/spmv.hpp"

#include "bench/contest.hpp"
#include "bench/device.hpp"
#include "bench/dynamic/builds.hpp"
#include "bench/dynamic/dynamic_products.hpp"
#include "bench/dynamic/growth.hpp"
#include "bench/dynamic/merged_csr.hpp"
#include "bench/dynamic/rivals.hpp"
#include "bench/dynamic/upkeep.hpp"
#include "bench/measure.hpp"
#include "bench/peer_modules.hpp"
#include "bench/peers/result.hpp"
#include "bench/peers/seconds.hpp"
#include "bench/source.hpp"
#include "bench/vectors.hpp"

namespace tulle::bench {
namespace {

/// A dynamic matrix of its own: from a csr, then a batch and products a run.
template <class V, class I>
contestant grower(dynamic_problem<V, I> const& p, char const* name, dynamic_options const& o) {
  struct state {
    dynamic_csr<V, I> a;
    std::size_t next = 0;
  };
  contestant c;
  auto const s = std::make_shared<state>(state{dynamic_csr<V, I>::from_csr(p.a, o)});
  V* const y = keep_result<V>(c, static_cast<std::size_t>(p.a.rows));
  c.format = name;
  c.path = "insert";
  c.product = [p, s, y] {
    spmv(cpu{.threads = p.threads}, V(1), s->a, vector_view<V const>(p.x, std::size_t(p.a.cols)),
         V(0), vector_view<V>(y, std::size_t(p.a.rows)));
  };
  c.run = [p, s, product = c.product] {
    s->a.insert(p.row.subspan(s->next, p.batch), p.col.subspan(s->next, p.batch),
                p.val.subspan(s->next, p.batch));
    s->next += p.batch;
    for (int k = 0; k < p.products; ++k)
      product();
  };
  c.bytes = s->a.shape().bytes;
  return c;
}

template <class V, class I>
void multiply(csr_view<V, I, I> const& a, dynamic_problem<V, I> const& p, int products, V* y) {
  if (products == 0)
    return;
  spmv_plan plan(cpu{.threads = p.threads}, a);
  for (int k = 0; k < products; ++k)
    spmv(plan, V(1), a, vector_view<V const>(p.x, static_cast<std::size_t>(a.cols)), V(0),
         vector_view<V>(y, static_cast<std::size_t>(a.rows)));
}

template <class V, class I>
contestant merger(dynamic_problem<V, I> const& p) {
  struct state {
    merged_csr<V, I> a;
    std::size_t next = 0;
  };
  contestant c;
  auto const s = std::make_shared<state>(
      state{merged_csr<V, I>(p.a, static_cast<std::size_t>(p.a.nnz) + p.val.size(), p.threads)});
  V* const y = keep_result<V>(c, static_cast<std::size_t>(p.a.rows));
  c.format = "csr merged";
  c.path = "each batch sorted and merged into csr";
  c.run = [p, s, y] {
    s->a.merge(p.row.data() + s->next, p.col.data() + s->next, p.val.data() + s->next, p.batch);
    s->next += p.batch;
    multiply(s->a.view(), p, p.products, y);
  };
  c.product = [p, s, y] { multiply(s->a.view(), p, 1, y); };
  c.bytes = 2 * detail::bytes_of(p.a);
  return c;
}

template <template <class, class> class Rival, class V, class I>
contestant rival(dynamic_problem<V, I> const& p, char const* name, char const* path) {
  contestant c;
  auto const a = std::make_shared<Rival<V, I>>(p.a, p.threads);
  V* const y = keep_result<V>(c, static_cast<std::size_t>(p.a.rows));
  c.format = name;
  c.path = path;
  c.run = [p, a, y, next = std::make_shared<std::size_t>(0)] {
    a->insert(p.row.data() + *next, p.col.data() + *next, p.val.data() + *next, p.batch);
    *next += p.batch;
    for (int k = 0; k < p.products; ++k)
      a->multiply(p.x, y);
  };
  return c;
}

/// All entries so far into a new csr. `all` begins with those of p.a.
template <class V, class I>
contestant rebuilder(dynamic_problem<V, I> const& p, arrivals<V, I> const& all) {
  contestant c;
  auto const next = std::make_shared<std::size_t>(static_cast<std::size_t>(p.a.nnz));
  V* const y = keep_result<V>(c, static_cast<std::size_t>(p.a.rows));
  c.format = "csr rebuilt";
  c.path = "all entries so far by from_triplets";
  c.run = [p, next, y, &all] {
    *next += p.batch;
    auto const rebuilt = all.first(p.a.rows, p.a.cols, *next, p.threads);
    multiply(rebuilt.view(), p, p.products, y);
  };
  c.bytes = detail::bytes_of(p.a);
  return c;
}

/// Products with a csr that stays: what no change can be faster than.
template <class V, class I>
contestant stayer(dynamic_problem<V, I> const& p, csr_view<V, I, I> a) {
  contestant c;
  V* const y = keep_result<V>(c, static_cast<std::size_t>(a.rows));
  c.format = "csr static";
  c.path = "the products alone, of the matrix as it is in the end";
  c.run = [p, a, y] { multiply(a, p, p.products, y); };
  c.bytes = detail::bytes_of(a);
  return c;
}

template <class V, class I>
std::vector<record> run_rounds(record about, csr<V, I, I> const& a, arrivals<V, I> const& all,
                               array<V> const& x, options const& o,
                               std::vector<std::string>& remarks) {
  int const threads = threads_of(o);
  std::size_t const batch = std::max<std::size_t>(1, a.val.size() / round_part);
  std::size_t const before = a.val.size() - std::min(a.val.size(), rounds * batch);
  csr<V, I, I> const start = all.first(a.rows, a.cols, before, threads);
  std::size_t const n = a.val.size() - before;
  dynamic_problem<V, I> const p{start.view(),
                                {all.row.data() + before, n},
                                {all.col.data() + before, n},
                                {all.val.data() + before, n},
                                batch,
                                x.data(),
                                products,
                                threads};
  dynamic_problem<V, I> alone = p; // what the batches cost without the products
  alone.products = 0;
  dynamic_options mean = options_of(threads);
  mean.slack.mean = true;
  dynamic_options by_length = options_of(threads);
  by_length.by_length = true;
  dynamic_options in_rows = options_of(threads);
  in_rows.pending_from = 0;
  std::vector<contestant> who{grower(p, "dynamic", options_of(threads)),
                              grower(p, "dynamic in rows", in_rows),
                              grower(p, "dynamic slack=mean", mean),
                              grower(p, "dynamic by length", by_length),
                              merger(p),
                              rebuilder(p, all),
                              stayer(p, a.view()),
                              grower(alone, "dynamic batch alone", options_of(threads)),
                              grower(alone, "dynamic in rows, batch alone", in_rows),
                              merger(alone)};
  who.back().format = "merge alone";
  std::size_t const stays = 6, first_alone = 7, last_alone = 9;
  who.push_back(rival<hashed_rows>(p, "hashed rows", "std::unordered_map of each row"));
  who.push_back(rival<grown_hyb>(p, "hyb grown", "free places of ell, else behind coo"));
  for (auto& peer : ask_peers(o.peers, {over_types<dynamic_problem>(p), o.backend}, remarks))
    who.push_back(std::move(peer));
  std::vector<std::vector<double>> times(who.size());
  std::vector<double> spent(who.size());
  for (std::size_t round = 0; round < n / batch; ++round)
    for (std::size_t k = 0; k < who.size(); ++k) {
      std::size_t const c = (k + round) % who.size();
      if (spent[c] < seconds_each) {
        times[c].push_back(seconds_of(who[c].run));
        spent[c] += times[c].back();
      }
    }
  std::vector<record> records;
  array<V> y(static_cast<std::size_t>(a.rows));
  for (std::size_t c = 0; c < who.size(); ++c) {
    if (c >= first_alone && c <= last_alone)
      who[c].product(); // none yet to look at
    who[c].result(y.data());
    bool const static_one = c == stays;
    auto const so_far = static_one
                            ? csr<V, I, I>()
                            : all.first(a.rows, a.cols, before + times[c].size() * batch, threads);
    records.push_back(
        record_of_rounds(about, who[c], times[c],
                         is_product(static_one ? a.view() : so_far.view(), x.data(), y.data())));
  }
  return records;
}

/// y = A x by what became of the matrix.
template <class V, class I>
std::vector<record> run_products(record const& about, csr<V, I, I> const& a,
                                 arrivals<V, I> const& all, array<V> const& x, options const& o,
                                 std::vector<std::string>& remarks) {
  int const threads = threads_of(o);
  std::size_t const n = a.val.size();
  contest c = contest_of_products(about, a, x);
  auto bytes = stretches({a.view()});
  bytes.push_back({x.data(), x.bytes()});
  c.contestants.push_back(read_bound(bytes, threads));
  auto const dense_x = vector_view<V const>(x.data(), x.size());
  auto const rows = static_cast<std::size_t>(a.rows);
  auto const add = [&](char const* name, dynamic_csr<V, I>&& d) {
    contestant one;
    auto const kept = std::make_shared<dynamic_csr<V, I>>(std::move(d));
    V* const y = keep_result<V>(one, rows);
    one.format = name;
    one.bytes = kept->shape().bytes;
    one.run = [=] {
      spmv(cpu{.threads = threads}, V(1), *kept, dense_x, V(0), vector_view<V>(y, rows));
    };
    c.contestants.push_back(one);
  };
  auto const streamed = [&] {
    dynamic_csr<V, I> d(a.rows, a.cols, options_of(threads));
    for (std::size_t k = 0; k < n; k += 1000000) {
      std::size_t const m = std::min<std::size_t>(1000000, n - k);
      d.insert({all.row.data() + k, m}, {all.col.data() + k, m}, {all.val.data() + k, m});
    }
    return d;
  };
  add("dynamic streamed", streamed());
  add("dynamic from csr", dynamic_csr<V, I>::from_csr(a.view(), options_of(threads)));
  dynamic_options in_rows = options_of(threads);
  in_rows.pending_from = 0;
  add("dynamic in rows", dynamic_csr<V, I>::from_csr(a.view(), in_rows));
  dynamic_options by_length = options_of(threads);
  by_length.by_length = true;
  add("dynamic by length", dynamic_csr<V, I>::from_csr(a.view(), by_length));
  auto const after_rounds = [&](dynamic_options const& with) {
    std::size_t const batch = std::max<std::size_t>(1, n / round_part);
    std::size_t const before = n - std::min(n, rounds * batch);
    auto const first = all.first(a.rows, a.cols, before, threads);
    auto d = dynamic_csr<V, I>::from_csr(first.view(), with);
    for (std::size_t k = before; k < n; k += batch) {
      std::size_t const m = std::min(batch, n - k);
      d.insert({all.row.data() + k, m}, {all.col.data() + k, m}, {all.val.data() + k, m});
    }
    return d;
  };
  add("dynamic after rounds", after_rounds(options_of(threads)));
  add("dynamic in rows after rounds", after_rounds(in_rows));
  add("dynamic by length after rounds", after_rounds(by_length));
  auto const static_one = [&](char const* name, auto const& m) {
    contestant one;
    auto const plan = std::make_shared<spmv_plan>(cpu{.threads = threads}, m);
    V* const y = keep_result<V>(one, rows);
    one.format = name;
    one.bytes = m.bytes();
    one.run = [=, &m] { spmv(*plan, V(1), m, dense_x, V(0), vector_view<V>(y, rows)); };
    c.contestants.push_back(one);
  };
  static_one("csr", a);
  auto const h = hyb<V, I, I>::from_csr(a.view(), {}, {.threads = threads});
  static_one("hyb", h);
  return hold(c, o, remarks);
}

template <class V, class I>
ground<dynamic_csr<V, I>, csr<V, I, I>> on_cpu(csr<V, I, I> const& a, int threads) {
  using matrix = dynamic_csr<V, I>;
  using product = csr<V, I, I>;
  dynamic_options o;
  o.where.threads = threads;
  ground<matrix, product> g;
  g.multiplied = [&a, threads] { return spgemm(cpu{.threads = threads}, a, a); };
  g.nothing = [&a, o] { return matrix(a.rows, a.cols, o); };
  g.from_csr = [o](product const& c) { return matrix::from_csr(c.view(), o); };
  g.adopt = [o](product&& c) { return matrix::adopt(std::move(c), o); };
  g.merge = [](matrix& to, product const& c) { to.merge(c.view()); };
  g.add_product = [&a](matrix& to) { to.add_product(a.view(), a.view()); };
  g.seconds = [](std::function<void()> const& f) { return seconds_of(f); };
  return g;
}

template <class V, class I>
std::vector<record> run_growth(std::string const& matrix, csr<V, I, I> const& source,
                               options const& o, std::vector<std::string>& remarks) {
  csr<V, I, I> const a = source.to_csr({.threads = threads_of(o)});
  if (a.val.size() < rounds * round_part) {
    remarks.push_back(matrix + " has too few entries to grow in rounds");
    return {};
  }
  arrivals<V, I> const all(a);
  array<V> const x = operand<V>(static_cast<std::size_t>(a.cols));
  auto const named = [&](char const* what) { return about(matrix + what, a, "dynamic", o); };
  std::vector<record> records = run_builds(named(": all in batches"), a, all, x, o, remarks);
  auto const add = [&](std::vector<record> const& more) {
    records.insert(records.end(), more.begin(), more.end());
  };
  add(run_rounds(named(": a batch of 0.2 %, five products"), a, all, x, o, remarks));
  add(run_products(named(": y = A x"), a, all, x, o, remarks));
  add(run_upkeep(named(": upkeep"), a, all, x, o));
  add(run_into(matrix, a, on_cpu(a, threads_of(o)), o, remarks));
  return records;
}

} // namespace

std::vector<record> growths(std::string const& matrix, options const& o,
                            std::vector<std::string>& remarks) {
  return with_matrix(matrix, o, [&](auto const& a) {
    if (o.backend == "cpu")
      return run_growth(matrix, a, o, remarks);
    auto const where = device_for(o, remarks);
    return where ? run_growth_on_device(*where, matrix, a, o, remarks) : std::vector<record>();
  });
}

} // namespace tulle::bench
