// SPDX-License-Identifier: Apache-2.0

// What operations ask of their operands before any work: types known at run time, and overlap.
#pragma once
#include "tulle/core/machine.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/op/spmv.hpp"

namespace tulle::detail {

inline value_kind kind_of_type(type_tag t) {
  return visit(t, [](auto types) { return kind_of<typename decltype(types)::value>; });
}

/// f(V{}) for the type that a kind names.
template <class F>
decltype(auto) with_value(value_kind kind, F&& f) {
  switch (kind) {
  case value_kind::f32:
    return f(float{});
  case value_kind::f64:
    return f(double{});
  case value_kind::c32:
    return f(std::complex<float>{});
  case value_kind::c64:
    break;
  }
  return f(std::complex<double>{});
}

inline std::size_t bytes_of(value_kind kind) {
  return with_value(kind, [](auto v) { return sizeof(v); });
}

// Whether values and indices come from beyond the threads' own caches, where prefetching them pays.
// Zen 4, two threads, ms without and with: lattice (34 MB) 1.0, 0.8; rmat 18 (53 MB) 4.5, 3.8;
// poisson2d5 2000 (320 MB) 11.9, 9.7.
inline bool passes_cache_by(std::size_t nnz, std::size_t entry_bytes, int threads) {
  std::size_t const cache = machine::here().l2 ? machine::here().l2 : std::size_t{1} << 20;
  return nnz / static_cast<std::size_t>(threads) > cache / entry_bytes;
}

// Whether they come from beyond the cache that all threads share. Prefetching costs 6 to 18 % where
// they do not.
inline bool comes_from_memory(std::size_t nnz, std::size_t entry_bytes) {
  std::size_t const cache = machine::here().l3 ? machine::here().l3 : std::size_t{16} << 20;
  return nnz > cache / entry_bytes;
}

/// The policy that a plan was made with: spmv.cpp.
where const& where_of(spmv_plan const& plan);

/// Threads for a product of so many entries and rows, where the policy asks for `asked`: little
/// work is not shared.
inline int threads_for(std::size_t work, int asked) {
  return parts_for(work, asked, work_per_thread());
}

inline bool overlap(void const* a, std::size_t a_bytes, void const* b, std::size_t b_bytes) {
  auto const* const p = static_cast<char const*>(a);
  auto const* const q = static_cast<char const*>(b);
  return p < q + b_bytes && q < p + a_bytes;
}

} // namespace tulle::detail
