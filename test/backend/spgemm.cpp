// SPDX-License-Identifier: Apache-2.0

// C = A B row by row: all products of a row, sorted by column, and added in the order of A's row.
// So C has the bits of the library's own.
#include "tulle/core/types.hpp"
#include "tulle/format/csr.hpp"
#include "tulle/op/semiring.hpp"

#include "format/detail/canonical.hpp"
#include "test/backend/cells.hpp"
#include "test/backend/memory.hpp"
#include "test/backend/result.hpp"

#include <algorithm>
#include <complex>

namespace tulle::test_device {
namespace {

/// What fill() needs of a product. Where C's rows begin is in device memory of the plan.
struct kept_product {
  work_place at;
  spgemm_method method;
  void* row_ptr = nullptr;
};

template <class V>
V round_to(std::complex<double> v) {
  if constexpr (std::is_floating_point_v<V>)
    return static_cast<V>(v.real());
  else
    return V(v);
}

/// Without the library's second look at NaN.
template <class S, class V>
V times(S const& s, V a, V b) {
  if constexpr (S::kind == semiring_kind::plus_times && !std::is_floating_point_v<V>)
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  else
    return s.multiply(a, b);
}

/// f(semiring) for the one that is named; complex values have plus_times alone.
template <class V, class F>
void with_semiring(semiring_kind kind, F f) {
  if constexpr (std::is_floating_point_v<V>) {
    if (kind == semiring_kind::or_and)
      return f(or_and());
    if (kind == semiring_kind::min_plus)
      return f(min_plus());
    if (kind == semiring_kind::plus_pair)
      return f(plus_pair());
  } else if (kind != semiring_kind::plus_times) {
    throw failure{{outcome::refused, errc::unsupported,
                   "spgemm: plus_times is the only semiring of complex values"}};
  }
  f(plus_times());
}

template <class V, class I, class O>
struct product {
  using view = csr_view<V, I, O>;

  struct result {
    std::vector<O> row_ptr = {0};
    std::vector<I> col;
    std::vector<V> val;
  };

  static std::size_t products_of(view const& a, view const& b, I i) {
    std::size_t n = 0;
    for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
      n += static_cast<std::size_t>(b.row_ptr[a.col[k] + 1] - b.row_ptr[a.col[k]]);
    return n;
  }

  /// Sums of a row by column.
  struct room {
    std::vector<V> sum;
    std::vector<bool> has;
    std::vector<I> cols;
    explicit room(I n) : sum(static_cast<std::size_t>(n)), has(static_cast<std::size_t>(n)) {}
    static std::size_t bytes(I n) { return static_cast<std::size_t>(n) * (sizeof(V) + 1) + 1; }
  };

  /// f(column, value) for each entry of row i, columns ascending.
  template <class S, class F>
  static void row(S const& s, view const& a, view const& b, I i, room& r, F f) {
    r.cols.clear();
    for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
      for (O p = b.row_ptr[a.col[k]]; p < b.row_ptr[a.col[k] + 1]; ++p) {
        auto const j = static_cast<std::size_t>(b.col[p]);
        V const v = times(s, a.val[k], b.val[p]);
        r.sum[j] = r.has[j] ? s.add(r.sum[j], v) : v;
        if (!r.has[j])
          r.cols.push_back(b.col[p]);
        r.has[j] = true;
      }
    std::sort(r.cols.begin(), r.cols.end());
    for (I const j : r.cols) {
      r.has[static_cast<std::size_t>(j)] = false;
      f(j, r.sum[static_cast<std::size_t>(j)]);
    }
  }

  /// [alpha A, beta I] and B over D, whose product is alpha A B + beta D. A factor of 0 reads no
  /// values.
  static std::pair<csr<V, I, O>, csr<V, I, O>> stacked(view const& a, view const& b, view const& d,
                                                       V alpha, V beta) {
    auto const rows = static_cast<std::size_t>(a.rows), inner = static_cast<std::size_t>(b.rows);
    auto const nnz_a = static_cast<std::size_t>(a.nnz), nnz_b = static_cast<std::size_t>(b.nnz),
               nnz_d = static_cast<std::size_t>(d.nnz);
    I const wide = narrow<I>(inner + rows, "spgemm: rows of B and D");
    narrow<O>(nnz_a + rows, "spgemm: entries of A and rows of D");
    narrow<O>(nnz_b + nnz_d, "spgemm: entries of B and D");
    csr<V, I, O> left(unchecked, a.rows, wide, array<O>(rows + 1, O(0)), array<I>(nnz_a + rows),
                      array<V>(nnz_a + rows));
    csr<V, I, O> right(unchecked, wide, b.cols, array<O>(inner + rows + 1, O(0)),
                       array<I>(nnz_b + nnz_d), array<V>(nnz_b + nnz_d));
    std::size_t at = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k, ++at) {
        left.col[at] = a.col[k];
        left.val[at] = alpha == V(0) ? V(0) : alpha * a.val[k];
      }
      left.col[at] = static_cast<I>(inner + i);
      left.val[at] = beta;
      left.row_ptr[i + 1] = static_cast<O>(++at);
    }
    for (std::size_t j = 0; j < inner; ++j)
      right.row_ptr[j + 1] = b.row_ptr[j + 1];
    for (std::size_t i = 0; i < rows; ++i)
      right.row_ptr[inner + i + 1] = static_cast<O>(static_cast<O>(nnz_b) + d.row_ptr[i + 1]);
    for (std::size_t k = 0; k < nnz_b; ++k) {
      right.col[k] = b.col[k];
      right.val[k] = alpha == V(0) ? V(0) : b.val[k];
    }
    for (std::size_t k = 0; k < nnz_d; ++k) {
      right.col[nnz_b + k] = d.col[k];
      right.val[nnz_b + k] = beta == V(0) ? V(0) : d.val[k];
    }
    return {std::move(left), std::move(right)};
  }

