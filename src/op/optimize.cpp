// SPDX-License-Identifier: Apache-2.0

// What a matrix looks like foretells the time of a product in each layout: src/choose/model.cpp.
// Where one triangle is stored, and for recommend(), stretches of rows are converted for the bytes.
#include "tulle/op/optimize.hpp"

#include "tulle/core/error.hpp"
#include "tulle/format/bcsr.hpp"
#include "tulle/format/dia.hpp"

#include "choose/features.hpp"
#include "choose/model.hpp"
#include "core/format_table.hpp"
#include "core/short_offsets.hpp"
#include "format/detail/bcsr_build.hpp"
#include "format/detail/blocks.hpp"
#include "format/detail/canonical.hpp"
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

// Caches of the machine that the model was fitted on. What they hold comes faster than a kernel of
// one triangle can take it.
constexpr double last_cache = 32 << 20;
// A layout must be foretold to be faster than csr by at least this share.
constexpr double least_gain = .03;

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
  bool has_blocks; // of more than one entry, where the layout is bcsr
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
  if (static_cast<std::size_t>(a.nnz) <= sample_entries)
    return {static_cast<double>(convert(matrix_ref(a), l, where).bytes()), side > 1};
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
  return {hub == 0 ? 0 : bytes / hub * csr_bytes, side > 1};
}

/// Whether a layout that failed so is left out, instead of all of them; `ran_out` becomes true
/// where it did not fit the limit.
bool takes_no_part(error const& e, cpu const& where, bool& ran_out) {
  bool const does_not_fit = e.code() == errc::out_of_memory && where.workspace_limit != SIZE_MAX;
  ran_out = ran_out || does_not_fit;
  return e.code() == errc::unsupported || e.code() == errc::overflow || does_not_fit;
}

/// What is left where no conversion pays.
template <class V, class I, class O>
std::vector<candidate> only_csr(csr_view<V, I, O> const& a, std::vector<layout> const& among,
                                double calls) {
  std::vector<candidate> all;
  all.push_back({format::csr, static_cast<double>(detail::bytes_of(a)), 1, 0, calls, ""});
  for (layout const& l : among)
    if (l.format != format::csr)
      all.push_back({l, 0, 0, 0, 0, "no conversion pays for so few products"});
  return all;
}

/// explains: all bytes are foretold, also those that decide nothing.
template <class V, class I, class O>
std::vector<candidate> recommend_typed(csr_view<V, I, O> const& a, optimize_options const& o,
                                       cpu const& policy, bool explains, bool& ran_out) {
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
  if (!explains && o.among.empty() && o.calls < choose::cheapest_conversion)
    return only_csr(a, among, o.calls);
  features const seen = choose::look_at_csr(a, where);
  [[maybe_unused]] symmetry twins(a, where);
  auto const csr_bytes = static_cast<double>(detail::bytes_of(a));
  double const vectors =
      static_cast<double>(sizeof(V)) * (static_cast<double>(a.rows) + static_cast<double>(a.cols));
  bool const is_cached = csr_bytes + vectors <= last_cache;
  auto const foretell_call = [&](candidate& c) {
    layout const& l = c.layout;
    c.call = choose::product_of(l.format, seen);
    if (l.format == format::csr && l.options.empty()) {
      c.bytes = csr_bytes;
      return;
    }
    if (o.values_change && rests_on_values(l))
      fail(errc::unsupported, "%s: rests on equal values, which will change", name(l.format));
    if (is_shared_dia(l))
      c.call *= choose::has_repeated_values(seen) ? .85 : 1.5;
    if constexpr (std::is_floating_point_v<V>) // others have no such layouts
      if (triangle_layout const t(l); t.is_one) {
        csr_view<V, I, O> const none;
        convert(matrix_ref(none), l, where); // whether there is such a layout at all
        c.call *= choose::triangle_of(l.format, is_cached);
        // In a cache one triangle is slower, and without diagonals or blocks both are slow.
        if (!explains && among.size() > 1 && (is_cached || c.call > 1.5))
          return;
        foretold const f = foretell_triangle(twins.checked(name(l.format)), l, t, where);
        layout const both(l.format == format::scsr ? format::csr : l.format);
        bool const has_both = l.format != format::bcsr || f.has_blocks;
        double const bytes =
            !has_both || both.format == format::csr ? csr_bytes : foretell(a, both, where);
        c.bytes = f.bytes;
        c.call *= (f.bytes + vectors) / (bytes + vectors);
        if (!has_both) // scsr under another name
          c.call = choose::product_of(format::scsr, seen);
        return;
      }
    if (explains)
      c.bytes = foretell(a, l, where);
  };
  std::vector<candidate> all;
  for (layout const& l : among) {
    candidate c{l, 0, 0, 0, 0, ""};
    try {
      foretell_call(c);
      c.convert = choose::conversion_of(l.format);
      c.total = c.convert + o.calls * c.call * (l.format == format::csr ? 1 : 1 + least_gain);
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
    return recommend_typed(csr, o, rest, true, ran_out);
  });
}

optimized optimize(matrix_ref a, optimize_options const& o, cpu const& where) {
  detail::stoppable const here;
  return with_hub(a, where, [&](auto const& csr, cpu const& rest) {
    bool ran_out = false;
    std::vector<candidate> all = recommend_typed(csr, o, rest, false, ran_out);
    // One that does not fit, or refuses the matrix, is left out: the next best then.
    for (auto c = all.begin(); c != all.end() && c->remark.empty(); ++c)
      try {
        any_matrix made = convert(matrix_ref(csr), c->layout, rest);
        c->bytes = static_cast<double>(made.bytes());
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
    std::snprintf(line, sizeof line, "%-19s ", name(c.layout).c_str());
    text += line;
    if (c.remark.empty()) {
      std::snprintf(line, sizeof line, "product %5.2f of csr's, conversion %.0f products", c.call,
                    c.convert);
      text += line;
      if (c.bytes > 0) {
        std::snprintf(line, sizeof line, ", %.1f MB", c.bytes / 1e6);
        text += line;
      }
    }
    text += c.remark + "\n";
  }
  return text;
}

} // namespace tulle
