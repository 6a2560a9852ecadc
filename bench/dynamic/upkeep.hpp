// SPDX-License-Identifier: Apache-2.0

/// What conversions, 1000 batches of one entry each and defragmenting take (after King et al.,
/// tables 3 and 4): `path` says it in products of the static csr.
#pragma once
#include "tulle/dynamic/dynamic_csr.hpp"
#include "tulle/op/add.hpp"
#include "tulle/op/spmv.hpp"

#include "bench/dynamic/growth.hpp"
#include "bench/peers/seconds.hpp"
#include "bench/source.hpp"

namespace tulle::bench {

template <class V, class I>
std::vector<record> run_upkeep(record const& about, csr<V, I, I> const& a,
                               arrivals<V, I> const& all, array<V> const& x, options const& o) {
  using matrix = dynamic_csr<V, I>;
  int const threads = threads_of(o);
  std::size_t const n = a.val.size(), tenth = n / 10;
  auto const first = [&](std::size_t k) { return all.first(a.rows, a.cols, k, threads); };
  csr<V, I, I> const all_but_a_tenth = first(n - tenth), all_but_singles = first(n - singles);
  // Sums of two that are equal are exact.
  csr<V, I, I> const more = add(cpu{.threads = threads}, V(1), a, V(1), first(tenth));
  // In rows: pending entries would be merged into the rows, and nothing would be left to tidy.
  dynamic_options in_rows = options_of(threads);
  in_rows.pending_from = 0;
  double left = 0;
  auto const insert_tenth = [&](matrix& d, std::size_t from) {
    for (int part = 0; part < 10; ++part) {
      std::size_t const k = from + tulle::split(tenth, part, 10);
      std::size_t const m = from + tulle::split(tenth, part + 1, 10) - k;
      d.insert({all.row.data() + k, m}, {all.col.data() + k, m}, {all.val.data() + k, m});
    }
    dynamic_shape const s = d.shape();
    left = static_cast<double>(s.left) / static_cast<double>(s.entries);
  };
  array<V> y(static_cast<std::size_t>(a.rows));
  spmv_plan plan(cpu{.threads = threads}, a);
  std::vector<double> product;
  struct task {
    std::string name, about = {};
    std::vector<double> times = {};
    bool right = false;
  };
  enum { from_csr, single, snapshot, defragment, combine, freeze, to_csr };
  task tasks[] = {{"from csr"},
                  {"1000 single inserts", " for 1000 batches of one"},
                  {"snapshot"},
                  {"defragment"},
                  {"defragment combine"},
                  {"freeze"},
                  {"to csr"}};
  for (std::size_t round = 0; round < builds; ++round) {
    // What `result` gives is looked at once.
    auto const time = [&](int at, auto&& f, csr<V, I, I> const& expected, auto&& result) {
      product.push_back(
          seconds_of([&] { spmv(plan, V(1), a, x, V(0), vector_view<V>(y.data(), y.size())); }));
      tasks[at].times.push_back(seconds_of(f));
      if (round == 0)
        tasks[at].right = result() == expected;
    };
    auto const fragmented = [&](int at) {
      char text[96];
      std::snprintf(text, sizeof text,
                    " after a tenth in ten batches, in rows; places left are %.0f %% of entries",
                    100 * left);
      tasks[at].about = text;
    };
    matrix d(a.rows, a.cols);
    auto const whole = [&] { return d.to_csr(); };
    time(
        from_csr, [&] { d = matrix::from_csr(a.view(), options_of(threads)); }, a, whole);
    d = matrix::from_csr(all_but_singles.view(), options_of(threads));
    auto const insert_singles = [&] {
      for (std::size_t k = n - singles; k < n; ++k)
        d.insert(all.row[k], all.col[k], all.val[k]);
    };
    time(single, insert_singles, a, whole);
    d = matrix::from_csr(all_but_a_tenth.view(), in_rows);
    insert_tenth(d, n - tenth);
    fragmented(defragment);
    dynamic_snapshot<V, I> s;
    time(
        snapshot, [&] { s = d.snapshot(); }, a, [&] { return s.to_csr(); });
    s = {};
    time(
        defragment, [&] { d.defragment(); }, a, whole);
    insert_tenth(d, 0);
    fragmented(combine);
    time(
        combine, [&] { d.defragment({.combine = true}); }, more, whole);
    time(
        freeze, [&] { s = d.freeze(); }, more, [&] { return s.as_csr().to_csr(); });
    csr<V, I, I> c;
    time(
        to_csr, [&] { c = d.to_csr(); }, more, [&] { return c; });
  }
  double const one = statistic_of(product).median;
  std::vector<record> records;
  for (task const& t : tasks) {
    contestant c;
    c.format = t.name;
    char text[64];
    std::snprintf(text, sizeof text, "%.1f products of csr", statistic_of(t.times).median / one);
    c.path = text + t.about;
    records.push_back(record_of(about, c, t.times, t.right));
  }
  return records;
}

} // namespace tulle::bench
