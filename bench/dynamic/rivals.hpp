// SPDX-License-Identifier: Apache-2.0

/// What people take for a matrix that grows where they have no dynamic one: a hash table a row, and
/// hyb with its free places (King et al., sec. 4.1). Of a batch each thread takes the rows that are
/// its own, by their remainder.
#pragma once
#include "tulle/core/parallel.hpp"
#include "tulle/format/hyb.hpp"

#include "bench/problem.hpp"

#include <unordered_map>
#include <vector>

namespace tulle::bench {

template <class V, class I>
class hashed_rows {
public:
  hashed_rows(csr_view<V, I, I> a, int threads)
      : threads_(threads), rows_(static_cast<std::size_t>(a.rows)) {
    for (std::size_t i = 0; i < rows_.size(); ++i)
      for (I k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
        rows_[i][a.col[k]] += a.val[k];
  }
  void insert(I const* row, I const* col, V const* val, std::size_t n) {
    tulle::parallel(threads_, [&](int part) {
      for (std::size_t k = 0; k < n; ++k)
        if (row[k] % threads_ == part)
          rows_[static_cast<std::size_t>(row[k])][col[k]] += val[k];
    });
  }
  void multiply(V const* x, V* y) const {
    tulle::parallel(threads_, [&](int part) {
      std::size_t const end = tulle::split(rows_.size(), part + 1, threads_);
      for (std::size_t i = tulle::split(rows_.size(), part, threads_); i < end; ++i) {
        V sum = 0;
        for (auto const& [j, v] : rows_[i])
          sum += v * x[j];
        y[i] = sum;
      }
    });
  }

private:
  int threads_;
  std::vector<std::unordered_map<I, V>> rows_;
};

/// An entry goes to the next free place of its row in ell, of hyb's width, else behind the coo of
/// its thread. Ell lies row by row, as suits a CPU.
template <class V, class I>
class grown_hyb {
public:
  grown_hyb(csr_view<V, I, I> a, int threads) : grown_hyb(a, threads, width_of(a, threads)) {}
  /// Of a width that suits what it will be.
  grown_hyb(csr_view<V, I, I> a, int threads, std::size_t width)
      : threads_(threads), rows_(static_cast<std::size_t>(a.rows)), width_(width),
        length_(rows_, I(0)), col_(rows_ * width_, I(0)), val_(rows_ * width_, V(0)),
        rest_(static_cast<std::size_t>(threads)) {
    for (std::size_t i = 0; i < rows_; ++i)
      for (I k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
        insert(static_cast<I>(i), a.col[k], a.val[k]);
  }
  static std::size_t width_of(csr_view<V, I, I> a, int threads) {
    return static_cast<std::size_t>(hyb<V, I, I>::from_csr(a, {}, {.threads = threads}).width);
  }
  void insert(I const* row, I const* col, V const* val, std::size_t n) {
    tulle::parallel(threads_, [&](int part) {
      for (std::size_t k = 0; k < n; ++k)
        if (row[k] % threads_ == part)
          insert(row[k], col[k], val[k]);
    });
  }
  void multiply(V const* x, V* y) const {
    tulle::parallel(threads_, [&](int part) {
      std::size_t const end = tulle::split(rows_, part + 1, threads_);
      for (std::size_t i = tulle::split(rows_, part, threads_); i < end; ++i) {
        V sum = 0;
        for (std::size_t k = i * width_, last = k + static_cast<std::size_t>(length_[i]); k < last;
             ++k)
          sum += val_[k] * x[col_[k]];
        y[i] = sum;
      }
    });
    tulle::parallel(threads_, [&](int part) { // no row is in two of them
      for (entry const& e : rest_[static_cast<std::size_t>(part)])
        y[e.row] += e.val * x[e.col];
    });
  }

private:
  struct entry {
    I row, col;
    V val;
  };
  void insert(I i, I j, V v) {
    I& length = length_[static_cast<std::size_t>(i)];
    if (static_cast<std::size_t>(length) == width_)
      return rest_[static_cast<std::size_t>(i % threads_)].push_back({i, j, v});
    std::size_t const at =
        static_cast<std::size_t>(i) * width_ + static_cast<std::size_t>(length++);
    col_[at] = j;
    val_[at] = v;
  }

  int threads_;
  std::size_t rows_, width_;
  array<I> length_, col_;
  array<V> val_;
  std::vector<std::vector<entry>> rest_;
};

} // namespace tulle::bench
