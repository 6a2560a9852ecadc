// SPDX-License-Identifier: Apache-2.0

/// Text from a file or a stream, plain or gzip, handed out in blocks of whole lines.
#pragma once
#include "tulle/core/array.hpp"

#include <cstdint>
#include <exception>
#include <iosfwd>
#include <memory>
#include <string>

namespace tulle::detail {

/// Bytes, one after the other.
class byte_reader {
public:
  virtual ~byte_reader() = default;
  /// Up to n bytes to `to`; 0 only at the end.
  virtual std::size_t read(char* to, std::size_t n) = 0;
  /// Bytes of the file or stream that have been taken.
  virtual std::uint64_t taken() const = 0;
};

struct text_range {
  char const* begin = nullptr;
  char const* end = nullptr;
  bool empty() const { return begin == end; }
  std::size_t size() const { return static_cast<std::size_t>(end - begin); }
};

/// Of a line, other than in a mapped file: a stream without newlines must not fill the memory.
inline constexpr std::size_t most_line = std::size_t{4} << 20;

struct text_limits {
  std::size_t block_bytes =
      std::size_t{1} << 20;    ///< of a stream that are in memory at a time, twice; <= most_line
  std::uint64_t max_bytes = 0; ///< as in read_options
  std::pmr::memory_resource* memory = nullptr;
};

/// A file or a stream. The path "-" is standard input.
struct text_input {
  text_input(std::string const& path) : path(&path) {}
  text_input(std::istream& stream) : stream(&stream) {}
  std::string const* path = nullptr;
  std::istream* stream = nullptr;
};

/// A plain file is mapped and is one block; anything else passes through two buffers, the next of
/// which can be filled while the last block is being parsed.
class text_source {
public:
  text_source(text_input from, text_limits const& limits);
  text_source(text_source const&) = delete;

  char const* name() const { return name_.c_str(); }
  /// The next line without its newline; false at the end. Valid until the next call.
  bool line(text_range& out);
  /// All whole lines at hand, each ended by a newline (the last of the file gets one); empty at the
  /// end.
  text_range block();
  /// The first unread bytes, n of them or all there are; they stay unread.
  text_range peek(std::size_t n);
  /// All unread bytes, in memory or mapped: for files that are no text.
  text_range rest();
  /// Reads ahead while the block is in use, from any one thread. What goes wrong is thrown by the
  /// next block().
  void prefetch() noexcept;
  /// The pages of this part of a mapped file will not be read again soon. From any thread.
  void forget(text_range part) const noexcept;

  /// Of the file, compressed as it may be, when text up to `end` of the last block has been used.
  std::uint64_t bytes_done(char const* end) const;
  std::uint64_t bytes_total() const { return total_; }
  std::uint64_t text_bytes() const {
    return text_bytes_;
  } ///< of text in memory or passed by so far

private:
  struct mapping { // of the file, gzip or not
    mapping() = default;
    mapping(mapping const&) = delete;
    ~mapping();
    char const* data = nullptr;
    std::size_t size = 0;
  };

  void open(int fd);
  void start(std::unique_ptr<byte_reader> raw);
  /// More text behind what is unread; false at the end. errc::io if more than `most` bytes would be
  /// unread.
  bool fill(std::size_t most = most_line);
  /// Reads until the buffer is full or the text ends; returns bytes used.
  std::size_t read_into(array<char>& buffer, std::size_t used);

  std::string name_;
  text_limits limits_;
  std::uint64_t total_ = 0;
  std::uint64_t text_bytes_ = 0;

  mapping map_;
  std::unique_ptr<byte_reader> reader_; // null when the text is the mapped file
  array<char> buffer_[2];
  int current_ = 0;
  char const* begin_ = nullptr; // unread text, in the map or in buffer_[current_]
  char const* end_ = nullptr;
  bool at_end_ = false;
  bool prefetched_ = false;
  std::size_t prefetched_size_ = 0;
  std::exception_ptr prefetch_error_;
  array<char> last_line_; // of a mapped file without a final newline
};

/// Bytes equal to '\n'.
std::size_t count_newlines(text_range text) noexcept;

} // namespace tulle::detail
