// SPDX-License-Identifier: Apache-2.0

// Any bytes are a matrix or a tulle::error. What is a matrix is valid, is the same in one chunk as
// in many, and is the same after writing and reading it again.
//
//     clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -fopenmp=libgomp -Iinclude
//     -Isrc
//         test/fuzz/matrix_market_fuzz.cpp src/io/*.cpp src/core/*.cpp -lz -o matrix_market_fuzz
//     ./matrix_market_fuzz -max_len=4096 work test/fuzz/corpus/matrix_market
//
// The first two bytes are options, the rest is the file.
#include "tulle/core/error.hpp"
#include "tulle/io/matrix_market.hpp"

#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace {

using namespace tulle;

void require(bool condition, char const* what) {
  if (!condition) {
    std::fprintf(stderr, "matrix_market_fuzz: %s\n", what);
    std::abort();
  }
}

/// Equal in every bit, but for the bits of NaN.
template <class V>
bool same(V a, V b) {
  return a == b || (a != a && b != b);
}
template <class M>
bool same_matrix(M const& a, M const& b) {
  if (a.rows != b.rows || a.cols != b.cols || !(a.col == b.col) || a.val.size() != b.val.size())
    return false;
  for (std::size_t k = 0; k < a.val.size(); ++k)
    if (!same(a.val[k], b.val[k]))
      return false;
  return true;
}

template <class V, class I, class O>
void check(std::string const& text, read_options options, bool as_coo) {
  auto read = [&](std::string const& from) {
    std::istringstream in(from);
    return read_matrix_market<V, I, O>(in, options);
  };
  auto read_coo = [&](std::string const& from) {
    std::istringstream in(from);
    return read_matrix_market_coo<V, I, O>(in, options);
  };
  auto check_with = [&](auto const& a, auto&& again) {
    a.validate();
    options.chunk_bytes = 1 << 16;
    options.threads = 1;
    require(same_matrix(a, again(text)), "chunks change the matrix");
    options = {.max_bytes = 1 << 22, .max_rows = 1 << 16};
    std::ostringstream out;
    write_matrix_market(out, a);
    require(same_matrix(a, again(out.str())), "writing and reading changes the matrix");
  };
  if (as_coo)
    check_with(read_coo(text), read_coo);
  else
    check_with(read(text), read);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size < 2)
    return 0;
  unsigned const a = data[0];
  unsigned const b = data[1];
  std::string const text(reinterpret_cast<char const*>(data) + 2, size - 2);
  read_options const options{
      .symmetry = a & 1 ? on_symmetry::keep : on_symmetry::expand,
      .duplicates = a & 2 ? on_duplicates::sum : on_duplicates::keep,
      .zeros = a & 4 ? on_zeros::drop : on_zeros::keep,
      .threads = 1, // one input is too small for more
      .max_bytes = 1 << 20,
      .max_rows = 1 << 16,
      .chunk_bytes = 1 + b % 100,
  };
  bool const as_coo = a & 8;
  try {
    switch (a >> 4 & 3) {
    case 0:
      check<double, std::int32_t, std::int32_t>(text, options, as_coo);
      break;
    case 1:
      check<std::complex<double>, std::int64_t, std::int64_t>(text, options, as_coo);
      break;
    case 2:
      check<float, std::int32_t, std::int64_t>(text, options, as_coo);
      break;
    default:
      std::istringstream in(text);
      read_matrix_market_header(in);
    }
  } catch (error const&) { // refused, in words
  }
  return 0;
}
