// SPDX-License-Identifier: Apache-2.0
#include "bench/level1/level1.hpp"

#include "tulle/op/dense_level1.hpp"
#include "tulle/op/level1.hpp"

#include "bench/contest.hpp"
#include "bench/measure.hpp"
#include "bench/peer_modules.hpp"
#include "bench/peers/result.hpp"
#include "bench/source.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <random>

namespace tulle::bench {
namespace {

using function = level1_function;
constexpr char const* function_names[] = {"dot",    "axpy", "gather",    "gather_zero", "scatter",
                                          "rotate", "add",  "dense_dot", "dense_axpy"};
constexpr bool is_dense(function f) {
  return f == function::dense_dot || f == function::dense_axpy;
}

// A power of two: the product is exact, so that all who are right have the same bits, fused or not.
constexpr double alpha = .5;
// A rotation, so that values neither grow nor fade while it is called again and again.
constexpr double cosine = .6;
constexpr double sine = .8;

struct shape {
  std::size_t length = 0, nnz = 0;
};

/// Of "vector:LENGTH:DENSITY".
shape shape_of(std::string const& spec) {
  shape s;
  double density = 0;
  std::string const kind = "vector:";
  char const* const end = spec.data() + spec.size();
  if (spec.starts_with(kind)) {
    auto const length = std::from_chars(spec.data() + kind.size(), end, s.length);
    if (length.ec == std::errc() && length.ptr != end && *length.ptr == ':') {
      auto const rest = std::from_chars(length.ptr + 1, end, density);
      if (rest.ec == std::errc() && rest.ptr == end && density >= 0 && density <= 1) {
        s.nnz = static_cast<std::size_t>(std::llround(static_cast<double>(s.length) * density));
        return s;
      }
    }
  }
  fail(errc::unsupported, "'%s': expected vector:LENGTH:DENSITY, the density from 0 to 1",
       spec.c_str());
}

/// One random place in each of nnz equal pieces: ascending, each once, and the same every time.
template <class I>
array<I> places(shape const& s, std::uint64_t seed) {
  array<I> index(s.nnz);
  std::mt19937_64 random(seed);
  for (std::size_t k = 0; k < s.nnz; ++k) {
    std::size_t const longer = s.length % s.nnz; // so many pieces have one place more
    std::size_t const width = s.length / s.nnz + (k < longer ? 1 : 0);
    std::size_t const first = s.length / s.nnz * k + std::min(k, longer);
    index[k] = static_cast<I>(first + random() % width);
  }
  return index;
}

// What x and y begin with: exact in float, positive, and x's values are none of y's.
template <class V>
V start_x(std::size_t k) {
  return static_cast<V>(1 + static_cast<double>(k * 7 % 13) / 16);
}
template <class V>
V start_y(std::size_t j) {
  return static_cast<V>(2 + static_cast<double>(j * 5 % 11) / 16);
}

template <class V, class I>
struct operands {
  array<I> index, z_index;
  array<V> val, z_val, dense_x, y;

