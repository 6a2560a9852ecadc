// SPDX-License-Identifier: Apache-2.0

/// Triplets in any order to csr.
#pragma once
#include "tulle/format/csr.hpp"
#include "tulle/op/detail/radix_sort.hpp"

namespace tulle::detail {

/// The csr of n triplets whose indices are in range; values of one place are combined in the order
/// given. Each piece of the sort is combined while it lies in the cache; how many remain of the
/// pieces before it says where its rows go. The csr is in the memory `to`, what the sort takes in
/// where's.
template <class O, class V, class I, class Combine>
csr<V, I, O> compress(I rows, I cols, I const* row, I const* col, V const* val, std::size_t n,
                      Combine const& combine, cpu const& where, std::pmr::memory_resource* to) {
  auto const lines = static_cast<std::size_t>(rows);
  if (n == 0)
    return csr<V, I, O>(unchecked, rows, cols, array<O>(lines + 1, O(0), to), {}, {});
  csr<V, I, O> a;
  primitive::detail::with_buckets(
      row, col, val, n, rows, cols, where, [&](auto& buckets, int col_bits) {
        auto const row_of = [=](auto const& key) {
          return static_cast<std::size_t>(key >> col_bits);
        };
        struct share {       // of a piece
          std::size_t first; // entry, as sorted
          std::size_t at;    // first entry in a; how many there are, at first
          std::size_t row;   // the first that begins in the piece
        };
        std::size_t const pieces = buckets.pieces();
        array<share> shares(pieces + 1, where.memory);
        buckets.sort([&](auto const& piece) {
          auto const* e = piece.entries;
          auto const* const end = e + piece.count;
          auto* kept = piece.home;
          while (e != end) {
            auto one = *e;
            for (++e; e != end && e->key == one.key; ++e)
              one.val = combine(one.val, e->val);
            *kept++ = one;
          }
          std::size_t first_row = row_of(piece.least);
          first_row += (static_cast<decltype(piece.least)>(first_row) << col_bits) < piece.least;
          shares[piece.number] = {piece.first, static_cast<std::size_t>(kept - piece.home),
                                  std::min(first_row, lines)};
        });
        std::size_t nnz = 0;
        for (std::size_t p = 0; p < pieces; ++p) {
          std::size_t const before = nnz;
          nnz += shares[p].at;
          shares[p].at = before;
        }
        shares[pieces] = {n, nnz, lines};
        a = csr<V, I, O>(unchecked, rows, cols, array<O>(lines + 1, to), array<I>(nnz, to),
                         array<V>(nnz, to));
        int const parts = parts_for(n, where.threads);
        auto const* const entries = buckets.entries();
        parallel(parts, [&](int part) {
          std::size_t const end = split(pieces, part + 1, parts);
          for (std::size_t p = split(pieces, part, parts); p < end; ++p) {
            std::size_t next = shares[p].row; // row_ptr to write
            std::size_t at = shares[p].at;
            for (auto const* e = entries + shares[p].first; at < shares[p + 1].at; ++e, ++at) {
              std::size_t const i = row_of(e->key);
              for (; next <= i; ++next)
                a.row_ptr[next] = static_cast<O>(at);
              a.col[at] = static_cast<I>(e->key ^ static_cast<decltype(e->key)>(i) << col_bits);
              a.val[at] = e->val;
            }
            for (; next < shares[p + 1].row; ++next)
              a.row_ptr[next] = static_cast<O>(at);
          }
        });
        a.row_ptr[lines] = static_cast<O>(nnz);
      });
  return a;
}

} // namespace tulle::detail
