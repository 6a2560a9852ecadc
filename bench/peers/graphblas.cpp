// SPDX-License-Identifier: Apache-2.0

// SuiteSparse:GraphBLAS, matrices by row. Of spmv: y = 0, then y += A x over (plus, times), x and y
// full. The library keeps indices in 64 bits, whatever the caller has.
#include "tulle/core/fail.hpp"

#include "bench/peers/peer.hpp"
#include "bench/peers/result.hpp"
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

// Once in a process. Everyone waits for what is asked: the blocking mode would take 13 s to set the
// 2778 entries of a batch of circuit 200000, one by one.
void start() {
  static GrB_Info const started = GrB_init(GrB_NONBLOCKING);
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

GrB_Info build(GrB_Matrix c, GrB_Index const* row, GrB_Index const* col, double const* val,
               GrB_Index n) {
  return GrB_Matrix_build_FP64(c, row, col, val, n, GrB_PLUS_FP64);
}
GrB_Info build(GrB_Matrix c, GrB_Index const* row, GrB_Index const* col, float const* val,
               GrB_Index n) {
  return GrB_Matrix_build_FP32(c, row, col, val, n, GrB_PLUS_FP32);
}
GrB_Info set(GrB_Matrix a, double value, GrB_Index i, GrB_Index j) {
  return GrB_Matrix_setElement_FP64(a, value, i, j);
}
GrB_Info set(GrB_Matrix a, float value, GrB_Index i, GrB_Index j) {
  return GrB_Matrix_setElement_FP32(a, value, i, j);
}
GrB_Info scale(GrB_Matrix c, double alpha, GrB_Matrix a) {
  return GrB_Matrix_apply_BinaryOp1st_FP64(c, nullptr, nullptr, GrB_TIMES_FP64, alpha, a, nullptr);
}
GrB_Info scale(GrB_Matrix c, float alpha, GrB_Matrix a) {
  return GrB_Matrix_apply_BinaryOp1st_FP32(c, nullptr, nullptr, GrB_TIMES_FP32, alpha, a, nullptr);
}
template <class V>
GrB_Type type() {
  return sizeof(V) == 8 ? GrB_FP64 : GrB_FP32;
}
template <class V>
GrB_BinaryOp plus() {
  return sizeof(V) == 8 ? GrB_PLUS_FP64 : GrB_PLUS_FP32;
}
template <class V>
GrB_Semiring semiring() {
  return sizeof(V) == 8 ? GrB_PLUS_TIMES_SEMIRING_FP64 : GrB_PLUS_TIMES_SEMIRING_FP32;
}

using matrix = std::shared_ptr<std::remove_pointer_t<GrB_Matrix>>;

template <class V, class I>
matrix empty(I rows, I cols) {
  GrB_Matrix a = nullptr;
  check(GrB_Matrix_new(&a, type<V>(), static_cast<GrB_Index>(rows), static_cast<GrB_Index>(cols)),
        "GrB_Matrix_new");
  matrix const owner(a, [](GrB_Matrix old) { GrB_Matrix_free(&old); });
  check(GxB_Matrix_Option_set(a, GxB_SPARSITY_CONTROL, GxB_SPARSE), "GxB_Matrix_Option_set");
  return owner;
}

template <class V, class I>
matrix copied(csr_view<V, I, I> const& a) {
  auto const rows = static_cast<std::size_t>(a.rows);
  auto const nnz = static_cast<std::size_t>(a.nnz);
  GrB_Index* row_ptr = allocate<GrB_Index>(rows + 1);
  GrB_Index* col = allocate<GrB_Index>(nnz);
  void* val = allocate<V>(nnz);
  std::copy_n(a.row_ptr, rows + 1, row_ptr);
  std::copy_n(a.col, nnz, col);
  std::copy_n(a.val, nnz, static_cast<V*>(val));
  bool sorted = true;
  for (I i = 0; i < a.rows; ++i)
    sorted = sorted && std::is_sorted(a.col + a.row_ptr[i], a.col + a.row_ptr[i + 1]);
  matrix const m = empty<V>(a.rows, a.cols);
  check(GxB_Matrix_pack_CSR(m.get(), &row_ptr, &col, &val, (rows + 1) * sizeof(GrB_Index),
                            nnz * sizeof(GrB_Index), nnz * sizeof(V), false, !sorted, nullptr),
        "GxB_Matrix_pack_CSR");
  check(GrB_Matrix_wait(m.get(), GrB_MATERIALIZE), "GrB_Matrix_wait");
  return m;
}

std::size_t bytes_of(matrix const& a) {
  std::size_t size = 0;
  check(GxB_Matrix_memoryUsage(&size, a.get()), "GxB_Matrix_memoryUsage");
  return size;
}

contestant named() {
  contestant c;
  c.peer = "graphblas";
  c.path = "SuiteSparse:GraphBLAS " + std::to_string(GxB_IMPLEMENTATION_MAJOR) + "." +
           std::to_string(GxB_IMPLEMENTATION_MINOR) + "." + std::to_string(GxB_IMPLEMENTATION_SUB);
  return c;
}

GrB_Info extract(GrB_Index* row, GrB_Index* col, double* val, GrB_Index* n, GrB_Matrix a) {
  return GrB_Matrix_extractTuples_FP64(row, col, val, n, a);
}
GrB_Info extract(GrB_Index* row, GrB_Index* col, float* val, GrB_Index* n, GrB_Matrix a) {
  return GrB_Matrix_extractTuples_FP32(row, col, val, n, a);
}

// A, x and y, and how many threads multiply them.
template <class V>
class product {
public:
  template <class I>
  explicit product(spmv_problem<V, I> const& p)
      : threads_(p.threads), rows_(static_cast<GrB_Index>(p.a.rows)) {
    check(GrB_Descriptor_new(&how_), "GrB_Descriptor_new");
    check(GxB_Desc_set(how_, GxB_DESCRIPTOR_NTHREADS, p.threads), "GxB_Desc_set");
    a_ = copied(p.a);
    auto const cols = static_cast<std::size_t>(p.a.cols);
    check(GrB_Vector_new(&x_, type<V>(), cols), "GrB_Vector_new");
    void* x = allocate<V>(cols);
    std::copy_n(p.x, cols, static_cast<V*>(x));
    check(GxB_Vector_pack_Full(x_, &x, cols * sizeof(V), false, nullptr), "GxB_Vector_pack_Full");
    check(GrB_Vector_new(&y_, type<V>(), rows_), "GrB_Vector_new");
    fill(0);
  }
  product(product const&) = delete;
  ~product() {
    GrB_Vector_free(&y_);
    GrB_Vector_free(&x_);
    GrB_Descriptor_free(&how_);
  }

  /// A new entry, which waits with others until the matrix is asked for.
  template <class I>
  void insert(I i, I j, V value) {
    check(set(a_.get(), value, static_cast<GrB_Index>(i), static_cast<GrB_Index>(j)),
          "GrB_Matrix_setElement");
  }
  /// What was inserted goes to its place.
  void assemble() {
    check(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, threads_), "GxB_Global_Option_set");
    check(GrB_Matrix_wait(a_.get(), GrB_MATERIALIZE), "GrB_Matrix_wait");
  }

  void fill(V value) { check(assign(y_, value, how_), "GrB_Vector_assign"); }

  void run() {
    // A zero for all is kept as one number. Without it, rows without entries would be missing in y,
    // and the product would not be full.
    fill(0);
    check(GrB_mxv(y_, nullptr, plus<V>(), semiring<V>(), a_.get(), x_, how_), "GrB_mxv");
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

  std::size_t bytes() const { return bytes_of(a_); }

private:
  int threads_;
  GrB_Index rows_;
  GrB_Descriptor how_ = nullptr;
  matrix a_;
  GrB_Vector x_ = nullptr, y_ = nullptr;
};

/// One who makes a rows x cols matrix, by fill(GrB_Matrix) of an empty one.
template <class V, class I, class Fill>
contestant maker(I rows, I cols, int threads, Fill const& fill) {
  contestant c = named();
  auto const kept = std::make_shared<matrix>();
  c.run = [rows, cols, threads, fill, kept] {
    check(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, threads), "GxB_Global_Option_set");
    kept->reset();
    matrix const made = empty<V>(rows, cols);
    fill(made.get());
    check(GrB_Matrix_wait(made.get(), GrB_MATERIALIZE), "GrB_Matrix_wait"); // rows sorted, too
    *kept = made;
  };
  c.run();
  c.bytes = c.peak_bytes = bytes_of(*kept);
  c.result = [rows, cols, kept](void* to) {
    GrB_Index nnz = 0;
    check(GrB_Matrix_nvals(&nnz, kept->get()), "GrB_Matrix_nvals");
    std::vector<GrB_Index> row(nnz), col(nnz), row_ptr(static_cast<std::size_t>(rows) + 1);
    std::vector<V> val(nnz);
    check(extract(row.data(), col.data(), val.data(), &nnz, kept->get()),
          "GrB_Matrix_extractTuples");
    for (GrB_Index const i : row) // they come row by row
      ++row_ptr[i + 1];
    for (std::size_t i = 0; i + 1 < row_ptr.size(); ++i)
      row_ptr[i + 1] += row_ptr[i];
    copy_matrix(rows, cols, row_ptr.data(), col.data(), val.data(), to);
  };
  c.poison = [kept] { kept->reset(); };
  return c;
}

} // namespace

