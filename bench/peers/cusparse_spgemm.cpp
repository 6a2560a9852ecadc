// SPDX-License-Identifier: Apache-2.0

// cusparseSpGEMM, whole products from nothing, and cusparseSpGEMMreuse, values on a known pattern.
//
// A whole product allocates all it needs and frees its workspace; the result of the call before is
// freed first, as in a user's loop. Memory comes from cudaMalloc, or from a pool that keeps what is
// freed: the second is what a careful user does, the first what everyone else does, and on small
// products allocation is most of the time.
#include "bench/peers/cusparse.hpp"

#include <cstdint>

namespace tulle::bench {
namespace {

using namespace cuda;

constexpr float chunk_fraction = .2F; // of the products that alg 3 holds at a time

/// Where a product takes memory from.
struct source {
  memory_pool pool; // nullptr: cudaMalloc
  std::shared_ptr<meter> workspace = std::make_shared<meter>();

  buffer scratch(std::size_t bytes) const { return allocate(bytes, pool, workspace); }
  buffer result(std::size_t bytes) const { return allocate(bytes, pool); }
};

memory_pool keeping_pool() {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  CHECKED(cudaGetDevice, &properties.location.id);
  cudaMemPool_t made;
  CHECKED(cudaMemPoolCreate, &made, &properties);
  memory_pool const pool(made, cudaMemPoolDestroy);
  std::uint64_t everything = UINT64_MAX;
  CHECKED(cudaMemPoolSetAttribute, made, cudaMemPoolAttrReleaseThreshold, &everything);
  return pool;
}

/// C, as it grows: row pointers first, then what the library has counted.
template <class V, class I>
class product {
public:
  product() = default;
  product(source const& from, I rows, I cols) : rows_(rows), cols_(cols) {
    row_ptr_ = from.result((static_cast<std::size_t>(rows) + 1) * sizeof(I));
    cusparseSpMatDescr_t made;
    CHECKED(cusparseCreateCsr, &made, rows, cols, 0, row_ptr_.get(), nullptr, nullptr,
            index_type<I>, index_type<I>, from_zero, value_type<V>);
    descriptor_ = {made, cusparseDestroySpMat};
  }

  cusparseSpMatDescr_t descriptor() const { return descriptor_.get(); }
  void make_room(source const& from) {
    std::int64_t rows, cols, nnz;
    CHECKED(cusparseSpMatGetSize, descriptor_.get(), &rows, &cols, &nnz);
    nnz_ = static_cast<std::size_t>(nnz);
    col_ = from.result(nnz_ * sizeof(I));
    val_ = from.result(nnz_ * sizeof(V));
    CHECKED(cusparseCsrSetPointers, descriptor_.get(), row_ptr_.get(), col_.get(), val_.get());
  }
  void poison() { CHECKED(cudaMemset, val_.get(), 0xff, nnz_ * sizeof(V)); }
  csr<V, I, I> on_host() const {
    csr<V, I, I> c(unchecked, rows_, cols_, array<I>(static_cast<std::size_t>(rows_) + 1),
                   array<I>(nnz_), array<V>(nnz_));
    download(row_ptr_, c.row_ptr.size(), c.row_ptr.data());
    download(col_, nnz_, c.col.data());
    download(val_, nnz_, c.val.data());
    return c;
  }

private:
  I rows_ = 0, cols_ = 0;
  std::size_t nnz_ = 0;
  buffer row_ptr_, col_, val_;
  std::shared_ptr<cusparseSpMatDescr> descriptor_;
};

template <class V, class I>
struct operands {
  device on;
  device_csr<V, I> a, b;
  matrix a_descriptor, b_descriptor;

