// SPDX-License-Identifier: Apache-2.0

// tulle's formats on a GPU, from a csr that is there.
#include "bench/spmv/device.hpp"

#include "tulle/core/error.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/spmv.hpp"

#include "bench/device.hpp"
#include "bench/peers/seconds.hpp"

namespace tulle::bench {

template <class V, class I>
cuda_formats<V, I>::cuda_formats(spmv_problem<V, I> const& p)
    : watch_(event_watch()), csr_(std::make_shared<device_matrix>(upload(matrix_ref(p.a)))),
      x_(std::make_shared<device_array<V>>(p.x, static_cast<std::size_t>(p.a.cols))),
      y_(std::make_shared<device_array<V>>(static_cast<std::size_t>(p.a.rows))) {}

template <class V, class I>
contestant cuda_formats<V, I>::make(layout const& l, spmv_method method) const {
  struct entry {
    device_matrix matrix;
    std::unique_ptr<spmv_plan> plan;
  };
  auto const e = std::make_shared<entry>();
  contestant c;
  convert(*csr_, l); // kernels are loaded when they first run
  c.convert_seconds = seconds_of([&] {
    e->matrix = convert(*csr_, l);
    e->plan = std::make_unique<spmv_plan>(cuda{}, e->matrix, spmv_options{method});
    synchronize();
  });
  c.backend = "cuda";
  c.format = name(l);
  if (method != spmv_method::automatic)
    c.format += std::string(" ") + name(method);
  c.path = e->plan->path();
  c.bytes = e->matrix.bytes();
  c.peak_bytes = c.bytes + e->plan->bytes();
  c.watch = watch_;
  c.run = [e, x = x_, y = y_] { spmv(*e->plan, V(1), e->matrix, *x, V(0), *y); };
  c.result = [y = y_](void* to) { y->copy_to(static_cast<V*>(to)); };
  c.poison = [y = y_] { detail::device_set(y->data(), 0xff, y->bytes(), {}); }; // NaN
  return c;
}

template class cuda_formats<float, std::int32_t>;
template class cuda_formats<double, std::int32_t>;
template class cuda_formats<float, std::int64_t>;
template class cuda_formats<double, std::int64_t>;

} // namespace tulle::bench