template <class V, class I>
std::vector<contestant> contestants(spmv_problem<V, I> const& p) {
  if (p.a.nnz == 0)
    return {};
  start();
  contestant c = named();
  std::shared_ptr<product<V>> m;
  c.convert_seconds = seconds_of([&] { m = std::make_shared<product<V>>(p); });
  c.bytes = c.peak_bytes = m->bytes();
  c.run = [m] { m->run(); };
  c.result = [m](void* to) { m->copy(static_cast<V*>(to)); };
  c.poison = [m] { m->fill(std::numeric_limits<V>::quiet_NaN()); };
  return {c};
}

template <class V, class I>
std::vector<contestant> contestants(transpose_problem<V, I> const& p) {
  if (p.a.nnz == 0)
    return {};
  start();
  return {maker<V>(p.a.cols, p.a.rows, p.threads, [a = copied(p.a)](GrB_Matrix c) {
    check(GrB_transpose(c, nullptr, nullptr, a.get(), nullptr), "GrB_transpose");
  })};
}

// What it takes beyond the result is not known.
template <class V, class I>
std::vector<contestant> contestants(spgemm_problem<V, I> const& p) {
  if (p.a.nnz == 0 || p.b.nnz == 0)
    return {};
  start();
  contestant c =
      maker<V>(p.a.rows, p.b.cols, p.threads, [a = copied(p.a), b = copied(p.b)](GrB_Matrix to) {
        check(GrB_mxm(to, nullptr, nullptr, semiring<V>(), a.get(), b.get(), nullptr), "GrB_mxm");
      });
  c.peak_bytes = 0;
  return {c};
}

