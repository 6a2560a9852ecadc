// SPDX-License-Identifier: Apache-2.0
#include "bench/spmm/spmm.hpp"

#include "tulle/dynamic/dynamic_csr.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/spmm.hpp"

#include "bench/backend.hpp"
#include "bench/contest.hpp"
#include "bench/device.hpp"
#include "bench/dynamic/growth.hpp"
#include "bench/measure.hpp"
#include "bench/peer_modules.hpp"
#include "bench/peers/seconds.hpp"
#include "bench/source.hpp"
#include "bench/spmm/device.hpp"
#include "bench/vectors.hpp"

#include <memory>

namespace tulle::bench {
namespace {

/// Y of all that are tulle's own, which take turns: one for each would not fit.
template <class V, class I>
struct shared_result {
  spmm_problem<V, I> p;
  std::shared_ptr<array<V>> y;

  std::size_t rows() const { return static_cast<std::size_t>(p.a.rows); }
  std::size_t cols() const { return static_cast<std::size_t>(p.a.cols); }
  std::size_t width() const { return static_cast<std::size_t>(p.columns); }
  dense_view<V const> in() const { return row_major(p.x, cols(), width()); }
  dense_view<V> out() const { return row_major(y->data(), rows(), width()); }

  void hand_out(contestant& c) const {
    c.threads = p.threads;
    c.result = [y = y](void* to) { std::copy(y->begin(), y->end(), static_cast<V*>(to)); };
    c.poison = [y = y] { std::fill(y->begin(), y->end(), std::numeric_limits<V>::quiet_NaN()); };
  }
};

template <class V, class I>
contestant make_tulle(shared_result<V, I> const& r, layout const& l) {
  struct entry {
    any_matrix converted;
    std::unique_ptr<spmm_plan> plan;
  };
  cpu const where{.threads = r.p.threads};
  auto const e = std::make_shared<entry>();
  contestant c;
  c.convert_seconds = seconds_of([&] {
    e->converted = convert(matrix_ref(r.p.a), l, where);
    e->plan = std::make_unique<spmm_plan>(where, e->converted, r.in(), r.out());
  });
  c.format = name(l);
  c.path = e->plan->path();
  c.bytes = e->converted.bytes();
  c.peak_bytes = c.bytes + e->plan->bytes();
  r.hand_out(c);
  c.run = [r, e] { tulle::spmm(*e->plan, V(1), e->converted, r.in(), V(0), r.out()); };
  return c;
}

/// X and Y column-major, brought there beforehand and back afterwards.
template <class V, class I>
contestant by_columns(shared_result<V, I> const& r) {
  struct entry {
    csr_view<V, I, I> a;
    array<V> x, y;
    std::unique_ptr<spmm_plan> plan;
  };
  auto const e = std::make_shared<entry>();
  e->a = r.p.a;
  e->x = array<V>(r.cols() * r.width());
  e->y = array<V>(r.rows() * r.width(), V(0));
  auto const in = col_major<space::host, V const>(e->x.data(), r.cols(), r.width());
  auto const out = col_major(e->y.data(), r.rows(), r.width());
  for (std::size_t i = 0; i < r.cols(); ++i)
    for (std::size_t j = 0; j < r.width(); ++j)
      e->x[j * r.cols() + i] = r.p.x[i * r.width() + j];
  contestant c;
  c.convert_seconds = seconds_of(
      [&] { e->plan = std::make_unique<spmm_plan>(cpu{.threads = r.p.threads}, e->a, in, out); });
  c.format = "csr column";
  c.path = e->plan->path();
  c.bytes = detail::bytes_of(e->a);
  c.peak_bytes = c.bytes + e->plan->bytes();
  c.threads = r.p.threads;
  c.run = [e, in, out] { tulle::spmm(*e->plan, V(1), e->a, in, V(0), out); };
  c.result = [e, r](void* to) {
    for (std::size_t i = 0; i < r.rows(); ++i)
      for (std::size_t j = 0; j < r.width(); ++j)
        static_cast<V*>(to)[i * r.width() + j] = e->y[j * r.rows() + i];
  };
  c.poison = [e] { std::fill(e->y.begin(), e->y.end(), std::numeric_limits<V>::quiet_NaN()); };
  return c;
}

/// A dynamic matrix whose last tenth came in ten batches, kept pending or put into its rows.
template <class V, class I>
contestant grown(shared_result<V, I> const& r, arrivals<V, I> const& all, bool pending) {
  dynamic_options o;
  o.where.threads = r.p.threads;
  if (!pending)
    o.pending_from = 0;
  std::size_t const n = all.val.size(), part = n / 100;
  auto const first = all.first(r.p.a.rows, r.p.a.cols, n - 10 * part, r.p.threads);
  auto const a = std::make_shared<dynamic_csr<V, I>>(dynamic_csr<V, I>::from_csr(first.view(), o));
  for (std::size_t k = n - 10 * part; k < n; k += part)
    a->insert({all.row.data() + k, part}, {all.col.data() + k, part}, {all.val.data() + k, part});
  contestant c;
  c.format = pending ? "dynamic_csr pending" : "dynamic_csr";
  c.path = pending ? "csr and pending entries, a tenth inserted" : "fragments, a tenth inserted";
  c.bytes = c.peak_bytes = a->shape().bytes;
  r.hand_out(c);
  c.run = [r, a] { tulle::spmm(cpu{.threads = r.p.threads}, V(1), *a, r.in(), V(0), r.out()); };
  return c;
}

/// Of all formats those that have a kernel of their own: others are measured where they are named.
std::vector<layout> wanted_here(options o) {
  if (o.formats != std::vector<std::string>{"all"})
    return wanted_layouts(o);
  std::vector<layout> own;
  for (format const f : all_formats)
    if (has_spmm(f, backend_named(o.backend)))
      own.push_back({f, {}});
  return own;
}

template <class V, class I>
std::vector<record> run_spmm(std::string const& matrix, csr<V, I, I> const& a,
                             arrivals<V, I> const& all, int columns, options const& o,
                             std::vector<std::string>& remarks) {
  auto const width = static_cast<std::size_t>(columns);
  array<V> const x = operand<V>(static_cast<std::size_t>(a.cols) * width);
  array<V> y(static_cast<std::size_t>(a.rows) * width, V(0));
  spmm_problem<V, I> const p{a.view(), x.data(), columns, threads_of(o)};
  contest c;
  c.about = about(matrix, a, "spmm", o);
  c.about.columns = columns;
  c.flops = 2 * static_cast<double>(c.about.nnz) * columns;
  c.vector_bytes = static_cast<double>(x.bytes() + y.bytes());
  c.bound_bytes = static_cast<double>(detail::bytes_of(p.a)) + c.vector_bytes;
  c.verify = [&](contestant const& who) {
    who.result(y.data());
    return is_product(p.a, x.data(), y.data(), width);
  };
  if (o.backend == "cpu") {
    c.contestants.push_back(read_bound({{a.val.data(), a.val.bytes()},
                                        {a.col.data(), a.col.bytes()},
                                        {a.row_ptr.data(), a.row_ptr.bytes()},
                                        {x.data(), x.bytes()},
                                        {y.data(), y.bytes()}},
                                       p.threads));
    shared_result<V, I> const r{p, std::make_shared<array<V>>(y.size(), V(0))};
    auto const enter = [&](std::string const& who, std::size_t bytes, auto make) {
      c.entrants.push_back(
          {"tulle " + who, bytes, [make] { return std::vector<contestant>{make()}; }});
    };
    for (layout const& l : wanted_here(o))
      enter(name(l), bytes_to_make(p.a, l), [r, l] { return make_tulle(r, l); });
    enter("csr column", x.bytes() + y.bytes(), [r] { return by_columns(r); });
    for (bool const pending : {false, true})
      enter("dynamic_csr", 4 * detail::bytes_of(p.a),
            [r, &all, pending] { return grown(r, all, pending); });
  } else if (auto const where = device_for(o, remarks)) {
    auto const watch = event_watch(*where);
    c.contestants.push_back(copy_bound(*where, static_cast<std::size_t>(c.bound_bytes), watch));
    c.entrants = spmm_on_device(*where, p, all, wanted_here(o), watch);
  }
  any_problem const asked{over_types<spmm_problem>(p), o.backend};
  for (entrant& peer : peer_entrants(o.peers, asked, bytes_of_peer(p.a)))
    c.entrants.push_back(std::move(peer));
  return hold(c, o, remarks);
}

} // namespace

std::vector<record> spmm(std::string const& matrix, options const& o,
                         std::vector<std::string>& remarks) {
  return with_matrix(matrix, o, [&]<class V, class I>(csr<V, I, I> const& a) {
    arrivals<V, I> const arrived(a);
    std::vector<record> all;
    for (int const columns : o.columns)
      for (record const& r : run_spmm(matrix, a, arrived, columns, o, remarks))
        all.push_back(r);
    return all;
  });
}

} // namespace tulle::bench
