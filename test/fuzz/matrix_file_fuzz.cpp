// SPDX-License-Identifier: Apache-2.0

// Any bytes are a matrix or a tulle::error, whatever kind of file they are taken for. What is a
// matrix is valid.
//
//     ./matrix_file_fuzz -max_len=4096 work test/fuzz/corpus/matrix_file
//
// The first byte says what is known of the kind, the second is options, the rest is the file.
#include "tulle/core/error.hpp"
#include "tulle/io/read.hpp"

#include <complex>
#include <cstdint>
#include <sstream>

namespace {

using namespace tulle;

template <class V, class I>
void check(std::string const& text, read_options const& options, file_hint const& hint,
           bool as_coo) {
  std::istringstream in(text);
  matrix_file file(in, options, hint);
  if (as_coo)
    file.to_coo<V, I, I>().validate();
  else
    file.to_csr<V, I, I>().validate();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size < 2)
    return 0;
  unsigned const a = data[0];
  unsigned const b = data[1];
  std::string const text(reinterpret_cast<char const*>(data) + 2, size - 2);
  constexpr std::size_t kinds = std::size(all_file_kinds);
  file_hint hint{.ids = static_cast<node_ids>(b >> 4 & 1)};
  if (a % (kinds + 1) != kinds)
    hint.kind = all_file_kinds[a % (kinds + 1)];
  read_options const options{
      .symmetry = b & 1 ? on_symmetry::keep : on_symmetry::expand,
      .duplicates = b & 2 ? on_duplicates::sum : on_duplicates::keep,
      .zeros = b & 4 ? on_zeros::drop : on_zeros::keep,
      .threads = 1,
      .max_bytes = 1 << 20,
      .max_rows = 1 << 16,
      .chunk_bytes = 1 << 12,
  };
  try {
    if (b & 8)
      check<std::complex<double>, std::int64_t>(text, options, hint, b & 32);
    else
      check<double, std::int32_t>(text, options, hint, b & 32);
  } catch (error const&) { // refused, in words
  }
  return 0;
}
