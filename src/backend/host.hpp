// SPDX-License-Identifier: Apache-2.0

// What the tables of the host's backends have in common: memory, and a queue that is never behind.
#pragma once
#include "tulle/core/array.hpp"
#include "tulle/core/machine.hpp"
#include "tulle/core/parallel.hpp"

#include "backend/backend.hpp"
#include "op/operands.hpp"

#include <chrono>
#include <cstdio>
#include <cstring>

namespace tulle::host {

inline outcome count(int& devices) {
  devices = 1;
  return {};
}

inline outcome allocate(work_place const&, std::size_t bytes, void*& to) {
  to = ::operator new(bytes, std::align_val_t(64), std::nothrow);
  return to ? outcome{} : outcome{outcome::no_memory, errc::out_of_memory, "no memory is left"};
}
inline outcome deallocate(work_place const&, void* p) {
  ::operator delete(p, std::align_val_t(64));
  return {};
}
inline outcome copy(work_place const&, void* to, void const* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  return {};
}
inline outcome set(work_place const&, void* to, unsigned char byte, std::size_t bytes) {
  std::memset(to, byte, bytes);
  return {};
}
inline outcome wait(work_place const&) {
  return {};
}

using clock = std::chrono::steady_clock;
inline outcome timer_make(int, void*& timer) {
  timer = new (std::nothrow) clock::time_point;
  return timer ? outcome{} : outcome{outcome::no_memory, errc::out_of_memory, "no memory is left"};
}
inline outcome timer_start(void* timer, void*) {
  *static_cast<clock::time_point*>(timer) = clock::now();
  return {};
}
inline outcome timer_stop(void* timer, void*, double& seconds) {
  auto const start = *static_cast<clock::time_point*>(timer);
  seconds = std::chrono::duration<double>(clock::now() - start).count();
  return {};
}
inline outcome timer_drop(void* timer) {
  delete static_cast<clock::time_point*>(timer);
  return {};
}

inline outcome describe(device_properties& to, char const* architecture) {
  machine const& here = machine::here();
  std::snprintf(to.name, sizeof to.name, "%s", here.processor.c_str());
  std::snprintf(to.architecture, sizeof to.architecture, "%s", architecture);
  to.units = here.cores;
  to.memory = to.free_memory = here.memory;
  to.l2 = here.l2;
  return {};
}

// C = beta C, along memory.
template <class V>
void scale_as(V beta, detail::dense_ref const& c, int threads) {
  bool const by_rows = c.row_stride >= c.col_stride;
  std::size_t const lines = by_rows ? c.rows : c.cols, length = by_rows ? c.cols : c.rows;
  std::size_t const line = by_rows ? c.row_stride : c.col_stride;
  std::size_t const step = by_rows ? c.col_stride : c.row_stride;
  std::size_t const n = lines * length;
  int const parts = detail::parts_for(n, threads, 1 << 16);
  detail::parallel(parts, [&](int part) {
    std::size_t const end = detail::split(n, part + 1, parts);
    std::size_t k = detail::split(n, part, parts);
    for (std::size_t i = k / length, j = k % length; k < end; ++k) {
      V& v = static_cast<V*>(c.data)[i * line + j * step];
      v = beta == V(0) ? V(0) : beta * v;
      if (++j == length) {
        j = 0;
        ++i;
      }
    }
  });
}
inline outcome scale(work_place const& at, detail::value_kind kind, void const* beta,
                     detail::dense_ref const& c) {
  if (c.rows != 0 && c.cols != 0)
    detail::with_value(kind,
                       [&]<class V>(V) { scale_as(*static_cast<V const*>(beta), c, at.threads); });
  return {};
}

inline outcome conjugate(work_place const& at, detail::value_kind kind,
                         detail::dense_ref const& from, detail::dense_ref const& to) {
  detail::with_value(kind, [&]<class V>(V) {
    if constexpr (!std::is_floating_point_v<V>) {
      bool const by_rows = to.row_stride >= to.col_stride;
      std::size_t const length = by_rows ? to.cols : to.rows;
      std::size_t const line = by_rows ? to.row_stride : to.col_stride;
      std::size_t const step = by_rows ? to.col_stride : to.row_stride;
      std::size_t const from_line = by_rows ? from.row_stride : from.col_stride;
      std::size_t const from_step = by_rows ? from.col_stride : from.row_stride;
      std::size_t const n = to.rows * to.cols;
      int const parts = detail::parts_for(n, at.threads, 1 << 16);
      detail::parallel(parts, [&](int part) {
        std::size_t const end = detail::split(n, part + 1, parts);
        std::size_t k = detail::split(n, part, parts);
        for (std::size_t i = n ? k / length : 0, j = n ? k % length : 0; k < end; ++k) {
          static_cast<V*>(to.data)[i * line + j * step] =
              std::conj(static_cast<V const*>(from.data)[i * from_line + j * from_step]);
          if (++j == length) {
            j = 0;
            ++i;
          }
        }
      });
    }
  });
  return {};
}

inline outcome copy_column(work_place const& at, detail::value_kind kind, void* to,
                           std::size_t to_stride, void const* from, std::size_t from_stride,
                           std::size_t n) {
  detail::with_value(kind, [&]<class V>(V) {
    int const parts = detail::parts_for(n, at.threads, 1 << 16);
    detail::parallel(parts, [&](int part) {
      std::size_t const end = detail::split(n, part + 1, parts);
      for (std::size_t i = detail::split(n, part, parts); i < end; ++i)
        static_cast<V*>(to)[i * to_stride] = static_cast<V const*>(from)[i * from_stride];
    });
  });
  return {};
}

/// The table of a host's backend.
constexpr backend_table table(backend b, outcome (*describe)(int, device_properties&),
                              spmv_kernel const* (*spmv)(int, int),
                              spmm_kernel const* (*spmm)(int, int)) {
  return {backend_version, b,          count,      describe, allocate,
          deallocate,      copy,       set,        wait,     timer_make,
          timer_start,     timer_stop, timer_drop, scale,    conjugate,
          copy_column,     spmv,       spmm,       nullptr,  nullptr,
          nullptr};
}

} // namespace tulle::host
