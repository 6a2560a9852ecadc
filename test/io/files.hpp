// SPDX-License-Identifier: Apache-2.0

/// Files that last as long as a test, and errors as text.
#pragma once
#include "tulle/core/error.hpp"
#include "tulle/io/matrix_market.hpp"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sstream>
#include <string>
#include <unistd.h>
#include <zlib.h>

namespace tulle::test {

/// A folder that goes away with its owner.
class folder {
public:
  folder() {
    static std::atomic<int> serial{0};
    path_ = std::filesystem::temp_directory_path() /
            ("tulle-io-" + std::to_string(::getpid()) + "-" + std::to_string(serial++));
    std::filesystem::create_directories(path_);
  }
  folder(folder const&) = delete;
  ~folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(std::string const& name) const { return (path_ / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

  std::string write(std::string const& name, std::string const& text) const {
    std::ofstream(*this / name, std::ios::binary) << text;
    return *this / name;
  }

private:
  std::filesystem::path path_;
};

inline std::string contents(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// One gzip member.
inline std::string gzip(std::string const& text) {
  z_stream z{};
  deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&z, text.size()) + 64, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

/// "io: a.mtx:3: ..." of what f throws, with folders left out; "" if it throws nothing.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
    return "";
  } catch (error const& e) {
    std::string what = e.what();
    for (std::size_t slash; (slash = what.find('/')) != std::string::npos;) {
      std::size_t const last = what.rfind('/', what.find(' ', slash));
      what.erase(slash, last - slash + 1);
    }
    return std::string(name(e.code())) + ": " + what;
  }
}

template <class V = double, class I = std::int32_t, class O = I>
csr<V, I, O> read_text(std::string const& text, read_options const& options = {}) {
  std::istringstream in(text);
  return read_matrix_market<V, I, O>(in, options);
}
template <class V = double, class I = std::int32_t, class O = I>
coo<V, I, O> read_text_coo(std::string const& text, read_options const& options = {}) {
  std::istringstream in(text);
  return read_matrix_market_coo<V, I, O>(in, options);
}

/// What goes wrong with a text, as "io: stream:3: ...".
template <class V = double, class I = std::int32_t>
std::string error_in(std::string const& text, read_options const& options = {}) {
  return error_of([&] { read_text<V, I>(text, options); });
}

inline csr<double> example() { // the picture of format/csr.hpp
  return {4, 4, {0, 2, 3, 4, 7}, {0, 2, 1, 3, 0, 1, 2}, {1, 2, 3, 4, 5, 6, 7}};
}
inline constexpr char const* example_text = "%%MatrixMarket matrix coordinate real general\n"
                                            "4 4 7\n"
                                            "1 1 1\n4 1 5\n2 2 3\n4 2 6\n1 3 2\n4 3 7\n3 4 4\n";

} // namespace tulle::test
