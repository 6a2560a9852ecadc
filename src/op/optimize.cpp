// SPDX-License-Identifier: Apache-2.0

// Products of sparse matrices with vectors are bound by bytes, so bytes decide: those of the layout
// and of x and y, divided by the part of the memory bound that the layout's kernel was seen to
// reach, where x is read in order and where it is not.
#include "tulle/op/optimize.hpp"

#include "tulle/core/error.hpp"
#include "tulle/format/bcsr.hpp"
#include "tulle/format/dia.hpp"

#include "core/format_table.hpp"
#include "core/short_offsets.hpp"
#include "format/detail/bcsr_build.hpp"
#include "format/detail/blocks.hpp"
#include "format/detail/canonical.hpp"
#include "format/detail/counting_sort.hpp"
#include "format/detail/options.hpp"
#include "format/detail/symmetric.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

namespace tulle {
namespace {

// A matrix of fewer entries is converted whole; of a larger one, stretches of rows with about as
// many together. A guess: enough that ten conversions of them are a fraction of one of the whole.
constexpr std::size_t sample_entries = 400'000;
constexpr std::size_t sample_stretches = 8;

// What a kernel was seen to reach of the bound by its own bytes, where x is read in order or
// nearly (the mean of poisson2d5:4000 and poisson3d27:160; of coo and csc poisson3d27:100, of
// panels fem and lattice, of scsr all four, since it is slower than csr on the latter two), and
// where it is not (rmat:18:16; of scsr lattice; of ell, which refuses rmat, a guess). Double,
// 32-bit indices, two threads of Zen 4. dia's `far`, panels and scsr are from another run, the
// latter two scaled by what csr or cmrs had in both; so is the jds family, from poisson2d5:1000,
// fem:60000 and rmat:17:16, the bicrs family, from banded, poisson2d5:1000 and rmat:17:16 on one
// thread, and csr_adaptive, brc, acsr, scoo, bcoo and bccoo, from poisson2d5:2000, fem:60000 and
// rmat:18:16, the last three scaled by what csr had, as is csr_pool, from poisson2d5:2000,
// poisson3d27:100 and rmat:18:16 on one thread. Conversion, in products of csr, is a guess: on
// fem:60000, best of a loop, csr5 2.8, sell 5.6, bcsr 7.7, hyb 8.9, cmrs 9.8; medians of a
// benchmark, which come to twice that, csc 13, ell 23, dia 31, scsr 33.
struct experience {
  double near;
  double far;
  double convert;
};

/// By name: formats of the literature shelf need not be built.
constexpr std::pair<std::string_view, experience> experiences[] = {
    {"coo", {.95, .30, 2}},      {"csr", {.92, .44, 0}},       {"csc", {.86, .36, 8}},
    {"csr5", {.87, .42, 3}},     {"sell", {.94, .47, 6}},      {"dia", {.98, .24, 20}},
    {"ell", {.86, .40, 10}},     {"hyb", {.83, .45, 10}},      {"bcsr", {.90, .46, 10}},
    {"bsell", {.80, .40, 15}},   {"cmrs", {.87, .58, 10}},     {"panels", {.75, .73, 40}},
    {"scsr", {.47, .20, 40}},    {"jds", {.74, .57, 10}},      {"jds_csr", {.74, .50, 10}},
    {"jds_ell", {.70, .44, 10}}, {"bicrs", {.60, .27, 10}},    {"cbicrs", {.48, .16, 15}},
    {"vbicrs", {.71, .42, 20}},  {"acsr", {.55, .27, 5}},      {"csr_adaptive", {.78, .38, 5}},
    {"brc", {.68, .41, 8}},      {"scoo", {.60, .60, 15}},     {"bcoo", {.70, .46, 10}},
    {"bccoo", {.64, .31, 10}},   {"csr_pool", {.92, .44, 10}},
};

experience experience_of(format f) {
  for (auto const& [known, e] : experiences)
    if (known == name(f))
      return e;
  return {.9, .4, 15};
}

// Caches of the machine that all this was seen on. What they hold comes faster than a kernel of one
// triangle can take it.
constexpr double last_cache = 32 << 20;
// There bytes tell less, and least for shared stretches, each of which takes time of its own: by
// bytes alone, Franz6 took 2.4 times as long in dia:shared=true (foretold .79), powersim 1.9 (.82),
// basker_matrix1 1.5 (.81), but jnlbrng1 .42 (.31) and szdMat .57 (.45); mdual 1.6 in cmrs (.85).
constexpr double cached_margin = 1.2, cached_margin_of_shared = 1.5;

// The same of one triangle, from docs/lab/2026-11-17-spmv-cpu.md and another run: dia on the two
// grids, bcsr of blocks on fem and banded:2000000:4, .82 and .51, sell on poisson2d5:1000. Blocks
// of one entry are scsr under another name. Where the last cache has room for both triangles
// (lattice, banded:100000:4) one triangle in dia takes 1.3 to 3 times as long as both: 1.5 times
// here, and bcsr alike. `far` is half of what both triangles reach, a guess.
experience experience_of_triangle(format f, int block_side, bool is_cached) {
  switch (f) {
  case format::dia:
    return {is_cached ? .44 : .81, .12, 30};
  case format::bcsr:
    return block_side == 1 ? experience_of(format::scsr)
                           : experience{is_cached ? .36 : .67, .23, 20};
  case format::sell:
    return {.30, .20, 15};
  default:
    return experience_of(f);
  }
}

// Where the share of entries far from those before lies between these, so does what is reached.
// Shares: poisson3d27 .04, fem .07, poisson2d5 .08, lattice .10, circuit .26, rmat 18 .80, lp .98.
constexpr double near_share = .1;
constexpr double far_share = .8;

double reached(experience const& e, double share) {
  double const far = std::clamp((share - near_share) / (far_share - near_share), 0., 1.);
  return e.near + (e.far - e.near) * far;
}

/// f(first row, last row) of each stretch of the sample.
template <class V, class I, class O, class F>
void for_each_stretch(csr_view<V, I, O> const& a, F&& f) {
  auto const rows = static_cast<std::size_t>(a.rows);
  auto const nnz = static_cast<std::size_t>(a.nnz);
  if (nnz <= sample_entries)
    return f(std::size_t(0), rows);
  for (std::size_t s = 0; s < sample_stretches; ++s) {
    auto const row_of = [&](std::size_t entry) {
      return static_cast<std::size_t>(
          std::upper_bound(a.row_ptr, a.row_ptr + rows, static_cast<O>(entry)) - a.row_ptr - 1);
    };
    std::size_t const first = nnz / sample_stretches * s;
    std::size_t begin = row_of(first);
    std::size_t const end = row_of(first + sample_entries / sample_stretches);
    // Where blocks of 1 to 4, 6 or 8 rows begin.
    if (constexpr std::size_t unit = 24; end > begin + 8 * unit)
      begin -= begin % unit;
    f(begin, end > begin ? end : begin + 1);
  }
}

/// Bytes of the layout for all of a, from those of the stretches.
template <class V, class I, class O>
double foretell(csr_view<V, I, O> const& a, layout const& l, cpu const& where) {
  double bytes = 0, hub = 0;
  for_each_stretch(a, [&](std::size_t first, std::size_t last) {
    array<O> row_ptr(last - first + 1, where.memory);
    O const base = a.row_ptr ? a.row_ptr[first] : O(0);
    for (std::size_t i = first; i <= last; ++i)
      row_ptr[i - first] = a.row_ptr ? static_cast<O>(a.row_ptr[i] - base) : O(0);
    O const nnz = row_ptr[last - first];
    csr_view<V, I, O> const part(unchecked, static_cast<I>(last - first), a.cols, nnz,
                                 row_ptr.data(), a.col + base, a.val + base);
    bytes += static_cast<double>(convert(matrix_ref(part), l, where).bytes());
    hub += static_cast<double>(detail::bytes_of(part));
  });
  return hub == 0 ? 0 : bytes / hub * static_cast<double>(detail::bytes_of(a));
}

/// Whether a matrix equals its transpose, found when somebody asks.
template <class V, class I, class O>
class symmetry {
public:
  symmetry(csr_view<V, I, O> const& a, cpu const& where) : a_(a), where_(where) {}
  /// The canonical form of a matrix that does. errc::unsupported says why another does not.
  csr_view<V, I, O> const& checked(char const* format) {
    detail::check_square(format, a_.rows, a_.cols);
    if (!canonical_) {
      canonical_.emplace(a_, where_);
      lone_ = detail::find_lone(canonical_->view, where_);
    }
    if (lone_.found)
      detail::refuse_lone(format, lone_);
    return canonical_->view;
  }

private:
  csr_view<V, I, O> const& a_;
  cpu const& where_;
  std::optional<detail::canonical<V, I, O>> canonical_;
  detail::lone_entry<V, I> lone_;
};

/// Whether a layout keeps one triangle, and what keeps that triangle alone in the same way.
struct triangle_layout {
  bool is_one = false;
  layout of_lower;

