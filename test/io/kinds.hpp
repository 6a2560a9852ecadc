// SPDX-License-Identifier: Apache-2.0

/// Files of other kinds than Matrix Market from text in a test, and what damage may do to them.
#pragma once
#include "tulle/io/read.hpp"

#include "files.hpp"

#include <algorithm>
#include <memory_resource>

namespace tulle::test {

template <class V = double, class I = std::int32_t, class O = I>
csr<V, I, O> read_kind(std::string const& text, file_hint const& hint = {},
                       read_options const& options = {}) {
  std::istringstream in(text);
  auto a = read_matrix<V, I, O>(in, options, hint);
  a.validate();
  return a;
}

template <class V = double, class I = std::int32_t>
std::string error_in_kind(std::string const& text, file_hint const& hint = {},
                          read_options const& options = {}) {
  return error_of([&] { read_kind<V, I>(text, hint, options); });
}

/// Remembers the most bytes that were allocated at a time.
class peak_memory final : public std::pmr::memory_resource {
public:
  std::size_t peak() const { return peak_; }

private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    now_ += bytes;
    peak_ = std::max(peak_, now_);
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    now_ -= bytes;
    std::pmr::new_delete_resource()->deallocate(p, bytes, alignment);
  }
  bool do_is_equal(memory_resource const& other) const noexcept override { return this == &other; }

  std::size_t now_ = 0;
  std::size_t peak_ = 0;
};

/// Any bytes are a valid matrix or a tulle::error, and take memory by what they are, not by what
/// they claim. Returns whether they are a matrix.
template <class V = double>
bool survives(std::string const& text, file_hint const& hint) {
  peak_memory memory;
  read_options const options{
      .threads = 1, .memory = &memory, .max_rows = 1 << 12, .chunk_bytes = 1 << 12};
  bool good = false;
  try {
    read_kind<V, std::int64_t>(text, hint, options);
    good = true;
  } catch (error const& e) {
    EXPECT_TRUE(std::string(e.what()).starts_with("stream:")) << e.what();
  }
  EXPECT_LE(memory.peak(), (std::size_t{512} << 10) + 256 * text.size());
  return good;
}

/// Every truncation and many changes of every byte. Returns how many truncations were a matrix
/// still.
template <class V = double>
int survives_damage(std::string const& text, file_hint const& hint) {
  int matrices = 0;
  for (std::size_t n = 0; n < text.size(); ++n)
    matrices += survives<V>(text.substr(0, n), hint);
  for (std::size_t k = 0; k < text.size(); ++k) {
    std::string broken = text;
    for (int bit = 0; bit < 8; ++bit) {
      broken[k] = static_cast<char>(text[k] ^ (1 << bit));
      survives<V>(broken, hint);
    }
    for (char const c : {'\0', '\xff', '9', '-', ' ', '\n', '('}) {
      broken[k] = c;
      survives<V>(broken, hint);
    }
  }
  EXPECT_TRUE(survives<V>(text, hint));
  return matrices;
}

/// Bytes of a number, in either order.
template <class T>
std::string bytes_of(T value, bool big_endian = false) {
  std::string out(reinterpret_cast<char const*>(&value), sizeof value);
  if (big_endian)
    std::reverse(out.begin(), out.end());
  return out;
}

} // namespace tulle::test
