// SPDX-License-Identifier: Apache-2.0

// tulle's formats on a GPU, timed by events on the default stream as its peers there are.
#include "bench/spmv/cuda.hpp"

#include "tulle/core/device_matrix.hpp"
#include "tulle/core/error.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/spmv.hpp"

#include "bench/peers/seconds.hpp"

#include <algorithm>

namespace tulle::bench {
namespace {

class event_watch final : public stopwatch {
public:
  void start() override { timer_.start(); }
  double stop() override { return timer_.stop(); }
  // Not waited for: while it runs, the call to be timed is launched, and launching takes no part.
  void flush() override {
    if (scratch_.size() == 0)
      scratch_ = device_array<char>(scratch_bytes_);
    detail::device_set(scratch_.data(), 0, scratch_.bytes(), {});
  }

private:
  device_timer timer_;
  std::size_t const scratch_bytes_ = std::max(std::size_t{512} << 20, 4 * cuda_devices().at(0).l2);
  device_array<char> scratch_;
};

} // namespace

template <class V, class I>
cuda_formats<V, I>::cuda_formats(spmv_problem<V, I> const& p)
    : problem_(p), watch_(std::make_shared<event_watch>()),
      x_(std::make_shared<device_array<V>>(p.x, static_cast<std::size_t>(p.a.cols))),
      y_(std::make_shared<device_array<V>>(static_cast<std::size_t>(p.a.rows))) {}

template <class V, class I>
contestant cuda_formats<V, I>::copy_bound(std::size_t bytes) const {
  contestant c;
  c.backend = "cuda";
  c.format = "copy";
  c.path = "device-to-device copy";
  c.watch = watch_;
  c.is_bound = true;
  c.bytes = c.peak_bytes = bytes;
  auto const from = std::make_shared<device_array<char>>(bytes / 2);
  auto const to = std::make_shared<device_array<char>>(bytes / 2);
  detail::device_set(from->data(), 1, from->bytes(), {});
  c.run = [from, to] { detail::device_copy_there(to->data(), from->data(), to->bytes(), {}); };
  return c;
}

template <class V, class I>
contestant cuda_formats<V, I>::make(layout const& l, spmv_method method) const {
  struct entry {
    device_matrix matrix;
    std::unique_ptr<spmv_plan> plan;
  };
  auto const e = std::make_shared<entry>();
  contestant c;
  c.convert_seconds = seconds_of([&] {
    e->matrix = upload(convert(matrix_ref(problem_.a), l, {.threads = problem_.threads}));
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
