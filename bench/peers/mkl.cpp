// SPDX-License-Identifier: Apache-2.0

// oneMKL's inspector-executor routines over the arrays as they are; of spmv, "csr" is told of many
// calls and inspects the matrix first, "plain" is not. Level 1 by its BLAS. Interface LP64, threads
// by GNU's OpenMP, so that one runtime serves everyone in the process.
#include "tulle/core/fail.hpp"

#include "bench/peers/peer.hpp"
#include "bench/peers/result.hpp"
#include "bench/peers/seconds.hpp"

#include <memory>
#include <mkl_cblas.h>
#include <mkl_service.h>
#include <mkl_spblas.h>

namespace tulle::bench {
namespace {

constexpr int calls_expected = 1000;
constexpr double most_steps = 4e9; // of assemble, about 5 s

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
    static constexpr auto hint_mm = mkl_sparse_set_mm_hint##suffix;                                \
    static constexpr auto multiply_dense = mkl_sparse_##letter##_mm##suffix;                       \
    static constexpr auto hint_sv = mkl_sparse_set_sv_hint##suffix;                                \
    static constexpr auto solve = mkl_sparse_##letter##_trsv##suffix;                              \
    static constexpr auto hint_sm = mkl_sparse_set_sm_hint##suffix;                                \
    static constexpr auto solve_dense = mkl_sparse_##letter##_trsm##suffix;                        \
    static constexpr auto destroy = mkl_sparse_destroy##suffix;                                    \
    static constexpr auto create_coo = mkl_sparse_##letter##_create_coo##suffix;                   \
    static constexpr auto to_csr = mkl_sparse_convert_csr##suffix;                                 \
    static constexpr auto add = mkl_sparse_##letter##_add##suffix;                                 \
    static constexpr auto product = mkl_sparse_spmm##suffix;                                       \
    static constexpr auto staged_product = mkl_sparse_sp2m##suffix;                                \
    static constexpr auto sort = mkl_sparse_order##suffix;                                         \
    static constexpr auto arrays = mkl_sparse_##letter##_export_csr##suffix;                       \
    static constexpr auto dot = cblas_##letter##doti##suffix;                                      \
    static constexpr auto axpy = cblas_##letter##axpyi##suffix;                                    \
    static constexpr auto gather = cblas_##letter##gthr##suffix;                                   \
    static constexpr auto gather_zero = cblas_##letter##gthrz##suffix;                             \
    static constexpr auto scatter = cblas_##letter##sctr##suffix;                                  \
    static constexpr auto rotate = cblas_##letter##roti##suffix;                                   \
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

using handle = std::shared_ptr<sparse_matrix>;

template <class V, class I>
handle owned(sparse_matrix_t h) {
  return {h, [](sparse_matrix_t old) { mkl<V, I>::destroy(old); }};
}

// MKL's interface knows no const, and calls 64 bits long long.
template <class V, class I>
typename mkl<V, I>::index* borrow(I const* q) {
  return reinterpret_cast<typename mkl<V, I>::index*>(const_cast<I*>(q));
}

template <class V, class I>
handle borrow(csr_view<V, I, I> const& a) {
  sparse_matrix_t h = nullptr;
  check(mkl<V, I>::create(&h, SPARSE_INDEX_BASE_ZERO, a.rows, a.cols, borrow<V>(a.row_ptr),
                          borrow<V>(a.row_ptr + 1), borrow<V>(a.col), const_cast<V*>(a.val)),
        "mkl_sparse_create_csr");
  return owned<V, I>(h);
}

/// Of spmv_problem or of spmv_transposed_problem.
template <class V, class I, class Problem>
contestant multiplier(Problem const& p, sparse_operation_t op, bool inspected) {
  using api = mkl<V, I>;
  contestant c;
  c.peer = "mkl";
  c.format = inspected ? "csr" : "plain";
  c.path = version() + (inspected ? ", optimised" : ", not optimised");

  std::size_t const held_before = held();
  mkl_set_num_threads_local(p.threads);
  handle const m = borrow(p.a);
  if (inspected)
    c.convert_seconds = seconds_of([&] {
      check(api::hint_mv(m.get(), op, general, calls_expected), "mkl_sparse_set_mv_hint");
      check(api::hint_memory(m.get(), SPARSE_MEMORY_AGGRESSIVE), "mkl_sparse_set_memory_hint");
      check(api::optimize(m.get()), "mkl_sparse_optimize");
    });
  // What inspection made is known in size only, not in use.
  c.bytes = detail::bytes_of(p.a);
  c.peak_bytes = c.bytes + (held() - held_before);

  V* const y = keep_result(c, p);
  c.run = [p, m, y, op] {
    mkl_set_num_threads_local(p.threads);
    check(api::multiply(op, V(1), m.get(), general, p.x, V(0), y), "mkl_sparse_mv");
  };
  return c;
}

/// One who makes a matrix, by make() of a handle.
template <class V, class I, class Make>
contestant maker(int threads, Make const& make, std::string const& how) {
  using api = mkl<V, I>;
  contestant c;
  c.peer = "mkl";
  c.path = version() + ", " + how;
  mkl_set_dynamic(0); // as many threads as it is told, not fewer
  auto const kept = std::make_shared<handle>();
  c.run = [threads, make, kept] {
    mkl_set_num_threads_local(threads);
    kept->reset();
    *kept = make();
  };
  std::size_t const held_before = held();
  c.run();
  c.bytes = c.peak_bytes = held() - held_before;
  c.result = [kept](void* to) {
    sparse_index_base_t base{};
    typename api::index rows = 0, cols = 0, *row_ptr = nullptr, *row_end = nullptr, *col = nullptr;
    V* val = nullptr;
    check(api::arrays(kept->get(), &base, &rows, &cols, &row_ptr, &row_end, &col, &val),
          "mkl_sparse_export_csr");
    copy_matrix(static_cast<I>(rows), static_cast<I>(cols), row_ptr, col, val, to);
  };
  c.poison = [kept] { kept->reset(); };
  return c;
}

} // namespace

template <class V, class I>
std::vector<contestant> contestants(spmv_problem<V, I> const& p) {
  if (p.a.nnz == 0)
    return {};
  mkl_set_dynamic(0); // as many threads as it is told, not fewer
  return {multiplier<V, I>(p, SPARSE_OPERATION_NON_TRANSPOSE, true),
          multiplier<V, I>(p, SPARSE_OPERATION_NON_TRANSPOSE, false)};
}

template <class V, class I>
std::vector<contestant> contestants(spmv_transposed_problem<V, I> const& p) {
  if (p.a.nnz == 0)
    return {};
  mkl_set_dynamic(0);
  return {multiplier<V, I>(p, SPARSE_OPERATION_TRANSPOSE, true),
          multiplier<V, I>(p, SPARSE_OPERATION_TRANSPOSE, false)};
}

template <class V, class I>
std::vector<contestant> contestants(transpose_problem<V, I> const& p) {
  if (p.a.nnz == 0)
    return {};
  auto const make = [a = borrow(p.a)] {
    sparse_matrix_t h = nullptr;
    check(mkl<V, I>::to_csr(a.get(), SPARSE_OPERATION_TRANSPOSE, &h), "mkl_sparse_convert_csr");
    return owned<V, I>(h);
  };
  return {maker<V, I>(p.threads, make, "convert_csr")};
}

// Rows are unsorted until it is asked to sort them. What it takes beyond the result is not known.
template <class V, class I>
std::vector<contestant> contestants(spmm_problem<V, I> const& p) {
  using api = mkl<V, I>;
  if (p.a.nnz == 0)
    return {};
  contestant c;
  c.peer = "mkl";
  c.path = version() + ", optimised";
  std::size_t const held_before = held();
  mkl_set_num_threads_local(p.threads);
  handle const m = borrow(p.a);
  c.convert_seconds = seconds_of([&] {
    check(api::hint_mm(m.get(), SPARSE_OPERATION_NON_TRANSPOSE, general, SPARSE_LAYOUT_ROW_MAJOR,
                       p.columns, calls_expected),
          "mkl_sparse_set_mm_hint");
    check(api::optimize(m.get()), "mkl_sparse_optimize");
  });
  c.bytes = c.peak_bytes = detail::bytes_of(p.a) + held() - held_before;
  V* const out =
      keep_result<V>(c, static_cast<std::size_t>(p.a.rows) * static_cast<std::size_t>(p.columns));
  c.run = [p, m, out] {
    mkl_set_num_threads_local(p.threads);
    check(api::multiply_dense(SPARSE_OPERATION_NON_TRANSPOSE, V(1), m.get(), general,
                              SPARSE_LAYOUT_ROW_MAJOR, p.x, p.columns, p.columns, V(0), out,
                              p.columns),
          "mkl_sparse_mm");
  };
  return {c};
}

// "csr" is told of many calls and inspects the triangle first, "plain" is not.
template <class V, class I>
std::vector<contestant> contestants(triangle_problem<V, I> const& p) {
  using api = mkl<V, I>;
  if (p.a.nnz == 0)
    return {};
  mkl_set_dynamic(0); // as many threads as it is told, not fewer
  constexpr auto op = SPARSE_OPERATION_NON_TRANSPOSE;
  matrix_descr const triangle = {SPARSE_MATRIX_TYPE_TRIANGULAR,
                                 p.upper ? SPARSE_FILL_MODE_UPPER : SPARSE_FILL_MODE_LOWER,
                                 SPARSE_DIAG_NON_UNIT};
  std::vector<contestant> both;
  for (bool const inspected : {true, false}) {
    contestant c;
    c.peer = "mkl";
    c.format = inspected ? "csr" : "plain";
    c.path = version() + (inspected ? ", optimised" : ", not optimised");
    std::size_t const held_before = held();
    mkl_set_num_threads_local(p.threads);
    handle const m = borrow(p.a);
    if (inspected)
      c.convert_seconds = seconds_of([&] {
        check(p.columns == 1 ? api::hint_sv(m.get(), op, triangle, calls_expected)
                             : api::hint_sm(m.get(), op, triangle, SPARSE_LAYOUT_ROW_MAJOR,
                                            p.columns, calls_expected),
              "mkl_sparse_set_sv_hint");
        check(api::hint_memory(m.get(), SPARSE_MEMORY_AGGRESSIVE), "mkl_sparse_set_memory_hint");
        check(api::optimize(m.get()), "mkl_sparse_optimize");
      });
    c.bytes = detail::bytes_of(p.a);
    c.peak_bytes = c.bytes + (held() - held_before);
    V* const x =
        keep_result<V>(c, static_cast<std::size_t>(p.a.rows) * static_cast<std::size_t>(p.columns));
    c.run = [p, m, x, triangle] {
      mkl_set_num_threads_local(p.threads);
      check(p.columns == 1 ? api::solve(op, V(1), m.get(), triangle, p.b, x)
                           : api::solve_dense(op, V(1), m.get(), triangle, SPARSE_LAYOUT_ROW_MAJOR,
                                              p.b, p.columns, p.columns, x, p.columns),
            "mkl_sparse_trsv");
    };
    both.push_back(std::move(c));
  }
  return both;
}

template <class V, class I>
std::vector<contestant> contestants(spgemm_problem<V, I> const& p) {
  if (p.a.nnz == 0 || p.b.nnz == 0)
    return {};
  std::vector<contestant> both;
  for (bool const sorted : {false, true}) {
    auto const make = [sorted, a = borrow(p.a), b = borrow(p.b)] {
      sparse_matrix_t h = nullptr;
      check(mkl<V, I>::product(SPARSE_OPERATION_NON_TRANSPOSE, a.get(), b.get(), &h),
            "mkl_sparse_spmm");
      handle const c = owned<V, I>(h);
      if (sorted)
        check(mkl<V, I>::sort(h), "mkl_sparse_order");
      return c;
    };
    both.push_back(maker<V, I>(p.threads, make, sorted ? "sorted" : "unsorted"));
    both.back().format = sorted ? "sorted" : "unsorted";
    both.back().peak_bytes = 0;
  }
  // Values alone, on the pattern that a product before has left.
  auto const stage = [a = borrow(p.a), b = borrow(p.b)](sparse_request_t what, sparse_matrix_t* h) {
    check(mkl<V, I>::staged_product(SPARSE_OPERATION_NON_TRANSPOSE, general, a.get(),
                                    SPARSE_OPERATION_NON_TRANSPOSE, general, b.get(), what, h),
          "mkl_sparse_sp2m");
  };
  mkl_set_num_threads_local(p.threads);
  sparse_matrix_t pattern = nullptr;
  double const seconds = seconds_of([&] { stage(SPARSE_STAGE_FULL_MULT_NO_VAL, &pattern); });
  handle const c = owned<V, I>(pattern);
  both.push_back(maker<V, I>(
      p.threads,
      [stage, c] {
        sparse_matrix_t h = c.get();
        stage(SPARSE_STAGE_FINALIZE_MULT, &h);
        return handle(c, h);
      },
      "unsorted, values alone"));
  both.back().format = "planned";
  both.back().convert_seconds = seconds;
  both.back().peak_bytes = 0;
  return both;
}

template <class V, class I>
std::vector<contestant> contestants(add_problem<V, I> const& p) {
  if (p.a.nnz == 0)
    return {};
  auto const make = [alpha = p.alpha, a = borrow(p.a), b = borrow(p.b)] {
    sparse_matrix_t h = nullptr;
    check(mkl<V, I>::add(SPARSE_OPERATION_NON_TRANSPOSE, a.get(), alpha, b.get(), &h),
          "mkl_sparse_add");
    return owned<V, I>(h);
  };
  return {maker<V, I>(p.threads, make, "add")};
}

// It takes time by the square of a row's length: 2 s for one row of 40000 entries.
template <class V, class I>
std::vector<contestant> contestants(assemble_problem<V, I> const& p) {
  if (p.val.empty())
    return {};
  std::vector<double> length(static_cast<std::size_t>(p.rows));
  double steps = 0;
  for (I const i : p.row)
    steps += 1 + 2 * length[static_cast<std::size_t>(i)]++; // sum of squares
  if (steps > most_steps)
    fail(errc::unsupported,
         "convert_csr would take minutes: its time is quadratic in the longest "
         "row, of %.0f entries",
         *std::max_element(length.begin(), length.end()));
  sparse_matrix_t coo = nullptr;
  check(mkl<V, I>::create_coo(&coo, SPARSE_INDEX_BASE_ZERO, p.rows, p.cols,
                              static_cast<I>(p.val.size()), borrow<V>(p.row.data()),
                              borrow<V>(p.col.data()), const_cast<V*>(p.val.data())),
        "mkl_sparse_create_coo");
  auto const make = [a = owned<V, I>(coo)] {
    sparse_matrix_t h = nullptr;
    check(mkl<V, I>::to_csr(a.get(), SPARSE_OPERATION_NON_TRANSPOSE, &h), "mkl_sparse_convert_csr");
    return owned<V, I>(h);
  };
  return {maker<V, I>(p.threads, make, "convert_csr")};
}

// What it has no function for is the sum of two sparse vectors; its dense ones are not asked.
template <class V, class I>
std::vector<contestant> contestants(level1_problem<V, I> const& p) {
  using api = mkl<V, I>;
  using f = level1_function;
  if (p.function == f::add || p.function == f::dense_dot || p.function == f::dense_axpy)
    return {};
  mkl_set_dynamic(0);
  contestant c;
  c.peer = "mkl";
  c.path = version();
  c.bytes = c.peak_bytes = p.index.size_bytes() + p.val.size_bytes();
  V* const sum = p.function == f::dot ? keep_result<V>(c, 1) : nullptr;
  c.run = [p, sum] {
    auto const n = static_cast<I>(p.index.size());
    auto const* const index = borrow<V>(p.index.data());
    V* const x = p.val.data();
    V* const y = p.y.data();
    mkl_set_num_threads_local(p.threads);
    switch (p.function) {
    case f::dot:
      *sum = api::dot(n, x, index, y);
      break;
    case f::axpy:
      api::axpy(n, p.alpha, x, index, y);
      break;
    case f::gather:
      api::gather(n, y, x, index);
      break;
    case f::gather_zero:
      api::gather_zero(n, y, x, index);
      break;
    case f::scatter:
      api::scatter(n, x, index, y);
      break;
    case f::rotate:
      api::rotate(n, x, index, y, p.c, p.s);
      break;
    case f::add:
    case f::dense_dot:
    case f::dense_axpy:
      break;
    }
  };
  return {c};
}

} // namespace tulle::bench

TULLE_PEER
