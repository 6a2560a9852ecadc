// SPDX-License-Identifier: Apache-2.0

// A cell of the table of products, made of a type's multiply() and fill().
#pragma once
#include "cuda/check.cuh"
#include "cuda/spgemm/product.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <new>
#include <string>

namespace tulle::kernels::cuda {

/// The functions of a type. multiply() writes C's view, and to `p` what fill() needs in addition.
struct typed_product {
  outcome (*multiply)(void const* a, void const* b, result_memory const& to,
                      result_memory const& keep, product_state& p, void* c);
  outcome (*fill)(void const* a, void const* b, product_state const& p, void const* c);
};

// ns of a product by the bin of its row: poisson2d5 1024 (tiny), fem 100000 (window), cage12 (few),
// mono_500Hz (sorted), hood and pwtk (long), rmat 17 (tiled) and the kernels for such rows of hood
// (scattered) on an H200, and those for hubs of rmat 12. Small is as tiny: not measured. The heap
// is used only if asked for.
inline constexpr double ns_per_product[row_bins] = {0,    .015, .005, .015, .06, .06, .06,
                                                    .037, .037, .022, .27,  .1,  0};

inline std::string summary(product_state const& p) {
  std::string text;
  for (int k = 0; k < row_bins; ++k)
    if (p.all.rows[k] != 0)
      text += (text.empty() ? "" : ", ") + std::to_string(p.all.rows[k]) + " " +
              name(static_cast<row_bin>(k), p.method);
  if (p.group_rows > 1)
    text += ", " + std::to_string(p.group_count) + " groups of window rows";
  if (p.bands > 1)
    text += ", bands of " + std::to_string(p.tiles) + " tiles for " + std::to_string(p.tile_rows) +
            " rows of B";
  if (p.method == spgemm_method::global_esc)
    text += ", counted so and filled by sorts of many rows";
  if (p.map.block_count != 0)
    text += ", values by a map of " + std::to_string(p.map.code_bytes) + " bytes per product";
  if (p.maps && (!p.a_canonical || !p.b_canonical))
    text += p.a_canonical   ? ", B sorted first"
            : p.b_canonical ? ", A sorted first"
                            : ", A and B sorted first";
  return text;
}

inline product_facts facts_of(product_state const& p) {
  product_facts f;
  f.products = p.all.products;
  f.most_entries = p.all.most_entries;
  f.entries = p.entries;
  f.bytes = p.bytes;
  double ns = 0, computed = 0;
  for (int k = static_cast<int>(row_bin::tiny); k < row_bins; ++k) {
    ns += ns_per_product[k] * static_cast<double>(p.all.rows[k]);
    computed += static_cast<double>(p.all.rows[k]);
  }
  f.seconds = 1e-4;
  if (computed != 0)
    f.seconds += 1e-9 * ns / computed * static_cast<double>(p.all.products);
  std::snprintf(f.how, sizeof f.how, "%s", summary(p).c_str());
  return f;
}

template <typed_product const* typed>
constexpr product_kernel product_cell() {
  return {[](void const* a, void const* b, product_request const& request, result_memory const& to,
             result_memory const& keep, product_facts& facts, void*& kept, void* c) {
            return guarded([&] {
              auto p = std::make_unique<product_state>();
              p->device = request.device;
              p->stream = request.queue;
              p->workspace_limit = request.workspace_limit;
              p->method = request.method;
              p->semiring = request.semiring;
              p->mask = request.mask;
              p->complement = request.complement;
              p->added = request.added;
              p->alpha = request.alpha;
              p->beta = request.beta;
              p->upper_only = request.upper_only;
              p->counts_only = request.counts_only;
              p->maps = request.is_kept;
              outcome const came_to = typed->multiply(a, b, to, keep, *p, c);
              if (came_to.code != outcome::fine)
                throw failure{came_to};
              facts = facts_of(*p);
              if (request.is_kept)
                kept = p.release();
            });
          },
          [](void const* a, void const* b, void const* kept, void const* c) {
            return typed->fill(a, b, *static_cast<product_state const*>(kept), c);
          },
          [](void* kept) { delete static_cast<product_state*>(kept); },
          [](void const* kept) -> void const* {
            auto const& map = static_cast<product_state const*>(kept)->map;
            return map.block_count != 0 ? map.memory : nullptr;
          }};
}

} // namespace tulle::kernels::cuda
