// SPDX-License-Identifier: Apache-2.0

// A += B C: the rows of spgemm, computed in their final place. King et al., sec. 3.2: no csr of the
// product in between, kernels by the length of rows, and rows in any order. After spgemm has
// counted them, the product is
//   planned: what can fail comes here, room in the pool for all of them, tables, a defragmentation;
//   computed: by spgemm's kernels, in the pool after all that is used, where nobody looks;
//   made: what the row has room for is copied there, the rest is its next segment as it lies.
// A matrix without entries has the product for its first segments.
//
// Unlike the paper, rows are counted first and places are assigned in their order, not when blocks
// request them: the places of a row are known before it is computed, and nothing is shuffled.
#include "cuda/dynamic/batch.cuh"
#include "cuda/spgemm/product.hpp"

#include <algorithm>
#include <vector>

namespace tulle::kernels::cuda {
namespace {

/// Whether all rows of the product have room for their segments; of rows with many entries.
template <class V, class I>
void plan_rows(matrix<V, I> const& m, I const* row_ptr, findings* f) {
  auto const a = m.view();
  auto const g = growth_of(m);
  TULLE_CUDA(cudaMemsetAsync, f, 0, sizeof(findings), m.stream());
  each(static_cast<std::size_t>(m.rows), m.o.queue, [=] __device__(std::size_t i) {
    if (I const fresh = row_ptr[i + 1] - row_ptr[i]; fresh != 0)
      plan_row(a, g, static_cast<I>(i), a.now(i), static_cast<std::size_t>(fresh), f);
  });
}

/// Adds the products of row i, for so many of which the row has room.
template <class V, class I>
struct fresh_row {
  I i, fresh, from, fits;
  run<I> r;

  __device__ fresh_row(fragments<V, I> const& a, I const* row_ptr, I begin, I i)
      : i(i), fresh(row_ptr[i + 1] - row_ptr[i]), from(begin + row_ptr[i]) {
    row_now<I> const now = a.now(i);
    r = room_of(a, i, now, static_cast<std::size_t>(now.length) + fresh);
    fits = min(r.places - r.length, fresh);
    r.begin = from + fits;
  }
  __device__ void copy(fragments<V, I> const& a, I first, I step) const {
    for (I k = first; k < fits; k += step) {
      I const to = target(a, i, r, r.length + k);
      a.col[to] = a.col[from + k];
      a.val[to] = a.val[from + k];
    }
  }
};

/// Gives rows their products, which are stored one after the other from `begin` on. A warp has one
/// row, or 32 rows if they get few products: then one thread each, or all lanes for a row that has
/// room for many. H200, double, A A into what has A A, ms with one and with 32: poisson2d5 2048
/// 3.1, 2.0; fem 30000 1.03, 1.15; rmat 15 x 8 1.9, 2.7.
template <class V, class I>
void make_rows(matrix<V, I> const& m, I const* row_ptr, I begin, std::size_t n, findings* f) {
  auto const rows = static_cast<std::size_t>(m.rows);
  int const each_has = n / 32 < rows ? 32 : 1;
  I const few = each_has == 1 ? 0 : 8; // others have not been measured
  auto const a = m.view();
  each_warp(ceil_div(rows, static_cast<std::size_t>(each_has)), m.o.queue,
            [=] __device__(std::size_t warp, int lane) {
              auto const i = static_cast<I>(warp * each_has) + lane;
              bool const is_row = lane < each_has && i < a.rows && row_ptr[i + 1] != row_ptr[i];
              fresh_row<V, I> const mine(a, row_ptr, begin, is_row ? i : I(0));
              bool const is_few = !is_row || mine.fits <= few;
              if (is_few && is_row)
                mine.copy(a, 0, 1);
              for (unsigned others = __ballot_sync(whole_warp, !is_few); others != 0;
                   others &= others - 1) {
                I const row = __shfl_sync(whole_warp, i, __ffs(static_cast<int>(others)) - 1);
                fresh_row<V, I>(a, row_ptr, begin, row).copy(a, lane, 32);
              }
              __syncwarp();
              if (is_row)
                settle(a, i, a.in_first(i), mine.r, mine.fresh - mine.fits,
                       mine.r.length + mine.fresh, f);
            });
}

template <class V, class I>
class product {
public:
  product(matrix<V, I>& m, spgemm_method method) : m_(m) {
    p_.device = m.o.device;
    p_.stream = m.o.queue;
    p_.method = method;
    p_.workspace_limit = m.o.workspace_limit;
  }

