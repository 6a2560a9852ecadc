// SPDX-License-Identifier: Apache-2.0

// SuiteSparse:GraphBLAS: y = 0, then y += A x over (plus, times), A by row, x and y full. The
// library keeps indices in 64 bits, whatever the caller has.
#include "tulle/core/fail.hpp"

#include "bench/peers/peer.hpp"
#include "bench/peers/seconds.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <limits>
#include <memory>

extern "C" { // version 7 declares only its GPU functions so; its C++ headers are already in
#include <GraphBLAS.h>
}

namespace tulle::bench {
namespace {

void check(GrB_Info status, char const* what) {
  if (status != GrB_SUCCESS)
    fail(errc::backend, "graphblas: %s: status %d", what, static_cast<int>(status));
}

void start() { // once in a process
  static GrB_Info const started = GrB_init(GrB_BLOCKING);
  check(started, "GrB_init");
}

// What is handed over to GraphBLAS, which frees it by free().
template <class T>
T* allocate(std::size_t n) {
  void* const p = std::malloc(n * sizeof(T));
  if (!p)
    fail(errc::out_of_memory, "graphblas: %zu bytes", n * sizeof(T));
  return static_cast<T*>(p);
}

GrB_Info assign(GrB_Vector v, double value, GrB_Descriptor d) {
  return GrB_Vector_assign_FP64(v, nullptr, nullptr, value, GrB_ALL, 0, d);
}
GrB_Info assign(GrB_Vector v, float value, GrB_Descriptor d) {
  return GrB_Vector_assign_FP32(v, nullptr, nullptr, value, GrB_ALL, 0, d);
}
GrB_Info extract(GrB_Index* at, double* values, GrB_Index* n, GrB_Vector v) {
  return GrB_Vector_extractTuples_FP64(at, values, n, v);
}
GrB_Info extract(GrB_Index* at, float* values, GrB_Index* n, GrB_Vector v) {
  return GrB_Vector_extractTuples_FP32(at, values, n, v);
}

// A, x and y, and how many threads multiply them.
template <class V>
class product {
public:
  template <class I>
  explicit product(spmv_problem<V, I> const& p) : rows_(static_cast<GrB_Index>(p.a.rows)) {
    check(GrB_Descriptor_new(&how_), "GrB_Descriptor_new");
    check(GxB_Desc_set(how_, GxB_DESCRIPTOR_NTHREADS, p.threads), "GxB_Desc_set");
    make_matrix(p.a);
    auto const cols = static_cast<std::size_t>(p.a.cols);
    check(GrB_Vector_new(&x_, type(), cols), "GrB_Vector_new");
    void* x = allocate<V>(cols);
    std::copy_n(p.x, cols, static_cast<V*>(x));
    check(GxB_Vector_pack_Full(x_, &x, cols * sizeof(V), false, nullptr), "GxB_Vector_pack_Full");
    check(GrB_Vector_new(&y_, type(), rows_), "GrB_Vector_new");
    fill(0);
  }
  product(product const&) = delete;
  ~product() {
    GrB_Vector_free(&y_);
    GrB_Vector_free(&x_);
    GrB_Matrix_free(&a_);
    GrB_Descriptor_free(&how_);
  }

  void fill(V value) { check(assign(y_, value, how_), "GrB_Vector_assign"); }

  void run() {
    // A zero for all is kept as one number. Without it, rows without entries would be missing in y,
    // and the product would not be full.
    fill(0);
    check(GrB_mxv(y_, nullptr, plus(), semiring(), a_, x_, how_), "GrB_mxv");
    check(GrB_Vector_wait(y_, GrB_COMPLETE), "GrB_Vector_wait");
  }

  void copy(V* to) const {
    std::vector<GrB_Index> at(rows_); // 0, 1, 2...: y is full
    GrB_Index n = rows_;
    check(extract(at.data(), to, &n, y_), "GrB_Vector_extractTuples");
    if (n != rows_)
      fail(errc::backend, "graphblas: y has %zu entries, not %zu", std::size_t(n),
           std::size_t(rows_));
  }

  std::size_t bytes() const {
    std::size_t size = 0;
    check(GxB_Matrix_memoryUsage(&size, a_), "GxB_Matrix_memoryUsage");
    return size;
  }

private:
  static constexpr bool is_double = sizeof(V) == 8;
  static GrB_Type type() { return is_double ? GrB_FP64 : GrB_FP32; }
  static GrB_BinaryOp plus() { return is_double ? GrB_PLUS_FP64 : GrB_PLUS_FP32; }
  static GrB_Semiring semiring() {
    return is_double ? GrB_PLUS_TIMES_SEMIRING_FP64 : GrB_PLUS_TIMES_SEMIRING_FP32;
  }

  template <class I>
  void make_matrix(csr_view<V, I, I> const& a) {
    auto const nnz = static_cast<std::size_t>(a.nnz);
    GrB_Index* row_ptr = allocate<GrB_Index>(rows_ + 1);
    GrB_Index* col = allocate<GrB_Index>(nnz);
    void* val = allocate<V>(nnz);
    std::copy_n(a.row_ptr, rows_ + 1, row_ptr);
    std::copy_n(a.col, nnz, col);
    std::copy_n(a.val, nnz, static_cast<V*>(val));
    bool sorted = true;
    for (I i = 0; i < a.rows; ++i)
      sorted = sorted && std::is_sorted(a.col + a.row_ptr[i], a.col + a.row_ptr[i + 1]);
    check(GrB_Matrix_new(&a_, type(), rows_, static_cast<GrB_Index>(a.cols)), "GrB_Matrix_new");
    check(GxB_Matrix_Option_set(a_, GxB_SPARSITY_CONTROL, GxB_SPARSE), "GxB_Matrix_Option_set");
    check(GxB_Matrix_pack_CSR(a_, &row_ptr, &col, &val, (rows_ + 1) * sizeof(GrB_Index),
                              nnz * sizeof(GrB_Index), nnz * sizeof(V), false, !sorted, nullptr),
          "GxB_Matrix_pack_CSR");
    check(GrB_Matrix_wait(a_, GrB_MATERIALIZE), "GrB_Matrix_wait");
  }

  GrB_Index rows_;
  GrB_Descriptor how_ = nullptr;
  GrB_Matrix a_ = nullptr;
  GrB_Vector x_ = nullptr, y_ = nullptr;
};

} // namespace

template <class V, class I>
std::vector<contestant> contestants(spmv_problem<V, I> const& p) {
  if (p.a.nnz == 0)
    return {};
  start();
  contestant c;
  c.peer = "graphblas";
  c.path = "SuiteSparse:GraphBLAS " + std::to_string(GxB_IMPLEMENTATION_MAJOR) + "." +
           std::to_string(GxB_IMPLEMENTATION_MINOR) + "." + std::to_string(GxB_IMPLEMENTATION_SUB);
  std::shared_ptr<product<V>> m;
  c.convert_seconds = seconds_of([&] { m = std::make_shared<product<V>>(p); });
  c.bytes = c.peak_bytes = m->bytes();
  c.run = [m] { m->run(); };
  c.result = [m](void* to) { m->copy(static_cast<V*>(to)); };
  c.poison = [m] { m->fill(std::numeric_limits<V>::quiet_NaN()); };
  return {c};
}

} // namespace tulle::bench

TULLE_PEER
