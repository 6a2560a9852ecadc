// SPDX-License-Identifier: Apache-2.0

// oneMKL's inspector-executor routines over the arrays as they are: "csr" is told of many calls and
// inspects the matrix first, "plain" is not. Interface LP64, threads by GNU's OpenMP, so that one
// runtime serves everyone in the process.
#include "tulle/core/fail.hpp"

#include "bench/peers/peer.hpp"
#include "bench/peers/result.hpp"
#include "bench/peers/seconds.hpp"

#include <memory>
#include <mkl_service.h>
#include <mkl_spblas.h>

namespace tulle::bench {
namespace {

constexpr int calls_expected = 1000;

// The functions of a pair of types: 64-bit indices have a suffix of their own.
template <class V, class I>
struct mkl;
#define TULLE_MKL(V, I, integer, letter, suffix)                                                   \
  template <>                                                                                      \
  struct mkl<V, I> {                                                                               \
    using index = integer;                                                                         \
    static constexpr auto create = mkl_sparse_##letter##_create_csr##suffix;                       \
    static constexpr auto hint_mv = mkl_sparse_set_mv_hint##suffix;                                \
    static constexpr auto hint_memory = mkl_sparse_set_memory_hint##suffix;                        \
    static constexpr auto optimize = mkl_sparse_optimize##suffix;                                  \
    static constexpr auto multiply = mkl_sparse_##letter##_mv##suffix;                             \
    static constexpr auto destroy = mkl_sparse_destroy##suffix;                                    \
  };
TULLE_MKL(float, std::int32_t, MKL_INT, s, )
TULLE_MKL(double, std::int32_t, MKL_INT, d, )
TULLE_MKL(float, std::int64_t, MKL_INT64, s, _64)
TULLE_MKL(double, std::int64_t, MKL_INT64, d, _64)
#undef TULLE_MKL

void check(sparse_status_t status, char const* what) {
  if (status != SPARSE_STATUS_SUCCESS)
    fail(errc::backend, "mkl: %s: status %d", what, static_cast<int>(status));
}

std::string version() {
  MKLVersion v;
  mkl_get_version(&v);
  return "oneMKL " + std::to_string(v.MajorVersion) + "." + std::to_string(v.MinorVersion) + "." +
         std::to_string(v.UpdateVersion);
}

std::size_t held() { // by MKL's own allocator, in all
  int buffers = 0;
  return static_cast<std::size_t>(mkl_mem_stat(&buffers));
}

constexpr matrix_descr general = {SPARSE_MATRIX_TYPE_GENERAL, SPARSE_FILL_MODE_FULL,
                                  SPARSE_DIAG_NON_UNIT};

template <class V, class I>
contestant multiplier(spmv_problem<V, I> const& p, bool inspected) {
  using api = mkl<V, I>;
  using index = typename api::index;
  // MKL's interface knows no const, and calls 64 bits long long.
  auto const borrow = [](auto const* q) { return reinterpret_cast<index*>(const_cast<I*>(q)); };
  contestant c;
  c.peer = "mkl";
  c.format = inspected ? "csr" : "plain";
  c.path = version() + (inspected ? ", optimised" : ", not optimised");

  std::size_t const held_before = held();
  mkl_set_num_threads_local(p.threads);
  sparse_matrix_t handle = nullptr;
  check(api::create(&handle, SPARSE_INDEX_BASE_ZERO, p.a.rows, p.a.cols, borrow(p.a.row_ptr),
                    borrow(p.a.row_ptr + 1), borrow(p.a.col), const_cast<V*>(p.a.val)),
        "mkl_sparse_create_csr");
  std::shared_ptr<sparse_matrix> const m(handle, [](sparse_matrix_t h) { api::destroy(h); });
  if (inspected)
    c.convert_seconds = seconds_of([&] {
      check(api::hint_mv(handle, SPARSE_OPERATION_NON_TRANSPOSE, general, calls_expected),
            "mkl_sparse_set_mv_hint");
      check(api::hint_memory(handle, SPARSE_MEMORY_AGGRESSIVE), "mkl_sparse_set_memory_hint");
      check(api::optimize(handle), "mkl_sparse_optimize");
    });
  // What inspection made is known in size only, not in use.
  c.bytes = detail::bytes_of(p.a);
  c.peak_bytes = c.bytes + (held() - held_before);

  V* const y = keep_result(c, p);
  c.run = [p, m, y] {
    mkl_set_num_threads_local(p.threads);
    check(api::multiply(SPARSE_OPERATION_NON_TRANSPOSE, V(1), m.get(), general, p.x, V(0), y),
          "mkl_sparse_mv");
  };
  return c;
}

} // namespace

template <class V, class I>
std::vector<contestant> contestants(spmv_problem<V, I> const& p) {
  if (p.a.nnz == 0)
    return {};
  mkl_set_dynamic(0); // as many threads as it is told, not fewer
  return {multiplier(p, true), multiplier(p, false)};
}

} // namespace tulle::bench

TULLE_PEER