// It adds, and scales in a call of its own.
template <class V, class I>
std::vector<contestant> contestants(add_problem<V, I> const& p) {
  if (p.a.nnz == 0)
    return {};
  start();
  return {maker<V>(p.a.rows, p.a.cols, p.threads,
                   [alpha = p.alpha, a = copied(p.a), b = copied(p.b)](GrB_Matrix c) {
                     check(scale(c, alpha, a.get()), "GrB_Matrix_apply");
                     check(GrB_Matrix_eWiseAdd_BinaryOp(c, nullptr, nullptr, plus<V>(), c, b.get(),
                                                        nullptr),
                           "GrB_Matrix_eWiseAdd");
                   })};
}

// The indices as GraphBLAS wants them are made before the time begins.
template <class V, class I>
std::vector<contestant> contestants(assemble_problem<V, I> const& p) {
  if (p.val.empty())
    return {};
  start();
  using indices = std::vector<GrB_Index>;
  auto const row = std::make_shared<indices const>(p.row.begin(), p.row.end());
  auto const col = std::make_shared<indices const>(p.col.begin(), p.col.end());
  return {maker<V>(p.rows, p.cols, p.threads, [val = p.val, row, col](GrB_Matrix c) {
    check(build(c, row->data(), col->data(), val.data(), val.size()), "GrB_Matrix_build");
  })};
}

// setElement() makes pending tuples, which are sorted and merged into A by all threads at the end
// of a batch.
template <class V, class I>
std::vector<contestant> contestants(dynamic_problem<V, I> const& p) {
  if (p.a.nnz == 0)
    return {};
  start();
  contestant c = named();
  c.path += ", setElement and wait";
  auto const m = std::make_shared<product<V>>(spmv_problem<V, I>{p.a, p.x, p.threads});
  c.bytes = c.peak_bytes = m->bytes();
  c.run = [p, m, next = std::make_shared<std::size_t>(0)] {
    for (std::size_t const end = *next + p.batch; *next < end; ++*next)
      m->insert(p.row[*next], p.col[*next], p.val[*next]);
    m->assemble();
    for (int k = 0; k < p.products; ++k)
      m->run();
  };
  c.result = [m](void* to) { m->copy(static_cast<V*>(to)); };
  return {c};
}

} // namespace tulle::bench

TULLE_PEER
