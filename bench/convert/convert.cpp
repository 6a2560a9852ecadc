// SPDX-License-Identifier: Apache-2.0
#include "bench/convert/convert.hpp"

#include "tulle/core/error.hpp"
#include "tulle/op/convert.hpp"

#include "bench/contest.hpp"
#include "bench/measure.hpp"
#include "bench/peer_modules.hpp"
#include "bench/source.hpp"

#include <memory>

namespace tulle::bench {
namespace {

template <class V, class I>
contestant make_tulle(convert_problem<V, I> const& p, layout const& f) {
  cpu const where{.threads = p.threads};
  auto const kept = std::make_shared<any_matrix>();
  contestant c;
  c.format = name(f);
  c.path = "csr to " + name(f);
  c.run = [p, f, where, kept] {
    *kept = any_matrix(); // its memory first, as in a loop of a user's
    *kept = convert(matrix_ref(p.a), f, where);
  };
  c.run();
  c.bytes = c.peak_bytes = kept->bytes();
  c.result = [kept, where](void* to) {
    any_matrix back = convert(*kept, format::csr, where);
    *static_cast<csr<V, I, I>*>(to) = std::move(*back.get_if<csr<V, I, I>>());
  };
  return c;
}

template <class V, class I>
std::vector<record> run(std::string const& matrix, csr<V, I, I> const& a, options const& o,
                        std::vector<std::string>& remarks) {
  convert_problem<V, I> const p{a.view(), threads_of(o)};
  csr<V, I, I> const expected = a.to_csr({.threads = p.threads});
  contest c;
  c.about = about(matrix, a, "convert", o);
  c.bound_bytes = static_cast<double>(a.bytes());
  c.verify = [&](contestant const& who) {
    csr<V, I, I> found;
    who.result(&found);
    return found == expected;
  };
  c.contestants.push_back(read_bound(stretches({a.view()}), p.threads));
  for (layout const& l : wanted_layouts(o))
    if (l.format != format::csr)
      try {
        c.contestants.push_back(make_tulle(p, l));
      } catch (error const& e) {
        if (e.code() != errc::unsupported)
          throw;
        remarks.push_back(matrix + ": " + e.what());
      }
  for (auto& peer : ask_peers(o.peers, {over_types<convert_problem>(p), o.backend}, remarks))
    c.contestants.push_back(std::move(peer));
  return hold(c, o, remarks);
}

} // namespace

std::vector<record> conversions(std::string const& matrix, options const& o,
                                std::vector<std::string>& remarks) {
  return with_matrix(matrix, o, [&](auto const& a) { return run(matrix, a, o, remarks); });
}

} // namespace tulle::bench
