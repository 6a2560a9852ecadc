// SPDX-License-Identifier: Apache-2.0

// Calls the driver through the runtime, so that the module does not link with it.
#include "cuda/dynamic/range.cuh"
#include "cuda/instantiate.cuh"

#include <algorithm>
#include <cuda.h>

namespace tulle::kernels::cuda {
namespace {

/// Names and codes of errors are those of the runtime.
void check_driver(CUresult result, char const* call) {
  check(static_cast<cudaError_t>(result), call);
}
template <class F>
void find(char const* name, F& function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSuccess;
  TULLE_CUDA(cudaGetDriverEntryPointByVersion, name, &found, 12000, cudaEnableDefault, &status);
  if (!found || status != cudaDriverEntryPointSuccess)
    refuse("device_dynamic_csr", "the driver has no virtual memory to map");
  function = reinterpret_cast<F>(found);
}

struct driver {
  decltype(&cuMemAddressReserve) reserve;
  decltype(&cuMemAddressFree) free_addresses;
  decltype(&cuMemCreate) create;
  decltype(&cuMemRelease) release;
  decltype(&cuMemMap) map;
  decltype(&cuMemUnmap) unmap;
  decltype(&cuMemSetAccess) set_access;
  decltype(&cuMemGetAllocationGranularity) granularity;
  decltype(&cuDeviceGetAttribute) attribute;

  driver() {
    find("cuMemAddressReserve", reserve);
    find("cuMemAddressFree", free_addresses);
    find("cuMemCreate", create);
    find("cuMemRelease", release);
    find("cuMemMap", map);
    find("cuMemUnmap", unmap);
    find("cuMemSetAccess", set_access);
    find("cuMemGetAllocationGranularity", granularity);
    find("cuDeviceGetAttribute", attribute);
  }
};
driver const& calls() {
  static driver const all;
  return all;
}

CUmemAllocationProp on(int device) {
  CUmemAllocationProp p = {};
  p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  p.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  return p;
}

} // namespace

growing_range::growing_range(int device, void* stream, std::size_t most)
    : device_(device), stream_(static_cast<cudaStream_t>(stream)) {
  if (device_ < 0)
    TULLE_CUDA(cudaGetDevice, &device_);
  int is_able = 0;
  check_driver(
      calls().attribute(&is_able, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device_),
      "cuDeviceGetAttribute");
  if (!is_able)
    refuse("device_dynamic_csr", "the device has no virtual memory to map");
  CUmemAllocationProp const where = on(device_);
  check_driver(calls().granularity(&granularity_, &where, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
               "cuMemGetAllocationGranularity");
  // Limited to the device's memory.
  std::size_t free_bytes = 0, all = 0;
  TULLE_CUDA(cudaMemGetInfo, &free_bytes, &all);
  reserved_ = ceil_div(std::max<std::size_t>(1, std::min(most, all)), granularity_) * granularity_;
  CUdeviceptr at = 0;
  check_driver(calls().reserve(&at, reserved_, 0, 0, 0), "cuMemAddressReserve");
  begin_ = at;
}

growing_range::~growing_range() {
  cudaStreamSynchronize(stream_); // somebody may still read it
  std::size_t at = 0;
  for (piece const& p : pieces_) {
    calls().unmap(begin_ + at, p.bytes);
    calls().release(p.handle);
    at += p.bytes;
  }
  calls().free_addresses(begin_, reserved_);
}

void growing_range::grow(std::size_t bytes) {
  if (bytes <= mapped_)
    return;
  if (bytes > reserved_)
    throw failure{worded(outcome::no_memory, "device_dynamic_csr", "more than the device has")};
  piece next{0, std::min(ceil_div(bytes, granularity_) * granularity_, reserved_) - mapped_};
  pieces_.reserve(pieces_.size() + 1);
  CUmemAllocationProp const where = on(device_);
  CUmemGenericAllocationHandle handle = 0;
  check_driver(calls().create(&handle, next.bytes, &where, 0), "cuMemCreate");
  next.handle = handle;
  CUdeviceptr const at = begin_ + mapped_;
  CUresult result = calls().map(at, next.bytes, 0, handle, 0);
  if (result != CUDA_SUCCESS) {
    calls().release(handle);
    check_driver(result, "cuMemMap");
  }
  CUmemAccessDesc const access = {{CU_MEM_LOCATION_TYPE_DEVICE, device_},
                                  CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  result = calls().set_access(at, next.bytes, &access, 1);
  if (result != CUDA_SUCCESS) {
    calls().unmap(at, next.bytes);
    calls().release(handle);
    check_driver(result, "cuMemSetAccess");
  }
  pieces_.push_back(next);
  mapped_ += next.bytes;
}

} // namespace tulle::kernels::cuda
