// SPDX-License-Identifier: Apache-2.0
#include "bench/read/read.hpp"

#include "tulle/io/matrix_market.hpp"

#include "bench/contest.hpp"
#include "bench/peer_modules.hpp"
#include "bench/source.hpp"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <unistd.h>

namespace tulle::bench {
namespace {

/// A generated matrix as a file, while this lives.
class written {
public:
  template <class A>
  explicit written(A const& a)
      : path_(std::filesystem::temp_directory_path() /
              ("tulle-" + std::to_string(getpid()) + ".mtx")) {
    write_matrix_market(path_.string(), a);
  }
  written(written const&) = delete;
  ~written() { std::remove(path_.c_str()); }
  std::string path() const { return path_.string(); }

private:
  std::filesystem::path path_;
};

/// The owner that `read` gives, kept and handed out as csr.
template <class V, class I, class Read>
contestant make_tulle(read_problem<V, I> const& p, std::string const& format, Read read) {
  read_options const how{.threads = p.threads};
  auto const kept = std::make_shared<decltype(read(p.path, how))>();
  contestant c;
  c.format = format;
  c.path = "read_matrix_market, file mapped";
  c.run = [p, how, read, kept] {
    *kept = {};
    *kept = read(p.path, how);
  };
  c.run();
  c.bytes = c.peak_bytes = kept->bytes();
  c.result = [kept](void* to) { *static_cast<csr<V, I, I>*>(to) = kept->to_csr(); };
  return c;
}

template <class V, class I>
std::vector<record> run_read(std::string const& matrix, csr<V, I, I> const& a, options const& o,
                             std::vector<std::string>& remarks) {
  std::unique_ptr<written> made;
  if (app::is_generator(matrix))
    made = std::make_unique<written>(a);
  read_problem<V, I> const p{made ? made->path() : matrix, threads_of(o)};
  csr<V, I, I> const expected = a.to_csr({.threads = p.threads});
  contest c;
  c.about = about(matrix, a, "read", o);
  c.moved_bytes = static_cast<double>(std::filesystem::file_size(p.path));
  c.verify = [&](contestant const& who) {
    csr<V, I, I> found;
    who.result(&found);
    return found == expected;
  };
  if (is_wanted(o.formats, "csr"))
    c.contestants.push_back(
        make_tulle(p, "csr", [](std::string const& path, read_options const& how) {
          return read_matrix_market<V, I, I>(path, how);
        }));
  if (is_wanted(o.formats, "coo"))
    c.contestants.push_back(
        make_tulle(p, "coo", [](std::string const& path, read_options const& how) {
          return read_matrix_market_coo<V, I, I>(path, how);
        }));
  for (auto& peer : ask_peers(o.peers, {over_types<read_problem>(p), o.backend}, remarks))
    c.contestants.push_back(std::move(peer));
  return hold(c, o, remarks);
}

} // namespace

std::vector<record> reads(std::string const& matrix, options const& o,
                          std::vector<std::string>& remarks) {
  return with_matrix(matrix, o, [&](auto const& a) { return run_read(matrix, a, o, remarks); });
}

} // namespace tulle::bench