  explicit triangle_layout(layout const& l) : is_one(l.format == format::scsr), of_lower(l.format) {
    if (is_one) {
      of_lower.format = format::csr;
      return;
    }
    double limit = 8; // by default in all that have it
    std::string_view rest = l.options;
    while (!rest.empty()) {
      std::string_view const one = rest.substr(0, rest.find(':'));
      rest.remove_prefix(std::min(rest.size(), one.size() + 1));
      if (one.starts_with("symmetric="))
        is_one = one == "symmetric=true";
      else if (one.starts_with("limit="))
        limit = std::strtod(std::string(one.substr(6)).c_str(), nullptr);
      else
        add(std::string(one));
    }
    add("limit=" + std::to_string(2 * limit)); // of csr's bytes, which are half of the matrix's
    if (l.format == format::sell)
      add("split=0");
  }
  void add(std::string const& option) {
    of_lower.options += (of_lower.options.empty() ? "" : ":") + option;
  }
};

/// The bytes of dia's strays, which it keeps of both triangles.
std::size_t stray_bytes(any_matrix const& m) {
  std::size_t bytes = 0;
  for (formats::array_of const& a : formats::arrays_of(m.ref()))
    bytes += std::string_view(a.name).starts_with("stray_") ? a.bytes() : 0;
  return bytes;
}

bool is_shared_dia(layout const& l) {
  return l.format == format::dia && detail::parse_options<dia_options>("dia", l.options).shared;
}

/// Whether other values of the same pattern may have no such layout, or another one.
bool rests_on_values(layout const& l) {
  return triangle_layout(l).is_one || is_shared_dia(l);
}

struct foretold {
  double bytes;
  experience seen;
};

/// The same for a layout of one triangle. A stretch of rows has no such layout, but its lower
/// triangle has one that takes the same bytes; squares on the diagonal would do, if they did not
/// miss all that is far from it.
template <class V, class I, class O>
foretold foretell_triangle(csr_view<V, I, O> const& a, layout const& l, triangle_layout t,
                           cpu const& where) {
  int side = 1;
  bool is_chosen = false;
  if (l.format == format::bcsr) {
    bcsr_options const o =
        detail::checked_bcsr_options(detail::parse_options<bcsr_options>("bcsr", l.options));
    is_chosen = o.rows == 0;
    side = detail::choose_block_shape(a, o.rows, o.cols, true).height;
    for (char const* const name : {"rows=", "cols="})
      t.add(name + std::to_string(side));
  }
  auto const with = [&](double bytes) -> foretold {
    double const both = 2 * bytes + 2. * sizeof(V) * static_cast<double>(a.rows);
    return {bytes, experience_of_triangle(l.format, side, both <= last_cache)};
  };
  if (static_cast<std::size_t>(a.nnz) <= sample_entries)
    return with(static_cast<double>(convert(matrix_ref(a), l, where).bytes()));
  double bytes = 0, hub = 0, rows = 0, diagonal = 0;
  for_each_stretch(a, [&](std::size_t first, std::size_t last) {
    csr_view<V, I, O> const some(unchecked, static_cast<I>(last - first), a.cols,
                                 static_cast<O>(a.row_ptr[last] - a.row_ptr[first]),
                                 a.row_ptr + first, a.col, a.val);
    csr<V, I, O> const part = detail::lower_triangle(some, where, 1, first);
    auto const view = part.view();
    any_matrix const made = convert(matrix_ref(view), t.of_lower, where);
    bytes += static_cast<double>(made.bytes() + stray_bytes(made));
    hub += static_cast<double>(part.bytes());
    rows += static_cast<double>(last - first);
    for (std::size_t i = first; i < last; ++i) {
      O const end = part.row_ptr[i - first + 1];
      diagonal += end != part.row_ptr[i - first] && part.col[end - 1] == static_cast<I>(i);
    }
  });
  auto const n = static_cast<double>(a.rows);
  double const entries = (static_cast<double>(a.nnz) + n * diagonal / rows) / 2;
  double const csr_bytes = entries * (sizeof(V) + sizeof(I)) + (n + 1) * sizeof(O);
  if (is_chosen && bytes > hub) { // then bcsr takes single entries
    bytes = hub;
    side = 1;
  }
  return with(hub == 0 ? 0 : bytes / hub * csr_bytes);
}

/// Whether a layout that failed so is left out, instead of all of them; `ran_out` becomes true
/// where it did not fit the limit.
bool takes_no_part(error const& e, cpu const& where, bool& ran_out) {
  bool const does_not_fit = e.code() == errc::out_of_memory && where.workspace_limit != SIZE_MAX;
  ran_out = ran_out || does_not_fit;
  return e.code() == errc::unsupported || e.code() == errc::overflow || does_not_fit;
}

template <class V, class I, class O>
std::vector<candidate> recommend_typed(csr_view<V, I, O> const& a, optimize_options const& o,
                                       cpu const& policy, bool& ran_out) {
  detail::limited const space("optimize", policy);
  cpu where = space.counted();
  where.workspace_limit = policy.workspace_limit; // so that a layout that passes it is left out
  std::vector<layout> among = o.among;
  if (among.empty()) {
    among.assign(core_formats.begin(), core_formats.end());
    among.emplace_back(format::dia, "shared=true");    // coefficients may repeat, and often do
    for (format const f : {format::dia, format::bcsr}) // where one triangle saves time
      among.emplace_back(f, "symmetric=true");
  }
  [[maybe_unused]] symmetry twins(a, where);
  auto const look_at = [&](layout const& l) -> foretold {
    if (l.format == format::csr)
      return {static_cast<double>(detail::bytes_of(a)), experience_of(l.format)};
    if (o.values_change && rests_on_values(l))
      fail(errc::unsupported, "%s: rests on equal values, which will change", name(l.format));
    if constexpr (std::is_floating_point_v<V>) // others have no such layouts
      if (triangle_layout const t(l); t.is_one) {
        csr_view<V, I, O> const none;
        convert(matrix_ref(none), l, where); // whether there is such a layout at all
        return foretell_triangle(twins.checked(name(l.format)), l, t, where);
      }
    return {foretell(a, l, where), experience_of(l.format)};
  };
  double const vectors =
      static_cast<double>(sizeof(V)) * (static_cast<double>(a.rows) + static_cast<double>(a.cols));
  double const share = detail::far_share(a.col, static_cast<std::size_t>(a.nnz));
  double const hub = (static_cast<double>(detail::bytes_of(a)) + vectors) /
                     reached(experience_of(format::csr), share);
  bool const is_cached = static_cast<double>(detail::bytes_of(a)) + vectors <= last_cache;
  std::vector<candidate> all;
  for (layout const& l : among) {
    candidate c{l, 0, 0, 0, 0, ""};
    try {
      foretold const f = look_at(l);
      c.bytes = f.bytes;
      c.call = hub == 0 ? 1 : (c.bytes + vectors) / reached(f.seen, share) / hub;
      if (is_cached && l.format != format::csr)
        c.call *= is_shared_dia(l) ? cached_margin_of_shared : cached_margin;
      c.convert = f.seen.convert;
      c.total = c.convert + o.calls * c.call;
    } catch (error const& e) {
      if (!takes_no_part(e, where, ran_out))
        throw;
      c.remark = e.what();
    }
    all.push_back(std::move(c));
  }
  std::stable_sort(all.begin(), all.end(), [](candidate const& p, candidate const& q) {
    return p.remark.empty() != q.remark.empty() ? p.remark.empty() : p.total < q.total;
  });
  return all;
}

/// f(csr_view, where) of a, through csr where it is something else; where knows what that takes of
/// the limit.
template <class F>
auto with_hub(matrix_ref a, cpu const& where, F&& f) {
  formats::check_present("optimize", a);
  return detail::typed_memory("optimize", [&] {
    detail::limited const space("optimize", where);
    any_matrix csr;
    if (a.format != format::csr) {
      csr = convert(a, format::csr, space.counted());
      a = csr.ref();
    }
    return formats::with_short_offsets(a, space.counted(), [&](matrix_ref const& narrow) {
      return visit(narrow.type, [&](auto types) {
        using T = decltype(types);
        return f(narrow.as<csr_view<typename T::value, typename T::index, typename T::offset>>(),
                 space.rest(where));
      });
    });
  });
}

} // namespace

std::vector<candidate> recommend(matrix_ref a, optimize_options const& o, cpu const& where) {
  bool ran_out = false;
  return with_hub(a, where, [&](auto const& csr, cpu const& rest) {
    return recommend_typed(csr, o, rest, ran_out);
  });
}

optimized optimize(matrix_ref a, optimize_options const& o, cpu const& where) {
  detail::stoppable const here;
  return with_hub(a, where, [&](auto const& csr, cpu const& rest) {
    bool ran_out = false;
    std::vector<candidate> all = recommend_typed(csr, o, rest, ran_out);
    // What a sample took may still be too large as a whole: the next best then.
    for (auto c = all.begin(); c != all.end() && c->remark.empty(); ++c)
      try {
        any_matrix made = convert(matrix_ref(csr), c->layout, rest);
        std::rotate(all.begin(), c, c + 1);
        return optimized(std::move(made), std::move(all));
      } catch (error const& e) {
        if (!takes_no_part(e, rest, ran_out))
          throw;
        c->remark = e.what();
      }
    if (ran_out)
      fail(errc::out_of_memory, "optimize: none of %zu layouts fits the limit of %zu bytes: %s",
           all.size(), where.workspace_limit, all.front().remark.c_str());
    fail(errc::unsupported, "optimize: none of %zu layouts takes this matrix", all.size());
  });
}

std::string optimized::why() const {
  std::string text;
  char line[160];
  for (candidate const& c : considered_) {
    if (c.remark.empty())
      std::snprintf(line, sizeof line,
                    "%-19s %8.1f MB, product %5.2f of csr's, conversion %.0f products\n",
                    name(c.layout).c_str(), c.bytes / 1e6, c.call, c.convert);
    else
      std::snprintf(line, sizeof line, "%-19s ", name(c.layout).c_str());
    text += line;
    if (!c.remark.empty())
      text += c.remark + "\n";
  }
  return text;
}

} // namespace tulle