  explicit operands(spgemm_problem<V, I> const& p)
      : on(open_device()), a(p.a), b(p.b), a_descriptor(a.describe()), b_descriptor(b.describe()) {}
};
template <class V, class I>
using shared_operands = std::shared_ptr<operands<V, I> const>;

std::shared_ptr<cusparseSpGEMMDescr> new_state() {
  cusparseSpGEMMDescr_t made;
  CHECKED(cusparseSpGEMM_createDescr, &made);
  return {made, cusparseSpGEMM_destroyDescr};
}

/// C = A B. Each stage is called twice: for the size of its workspace, then with it.
template <class V, class I>
product<V, I> multiply(operands<V, I> const& o, source const& from, cusparseSpGEMMAlg_t algorithm) {
  V const alpha = 1, beta = 0;
  cusparseHandle_t const handle = o.on.handle.get();
  auto const a = o.a_descriptor.get(), b = o.b_descriptor.get();
  product<V, I> result(from, o.a.rows, o.b.cols);
  cusparseSpMatDescr_t const c = result.descriptor();
  auto const state = new_state();

  std::size_t size = 0;
  CHECKED(cusparseSpGEMM_workEstimation, handle, plain, plain, &alpha, a, b, &beta, c,
          value_type<V>, algorithm, state.get(), &size, nullptr);
  buffer const estimate = from.scratch(size);
  CHECKED(cusparseSpGEMM_workEstimation, handle, plain, plain, &alpha, a, b, &beta, c,
          value_type<V>, algorithm, state.get(), &size, estimate.get());

  if (algorithm == CUSPARSE_SPGEMM_ALG2 || algorithm == CUSPARSE_SPGEMM_ALG3) {
    std::size_t estimator_size = 0;
    CHECKED(cusparseSpGEMM_estimateMemory, handle, plain, plain, &alpha, a, b, &beta, c,
            value_type<V>, algorithm, state.get(), chunk_fraction, &estimator_size, nullptr,
            nullptr);
    buffer const estimator = from.scratch(estimator_size);
    CHECKED(cusparseSpGEMM_estimateMemory, handle, plain, plain, &alpha, a, b, &beta, c,
            value_type<V>, algorithm, state.get(), chunk_fraction, &estimator_size, estimator.get(),
            &size);
  } else {
    CHECKED(cusparseSpGEMM_compute, handle, plain, plain, &alpha, a, b, &beta, c, value_type<V>,
            algorithm, state.get(), &size, nullptr);
  }
  buffer const workspace = from.scratch(size);
  CHECKED(cusparseSpGEMM_compute, handle, plain, plain, &alpha, a, b, &beta, c, value_type<V>,
          algorithm, state.get(), &size, workspace.get());
  result.make_room(from);
  CHECKED(cusparseSpGEMM_copy, handle, plain, plain, &alpha, a, b, &beta, c, value_type<V>,
          algorithm, state.get());
  return result;
}

/// The product that ran last, whoever it was: several large ones would not fit.
template <class V, class I>
struct shared_product {
  product<V, I> c;
  int whose = -1;
};

template <class V, class I>
contestant whole(shared_operands<V, I> const& o, std::shared_ptr<shared_product<V, I>> const& place,
                 int me, char const* name, cusparseSpGEMMAlg_t algorithm, memory_pool const& pool) {
  char const* const memory = pool ? "pool" : "cudaMalloc";
  contestant c = named(o->on, std::string(name) + ' ' + memory,
                       std::string("SpGEMM ") + name + ", memory from " +
                           (pool ? "a pool that keeps it" : "cudaMalloc"));
  source const from{pool};
  c.bytes = o->a.bytes() + o->b.bytes();
  c.run = [o, place, me, algorithm, from] {
    *place = {};
    place->c = multiply(*o, from, algorithm);
    place->whose = me;
  };
  c.result = [place, me](void* to) {
    if (place->whose != me)
      fail(errc::backend, "cusparse: the result is that of another run");
    *static_cast<csr<V, I, I>*>(to) = place->c.on_host();
  };
  c.poison = [place] { *place = {}; };
  c.run();
  CHECKED(cudaDeviceSynchronize);
  *place = {};
  c.peak_bytes = from.workspace->peak;
  return c;
}

/// What values on a known pattern need: C, and two buffers that stay.
template <class V, class I>
struct pattern {
  product<V, I> c;
  std::shared_ptr<cusparseSpGEMMDescr> state;
  buffer kept[2];
};

template <class V, class I>
pattern<V, I> find_pattern(operands<V, I> const& o, source const& from) {
  cusparseHandle_t const handle = o.on.handle.get();
  auto const a = o.a_descriptor.get(), b = o.b_descriptor.get();
  constexpr auto algorithm = CUSPARSE_SPGEMM_DEFAULT;
  pattern<V, I> p{product<V, I>(from, o.a.rows, o.b.cols), new_state(), {}};
  cusparseSpMatDescr_t const c = p.c.descriptor();
  cusparseSpGEMMDescr_t const state = p.state.get();

  std::size_t size = 0;
  CHECKED(cusparseSpGEMMreuse_workEstimation, handle, plain, plain, a, b, c, algorithm, state,
          &size, nullptr);
  buffer estimate = from.scratch(size);
  CHECKED(cusparseSpGEMMreuse_workEstimation, handle, plain, plain, a, b, c, algorithm, state,
          &size, estimate.get());
  std::size_t sizes[3] = {};
  CHECKED(cusparseSpGEMMreuse_nnz, handle, plain, plain, a, b, c, algorithm, state, &sizes[0],
          nullptr, &sizes[1], nullptr, &sizes[2], nullptr);
  buffer counting = from.scratch(sizes[0]);
  buffer copying = from.scratch(sizes[1]);
  p.kept[0] = from.scratch(sizes[2]);
  CHECKED(cusparseSpGEMMreuse_nnz, handle, plain, plain, a, b, c, algorithm, state, &sizes[0],
          counting.get(), &sizes[1], copying.get(), &sizes[2], p.kept[0].get());
  estimate = counting = nullptr;
  p.c.make_room(from);
  CHECKED(cusparseSpGEMMreuse_copy, handle, plain, plain, a, b, c, algorithm, state, &size,
          nullptr);
  p.kept[1] = from.scratch(size);
  CHECKED(cusparseSpGEMMreuse_copy, handle, plain, plain, a, b, c, algorithm, state, &size,
          p.kept[1].get());
  return p;
}

template <class V, class I>
contestant reused(shared_operands<V, I> const& o) {
  contestant c = named(o->on, "reuse", "SpGEMMreuse, values on a pattern that is known");
  source const from{nullptr};
  auto const known = std::make_shared<pattern<V, I>>();
  c.convert_seconds = seconds_of([&] {
    *known = {};
    *known = find_pattern(*o, from);
  });
  c.bytes = o->a.bytes() + o->b.bytes();
  c.peak_bytes = from.workspace->peak;
  c.run = [o, known] {
    V const alpha = 1, beta = 0;
    CHECKED(cusparseSpGEMMreuse_compute, o->on.handle.get(), plain, plain, &alpha,
            o->a_descriptor.get(), o->b_descriptor.get(), &beta, known->c.descriptor(),
            value_type<V>, CUSPARSE_SPGEMM_DEFAULT, known->state.get());
  };
  c.result = [known](void* to) { *static_cast<csr<V, I, I>*>(to) = known->c.on_host(); };
  c.poison = [known] { known->c.poison(); };
  return c;
}

} // namespace

template <class V, class I>
std::vector<contestant> contestants(spgemm_problem<V, I> const& p) {
  auto const o = std::make_shared<operands<V, I> const>(p);
  auto const place = std::make_shared<shared_product<V, I>>();
  memory_pool const pool = keeping_pool();
  std::vector<contestant> all;
  int me = 0;
  auto const offer = [&](char const* name, cusparseSpGEMMAlg_t algorithm) {
    for (memory_pool const& memory : {pool, memory_pool()})
      attempt(all, [&] { return whole(o, place, me++, name, algorithm, memory); });
  };
  offer("default", CUSPARSE_SPGEMM_DEFAULT);
  offer("alg1", CUSPARSE_SPGEMM_ALG1);
  offer("alg2", CUSPARSE_SPGEMM_ALG2);
  offer("alg3", CUSPARSE_SPGEMM_ALG3);
  if constexpr (sizeof(I) == 4) // all that it takes
    attempt(all, [&] { return reused(o); });
  return all;
}
template std::vector<contestant> contestants(spgemm_problem<float, std::int32_t> const&);
template std::vector<contestant> contestants(spgemm_problem<double, std::int32_t> const&);
template std::vector<contestant> contestants(spgemm_problem<float, std::int64_t> const&);
template std::vector<contestant> contestants(spgemm_problem<double, std::int64_t> const&);

} // namespace tulle::bench
