// SPDX-License-Identifier: Apache-2.0

// NVIDIA's library. Contestants are all variants that a careful user would try: algorithms, storage
// formats, layouts, with and without preprocessing. The files beside this one hold an operation
// each.
#include "bench/peers/cusparse.hpp"

#include <algorithm>

namespace tulle::bench::cuda {
namespace {

class event_watch : public stopwatch {
public:
  event_watch() {
    int l2 = 0;
    CHECKED(cudaDeviceGetAttribute, &l2, cudaDevAttrL2CacheSize, 0);
    scratch_bytes_ = std::max(std::size_t{512} << 20, 4 * static_cast<std::size_t>(l2));
    CHECKED(cudaEventCreate, &begin_);
    CHECKED(cudaEventCreate, &end_);
  }
  ~event_watch() override {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  event_watch(event_watch const&) = delete;
  event_watch& operator=(event_watch const&) = delete;

  void start() override { CHECKED(cudaEventRecord, begin_, nullptr); }
  double stop() override {
    CHECKED(cudaEventRecord, end_, nullptr);
    CHECKED(cudaEventSynchronize, end_);
    float milliseconds = 0;
    CHECKED(cudaEventElapsedTime, &milliseconds, begin_, end_);
    return 1e-3 * static_cast<double>(milliseconds);
  }
  // Not waited for: while it runs, the call to be timed is launched, and launching takes no part.
  void flush() override {
    if (!scratch_)
      scratch_ = allocate(scratch_bytes_);
    CHECKED(cudaMemsetAsync, scratch_.get(), 0, scratch_bytes_, nullptr);
  }

private:
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  std::size_t scratch_bytes_;
  buffer scratch_;
};

std::string version() {
  int part[3] = {};
  CHECKED(cusparseGetProperty, MAJOR_VERSION, &part[0]);
  CHECKED(cusparseGetProperty, MINOR_VERSION, &part[1]);
  CHECKED(cusparseGetProperty, PATCH_LEVEL, &part[2]);
  return std::to_string(part[0]) + '.' + std::to_string(part[1]) + '.' + std::to_string(part[2]);
}

} // namespace

buffer allocate(std::size_t bytes, memory_pool const& pool, std::shared_ptr<meter> const& counted) {
  void* p = nullptr;
  std::size_t const some = std::max(bytes, std::size_t{16}); // the library takes no null pointers
  if (pool)
    CHECKED(cudaMallocFromPoolAsync, &p, some, pool.get(), nullptr);
  else
    CHECKED(cudaMalloc, &p, some);
  if (counted) {
    counted->now += bytes;
    counted->peak = std::max(counted->peak, counted->now);
  }
  return {p, [bytes, pool, counted](void* q) {
            if (counted)
              counted->now -= bytes;
            if (pool)
              cudaFreeAsync(q, nullptr);
            else
              cudaFree(q);
          }};
}

device open_device() {
  int count = 0;
  CHECKED(cudaGetDeviceCount, &count);
  CHECKED(cudaDeviceSynchronize); // cusparseCreate prints where the device is lost; this does not
  device d;
  cusparseHandle_t handle = nullptr;
  CHECKED(cusparseCreate, &handle);
  d.handle = {handle, cusparseDestroy};
  d.watch = std::make_shared<event_watch>();
  d.library = "cuSPARSE " + version();
  return d;
}

template <class V, class I>
stored as_coo(device const& on, device_csr<V, I> const& a) {
  auto const nnz = static_cast<std::size_t>(a.nnz);
  buffer row;
  if constexpr (sizeof(I) == 4) {
    row = allocate(nnz * sizeof(I));
    CHECKED(cusparseXcsr2coo, on.handle.get(), static_cast<I const*>(a.row_ptr.get()), a.nnz,
            a.rows, static_cast<I*>(row.get()), from_zero);
  } else {
    std::vector<I> row_ptr(static_cast<std::size_t>(a.rows) + 1);
    download(a.row_ptr, row_ptr.size(), row_ptr.data());
    std::vector<I> rows(nnz);
#pragma omp parallel for schedule(static)
    for (I i = 0; i < a.rows; ++i)
      std::fill(rows.begin() + row_ptr[i], rows.begin() + row_ptr[i + 1], i);
    row = upload(rows.data(), nnz);
  }
  cusparseConstSpMatDescr_t made;
  CHECKED(cusparseCreateConstCoo, &made, a.rows, a.cols, a.nnz, row.get(), a.col.get(), a.val.get(),
          index_type<I>, from_zero, value_type<V>);
  return {{made, cusparseDestroySpMat},
          {row, a.col, a.val},
          nnz * (sizeof(V) + 2 * sizeof(I)),
          a.rows,
          a.cols};
}
template stored as_coo(device const&, device_csr<float, std::int32_t> const&);
template stored as_coo(device const&, device_csr<double, std::int32_t> const&);
template stored as_coo(device const&, device_csr<float, std::int64_t> const&);
template stored as_coo(device const&, device_csr<double, std::int64_t> const&);

contestant named(device const& on, std::string format, std::string const& path) {
  contestant c;
  c.peer = "cusparse";
  c.backend = "cuda";
  c.format = std::move(format);
  c.path = on.library + ", " + path;
  c.watch = on.watch;
  return c;
}

contestant copy_bound(device const& on, std::size_t bytes) {
  contestant c = named(on, "copy", "device-to-device copy");
  std::size_t const half = bytes / 2;
  buffer const from = allocate(half);
  buffer const to = allocate(half);
  CHECKED(cudaMemset, from.get(), 1, half);
  c.bytes = c.peak_bytes = bytes;
  c.is_bound = true;
  c.run = [from, to, half] {
    CHECKED(cudaMemcpyAsync, to.get(), from.get(), half, cudaMemcpyDeviceToDevice, nullptr);
  };
  return c;
}

} // namespace tulle::bench::cuda

TULLE_PEER_FOR("cuda")
