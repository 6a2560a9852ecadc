// SPDX-License-Identifier: Apache-2.0
#include "bench/primitive/primitive.hpp"

#include "bench/contest.hpp"
#include "bench/measure.hpp"
#include "bench/source.hpp"
#include "kernel/primitive/forms.hpp"
#include "primitive/merge.hpp"
#include "primitive/set.hpp"

#include <algorithm>
#include <charconv>
#include <random>

namespace tulle::bench {
namespace {

enum class primitive_function : std::uint8_t { merge, merge_values, intersection, sort };
constexpr char const* primitive_names[] = {"merge", "merge_values", "intersection", "sort"};
constexpr std::size_t sort_limit = 512; // of the network

struct lists_shape {
  std::size_t lists = 0, length = 0;
};

/// Of "lists:NUMBER:LENGTH".
lists_shape lists_of(std::string const& spec) {
  lists_shape s;
  std::string const kind = "lists:";
  char const* const end = spec.data() + spec.size();
  if (spec.starts_with(kind)) {
    auto const lists = std::from_chars(spec.data() + kind.size(), end, s.lists);
    if (lists.ec == std::errc() && lists.ptr != end && *lists.ptr == ':') {
      auto const length = std::from_chars(lists.ptr + 1, end, s.length);
      if (length.ec == std::errc() && length.ptr == end && s.length > 0 && s.length <= 1'000'000)
        return s;
    }
  }
  fail(errc::unsupported, "'%s': expected lists:NUMBER:LENGTH, the mean length from 1 to 1000000",
       spec.c_str());
}

/// Lists side by side, each ascending with keys once: as rows of a sparse matrix have them.
template <class V, class K>
struct sorted_lists {
  std::vector<std::int64_t> ptr{0};
  array<K> keys;
  array<V> vals;

  sorted_lists(lists_shape const& s, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (std::size_t p = 0; p < s.lists; ++p) // from none to twice the mean
      ptr.push_back(ptr.back() + static_cast<std::int64_t>(random() % (2 * s.length + 1)));
    auto const size = static_cast<std::size_t>(ptr.back());
    keys = array<K>(size);
    vals = array<V>(size);
    K key = 0;
    for (std::size_t p = 0, k = 0; p < s.lists; ++p, key = 0)
      for (; k < static_cast<std::size_t>(ptr[p + 1]); ++k) {
        key += static_cast<K>(1 + random() % 8); // so that an eighth or so has a twin in another
        keys[k] = key;
        vals[k] = static_cast<V>(k % 1024);
      }
  }
  std::size_t length(std::size_t p) const { return static_cast<std::size_t>(ptr[p + 1] - ptr[p]); }
};

/// What a call leaves: keys of merges and sorts, with values; positions of an intersection.
template <class V, class K>
struct outcome {
  std::vector<K> keys;
  std::vector<V> vals;
  std::vector<std::int32_t> at_a, at_b;
  std::size_t found = 0;
  bool operator==(outcome const&) const = default;
};

template <class V, class K>
struct lists_problem {
  primitive_function function;
  sorted_lists<V, K> const& a;
  sorted_lists<V, K> const& b;
  std::vector<K> const& mixed; ///< keys of a in no order, for sort
  std::size_t lists() const { return a.ptr.size() - 1; }

