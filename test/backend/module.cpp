// SPDX-License-Identifier: Apache-2.0

// The module's table. What is behind each function is in the files beside this one.
#include "op/operands.hpp"
#include "test/backend/cells.hpp"
#include "test/backend/control.hpp"
#include "test/backend/memory.hpp"

#include <chrono>
#include <complex>
#include <cstring>

namespace tulle::test_device {
namespace {

using detail::dense_ref;
using detail::value_kind;

outcome count(int& devices) {
  devices = 1;
  return {};
}

outcome describe(int device, device_properties& to) {
  return guarded([&] {
    check_place({device, nullptr, 0});
    std::snprintf(to.name, sizeof to.name, "a device for tests");
    std::snprintf(to.architecture, sizeof to.architecture, "host");
    to.units = 1;
    to.memory = to.free_memory = std::size_t{1} << 30;
    to.l2 = std::size_t{1} << 20;
  });
}

outcome allocate_there(work_place const& at, std::size_t bytes, void*& to) {
  return guarded([&] {
    check_place(at);
    to = allocate(bytes);
  });
}
outcome deallocate_there(work_place const& at, void* p) {
  return guarded([&] { release(at, p); });
}

// What is in host memory is read and written when the queue runs, as that in device memory.
outcome copy(work_place const& at, void* to, void const* from, std::size_t bytes) {
  return guarded([&] { launch(at, [=] { std::memmove(to, from, bytes); }); });
}
outcome set(work_place const& at, void* to, unsigned char byte, std::size_t bytes) {
  return guarded([&] { launch(at, [=] { std::memset(to, byte, bytes); }); });
}
outcome wait_there(work_place const& at) {
  return guarded([&] { wait(at); });
}

using clock = std::chrono::steady_clock;
struct timer {
  int device;
  std::shared_ptr<clock::time_point> begin = std::make_shared<clock::time_point>();
};
outcome timer_make(int device, void*& to) {
  return guarded([&] {
    check_place({device, nullptr, 0});
    to = new timer{device};
  });
}
outcome timer_start(void* t, void* queue) {
  return guarded([&] {
    auto const& of = *static_cast<timer*>(t);
    launch({of.device, queue, 0}, [begin = of.begin] { *begin = clock::now(); });
  });
}
outcome timer_stop(void* t, void* queue, double& seconds) {
  return guarded([&] {
    auto const& of = *static_cast<timer*>(t);
    wait({of.device, queue, 0});
    seconds = std::chrono::duration<double>(clock::now() - *of.begin).count();
  });
}
outcome timer_drop(void* t) {
  delete static_cast<timer*>(t);
  return {};
}

template <class V>
V& element(dense_ref const& d, std::size_t i, std::size_t j) {
  return static_cast<V*>(d.data)[i * d.row_stride + j * d.col_stride];
}

outcome scale(work_place const& at, value_kind kind, void const* beta, dense_ref const& c) {
  return guarded([&] {
    detail::with_value(kind, [&]<class V>(V) {
      launch(at, [c, factor = *static_cast<V const*>(beta)] {
        for (std::size_t i = 0; i < c.rows; ++i)
          for (std::size_t j = 0; j < c.cols; ++j)
            element<V>(c, i, j) = factor == V(0) ? V(0) : factor * element<V>(c, i, j);
      });
    });
  });
}

outcome conjugate(work_place const& at, value_kind kind, dense_ref const& from,
                  dense_ref const& to) {
  return guarded([&] {
    detail::with_value(kind, [&]<class V>(V) {
      if constexpr (!std::is_floating_point_v<V>)
        launch(at, [from, to] {
          for (std::size_t i = 0; i < to.rows; ++i)
            for (std::size_t j = 0; j < to.cols; ++j)
              element<V>(to, i, j) = std::conj(element<V>(from, i, j));
        });
    });
  });
}

outcome copy_column(work_place const& at, value_kind kind, void* to, std::size_t to_stride,
                    void const* from, std::size_t from_stride, std::size_t n) {
  return guarded([&] {
    detail::with_value(kind, [&]<class V>(V) {
      launch(at, [=] {
        for (std::size_t i = 0; i < n; ++i)
          static_cast<V*>(to)[i * to_stride] = static_cast<V const*>(from)[i * from_stride];
      });
    });
  });
}

constexpr backend_table table = {backend_version,
                                 backend::opencl,
                                 count,
                                 describe,
                                 allocate_there,
                                 deallocate_there,
                                 copy,
                                 set,
                                 wait_there,
                                 timer_make,
                                 timer_start,
                                 timer_stop,
                                 timer_drop,
                                 scale,
                                 conjugate,
                                 copy_column,
                                 spmv,
                                 spmm,
                                 convert,
                                 spgemm,
                                 nullptr}; // no dynamic matrices

void* allocate_raw(std::size_t bytes) {
  void* p = nullptr;
  guarded([&] { p = allocate(bytes); });
  return p;
}
void deallocate_raw(void* p) {
  std::lock_guard const lock(device_lock());
  begin_release(p);
  end_release(p);
}

constexpr control of_tests = {bytes_in_use,    blocks_in_use,  allocations,   launches,   waits,
                              allocate_raw,    deallocate_raw, make_queue,    drop_queue, pending,
                              fail_allocation, fail_launch,    fail_execution};

} // namespace
} // namespace tulle::test_device

extern "C" __attribute__((visibility("default"))) tulle::backend_table const* tulle_backend() {
  return &tulle::test_device::table;
}
extern "C" __attribute__((visibility("default"))) tulle::test_device::control const*
tulle_test_device() {
  return &tulle::test_device::of_tests;
}