  explicit operands(shape const& s)
      : index(places<I>(s, 1)), z_index(places<I>(s, 2)), val(s.nnz), z_val(s.nnz),
        dense_x(s.length), y(s.length) {
    for (std::size_t j = 0; j < s.length; ++j)
      dense_x[j] = start_x<V>(j);
    for (std::size_t k = 0; k < s.nnz; ++k)
      z_val[k] = start_y<V>(k);
    restore();
  }
  void restore() {
    for (std::size_t k = 0; k < val.size(); ++k)
      val[k] = start_x<V>(k);
    for (std::size_t j = 0; j < y.size(); ++j)
      y[j] = start_y<V>(j);
  }
  /// alpha x + z by the loop of the textbook, as a matrix of one row.
  csr<V, I, I> sum() const {
    std::vector<I> col;
    std::vector<V> all;
    for (std::size_t k = 0, l = 0; k < index.size() || l < z_index.size();) {
      bool const of_x = l == z_index.size() || (k < index.size() && index[k] <= z_index[l]);
      bool const of_z = k == index.size() || (l < z_index.size() && z_index[l] <= index[k]);
      col.push_back(of_x ? index[k] : z_index[l]);
      all.push_back((of_x ? V(alpha) * start_x<V>(k++) : V(0)) + (of_z ? z_val[l++] : V(0)));
    }
    auto const nnz = static_cast<I>(col.size());
    return csr<V, I, I>(unchecked, 1, static_cast<I>(y.size()), array<I>{0, nnz},
                        array<I>(col.data(), col.size()), array<V>(all.data(), all.size()));
  }
};

/// Whether x and y are what one call of f makes of how they began, y at all its places.
template <class V, class I>
bool is_changed_by(function f, operands<V, I> const& now) {
  std::size_t k = 0;
  for (std::size_t j = 0; j < now.y.size(); ++j) {
    V y = start_y<V>(j);
    if (f == function::dense_axpy)
      y += V(alpha) * start_x<V>(j);
    double allowed = 0;
    if (k < now.index.size() && static_cast<std::size_t>(now.index[k]) == j) {
      V x = start_x<V>(k);
      V const old_x = x;
      V const old_y = y;
      if (f == function::axpy)
        y += V(alpha) * old_x;
      if (f == function::gather || f == function::gather_zero)
        x = old_y;
      if (f == function::gather_zero)
        y = 0;
      if (f == function::scatter)
        y = old_x;
      if (f == function::rotate) {
        x = V(cosine) * old_x + V(sine) * old_y;
        y = V(cosine) * old_y - V(sine) * old_x;
        allowed = 4.0 * std::numeric_limits<V>::epsilon() * (old_x + old_y);
      }
      if (!(std::fabs(static_cast<double>(now.val[k++]) - x) <= allowed))
        return false;
    }
    if (!(std::fabs(static_cast<double>(now.y[j]) - y) <= allowed))
      return false;
  }
  return true;
}

/// Whether the sum is right, within the error that any order of addition has.
template <class V, class I>
bool is_dot(V found, function f, operands<V, I> const& from) {
  std::size_t const n = is_dense(f) ? from.y.size() : from.index.size();
  long double sum = 0; // all terms are positive: it is its own size
  for (std::size_t k = 0; k < n; ++k)
    sum += static_cast<long double>(start_x<V>(k)) *
           start_y<V>(is_dense(f) ? k : static_cast<std::size_t>(from.index[k]));
  long double const terms = static_cast<long double>(n) + 2;
  return std::fabs(found - sum) <= terms * std::numeric_limits<V>::epsilon() * sum;
}

template <class V, class I>
contestant make_tulle(level1_problem<V, I> const& p) {
  cpu const where{.threads = p.threads};
  auto const size = static_cast<I>(p.y.size());
  auto const nnz = static_cast<I>(p.index.size());
  mutable_sparse_vector_view<V, I> const x(unchecked, size, nnz, p.index.data(), p.val.data());
  contestant c;
  c.format = "vector";
  c.path = std::string("level1 ") + function_names[static_cast<std::size_t>(p.function)];
  c.bytes = c.peak_bytes = p.index.size_bytes() + p.val.size_bytes();
  switch (p.function) {
  case function::dot: {
    V* const sum = keep_result<V>(c, 1);
    c.run = [p, where, x, sum] { *sum = tulle::dot(where, x, p.y); };
    break;
  }
  case function::axpy:
    c.run = [p, where, x] { tulle::axpy(where, p.alpha, x, p.y); };
    break;
  case function::gather:
    c.run = [p, where, x] { tulle::gather(where, p.y, x); };
    break;
  case function::gather_zero:
    c.run = [p, where, x] { tulle::gather_zero(where, p.y, x); };
    break;
  case function::scatter:
    c.run = [p, where, x] { tulle::scatter(where, x, p.y); };
    break;
  case function::rotate:
    c.run = [p, where, x] { tulle::rotate(where, x, p.y, p.c, p.s); };
    break;
  case function::add: {
    sparse_vector_view<V, I> const z(unchecked, size, nnz, p.z_index.data(), p.z_val.data());
    auto const sum = std::make_shared<sparse_vector<V, I>>();
    c.run = [p, where, x, z, sum] {
      *sum = {}; // its memory first, as in a loop of a user's
      *sum = tulle::add(where, p.alpha, x, V(1), z);
    };
    c.result = [size, sum](void* to) {
      I const row_ptr[] = {0, static_cast<I>(sum->val.size())};
      copy_matrix(I(1), size, row_ptr, sum->index.data(), sum->val.data(), to);
    };
    c.poison = [sum] { *sum = {}; };
    break;
  }
  case function::dense_dot: {
    V* const sum = keep_result<V>(c, 1);
    c.run = [p, where, sum] { *sum = tulle::dot(where, p.dense_x, p.y); };
    break;
  }
  case function::dense_axpy:
    c.run = [p, where] { tulle::axpy(where, p.alpha, p.dense_x, p.y); };
    break;
  }
  return c;
}

/// What the bound reads. Of x its indices and values; of y a whole line of the cache for each line
/// that has one of x's places, since no less can be fetched. They are read side by side, which the
/// lines of a call are not. Of add both operands and the sum; of dense functions both vectors.
template <class V, class I>
std::vector<stretch> must_move(operands<V, I> const& x, function f, csr<V, I, I> const& sum) {
  constexpr std::size_t line = 64;
  if (is_dense(f))
    return {{x.dense_x.data(), x.dense_x.bytes()}, {x.y.data(), x.y.bytes()}};
  std::vector<stretch> memory{{x.index.data(), x.index.bytes()}, {x.val.data(), x.val.bytes()}};
  if (f == function::add) {
    memory.push_back({x.z_index.data(), x.z_index.bytes()});
    memory.push_back({x.z_val.data(), x.z_val.bytes()});
    memory.push_back({sum.col.data(), sum.col.bytes()});
    memory.push_back({sum.val.data(), sum.val.bytes()});
    return memory;
  }
  auto const line_of = [&](std::size_t k) {
    return static_cast<std::size_t>(x.index[k]) * sizeof(V) / line;
  };
  std::size_t lines = 0;
  for (std::size_t k = 0; k < x.index.size(); ++k)
    lines += k == 0 || line_of(k) != line_of(k - 1);
  memory.push_back({x.y.data(), std::min(lines * line, x.y.bytes())});
  return memory;
}

template <class V, class I>
std::vector<record> run_level1(std::string const& spec, shape const& s, options const& o,
                               std::vector<std::string>& remarks) {
  narrow<I>(s.length, "the length of the vector");
  operands<V, I> with(s);
  csr<V, I, I> const sum = with.sum();
  std::vector<record> all;
  for (std::size_t f = 0; f < std::size(function_names); ++f) {
    auto const which = static_cast<function>(f);
    level1_problem<V, I> const p{which,        with.index, with.val,     with.y,
                                 with.z_index, with.z_val, with.dense_x, V(alpha),
                                 V(cosine),    V(sine),    threads_of(o)};
    with.restore(); // peers may copy what they are shown
    contest c;
    c.about.matrix = spec + " " + function_names[f];
    c.about.rows = s.length;
    c.about.cols = 1;
    c.about.nnz = is_dense(which) ? s.length : s.nnz;
    c.about.op = "level1";
    c.about.value = o.value;
    c.about.index = o.index;
    c.about.threads = p.threads;
    c.verify = [&](contestant const& who) {
      if (which == function::dot || which == function::dense_dot) {
        V found = 0;
        who.result(&found);
        if (!is_dot(found, which, with))
          return false;
      }
      if (which == function::add) {
        csr<V, I, I> found;
        who.result(&found);
        if (!(found == sum))
          return false;
      }
      return is_changed_by(which, with);
    };
    std::vector<stretch> const memory = must_move(with, which, sum);
    for (stretch const& m : memory)
      c.bound_bytes += static_cast<double>(m.bytes);
    c.moved_bytes = c.bound_bytes;
    c.contestants.push_back(read_bound(memory, p.threads));
    if (is_wanted(o.formats, "vector"))
      c.contestants.push_back(make_tulle(p));
    for (auto& peer : ask_peers(o.peers, {over_types<level1_problem>(p), o.backend}, remarks))
      c.contestants.push_back(std::move(peer));
    for (contestant& who : c.contestants)
      who.poison = [&with, own = who.poison] {
        if (own)
          own();
        with.restore();
      };
    for (record const& r : hold(c, o, remarks))
      all.push_back(r);
  }
  return all;
}

} // namespace

std::vector<record> vector_calls(std::string const& spec, options const& o,
                                 std::vector<std::string>& remarks) {
  shape const s = shape_of(spec);
  return with_types(o,
                    [&]<class V, class I>(V, I) { return run_level1<V, I>(spec, s, o, remarks); });
}

} // namespace tulle::bench
