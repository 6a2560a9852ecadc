// SPDX-License-Identifier: Apache-2.0

// cusparseSpMV in all of its formats, and cusparse<t>bsrmv, which still does blocks in another way.
#define DISABLE_CUSPARSE_DEPRECATED // csr2bsr is, and nothing has come in its place
#include "tulle/core/array.hpp"

#include "bench/peers/cusparse.hpp"

#include <algorithm>

namespace tulle::bench {
namespace {

using namespace cuda;

constexpr int slice_sizes[] = {8, 32}; // of sliced ELL; 2: never fastest on eight large matrices
constexpr double most_padding = 3;     // stored entries of sliced ELL, in multiples of nnz
constexpr double most_fill = 1.5; // likewise of blocks: beyond that CSR in double moves fewer bytes
constexpr int block_sizes[] = {2, 3, 4};
constexpr int ragged = 4; // entries behind x and y that the last block may touch

using vector = std::shared_ptr<cusparseDnVecDescr>;

/// The operands on the device.
template <class V, class I>
struct operands {
  device on;
  device_csr<V, I> a;
  buffer x;
  std::shared_ptr<output> y;
  int count = 0; // of contestants, each of which has a number

  explicit operands(spmv_problem<V, I> const& p)
      : on(open_device()), a(p.a),
        x(allocate((static_cast<std::size_t>(p.a.cols) + ragged) * sizeof(V))),
        y(std::make_shared<output>((static_cast<std::size_t>(p.a.rows) + ragged) * sizeof(V))) {
    auto const bytes = static_cast<std::size_t>(a.cols) * sizeof(V);
    CHECKED(cudaMemset, static_cast<char*>(x.get()) + bytes, 0, ragged * sizeof(V));
    CHECKED(cudaMemcpy, x.get(), p.x, bytes, cudaMemcpyHostToDevice);
  }

