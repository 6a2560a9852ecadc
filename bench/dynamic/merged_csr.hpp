// SPDX-License-Identifier: Apache-2.0

/// The strongest rival of a dynamic matrix: a csr into which each sorted batch is merged, by all
/// threads, from one set of arrays into another of the final size, so that no page is ever fresh.
/// A batch entry finds its place by binary search in its row; what lies between two of them is one
/// copy.
#pragma once
#include "tulle/op/detail/radix_sort.hpp"

#include "bench/problem.hpp"
#include "primitive/search.hpp"

namespace tulle::bench {

template <class V, class I>
class merged_csr {
public:
  /// `most` entries in the end.
  merged_csr(csr_view<V, I, I> a, std::size_t most, int threads)
      : rows_(a.rows), cols_(a.cols), threads_(threads), nnz_(static_cast<std::size_t>(a.nnz)) {
    for (store& s : both_) {
      s.row_ptr = array<I>(static_cast<std::size_t>(a.rows) + 1, I(0));
      s.col = array<I>(most, I(0));
      s.val = array<V>(most, V(0));
    }
    if (a.row_ptr)
      std::copy_n(a.row_ptr, static_cast<std::size_t>(a.rows) + 1, both_[0].row_ptr.data());
    std::copy_n(a.col, nnz_, both_[0].col.data());
    std::copy_n(a.val, nnz_, both_[0].val.data());
  }

  csr_view<V, I, I> view() const {
    return {unchecked,
            rows_,
            cols_,
            static_cast<I>(nnz_),
            both_[now_].row_ptr.data(),
            both_[now_].col.data(),
            both_[now_].val.data()};
  }

  /// Triplets of places that have no entry.
  void merge(I const* row, I const* col, V const* val, std::size_t n) {
    array<I> r(n), c(n);
    array<V> v(n);
    cpu const where{.threads = threads_};
    primitive::radix_sort(
        row, col, val, n, rows_, cols_,
        [&](std::size_t at, I i, I j, V const& x) {
          r[at] = i;
          c[at] = j;
          v[at] = x;
        },
        where);
    store const& from = both_[now_];
    store& to = both_[1 - now_];
    array<std::size_t> at(n); // the entry before which each one goes
    int const parts = tulle::parts_for(nnz_, threads_);
    tulle::parallel(parts, [&](int part) {
      for (std::size_t k = tulle::split(n, part, parts), end = tulle::split(n, part + 1, parts);
           k < end; ++k) {
        auto const first = static_cast<std::size_t>(from.row_ptr[r[k]]);
        auto const last = static_cast<std::size_t>(from.row_ptr[r[k] + 1]);
        at[k] = first + primitive::lower_bound(from.col.data() + first, last - first, c[k]);
      }
    });
    tulle::parallel(parts, [&](int part) {
      std::size_t p = tulle::split(nnz_, part, parts);
      std::size_t const end = tulle::split(nnz_, part + 1, parts);
      std::size_t k = part == 0 ? 0 : primitive::lower_bound(at.data(), n, p);
      auto const copy = [&](std::size_t stop) {
        std::copy_n(from.col.data() + p, stop - p, to.col.data() + p + k);
        std::copy_n(from.val.data() + p, stop - p, to.val.data() + p + k);
        p = stop;
      };
      for (; k < n && (at[k] < end || part + 1 == parts); ++k) {
        copy(at[k]);
        to.col[p + k] = c[k];
        to.val[p + k] = v[k];
      }
      copy(end);
      auto const rows = static_cast<std::size_t>(rows_);
      std::size_t i = tulle::split(rows, part, parts);
      std::size_t const stop = tulle::split(rows, part + 1, parts);
      std::size_t before = primitive::lower_bound(r.data(), n, static_cast<I>(i));
      for (; i < stop; ++i) {
        for (; before < n && static_cast<std::size_t>(r[before]) < i; ++before) {
        }
        to.row_ptr[i] = static_cast<I>(from.row_ptr[i] + static_cast<I>(before));
      }
    });
    nnz_ += n;
    to.row_ptr[static_cast<std::size_t>(rows_)] = static_cast<I>(nnz_);
    now_ = 1 - now_;
  }

private:
  struct store {
    array<I> row_ptr, col;
    array<V> val;
  };
  I rows_, cols_;
  int threads_;
  std::size_t nnz_;
  store both_[2];
  int now_ = 0;
};

} // namespace tulle::bench
