// SPDX-License-Identifier: Apache-2.0
#include "bench/spmm/device.hpp"

#include "tulle/core/error.hpp"
#include "tulle/dynamic/device_dynamic_csr.hpp"
#include "tulle/op/spmm.hpp"

#include "bench/device.hpp"
#include "bench/peers/seconds.hpp"

namespace tulle::bench {
namespace {

/// X and Y there, which all share, since they take turns.
template <class V, class I>
struct dense_there {
  std::size_t rows, cols, width;
  std::shared_ptr<stopwatch> watch = event_watch();
  device_array<V> x, y;

  explicit dense_there(spmm_problem<V, I> const& p)
      : rows(static_cast<std::size_t>(p.a.rows)), cols(static_cast<std::size_t>(p.a.cols)),
        width(static_cast<std::size_t>(p.columns)), x(p.x, cols * width), y(rows * width) {}
  dense_view<V const, space::cuda> in(bool by_columns) const {
    return by_columns ? col_major<space::cuda>(x.data(), cols, width)
                      : row_major<space::cuda>(x.data(), cols, width);
  }
  dense_view<V, space::cuda> out(bool by_columns) {
    return by_columns ? col_major<space::cuda>(y.data(), rows, width)
                      : row_major<space::cuda>(y.data(), rows, width);
  }
};

/// from, rows by cols and row-major, by columns.
template <class V>
void turn(V const* from, std::size_t rows, std::size_t cols, V* to) {
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < cols; ++j)
      to[j * rows + i] = from[i * cols + j];
}

template <class V, class I>
contestant named(std::string const& format, std::shared_ptr<dense_there<V, I>> d,
                 bool by_columns = false) {
  contestant c;
  c.backend = "cuda";
  c.format = format;
  c.watch = d->watch;
  c.poison = [d] { detail::device_set(d->y.data(), 0xff, d->y.bytes(), {}); }; // NaN
  c.result = [d, by_columns](void* to) {
    if (!by_columns)
      return d->y.copy_to(static_cast<V*>(to));
    array<V> turned(d->y.size());
    d->y.copy_to(turned.data());
    turn(turned.data(), d->width, d->rows, static_cast<V*>(to));
  };
  return c;
}

template <class V, class I>
contestant by_format(std::shared_ptr<device_matrix> csr, layout const& l,
                     std::shared_ptr<dense_there<V, I>> d, bool by_columns) {
  struct entry {
    device_matrix matrix;
    std::unique_ptr<spmm_plan> plan;
  };
  auto const e = std::make_shared<entry>();
  contestant c = named(name(l) + (by_columns ? " column" : ""), d, by_columns);
  c.convert_seconds = seconds_of([&] {
    e->matrix = convert(*csr, l);
    e->plan = std::make_unique<spmm_plan>(cuda{}, e->matrix, d->in(by_columns), d->out(by_columns));
    synchronize();
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
template <class V, class I>
contestant grown(spmm_problem<V, I> const& p, arrivals<V, I> const& all,
                 std::shared_ptr<dense_there<V, I>> d) {
  using matrix = device_dynamic_csr<V, I>;
  struct entry {
    device_matrix start;
    device_array<I> row, col;
    device_array<V> val;
    std::unique_ptr<matrix> a;
    device_timer timer;
  };
  std::size_t const n = all.val.size(), from = n - n / 10;
  auto const e = std::make_shared<entry>();
  e->start = upload(all.first(p.a.rows, p.a.cols, from, p.threads));
  e->row = device_array<I>(all.row.data() + from, n - from);
  e->col = device_array<I>(all.col.data() + from, n - from);
  e->val = device_array<V>(all.val.data() + from, n - from);
  contestant c = named("dynamic_csr", d);
  c.path = "fragments, a tenth inserted";
  c.timed_run = [e, d] {
    using csr_there = csr_view<V, I, I, space::cuda>;
    e->a = std::make_unique<matrix>(matrix::from_csr(e->start.template view<csr_there>()));
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

} // namespace

template <class V, class I>
std::vector<contestant> spmm_on_device(spmm_problem<V, I> const& p, arrivals<V, I> const& all,
                                       std::vector<layout> const& wanted, std::size_t bound_bytes) {
  auto const d = std::make_shared<dense_there<V, I>>(p);
  auto const csr = std::make_shared<device_matrix>(upload(matrix_ref(p.a)));
  std::vector<contestant> c = {copy_bound(bound_bytes, d->watch)};
  for (layout const& l : wanted)
    c.push_back(by_format(csr, l, d, false));
  auto const turned = std::make_shared<dense_there<V, I>>(p);
  array<V> x(turned->x.size());
  turn(p.x, turned->cols, turned->width, x.data());
  turned->x.copy_from(x.data());
  c.push_back(by_format(csr, {format::csr, {}}, turned, true));
  c.push_back(grown(p, all, d));
  return c;
}

#define TULLE_ON_DEVICE(V, I)                                                                      \
  template std::vector<contestant> spmm_on_device(                                                 \
      spmm_problem<V, I> const&, arrivals<V, I> const&, std::vector<layout> const&, std::size_t);
TULLE_ON_DEVICE(float, std::int32_t)
TULLE_ON_DEVICE(double, std::int32_t)
TULLE_ON_DEVICE(float, std::int64_t)
TULLE_ON_DEVICE(double, std::int64_t)

} // namespace tulle::bench
