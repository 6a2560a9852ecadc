// SPDX-License-Identifier: Apache-2.0

// tulle's formats on a device, from a csr that is there.
#include "bench/spmv/device.hpp"

#include "tulle/core/error.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/spmv.hpp"

#include "bench/backend.hpp"
#include "bench/device.hpp"
#include "bench/peers/seconds.hpp"

namespace tulle::bench {
namespace {

/// What all share, the result among it, since they take turns.
template <class V, space S>
struct operands_there {
  device where;
  std::shared_ptr<stopwatch> watch;
  device_matrix csr;
  device_array<V, S> x, y;

  template <class I>
  operands_there(device const& where, spmv_problem<V, I> const& p,
                 std::shared_ptr<stopwatch> const& watch)
      : where(where), watch(watch), csr(upload(matrix_ref(p.a), where)),
        x(p.x, static_cast<std::size_t>(p.a.cols), where),
        y(static_cast<std::size_t>(p.a.rows), where) {}
};

template <class V, space S>
contestant by_format(std::shared_ptr<operands_there<V, S>> const& d, layout const& l,
                     spmv_method method) {
  struct entry {
    device_matrix matrix;
    std::unique_ptr<spmv_plan> plan;
  };
  auto const e = std::make_shared<entry>();
  contestant c;
  convert(d->csr, l); // kernels are loaded when they first run
  c.convert_seconds = seconds_of([&] {
    e->matrix = convert(d->csr, l);
    e->plan = std::make_unique<spmv_plan>(d->where, e->matrix, spmv_options{method});
    synchronize(d->where);
  });
  c.backend = name(d->where.backend);
  c.format = name(l);
  if (method != spmv_method::automatic)
    c.format += std::string(" ") + name(method);
  c.path = e->plan->path();
  c.bytes = e->matrix.bytes();
  c.peak_bytes = c.bytes + e->plan->bytes();
  c.watch = d->watch;
  c.run = [e, d] { spmv(*e->plan, V(1), e->matrix, d->x, V(0), d->y); };
  c.result = [d](void* to) { d->y.copy_to(static_cast<V*>(to)); };
  c.poison = [d] { detail::device_set(d->y.data(), 0xff, d->y.bytes(), d->where); }; // NaN
  return c;
}

template <space S, class V, class I>
format_maker formats_in(device const& where, spmv_problem<V, I> const& p,
                        std::shared_ptr<stopwatch> const& watch) {
  auto const d = std::make_shared<operands_there<V, S>>(where, p, watch);
  return [d](layout const& l, spmv_method method) { return by_format(d, l, method); };
}

} // namespace

template <class V, class I>
format_maker formats_on_device(device const& where, spmv_problem<V, I> const& p,
                               std::shared_ptr<stopwatch> const& watch) {
  return with_space(where.backend, [&]<space S>() { return formats_in<S>(where, p, watch); });
}

#define TULLE_ON_DEVICE(V, I)                                                                      \
  template format_maker formats_on_device(device const&, spmv_problem<V, I> const&,                \
                                          std::shared_ptr<stopwatch> const&);
TULLE_ON_DEVICE(float, std::int32_t)
TULLE_ON_DEVICE(double, std::int32_t)
TULLE_ON_DEVICE(float, std::int64_t)
TULLE_ON_DEVICE(double, std::int64_t)
#undef TULLE_ON_DEVICE

} // namespace tulle::bench
