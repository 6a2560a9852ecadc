// SPDX-License-Identifier: Apache-2.0
#include "bench/spmm/device.hpp"

#include "tulle/core/error.hpp"
#include "tulle/dynamic/device_dynamic_csr.hpp"
#include "tulle/op/spmm.hpp"

#include "bench/backend.hpp"
#include "bench/device.hpp"
#include "bench/peers/seconds.hpp"

namespace tulle::bench {
namespace {

/// X and Y there, which all share, since they take turns.
template <class V, space S>
struct dense_there {
  device where;
  std::size_t rows, cols, width;
  std::shared_ptr<stopwatch> watch;
  device_array<V, S> x, y;

  template <class I>
  dense_there(device const& where, spmm_problem<V, I> const& p,
              std::shared_ptr<stopwatch> const& watch)
      : where(where), rows(static_cast<std::size_t>(p.a.rows)),
        cols(static_cast<std::size_t>(p.a.cols)), width(static_cast<std::size_t>(p.columns)),
        watch(watch), x(p.x, cols * width, where), y(rows * width, where) {}
  dense_view<V const, S> in(bool by_columns) const {
    return by_columns ? col_major<S>(x.data(), cols, width) : row_major<S>(x.data(), cols, width);
  }
  dense_view<V, S> out(bool by_columns) {
    return by_columns ? col_major<S>(y.data(), rows, width) : row_major<S>(y.data(), rows, width);
  }
};

/// from, rows by cols and row-major, by columns.
template <class V>
void turn(V const* from, std::size_t rows, std::size_t cols, V* to) {
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < cols; ++j)
      to[j * rows + i] = from[i * cols + j];
}

template <class V, space S>
contestant named(std::string const& format, std::shared_ptr<dense_there<V, S>> d,
                 bool by_columns = false) {
  contestant c;
  c.backend = name(d->where.backend);
  c.format = format;
  c.watch = d->watch;
  c.poison = [d] { detail::device_set(d->y.data(), 0xff, d->y.bytes(), d->where); }; // NaN
  c.result = [d, by_columns](void* to) {
    if (!by_columns)
      return d->y.copy_to(static_cast<V*>(to));
    array<V> turned(d->y.size());
    d->y.copy_to(turned.data());
    turn(turned.data(), d->width, d->rows, static_cast<V*>(to));
  };
  return c;
}

template <class V, space S>
contestant by_format(std::shared_ptr<device_matrix> csr, layout const& l,
                     std::shared_ptr<dense_there<V, S>> d, bool by_columns) {
  struct entry {
    device_matrix matrix;
    std::unique_ptr<spmm_plan> plan;
  };
  auto const e = std::make_shared<entry>();
  contestant c = named(name(l) + (by_columns ? " column" : ""), d, by_columns);
  c.convert_seconds = seconds_of([&] {
    e->matrix = convert(*csr, l);
    e->plan =
        std::make_unique<spmm_plan>(d->where, e->matrix, d->in(by_columns), d->out(by_columns));
    synchronize(d->where);
  });
  c.path = e->plan->path();
  c.bytes = e->matrix.bytes();
  c.peak_bytes = c.bytes + e->plan->bytes();
  c.run = [e, d, by_columns] {
    spmm(*e->plan, V(1), e->matrix, d->in(by_columns), V(0), d->out(by_columns));
  };
  return c;
}

/// A dynamic matrix whose last tenth was inserted. Products defragment it in time, so that it is
/// made anew for each that is timed.
template <class V, class I, space S>
contestant grown(spmm_problem<V, I> const& p, arrivals<V, I> const& all,
                 std::shared_ptr<dense_there<V, S>> d) {
  using matrix = device_dynamic_csr<V, I, S>;
  struct entry {
    device_matrix start;
    device_array<I, S> row, col;
    device_array<V, S> val;
    device_timer timer;
    device_dynamic_options options;
    std::unique_ptr<matrix> a;

    explicit entry(device const& where) : timer(where) { options.where = where; }
  };
  std::size_t const n = all.val.size(), from = n - n / 10;
  auto const e = std::make_shared<entry>(d->where);
  e->start = upload(all.first(p.a.rows, p.a.cols, from, p.threads), d->where);
  e->row = device_array<I, S>(all.row.data() + from, n - from, d->where);
  e->col = device_array<I, S>(all.col.data() + from, n - from, d->where);
  e->val = device_array<V, S>(all.val.data() + from, n - from, d->where);
  contestant c = named("dynamic_csr", d);
  c.path = "fragments, a tenth inserted";
  c.timed_run = [e, d] {
    using csr_there = typename matrix::csr_there;
    e->a =
        std::make_unique<matrix>(matrix::from_csr(e->start.template view<csr_there>(), e->options));
    spmm(V(1), *e->a, d->in(false), V(0), d->out(false)); // which plans
    e->a->insert(e->row, e->col, e->val);
    e->timer.start();
    spmm(V(1), *e->a, d->in(false), V(0), d->out(false));
    return e->timer.stop();
  };
  c.run = [again = c.timed_run] { again(); };
  c.run();
  c.bytes = c.peak_bytes = e->a->shape().bytes;
  return c;
}

/// csr, where X and Y are column-major.
template <class V, class I, space S>
contestant by_columns(spmm_problem<V, I> const& p, std::shared_ptr<device_matrix> csr,
                      device const& where, std::shared_ptr<stopwatch> const& watch) {
  auto const d = std::make_shared<dense_there<V, S>>(where, p, watch);
  array<V> x(d->x.size());
  turn(p.x, d->cols, d->width, x.data());
  d->x.copy_from(x.data());
  return by_format(csr, {format::csr, {}}, d, true);
}

template <space S, class V, class I>
std::vector<entrant> entrants_in(device const& where, spmm_problem<V, I> const& p,
                                 arrivals<V, I> const& all, std::vector<layout> const& wanted,
                                 std::shared_ptr<stopwatch> const& watch) {
  auto const d = std::make_shared<dense_there<V, S>>(where, p, watch);
  auto const csr = std::make_shared<device_matrix>(upload(matrix_ref(p.a), where));
  std::vector<entrant> entrants;
  auto const enter = [&](std::string const& who, auto make) {
    entrants.push_back({"tulle " + who, 0, [make] { return std::vector<contestant>{make()}; }});
  };
  for (layout const& l : wanted)
    enter(name(l), [csr, l, d] { return by_format(csr, l, d, false); });
  enter("csr column", [=] { return by_columns<V, I, S>(p, csr, where, watch); });
  enter("dynamic_csr", [p, &all, d] { return grown(p, all, d); });
  return entrants;
}

} // namespace

template <class V, class I>
std::vector<entrant> spmm_on_device(device const& where, spmm_problem<V, I> const& p,
                                    arrivals<V, I> const& all, std::vector<layout> const& wanted,
                                    std::shared_ptr<stopwatch> const& watch) {
  return with_space(where.backend,
                    [&]<space S>() { return entrants_in<S>(where, p, all, wanted, watch); });
}

#define TULLE_ON_DEVICE(V, I)                                                                      \
  template std::vector<entrant> spmm_on_device(device const&, spmm_problem<V, I> const&,           \
                                               arrivals<V, I> const&, std::vector<layout> const&,  \
                                               std::shared_ptr<stopwatch> const&);
TULLE_ON_DEVICE(float, std::int32_t)
TULLE_ON_DEVICE(double, std::int32_t)
TULLE_ON_DEVICE(float, std::int64_t)
TULLE_ON_DEVICE(double, std::int64_t)
#undef TULLE_ON_DEVICE

} // namespace tulle::bench