  std::size_t csr_bytes() const {
    return a.bytes() +
           (static_cast<std::size_t>(a.rows) + static_cast<std::size_t>(a.cols)) * sizeof(V);
  }
  /// Sets what all have alike; multiply() is one call.
  template <class F>
  void finish(contestant& c, F multiply) {
    int const me = count++;
    c.run = [y = y, me, multiply] {
      multiply();
      y->last = me;
    };
    c.result = [y = y, me, rows = static_cast<std::size_t>(a.rows)](void* to) {
      y->require(me);
      download(y->values, rows, static_cast<V*>(to));
    };
    c.poison = [y = y] { y->poison(); };
  }
};

/// A matrix made ready for cusparseSpMV.
struct prepared {
  stored a;
  vector x, y;
  buffer x_values; // y's are kept by whoever hands them out
  buffer workspace;
  std::size_t workspace_bytes = 0;
};

template <class V>
vector describe(buffer const& values, std::int64_t size) {
  cusparseDnVecDescr_t made;
  CHECKED(cusparseCreateDnVec, &made, size, values.get(), value_type<V>);
  return {made, cusparseDestroyDnVec};
}

template <class V, class I>
prepared prepare(operands<V, I> const& o, stored a, cusparseSpMVAlg_t algorithm, bool preprocess) {
  prepared r;
  r.a = std::move(a);
  r.x_values = o.x;
  r.x = describe<V>(o.x, r.a.cols);
  r.y = describe<V>(o.y->values, r.a.rows);
  V const alpha = 1, beta = 0;
  CHECKED(cusparseSpMV_bufferSize, o.on.handle.get(), plain, &alpha, r.a.descriptor.get(),
          r.x.get(), &beta, r.y.get(), value_type<V>, algorithm, &r.workspace_bytes);
  r.workspace = allocate(r.workspace_bytes);
  if (preprocess)
    CHECKED(cusparseSpMV_preprocess, o.on.handle.get(), plain, &alpha, r.a.descriptor.get(),
            r.x.get(), &beta, r.y.get(), value_type<V>, algorithm, r.workspace.get());
  return r;
}

/// A contestant for what convert() makes of the CSR on the device.
template <class V, class I, class F>
contestant by_spmv(operands<V, I>& o, char const* format, std::string const& path,
                   cusparseSpMVAlg_t algorithm, bool preprocess, F convert) {
  contestant c = named(o.on, std::string(format) + (preprocess ? " preprocessed" : ""),
                       path + (preprocess ? ", preprocessed" : ""));
  prepared r;
  c.convert_seconds = seconds_of([&] {
    r = {};
    r = prepare(o, convert(), algorithm, preprocess);
  });
  c.bytes = r.a.bytes;
  c.peak_bytes = c.bytes + r.workspace_bytes;
  o.finish(c, [handle = o.on.handle, r, algorithm] {
    V const alpha = 1, beta = 0;
    CHECKED(cusparseSpMV, handle.get(), plain, &alpha, r.a.descriptor.get(), r.x.get(), &beta,
            r.y.get(), value_type<V>, algorithm, r.workspace.get());
  });
  return c;
}

/// Slices of `height` rows, stored column by column. The library has no conversion, so the host
/// does it.
template <class V, class I>
stored as_sell(csr_view<V, I, I> a, I height) {
  auto const slices = static_cast<std::size_t>((a.rows + height - 1) / height);
  array<I> start(slices + 1);
  start[0] = 0;
  for (std::size_t s = 0; s < slices; ++s) {
    I const first = static_cast<I>(s) * height;
    I longest = 0;
    for (I i = first; i < std::min<I>(first + height, a.rows); ++i)
      longest = std::max<I>(longest, a.row_ptr[i + 1] - a.row_ptr[i]);
    double const sum = static_cast<double>(start[s]) + static_cast<double>(longest) * height;
    if (sum > most_padding * static_cast<double>(a.nnz))
      fail(errc::unsupported, "cusparse: sliced ELL of more than %g times as many entries",
           most_padding);
    start[s + 1] = narrow<I>(static_cast<std::int64_t>(start[s]) + std::int64_t{longest} * height,
                             "stored entries");
  }
  auto const size = static_cast<std::size_t>(start[slices]);
  array<I> col(size);
  array<V> val(size);
#pragma omp parallel for schedule(static)
  for (std::size_t s = 0; s < slices; ++s) {
    I const first = static_cast<I>(s) * height;
    I const width = (start[s + 1] - start[s]) / height;
    for (I r = 0; r < height; ++r) {
      I const i = first + r;
      I const begin = i < a.rows ? a.row_ptr[i] : 0;
      I const length = i < a.rows ? a.row_ptr[i + 1] - begin : 0;
      for (I k = 0; k < width; ++k) {
        I const at = start[s] + k * height + r;
        col[static_cast<std::size_t>(at)] = k < length ? a.col[begin + k] : I(-1);
        val[static_cast<std::size_t>(at)] = k < length ? a.val[begin + k] : V(0);
      }
    }
  }
  stored made;
  made.arrays = {upload(start.data(), slices + 1), upload(col.data(), size),
                 upload(val.data(), size)};
  made.rows = a.rows;
  made.cols = a.cols;
  made.bytes = (slices + 1) * sizeof(I) + size * (sizeof(I) + sizeof(V));
  cusparseConstSpMatDescr_t descriptor;
  CHECKED(cusparseCreateConstSlicedEll, &descriptor, a.rows, a.cols, a.nnz,
          static_cast<std::int64_t>(size), height, made.arrays[0].get(), made.arrays[1].get(),
          made.arrays[2].get(), index_type<I>, index_type<I>, from_zero, value_type<V>);
  made.descriptor = {descriptor, cusparseDestroySpMat};
  return made;
}

/// Square blocks, each stored row by row.
struct blocks {
  stored matrix; ///< arrays: row_ptr, col, val
  int rows, cols, count;
};

std::shared_ptr<cusparseMatDescr> general_matrix() {
  cusparseMatDescr_t made;
  CHECKED(cusparseCreateMatDescr, &made);
  return {made, cusparseDestroyMatDescr};
}

template <class V>
blocks as_bsr(device const& on, device_csr<V, std::int32_t> const& a, int size) {
  blocks b;
  b.rows = (a.rows + size - 1) / size;
  b.cols = (a.cols + size - 1) / size;
  auto const general = general_matrix();
  auto const* const row_ptr = static_cast<int const*>(a.row_ptr.get());
  auto const* const col = static_cast<int const*>(a.col.get());
  auto const* const val = static_cast<V const*>(a.val.get());
  std::size_t const row_ptr_bytes = (static_cast<std::size_t>(b.rows) + 1) * sizeof(int);
  buffer const block_ptr = allocate(row_ptr_bytes);
  auto* const block_row = static_cast<int*>(block_ptr.get());
  CHECKED(cusparseXcsr2bsrNnz, on.handle.get(), CUSPARSE_DIRECTION_ROW, a.rows, a.cols,
          general.get(), row_ptr, col, size, general.get(), block_row, &b.count);
  auto const count = static_cast<std::size_t>(b.count);
  std::size_t const entries = count * static_cast<std::size_t>(size * size);
  if (static_cast<double>(entries) > most_fill * a.nnz)
    fail(errc::unsupported, "cusparse: blocks of more than %g times as many entries", most_fill);
  buffer const block_col = allocate(count * sizeof(int));
  buffer const block_val = allocate(entries * sizeof(V));
  if constexpr (std::is_same_v<V, float>)
    CHECKED(cusparseScsr2bsr, on.handle.get(), CUSPARSE_DIRECTION_ROW, a.rows, a.cols,
            general.get(), val, row_ptr, col, size, general.get(), static_cast<V*>(block_val.get()),
            block_row, static_cast<int*>(block_col.get()));
  else
    CHECKED(cusparseDcsr2bsr, on.handle.get(), CUSPARSE_DIRECTION_ROW, a.rows, a.cols,
            general.get(), val, row_ptr, col, size, general.get(), static_cast<V*>(block_val.get()),
            block_row, static_cast<int*>(block_col.get()));
  cusparseConstSpMatDescr_t made;
  CHECKED(cusparseCreateConstBsr, &made, b.rows, b.cols, b.count, size, size, block_ptr.get(),
          block_col.get(), block_val.get(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, from_zero,
          value_type<V>, CUSPARSE_ORDER_ROW);
  b.matrix = {{made, cusparseDestroySpMat},
              {block_ptr, block_col, block_val},
              row_ptr_bytes + count * sizeof(int) + entries * sizeof(V),
              std::int64_t{b.rows} * size,
              std::int64_t{b.cols} * size};
  return b;
}

template <class V>
contestant by_bsrmv(operands<V, std::int32_t>& o, int size) {
  std::string const n = std::to_string(size);
  contestant c = named(o.on, "bsrmv " + n, "BSR blocks of " + n + ", bsrmv");
  blocks b;
  c.convert_seconds = seconds_of([&] {
    b = {};
    b = as_bsr(o.on, o.a, size);
  });
  c.bytes = c.peak_bytes = b.matrix.bytes;
  o.finish(c, [handle = o.on.handle, general = general_matrix(), b, size, x = o.x, y = o.y] {
    auto const* const row_ptr = static_cast<int const*>(b.matrix.arrays[0].get());
    auto const* const col = static_cast<int const*>(b.matrix.arrays[1].get());
    auto const* const val = static_cast<V const*>(b.matrix.arrays[2].get());
    V const alpha = 1, beta = 0;
    auto const* const in = static_cast<V const*>(x.get());
    auto* const out = static_cast<V*>(y->values.get());
    if constexpr (std::is_same_v<V, float>)
      CHECKED(cusparseSbsrmv, handle.get(), CUSPARSE_DIRECTION_ROW, plain, b.rows, b.cols, b.count,
              &alpha, general.get(), val, row_ptr, col, size, in, &beta, out);
    else
      CHECKED(cusparseDbsrmv, handle.get(), CUSPARSE_DIRECTION_ROW, plain, b.rows, b.cols, b.count,
              &alpha, general.get(), val, row_ptr, col, size, in, &beta, out);
  });
  return c;
}

} // namespace

template <class V, class I>
std::vector<contestant> contestants(spmv_problem<V, I> const& p) {
  operands<V, I> o(p);
  std::vector<contestant> all;
  all.push_back(copy_bound(o.on, o.csr_bytes()));
  auto const csr = [&] { return as_csr(o.a); };
  auto const coo = [&] { return as_coo(o.on, o.a); };
  for (bool const preprocess : {false, true}) {
    attempt(all, [&] {
      return by_spmv(o, "csr alg1", "CSR alg 1", CUSPARSE_SPMV_CSR_ALG1, preprocess, csr);
    });
    attempt(all, [&] {
      return by_spmv(o, "csr alg2", "CSR alg 2", CUSPARSE_SPMV_CSR_ALG2, preprocess, csr);
    });
  }
  attempt(all,
          [&] { return by_spmv(o, "coo alg1", "COO alg 1", CUSPARSE_SPMV_COO_ALG1, false, coo); });
  attempt(all,
          [&] { return by_spmv(o, "coo alg2", "COO alg 2", CUSPARSE_SPMV_COO_ALG2, false, coo); });
  for (int const height : slice_sizes)
    attempt(all, [&] {
      std::string const n = std::to_string(height);
      return by_spmv(o, ("sell " + n).c_str(),
                     "sliced ELL of " + n + " rows, converted on the host", CUSPARSE_SPMV_SELL_ALG1,
                     false, [&] { return as_sell(p.a, I(height)); });
    });
  if constexpr (sizeof(I) == 4)
    for (int const size : block_sizes) {
      attempt(all, [&] {
        std::string const n = std::to_string(size);
        return by_spmv(o, ("bsr " + n).c_str(), "BSR blocks of " + n, CUSPARSE_SPMV_BSR_ALG1, false,
                       [&] { return as_bsr(o.on, o.a, size).matrix; });
      });
      attempt(all, [&] { return by_bsrmv(o, size); });
    }
  return all;
}
template std::vector<contestant> contestants(spmv_problem<float, std::int32_t> const&);
template std::vector<contestant> contestants(spmv_problem<double, std::int32_t> const&);
template std::vector<contestant> contestants(spmv_problem<float, std::int64_t> const&);
template std::vector<contestant> contestants(spmv_problem<double, std::int64_t> const&);

} // namespace tulle::bench