  outcome<V, K> room() const {
    outcome<V, K> o;
    std::size_t const both = a.keys.size() + b.keys.size();
    if (function == primitive_function::sort)
      o.keys.resize(mixed.size());
    if (function == primitive_function::merge || function == primitive_function::merge_values)
      o.keys.resize(both);
    if (function == primitive_function::merge_values)
      o.vals.resize(both);
    if (function == primitive_function::intersection) {
      o.at_a.resize(a.keys.size());
      o.at_b.resize(a.keys.size());
    }
    return o;
  }
  /// f(a's list p, b's list p, where in the merge it begins), p = 0, 1, ...
  template <class F>
  void each(F f) const {
    std::size_t to = 0;
    for (std::size_t p = 0; p < lists(); to += a.length(p) + b.length(p), ++p)
      f(static_cast<std::size_t>(a.ptr[p]), a.length(p), static_cast<std::size_t>(b.ptr[p]),
        b.length(p), to);
  }
};

template <class K>
kernels::key_forms<K> const& key_forms_of(kernels::forms const& all) {
  if constexpr (sizeof(K) == 4)
    return all.key_int32;
  else
    return all.key_int64;
}
template <class V, class K>
kernels::pair_forms<K, V> const& pair_forms_of(kernels::key_forms<K> const& all) {
  if constexpr (sizeof(V) == 4)
    return all.of_float;
  else
    return all.of_double;
}

/// By the forms of the active instruction set.
template <class V, class K>
void by_simd(lists_problem<V, K> const& p, outcome<V, K>& o) {
  kernels::key_forms<K> const& forms = key_forms_of<K>(kernels::forms_of(active_isa()));
  auto const lists = static_cast<std::int64_t>(p.lists());
  switch (p.function) {
  case primitive_function::merge:
    forms.merge(lists, p.a.ptr.data(), p.a.keys.data(), p.b.ptr.data(), p.b.keys.data(),
                o.keys.data());
    break;
  case primitive_function::merge_values:
    pair_forms_of<V>(forms).merge(lists, p.a.ptr.data(), p.a.keys.data(), p.a.vals.data(),
                                  p.b.ptr.data(), p.b.keys.data(), p.b.vals.data(), o.keys.data(),
                                  o.vals.data());
    break;
  case primitive_function::intersection:
    o.found = 0;
    p.each([&](std::size_t i, std::size_t na, std::size_t j, std::size_t nb, std::size_t) {
      o.found += static_cast<std::size_t>(forms.intersection(
          p.a.keys.data() + i, static_cast<std::int64_t>(na), p.b.keys.data() + j,
          static_cast<std::int64_t>(nb), o.at_a.data() + o.found, o.at_b.data() + o.found));
    });
    break;
  case primitive_function::sort:
    std::copy(p.mixed.begin(), p.mixed.end(), o.keys.begin());
    p.each([&](std::size_t i, std::size_t na, std::size_t, std::size_t, std::size_t) {
      forms.bitonic_sort(o.keys.data() + i, static_cast<std::int64_t>(na));
    });
  }
}

/// By the plain forms that users and tests have.
template <class V, class K>
void by_loops(lists_problem<V, K> const& p, outcome<V, K>& o) {
  namespace plain = tulle::primitive;
  o.found = 0;
  p.each([&](std::size_t i, std::size_t na, std::size_t j, std::size_t nb, std::size_t to) {
    K const* const a = p.a.keys.data() + i;
    K const* const b = p.b.keys.data() + j;
    if (p.function == primitive_function::merge)
      plain::serial_merge(a, na, b, nb, o.keys.data() + to);
    else if (p.function == primitive_function::merge_values)
      plain::serial_merge(a, p.a.vals.data() + i, na, b, p.b.vals.data() + j, nb,
                          o.keys.data() + to, o.vals.data() + to);
    else
      o.found +=
          plain::intersection(a, na, b, nb, o.at_a.data() + o.found, o.at_b.data() + o.found);
  });
}

/// By the standard library, which has no merge with values and no positions of an intersection.
template <class V, class K>
void by_std(lists_problem<V, K> const& p, outcome<V, K>& o) {
  if (p.function == primitive_function::sort)
    std::copy(p.mixed.begin(), p.mixed.end(), o.keys.begin());
  p.each([&](std::size_t i, std::size_t na, std::size_t j, std::size_t nb, std::size_t to) {
    K const* const a = p.a.keys.data() + i;
    K const* const b = p.b.keys.data() + j;
    if (p.function == primitive_function::merge)
      std::merge(a, a + na, b, b + nb, o.keys.data() + to);
    else
      std::sort(o.keys.data() + i, o.keys.data() + i + na);
  });
}

template <class V, class K>
contestant make(lists_problem<V, K> const& p, char const* format, char const* path,
                void (*call)(lists_problem<V, K> const&, outcome<V, K>&)) {
  contestant c;
  c.format = format;
  c.path = path;
  c.bytes = c.peak_bytes = p.a.keys.bytes() + p.b.keys.bytes();
  auto const kept = std::make_shared<outcome<V, K>>(p.room());
  c.run = [p, kept, call] { call(p, *kept); };
  c.result = [kept](void* to) { *static_cast<outcome<V, K>*>(to) = *kept; };
  c.poison = [p, kept] { *kept = p.room(); };
  return c;
}

template <class V, class K>
std::vector<record> run_primitive(std::string const& spec, lists_shape const& s, options const& o,
                                  std::vector<std::string>& remarks) {
  sorted_lists<V, K> const a(s, 1);
  sorted_lists<V, K> const b(s, 2);
  std::vector<K> mixed(a.keys.begin(), a.keys.end());
  for (std::size_t p = 0; p < s.lists; ++p)
    std::shuffle(mixed.begin() + a.ptr[p], mixed.begin() + a.ptr[p + 1], std::mt19937_64(p));
  std::vector<record> all;
  for (std::size_t f = 0; f < std::size(primitive_names); ++f) {
    auto const which = static_cast<primitive_function>(f);
    bool const by_itself = which == primitive_function::sort;
    bool const with_values = which == primitive_function::merge_values;
    if (by_itself && 2 * s.length > sort_limit)
      continue;
    lists_problem<V, K> const p{which, a, b, mixed};
    outcome<V, K> right = p.room();
    (by_itself ? by_std<V, K> : by_loops<V, K>)(p, right);
    contest c;
    c.about.matrix = spec + " " + primitive_names[f];
    c.about.rows = s.lists;
    c.about.cols = 1;
    c.about.nnz = a.keys.size() + (by_itself ? 0 : b.keys.size());
    c.about.op = "primitive";
    c.about.value = o.value;
    c.about.index = o.index;
    c.about.threads = 1;
    c.verify = [&](contestant const& who) {
      outcome<V, K> found;
      who.result(&found);
      return found == right;
    };
    std::vector<stretch> memory{{a.keys.data(), a.keys.bytes()}};
    if (!by_itself)
      memory.push_back({b.keys.data(), b.keys.bytes()});
    if (with_values) {
      memory.push_back({a.vals.data(), a.vals.bytes()});
      memory.push_back({b.vals.data(), b.vals.bytes()});
    }
    for (stretch const& m : memory)
      c.bound_bytes += static_cast<double>(m.bytes);
    c.moved_bytes = c.bound_bytes;
    c.contestants.push_back(read_bound(memory, 1));
    c.contestants.push_back(make(p, "simd", name(active_isa()), by_simd<V, K>));
    if (!by_itself)
      c.contestants.push_back(make(p, "plain", "loops", by_loops<V, K>));
    if (by_itself || which == primitive_function::merge) {
      c.contestants.push_back(make(p, "csr", by_itself ? "std::sort" : "std::merge", by_std<V, K>));
      c.contestants.back().peer = "std";
    }
    for (record const& r : hold(c, o, remarks))
      all.push_back(r);
  }
  return all;
}

} // namespace

std::vector<record> list_calls(std::string const& spec, options const& o,
                               std::vector<std::string>& remarks) {
  lists_shape const s = lists_of(spec);
  return with_types(
      o, [&]<class V, class I>(V, I) { return run_primitive<V, I>(spec, s, o, remarks); });
}

} // namespace tulle::bench