  /// Computes B C, in the pool or as a separate csr.
  void compute(typed_product const& spgemm, device_csr<V, I, I> const& b,
               device_csr<V, I, I> const& c, bool in_pool) {
    if (in_pool)
      p_.places = {
          this, [](void* self, void const* row_ptr, std::size_t n, void*& col, void*& val) {
            static_cast<product*>(self)->make_room(static_cast<I const*>(row_ptr), n, col, val);
          }};
    result_memory const memory{m_.o.device, m_.o.queue, m_.o.workspace_limit, this, take, give_all};
    outcome const s = spgemm.multiply(&b, &c, memory, memory, p_, &made_);
    if (s.code != outcome::fine)
      throw failure{s};
  }
  device_csr<V, I, I> const& made() const { return made_; }

  /// Adds the computed products in the pool to the rows. Only the device can fail here.
  void settle_rows() {
    auto const n = static_cast<std::size_t>(made_.nnz);
    if (n == 0)
      return;
    m_.since_batch = 0;
    if (m_.entries == 0) {
      m_.longest = 0;
      take_pointers(m_, made_.row_ptr);
      return is_compact_now(m_, n);
    }
    make_rows(m_, made_.row_ptr, static_cast<I>(m_.used), n, found_.as<findings>());
    m_.used += n;
    m_.entries += n;
    m_.levels = std::max(m_.levels, planned_.levels);
    m_.longest = std::max<std::size_t>(m_.longest, planned_.longest);
    m_.many += planned_.many;
    m_.crowded = m_.crowded || planned_.crowded != 0;
    m_.compact = false;
    m_.stale = true;
  }

private:
  /// Places for n products, the first of them after all that is used.
  void make_room(I const* row_ptr, std::size_t n, void*& col, void*& val) {
    bool const is_first = m_.entries == 0;
    if (is_first) {
      auto const slack = spare_for(m_, n, m_.most_places());
      grow_to(static_cast<std::size_t>(slack.at(m_.rows, static_cast<I>(n))));
    } else {
      while (!has_room(row_ptr, n)) {
      }
    }
    std::size_t const begin = is_first ? 0 : m_.used;
    col = m_.col.template as<I>() + begin;
    val = m_.val.template as<V>() + begin;
  }
  /// Whether there is room; makes some if possible, after which it is checked again.
  bool has_room(I const* row_ptr, std::size_t n) {
    if (m_.used + n > m_.most_places() && m_.used > m_.entries)
      give_up_slack(m_);
    grow_to(m_.used + n);
    make_lists(m_, n);
    if (found_.bytes() == 0)
      found_ = m_.take(1, sizeof(findings));
    plan_rows(m_, row_ptr, found_.as<findings>());
    planned_ = fetch(found_.as<findings>(), 1, m_.o.queue)[0];
    if (planned_.full != 0) {
      defragment(m_, false, m_.o.combine_at_defragmenting);
      return false;
    }
    add_tables(m_, planned_.levels);
    return true;
  }
  void grow_to(std::size_t places) {
    if (pool_arrays old = grow(m_, places); old.col.bytes() != 0)
      replaced_.push_back(std::move(old));
  }

  static void* take(void* self, std::size_t bytes) noexcept {
    auto& p = *static_cast<product*>(self);
    try {
      return p.taken_.emplace_back(p.m_.take(bytes, 1)).template as<void>();
    } catch (...) {
      return nullptr;
    }
  }
  static void give_all(void* self) noexcept { static_cast<product*>(self)->taken_.clear(); }

  matrix<V, I>& m_;
  product_state p_;
  device_csr<V, I, I> made_;
  owned found_; // batches use theirs in turns
  findings planned_{};
  std::vector<owned> taken_;
  std::vector<pool_arrays> replaced_; // the operands may be stored in them
};

} // namespace

template <class V, class I>
void add_product(matrix<V, I>& m, typed_product const& spgemm, device_csr<V, I, I> const& b,
                 device_csr<V, I, I> const& c, spgemm_method method) {
  product<V, I> p(m, method);
  p.compute(spgemm, b, c, !m.o.combine);
  if (m.o.combine && p.made().nnz != 0)
    merge(m, p.made());
  else
    p.settle_rows();
}

#define TULLE_ADD_PRODUCT(tag, V, I, O)                                                            \
  template void add_product(matrix<V, I>&, typed_product const&, device_csr<V, I, I> const&,       \
                            device_csr<V, I, I> const&, spgemm_method);
TULLE_TYPES(TULLE_ADD_PRODUCT)

} // namespace tulle::kernels::cuda
