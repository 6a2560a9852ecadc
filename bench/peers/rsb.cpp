// SPDX-License-Identifier: Apache-2.0

// librsb: recursive sparse blocks, as they are made ("rsb") and as its tuner leaves them ("tuned").
#include "tulle/core/fail.hpp"

#include "bench/peers/peer.hpp"
#include "bench/peers/result.hpp"
#include "bench/peers/seconds.hpp"

#include <memory>
#include <omp.h>
#include <rsb.h>
#include <utility>

namespace tulle::bench {
namespace {

static_assert(sizeof(rsb_coo_idx_t) == 4 && sizeof(rsb_nnz_idx_t) == 4);

// The tuner takes 2 s at most, and the conversions that it tries.
constexpr int tuning_rounds = 10;
constexpr double tuning_seconds = .2; // of a round

void check(rsb_err_t status, char const* what) {
  if (status == RSB_ERR_NO_ERROR)
    return;
  char why[128] = "";
  rsb_strerror_r(status, why, sizeof why);
  fail(errc::backend, "rsb: %s: %s", what, why);
}

// RSB_IO_WANT_EXECUTING_THREADS is how many threads a matrix is cut for. How many multiply is
// settled by rsb_lib_init, which asks OpenMP; matrices outlive its renewal.
void use_threads(int threads) {
  static int used = 0;
  if (threads == used)
    return;
  if (std::exchange(used, 0) != 0)
    check(rsb_lib_exit(RSB_NULL_EXIT_OPTIONS), "rsb_lib_exit");
  int const before = omp_get_max_threads();
  omp_set_num_threads(threads);
  rsb_err_t const status = rsb_lib_init(RSB_NULL_INIT_OPTIONS);
  omp_set_num_threads(before);
  check(status, "rsb_lib_init");
  used = threads;
  rsb_int_t const wanted = threads;
  check(rsb_lib_set_opt(RSB_IO_WANT_EXECUTING_THREADS, &wanted), "rsb_lib_set_opt");
}

template <class V>
constexpr rsb_type_t type_code = sizeof(V) == 8 ? RSB_NUMERICAL_TYPE_DOUBLE
                                                : RSB_NUMERICAL_TYPE_FLOAT;

template <class V>
contestant multiplier(spmv_problem<V, std::int32_t> const& p, bool tuned) {
  contestant c;
  c.peer = "rsb";
  c.format = tuned ? "tuned" : "rsb";
  c.path = "librsb " RSB_LIBRSB_VER_STRING;
  V* const y = keep_result(c, p);

  use_threads(p.threads);
  rsb_mtx_t* made = nullptr;
  c.convert_seconds = seconds_of([&] {
    rsb_err_t status = RSB_ERR_NO_ERROR;
    made = rsb_mtx_alloc_from_csr_const(p.a.val, p.a.row_ptr, p.a.col, p.a.nnz, type_code<V>,
                                        p.a.rows, p.a.cols, 1, 1, RSB_FLAG_NOFLAGS, &status);
    check(status, "rsb_mtx_alloc_from_csr_const");
    if (!tuned)
      return;
    V const one = 1, zero = 0;
    rsb_real_t speedup = 0;
    // Without a matrix to keep, the tuner replaces the one it is given. No thread tuning: all here
    // use as many as they are told.
    status = rsb_tune_spmm(&made, &speedup, nullptr, tuning_rounds, tuning_seconds,
                           RSB_TRANSPOSITION_N, &one, nullptr, 1, RSB_FLAG_WANT_COLUMN_MAJOR_ORDER,
                           p.x, p.a.cols, &zero, y, p.a.rows);
    if (status != RSB_ERR_NO_ERROR)
      rsb_mtx_free(made);
    check(status, "rsb_tune_spmm");
  });
  std::shared_ptr<rsb_mtx_t> const m(made, [](rsb_mtx_t* q) { rsb_mtx_free(q); });
  rsb_blk_idx_t leaves = 0;
  check(rsb_mtx_get_info(made, RSB_MIF_LEAVES_COUNT__TO__RSB_BLK_INDEX_T, &leaves),
        "rsb_mtx_get_info");
  check(rsb_mtx_get_info(made, RSB_MIF_TOTAL_SIZE__TO__SIZE_T, &c.bytes), "rsb_mtx_get_info");
  c.peak_bytes = c.bytes;
  c.path += ", " + std::to_string(leaves) + (leaves == 1 ? " block" : " blocks");

  c.run = [p, m, y] {
    use_threads(p.threads);
    V const one = 1, zero = 0;
    check(rsb_spmv(RSB_TRANSPOSITION_N, &one, m.get(), p.x, 1, &zero, y, 1), "rsb_spmv");
  };
  return c;
}

template <class V>
std::vector<contestant> both(spmv_problem<V, std::int32_t> const& p) {
  if (p.a.nnz == 0)
    return {};
  return {multiplier(p, false), multiplier(p, true)};
}

} // namespace

std::vector<contestant> contestants(spmv_problem<double, std::int32_t> const& p) {
  return both(p);
}
std::vector<contestant> contestants(spmv_problem<float, std::int32_t> const& p) {
  return both(p);
}

} // namespace tulle::bench

TULLE_PEER
