// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/cbicrs.hpp"

#include "tulle/core/limited.hpp"

#include "format/detail/bicrs_blocks.hpp"
#include "format/detail/refill.hpp"
#include "format/instantiate.hpp"

#include <algorithm>

namespace tulle {

namespace detail {

/// Rows and columns of a block whose runs are known; or, where `compare`, whether they are there.
template <bool compare, class V, class I, class O>
bool encode_cbicrs(csr_view<V, I, O> const& a, int block, std::span<bicrs_run<I, O> const> runs,
                   std::int16_t* row, std::int16_t* col) {
  bool same = true;
  I i = static_cast<I>(runs[0].row / static_cast<I>(block) * static_cast<I>(block));
  I j = static_cast<I>(runs[0].block_col * static_cast<I>(block)); // where the block begins
  for (std::size_t r = 0; r < runs.size(); ++r) {
    bicrs_run<I, O> const& run = runs[r];
    put_or_compare<compare>(row++, run.row - i, same);
    i = run.row;
    for (I e = 0; e < run.count; ++e) {
      I const to = a.col[run.begin + static_cast<O>(e)];
      put_or_compare<compare>(col++, distance(j, to) + (r > 0 && e == 0 ? block : 0), same);
      j = to;
    }
  }
  return same;
}

/// Every run of a cbicrs is a jump.
struct cbicrs_size {
  template <class Runs>
  bicrs_size operator()(Runs const& runs) const {
    bicrs_size s = {runs.size(), 0};
    for (auto const& run : runs)
      s.stored += static_cast<std::size_t>(run.count);
    return s;
  }
};

} // namespace detail

template <class V, class I, class O, space S>
cbicrs_view<V, I, O, S>::cbicrs_view(I rows, I cols, int block,
                                     bicrs_block_arrays<V, I, O> const& a) requires(S ==
                                                                                    space::host)
    : cbicrs_view(unchecked, rows, cols, block, a) {
  detail::check_bicrs_sizes("cbicrs", a);
  validate();
}

template <class V, class I, class O, space S>
void cbicrs_view<V, I, O, S>::validate() const {
  detail::check_bicrs_blocks("cbicrs", *this, [&](std::size_t b, int height, int width) {
    auto k = static_cast<std::size_t>(this->block_ptr[b]);
    auto const end = static_cast<std::size_t>(this->block_ptr[b + 1]);
    auto jump = static_cast<std::size_t>(this->jump_ptr[b]);
    auto const last_jump = static_cast<std::size_t>(this->jump_ptr[b + 1]);
    std::size_t const entries = end - k;
    int i = -1, j = 0;
    for (bool first = true; k < end; ++k, first = false) {
      int const was = j;
      j += this->col[k];
      bool const jumps_here = first || j >= this->block;
      if (jumps_here) {
        if (jump == last_jump)
          fail(errc::bad_structure, "cbicrs: block %zu has too few rows for col[%zu]", b, k);
        int const to = this->row[jump++];
        i = first ? to : i + to;
        if (i < 0 || i >= height || (to <= 0 && !first))
          fail(errc::bad_structure, "cbicrs: row[%zu] is %d, to row %d of %d in block %zu",
               jump - 1, to, i, height, b);
        j -= first ? 0 : this->block;
      }
      if (j < 0 || j >= width || (!jumps_here && j <= was))
        fail(errc::bad_structure, "cbicrs: col[%zu] is %d, to column %d of %d in block %zu", k,
             this->col[k], j, width, b);
    }
    if (jump != last_jump)
      fail(errc::bad_structure, "cbicrs: block %zu has %zu rows that no entry is in", b,
           last_jump - jump);
    return entries;
  });
}

template <class V, class I, class O, space S>
csr<V, I, O> cbicrs_view<V, I, O, S>::to_csr(cpu const& policy) const {
  detail::limited const space("cbicrs", policy);
  cpu const& where = space.counted();
  return detail::bicrs_to_csr(*this, where);
}

template <class V, class I, class O>
void cbicrs<V, I, O>::validate() const {
  if (cbicrs_view<V, I, O>(this->rows, this->cols, this->block, this->base_arrays()).nnz !=
      this->nnz)
    fail(errc::bad_structure, "cbicrs: %zu entries, but nnz is %lld", this->val.size(),
         static_cast<long long>(this->nnz));
}

template <class V, class I, class O>
cbicrs<V, I, O> cbicrs<V, I, O>::from_csr(csr_view<V, I, O> a, cbicrs_options o,
                                          cpu const& policy) {
  detail::limited const space("cbicrs", policy);
  cpu const& where = space.counted();
  detail::check_bicrs_options("cbicrs", o.block, 1, detail::most_bicrs_block, o.part);
  detail::canonical<V, I, O> const c(a, where);
  cbicrs b;
  b.rows = a.rows;
  b.cols = a.cols;
  b.nnz = c.view.nnz;
  b.block = o.block;
  b.part_row = detail::greedy_parts(c.view, o.part, where);
  detail::bicrs_runs<V, I, O> runs("cbicrs", c.view, o.block, b.part_row.data(),
                                   b.part_row.size() - 1, where);
  detail::bicrs_layout("cbicrs", b, runs, where, detail::cbicrs_size());
  runs.each_part([&](std::size_t p, auto const& of_part) {
    auto at = static_cast<std::size_t>(b.part_block[p]);
    detail::each_bicrs_block(of_part, [&](auto const& block) {
      detail::encode_cbicrs<false>(c.view, b.block, block, b.row.data() + b.jump_ptr[at],
                                   b.col.data() + b.block_ptr[at]);
      V* to = b.val.data() + b.block_ptr[at++];
      for (auto const& run : block)
        to = std::copy_n(c.view.val + run.begin, run.count, to);
    });
  });
  return b;
}

template <class V, class I, class O>
void cbicrs<V, I, O>::refill(csr_view<V, I, O> a, cpu const& policy) {
  detail::limited const space("cbicrs", policy);
  cpu const& where = space.counted();
  detail::check_arrays("cbicrs", *this);
  auto const runs_of = [&](csr_view<V, I, O> const& c) {
    return detail::bicrs_runs<V, I, O>("cbicrs", c, this->block, this->part_row.data(),
                                       view().parts, where);
  };
  detail::refill_if(
      "cbicrs", this->rows, this->cols, this->nnz, a, where,
      [&](csr_view<V, I, O> const& c) {
        return detail::bicrs_same(
            *this, runs_of(c), detail::cbicrs_size(), [&](std::size_t b, auto const& block) {
              return detail::encode_cbicrs<true>(c, this->block, block,
                                                 this->row.data() + this->jump_ptr[b],
                                                 this->col.data() + this->block_ptr[b]);
            });
      },
      [&](csr_view<V, I, O> const& c) {
        runs_of(c).each_part([&](std::size_t p, auto const& runs) {
          if (runs.empty())
            return;
          V* to = this->val.data() + this->block_ptr[static_cast<std::size_t>(this->part_block[p])];
          for (auto const& run : runs)
            to = std::copy_n(c.val + run.begin, run.count, to);
        });
      });
}

} // namespace tulle

TULLE_INSTANTIATE_FORMAT(cbicrs, every)