  static result multiply_there(view const& a, view const& b, product_request const& r) {
    result c;
    auto const* const mask = static_cast<view const*>(r.mask);
    room sums(b.cols);
    std::vector<I> of_row;
    with_semiring<V>(r.semiring, [&](auto const& s) {
      for (I i = 0; i < a.rows; ++i) {
        if (mask) {
          of_row.assign(mask->col + mask->row_ptr[i], mask->col + mask->row_ptr[i + 1]);
          std::sort(of_row.begin(), of_row.end());
        }
        row(s, a, b, i, sums, [&](I j, V v) {
          if (mask && std::binary_search(of_row.begin(), of_row.end(), j) == r.complement)
            return;
          if (r.upper_only && j < i)
            return;
          c.col.push_back(j);
          c.val.push_back(v);
        });
        c.row_ptr.push_back(static_cast<O>(c.col.size())); // checked below
      }
    });
    return c;
  }

  static outcome multiply(void const* of_a, void const* of_b, product_request const& r,
                          result_memory const& to, result_memory const& keep, product_facts& facts,
                          void*& kept, void* c) {
    return guarded([&] {
      kept = nullptr;
      work_place const at{r.device, r.queue, 0};
      wait(at);
      opened const memory;
      cpu const alone{.threads = 1, .workspace_limit = r.workspace_limit};
      detail::limited const limit("spgemm", alone);
      view a = *static_cast<view const*>(of_a), b = *static_cast<view const*>(of_b);
      a.validate(alone);
      b.validate(alone);
      std::pair<csr<V, I, O>, csr<V, I, O>> both;
      if (r.added) {
        view const d = *static_cast<view const*>(r.added);
        d.validate(alone);
        both = stacked(a, b, d, round_to<V>(r.alpha), round_to<V>(r.beta));
        a = both.first.view();
        b = both.second.view();
      }
      detail::canonical<V, I, O> const left(a, limit.counted()), right(b, limit.counted());
      for (I i = 0; i < a.rows; ++i) {
        std::size_t const n = products_of(left.view, right.view, i);
        facts.products += n;
        facts.most_entries += std::min(n, static_cast<std::size_t>(b.cols));
      }
      // Of device memory, though it is the host's that a row is summed in.
      std::size_t const scratch = room::bytes(b.cols),
                        rows = (static_cast<std::size_t>(a.rows) + 1) * sizeof(O);
      facts.bytes = rows;
      facts.seconds = 1e-6 + 1e-9 * static_cast<double>(facts.products);
      std::snprintf(facts.how, sizeof facts.how, "%lld dense", static_cast<long long>(a.rows));
      if (scratch + rows > limit.left())
        throw failure{{outcome::refused, errc::out_of_memory, no_room(scratch + rows, r)}};
      take(keep, scratch);
      result made = multiply_there(left.view, right.view, r);
      facts.entries = made.col.size();
      if (r.counts_only) {
        new (c) view(unchecked, a.rows, b.cols, O(0), nullptr, nullptr, nullptr);
        return;
      }
      narrow<O>(made.col.size(), "spgemm: number of entries");
      std::unique_ptr<kept_product> plan;
      if (r.is_kept) {
        plan = std::make_unique<kept_product>();
        plan->at = at;
        plan->row_ptr = take(keep, rows);
        launch(at, [ptr = made.row_ptr, there = plan->row_ptr, rows] {
          std::memcpy(there, ptr.data(), rows);
        });
      }
      view const there = put(csr<V, I, O>(unchecked, a.rows, b.cols,
                                          array<O>(made.row_ptr.data(), made.row_ptr.size()),
                                          array<I>(made.col.data(), made.col.size()),
                                          array<V>(made.val.data(), made.val.size())),
                             to);
      new (c) view(there);
      kept = plan.release();
    });
  }

  static char const* no_room(std::size_t bytes, product_request const& r) {
    static thread_local char text[200];
    std::snprintf(text, sizeof text,
                  "spgemm: %zu bytes of workspace wanted at least, the limit is %zu", bytes,
                  r.workspace_limit);
    return text;
  }

  static outcome fill(void const* of_a, void const* of_b, void const* kept, void const* of_c) {
    return guarded([&] {
      auto const& plan = *static_cast<kept_product const*>(kept);
      launch(plan.at,
             [a = *static_cast<view const*>(of_a), b = *static_cast<view const*>(of_b),
              c = *static_cast<view const*>(of_c), row_ptr = static_cast<O const*>(plan.row_ptr)] {
               detail::canonical<V, I, O> const left(a, {.threads = 1}), right(b, {.threads = 1});
               room sums(b.cols);
               for (I i = 0; i < a.rows; ++i) {
                 V* to = const_cast<V*>(c.val) + row_ptr[i];
                 row(plus_times(), left.view, right.view, i, sums, [&](I, V v) { *to++ = v; });
               }
             });
    });
  }

  static void drop(void* kept) { delete static_cast<kept_product*>(kept); }
  static void const* needed(void const* kept) {
    return static_cast<kept_product const*>(kept)->row_ptr;
  }
  static constexpr product_kernel cell = {multiply, fill, drop, needed};
};

#define TULLE_CELL(tag, V, I, O) &product<V, I, O>::cell,
constexpr product_kernel const* cells[] = {TULLE_TYPES(TULLE_CELL) TULLE_BASIC_TYPES(TULLE_CELL)};
#undef TULLE_CELL

} // namespace

product_kernel const* spgemm(int type) {
  return cells[type];
}

} // namespace tulle::test_device
