// SPDX-License-Identifier: Apache-2.0

// cusparseSpMM with CSR and COO, X and Y row-major or column-major. X is brought into its layout
// beforehand and Y handed out row-major afterwards; neither is timed, since a user who has the
// choice keeps both that way.
#include "tulle/core/array.hpp"

#include "bench/peers/cusparse.hpp"

namespace tulle::bench {
namespace {

using namespace cuda;

using dense = std::shared_ptr<cusparseDnMatDescr>;

/// to = transpose of from, which is rows x cols, row-major.
template <class V>
void transpose(V const* from, std::size_t rows, std::size_t cols, V* to) {
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < cols; ++j)
      to[j * rows + i] = from[i * cols + j];
}

struct variant {
  char const* name;
  char const* path;
  cusparseSpMMAlg_t algorithm;
  bool is_coo;
  bool preprocess;
};
constexpr variant variants[] = {
    // preprocessing does nothing for CSR alg 2
    {"csr alg1", "CSR alg 1", CUSPARSE_SPMM_CSR_ALG1, false, false},
    {"csr alg2", "CSR alg 2", CUSPARSE_SPMM_CSR_ALG2, false, false},
    {"csr alg3", "CSR alg 3", CUSPARSE_SPMM_CSR_ALG3, false, false},
    {"csr alg1 preprocessed", "CSR alg 1, preprocessed", CUSPARSE_SPMM_CSR_ALG1, false, true},
    {"csr alg3 preprocessed", "CSR alg 3, preprocessed", CUSPARSE_SPMM_CSR_ALG3, false, true},
    {"coo alg1", "COO alg 1", CUSPARSE_SPMM_COO_ALG1, true, false},
    {"coo alg2", "COO alg 2", CUSPARSE_SPMM_COO_ALG2, true, false},
    {"coo alg3", "COO alg 3", CUSPARSE_SPMM_COO_ALG3, true, false},
    {"coo alg4", "COO alg 4", CUSPARSE_SPMM_COO_ALG4, true, false},
};

template <class V, class I>
struct operands {
  device on;
  device_csr<V, I> a;
  std::size_t columns;
  buffer x_by_row, x_by_column;
  std::shared_ptr<output> y;
  int count = 0; // of contestants, each of which has a number

  explicit operands(spmm_problem<V, I> const& p)
      : on(open_device()), a(p.a), columns(static_cast<std::size_t>(p.columns)) {
    std::size_t const size = cols() * columns;
    x_by_row = upload(p.x, size);
    array<V> turned(size);
    transpose(p.x, cols(), columns, turned.data());
    x_by_column = upload(turned.data(), size);
    y = std::make_shared<output>(rows() * columns * sizeof(V));
  }

  std::size_t rows() const { return static_cast<std::size_t>(a.rows); }
  std::size_t cols() const { return static_cast<std::size_t>(a.cols); }
  std::size_t csr_bytes() const { return a.bytes() + (rows() + cols()) * columns * sizeof(V); }

  dense describe(buffer const& values, std::size_t height, cusparseOrder_t order) const {
    cusparseDnMatDescr_t made;
    std::size_t const stride = order == CUSPARSE_ORDER_ROW ? columns : height;
    CHECKED(cusparseCreateDnMat, &made, static_cast<std::int64_t>(height),
            static_cast<std::int64_t>(columns), static_cast<std::int64_t>(stride), values.get(),
            value_type<V>, order);
    return {made, cusparseDestroyDnMat};
  }
};

/// A matrix made ready for cusparseSpMM.
struct prepared {
  stored a;
  dense x, y;
  buffer x_values; // y's are kept by whoever hands them out
  buffer workspace;
  std::size_t workspace_bytes = 0;
};

template <class V, class I>
prepared prepare(operands<V, I> const& o, variant const& v, cusparseOrder_t order) {
  prepared r;
  r.a = v.is_coo ? as_coo(o.on, o.a) : as_csr(o.a);
  r.x_values = order == CUSPARSE_ORDER_ROW ? o.x_by_row : o.x_by_column;
  r.x = o.describe(r.x_values, o.cols(), order);
  r.y = o.describe(o.y->values, o.rows(), order);
  V const alpha = 1, beta = 0;
  CHECKED(cusparseSpMM_bufferSize, o.on.handle.get(), plain, plain, &alpha, r.a.descriptor.get(),
          r.x.get(), &beta, r.y.get(), value_type<V>, v.algorithm, &r.workspace_bytes);
  r.workspace = allocate(r.workspace_bytes);
  if (v.preprocess)
    CHECKED(cusparseSpMM_preprocess, o.on.handle.get(), plain, plain, &alpha, r.a.descriptor.get(),
            r.x.get(), &beta, r.y.get(), value_type<V>, v.algorithm, r.workspace.get());
  return r;
}

template <class V, class I>
contestant by_spmm(operands<V, I>& o, variant const& v, cusparseOrder_t order) {
  bool const by_row = order == CUSPARSE_ORDER_ROW;
  contestant c = named(o.on, std::string(v.name) + (by_row ? " row" : " column"),
                       std::string(v.path) + (by_row ? ", row-major" : ", column-major"));
  prepared r;
  c.convert_seconds = seconds_of([&] {
    r = {};
    r = prepare(o, v, order);
  });
  c.bytes = r.a.bytes;
  c.peak_bytes = c.bytes + r.workspace_bytes;
  int const me = o.count++;
  c.run = [handle = o.on.handle, r, algorithm = v.algorithm, y = o.y, me] {
    V const alpha = 1, beta = 0;
    CHECKED(cusparseSpMM, handle.get(), plain, plain, &alpha, r.a.descriptor.get(), r.x.get(),
            &beta, r.y.get(), value_type<V>, algorithm, r.workspace.get());
    y->last = me;
  };
  c.result = [y = o.y, me, by_row, rows = o.rows(), columns = o.columns](void* to) {
    y->require(me);
    if (by_row)
      return download(y->values, rows * columns, static_cast<V*>(to));
    array<V> turned(rows * columns);
    download(y->values, turned.size(), turned.data());
    transpose(turned.data(), columns, rows, static_cast<V*>(to));
  };
  c.poison = [y = o.y] { y->poison(); };
  return c;
}

} // namespace

template <class V, class I>
std::vector<contestant> contestants(spmm_problem<V, I> const& p) {
  operands<V, I> o(p);
  std::vector<contestant> all;
  all.push_back(copy_bound(o.on, o.csr_bytes()));
  for (variant const& v : variants)
    for (cusparseOrder_t const order : {CUSPARSE_ORDER_ROW, CUSPARSE_ORDER_COL})
      attempt(all, [&] { return by_spmm(o, v, order); });
  return all;
}
template std::vector<contestant> contestants(spmm_problem<float, std::int32_t> const&);
template std::vector<contestant> contestants(spmm_problem<double, std::int32_t> const&);
template std::vector<contestant> contestants(spmm_problem<float, std::int64_t> const&);
template std::vector<contestant> contestants(spmm_problem<double, std::int64_t> const&);

} // namespace tulle::bench
