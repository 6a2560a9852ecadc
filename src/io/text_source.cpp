// SPDX-License-Identifier: Apache-2.0
#include "io/text_source.hpp"

#include "tulle/core/error.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <istream>
#include <new>
#include <streambuf>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

namespace tulle::detail {
namespace {

constexpr std::size_t gzip_input_bytes = std::size_t{1} << 18;
// Where the caller sets no limit. 83 matrices of the SuiteSparse collection and elsewhere
// compress 2.2 to 7.3 times; deflate can do no more than 1032.
constexpr std::uint64_t free_text = std::uint64_t{64} << 20;
constexpr std::uint64_t free_ratio = 200;

class memory_reader final : public byte_reader {
public:
  memory_reader(char const* data, std::size_t size) : data_(data), size_(size) {}
  std::size_t read(char* to, std::size_t n) override {
    n = std::min(n, size_ - at_);
    if (n != 0)
      std::memcpy(to, data_ + at_, n);
    at_ += n;
    return n;
  }
  std::uint64_t taken() const override { return at_; }

private:
  char const* data_;
  std::size_t size_;
  std::size_t at_ = 0;
};

/// A pipe, a terminal, a file that cannot be mapped.
class file_reader final : public byte_reader {
public:
  file_reader(int fd, char const* name) : fd_(fd), name_(name) {}
  file_reader(file_reader const&) = delete;
  ~file_reader() override { ::close(fd_); }
  std::size_t read(char* to, std::size_t n) override {
    ssize_t got = 0;
    do
      got = ::read(fd_, to, n);
    while (got < 0 && errno == EINTR);
    if (got < 0)
      fail(errc::io, "%s: cannot read: %s", name_, std::strerror(errno));
    taken_ += static_cast<std::uint64_t>(got);
    return static_cast<std::size_t>(got);
  }
  std::uint64_t taken() const override { return taken_; }

private:
  int fd_;
  char const* name_;
  std::uint64_t taken_ = 0;
};

/// Reads the buffer below the stream: no formatting, no locale, no exception mask.
class stream_reader final : public byte_reader {
public:
  stream_reader(std::istream& in, char const* name) : in_(in), name_(name) {
    if (!in || in.rdbuf() == nullptr)
      fail(errc::io, "%s: cannot be read", name_);
  }
  std::size_t read(char* to, std::size_t n) override {
    try {
      auto const got = in_.rdbuf()->sgetn(to, static_cast<std::streamsize>(n));
      taken_ += static_cast<std::uint64_t>(std::max<std::streamsize>(got, 0));
      return static_cast<std::size_t>(std::max<std::streamsize>(got, 0));
    } catch (std::exception const& e) {
      fail(errc::io, "%s: cannot read: %s", name_, e.what());
    }
  }
  std::uint64_t taken() const override { return taken_; }

private:
  std::istream& in_;
  char const* name_;
  std::uint64_t taken_ = 0;
};

/// A few bytes that were looked at, then the rest.
class prefixed_reader final : public byte_reader {
public:
  prefixed_reader(char const* prefix, std::size_t n, std::unique_ptr<byte_reader> rest)
      : left_(n), rest_(std::move(rest)) {
    std::copy_n(prefix, n, prefix_);
  }
  std::size_t read(char* to, std::size_t n) override {
    if (left_ == 0)
      return rest_->read(to, n);
    n = std::min(n, left_);
    std::copy_n(prefix_, n, to);
    std::copy(prefix_ + n, prefix_ + left_, prefix_);
    left_ -= n;
    return n;
  }
  std::uint64_t taken() const override { return rest_->taken() - left_; }

private:
  char prefix_[2];
  std::size_t left_;
  std::unique_ptr<byte_reader> rest_;
};

class gzip_reader final : public byte_reader {
public:
  gzip_reader(std::unique_ptr<byte_reader> in, char const* name, std::uint64_t max_bytes,
              std::pmr::memory_resource* memory)
      : in_(std::move(in)), name_(name), max_bytes_(max_bytes), input_(gzip_input_bytes, memory) {
    constexpr int gzip_only = 15 + 16;
    if (inflateInit2(&z_, gzip_only) != Z_OK)
      throw std::bad_alloc();
  }
  gzip_reader(gzip_reader const&) = delete;
  ~gzip_reader() override { inflateEnd(&z_); }

  std::size_t read(char* to, std::size_t n) override {
    auto const wanted = static_cast<uInt>(std::min<std::size_t>(n, 1u << 30));
    z_.next_out = reinterpret_cast<Bytef*>(to);
    z_.avail_out = wanted;
    while (z_.avail_out == wanted && !done_) {
      if (z_.avail_in == 0)
        refill();
      if (between_members_ && !next_member())
        break;
      int const status = inflate(&z_, Z_NO_FLUSH);
      if (status == Z_STREAM_END)
        between_members_ = true;
      else if (status == Z_MEM_ERROR)
        throw std::bad_alloc();
      else if (status == Z_BUF_ERROR && input_ended_ && z_.avail_in == 0)
        fail(errc::io, "%s: gzip data is truncated after %llu compressed bytes", name_,
             static_cast<unsigned long long>(in_->taken()));
      else if (status != Z_OK && status != Z_BUF_ERROR)
        fail(errc::io, "%s: gzip data is damaged near byte %llu: %s", name_,
             static_cast<unsigned long long>(taken()), z_.msg ? z_.msg : "bad data");
    }
    std::size_t const got = wanted - z_.avail_out;
    produced_ += got;
    check_limit();
    return got;
  }
  std::uint64_t taken() const override { return in_->taken() - z_.avail_in; }

private:
  void refill() {
    if (input_ended_)
      return;
    z_.next_in = reinterpret_cast<Bytef*>(input_.data());
    z_.avail_in = static_cast<uInt>(in_->read(input_.data(), input_.size()));
    input_ended_ = z_.avail_in == 0;
  }

  /// Files may be several gzip members in a row, and be padded with zeros, as tapes and tar left
  /// them.
  bool next_member() {
    while (z_.avail_in != 0 && *z_.next_in == 0) {
      ++z_.next_in;
      if (--z_.avail_in == 0)
        refill();
    }
    if (z_.avail_in == 0) {
      done_ = input_ended_;
      return false;
    }
    if (*z_.next_in != 0x1f)
      fail(errc::io, "%s: neither gzip data nor padding at byte %llu", name_,
           static_cast<unsigned long long>(taken()));
    inflateReset(&z_);
    between_members_ = false;
    return true;
  }

  void check_limit() const {
    std::uint64_t const limit = max_bytes_ ? max_bytes_ : free_text + free_ratio * taken();
    if (produced_ > limit)
      fail(errc::out_of_memory,
           "%s: %llu bytes of gzip hold more than %llu of text; raise max_bytes to read them",
           name_, static_cast<unsigned long long>(taken()), static_cast<unsigned long long>(limit));
  }

  std::unique_ptr<byte_reader> in_;
  char const* name_;
  std::uint64_t max_bytes_;
  array<char> input_;
  z_stream z_{};
  std::uint64_t produced_ = 0;
  bool between_members_ = false;
  bool input_ended_ = false;
  bool done_ = false;
};

bool is_gzip(char const* p, std::size_t n) {
  return n >= 2 && static_cast<unsigned char>(p[0]) == 0x1f &&
         static_cast<unsigned char>(p[1]) == 0x8b;
}

char const* find_newline(char const* begin, char const* end) {
  return begin == end ? nullptr
                      : static_cast<char const*>(
                            std::memchr(begin, '\n', static_cast<std::size_t>(end - begin)));
}

char const* find_last_newline(char const* begin, char const* end) {
  return begin == end ? nullptr
                      : static_cast<char const*>(
                            memrchr(begin, '\n', static_cast<std::size_t>(end - begin)));
}

} // namespace

text_source::text_source(text_input from, text_limits const& limits)
    : name_(!from.path          ? "stream"
            : *from.path == "-" ? "stdin"
                                : *from.path),
      limits_(limits) {
  if (!from.path)
    start(std::make_unique<stream_reader>(*from.stream, name()));
  else if (*from.path == "-")
    open(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  else
    open(::open(name(), O_RDONLY | O_CLOEXEC));
}

void text_source::open(int fd) {
  if (fd < 0)
    fail(errc::io, "%s: cannot open: %s", name(), std::strerror(errno));
  auto file = std::make_unique<file_reader>(fd, name());
  struct stat info {};
  if (::fstat(fd, &info) != 0)
    fail(errc::io, "%s: cannot open: %s", name(), std::strerror(errno));
  if (S_ISDIR(info.st_mode))
    fail(errc::io, "%s: is a directory, expected a file", name());
  auto const size = static_cast<std::size_t>(info.st_size);
  void* p = MAP_FAILED;
  if (S_ISREG(info.st_mode) && size != 0)
    p = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (p == MAP_FAILED)
    return start(std::move(file));

  map_.data = static_cast<char const*>(p);
  map_.size = size;
  total_ = size;
  // Of standard input another program may have read a part.
  auto const at = static_cast<std::size_t>(std::max<off_t>(::lseek(fd, 0, SEEK_CUR), 0));
  begin_ = map_.data + std::min(at, size);
  end_ = map_.data + size;
  auto const unread = static_cast<std::size_t>(end_ - begin_);
  if (is_gzip(begin_, unread))
    return start(std::make_unique<memory_reader>(begin_, unread));
  if (limits_.max_bytes != 0 && unread > limits_.max_bytes)
    fail(errc::out_of_memory, "%s: %zu bytes of text, but max_bytes is %llu", name(), unread,
         static_cast<unsigned long long>(limits_.max_bytes));
  text_bytes_ = unread;
  at_end_ = true;
}

text_source::mapping::~mapping() {
  if (data)
    ::munmap(const_cast<char*>(data), size);
}

void text_source::start(std::unique_ptr<byte_reader> raw) {
  char magic[2];
  std::size_t n = 0;
  while (n < 2) {
    std::size_t const got = raw->read(magic + n, 2 - n);
    if (got == 0)
      break;
    n += got;
  }
  reader_ = std::make_unique<prefixed_reader>(magic, n, std::move(raw));
  if (is_gzip(magic, n))
    reader_ = std::make_unique<gzip_reader>(std::move(reader_), name(), limits_.max_bytes,
                                            limits_.memory);
  limits_.block_bytes = std::clamp<std::size_t>(limits_.block_bytes, 16, most_line);
  buffer_[0] = array<char>(limits_.block_bytes, limits_.memory);
  begin_ = end_ = buffer_[0].data();
}

std::size_t text_source::read_into(array<char>& buffer, std::size_t used) {
  // One byte stays free for the newline that the last line may lack.
  while (used + 1 < buffer.size()) {
    std::size_t const got = reader_->read(buffer.data() + used, buffer.size() - 1 - used);
    if (got == 0) {
      at_end_ = true;
      break;
    }
    used += got;
    text_bytes_ += got;
    if (limits_.max_bytes != 0 && text_bytes_ > limits_.max_bytes)
      fail(errc::out_of_memory, "%s: more than %llu bytes of text; raise max_bytes to read them",
           name(), static_cast<unsigned long long>(limits_.max_bytes));
  }
  return used;
}

bool text_source::fill(std::size_t most) {
  if (at_end_)
    return false;
  auto& buffer = buffer_[current_];
  auto const unread = static_cast<std::size_t>(end_ - begin_);
  if (unread + 1 >= buffer.size()) { // one line longer than the buffer
    if (unread > most)
      fail(errc::io, "%s: the line at byte %llu of the text is longer than %zu bytes", name(),
           static_cast<unsigned long long>(text_bytes_ - unread), most);
    array<char> larger(std::min(checked_mul(buffer.size(), 2), most + 2), limits_.memory);
    std::memcpy(larger.data(), begin_, unread);
    buffer.swap(larger);
  } else if (unread != 0) {
    std::memmove(buffer.data(), begin_, unread);
  }
  std::size_t const used = read_into(buffer, unread);
  begin_ = buffer.data();
  end_ = begin_ + used;
  return used > unread;
}

bool text_source::line(text_range& out) {
  std::size_t looked = 0;
  for (;;) {
    if (char const* const newline = find_newline(begin_ + looked, end_)) {
      out = {begin_, newline};
      begin_ = newline + 1;
      return true;
    }
    looked = static_cast<std::size_t>(end_ - begin_);
    if (!fill())
      break;
  }
  out = {begin_, end_};
  bool const some = begin_ != end_;
  begin_ = end_;
  return some;
}

text_range text_source::block() {
  if (prefetch_error_)
    std::rethrow_exception(prefetch_error_);
  if (prefetched_) {
    prefetched_ = false;
    current_ ^= 1;
    begin_ = buffer_[current_].data();
    end_ = begin_ + prefetched_size_;
  }
  for (;;) {
    if (char const* const newline = find_last_newline(begin_, end_)) {
      text_range const out{begin_, newline + 1};
      begin_ = newline + 1;
      return out;
    }
    if (!fill())
      break;
  }
  if (begin_ == end_)
    return {};
  auto const n = static_cast<std::size_t>(end_ - begin_);
  text_range out;
  if (reader_) {
    *const_cast<char*>(end_) = '\n'; // the byte read_into() left free
    out = {begin_, end_ + 1};
  } else {
    last_line_ = array<char>(n + 1, limits_.memory);
    std::memcpy(last_line_.data(), begin_, n);
    last_line_[n] = '\n';
    out = {last_line_.data(), last_line_.data() + n + 1};
  }
  begin_ = end_;
  return out;
}

text_range text_source::peek(std::size_t n) {
  while (static_cast<std::size_t>(end_ - begin_) < n && fill()) {
  }
  return {begin_, begin_ + std::min(n, static_cast<std::size_t>(end_ - begin_))};
}

text_range text_source::rest() {
  auto used = static_cast<std::size_t>(end_ - begin_);
  if (!at_end_) {
    auto& buffer = buffer_[current_];
    std::memmove(buffer.data(), begin_, used);
    for (used = read_into(buffer, used); !at_end_; used = read_into(buffer, used)) {
      array<char> larger(checked_mul(buffer.size(), 2), limits_.memory);
      std::memcpy(larger.data(), buffer.data(), used);
      buffer.swap(larger);
    }
    begin_ = buffer.data();
  }
  text_range const out{begin_, begin_ + used};
  begin_ = end_ = out.end;
  return out;
}

void text_source::prefetch() noexcept {
  if (!reader_ || at_end_)
    return;
  try {
    auto const unread = static_cast<std::size_t>(end_ - begin_);
    auto& next = buffer_[current_ ^ 1];
    if (next.size() < buffer_[current_].size())
      next = array<char>(buffer_[current_].size(), limits_.memory);
    if (unread != 0)
      std::memcpy(next.data(), begin_, unread);
    prefetched_size_ = read_into(next, unread);
    prefetched_ = true;
  } catch (...) {
    prefetch_error_ = std::current_exception();
  }
}

void text_source::forget(text_range part) const noexcept {
  if (reader_ || part.begin < map_.data || part.end > map_.data + map_.size)
    return;
  constexpr std::uintptr_t page = 4096;
  auto const first = (reinterpret_cast<std::uintptr_t>(part.begin) + page - 1) / page * page;
  auto const last = reinterpret_cast<std::uintptr_t>(part.end) / page * page;
  if (first < last)
    ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

std::uint64_t text_source::bytes_done(char const* end) const {
  if (reader_)
    return reader_->taken();
  return end > map_.data && end <= map_.data + map_.size
             ? static_cast<std::uint64_t>(end - map_.data)
             : total_;
}

std::size_t count_newlines(text_range text) noexcept {
  using bytes = unsigned char __attribute__((vector_size(16)));
  char const* p = text.begin;
  std::size_t n = 0;
  while (text.end - p >= 16) {
    bytes sum{};
    auto const rounds = std::min<std::ptrdiff_t>((text.end - p) / 16, 255);
    for (std::ptrdiff_t r = 0; r < rounds; ++r, p += 16) {
      bytes v;
      std::memcpy(&v, p, 16);
      sum -= static_cast<bytes>(v == '\n');
    }
    for (int i = 0; i < 16; ++i)
      n += sum[i];
  }
  for (; p != text.end; ++p)
    n += *p == '\n';
  return n;
}

} // namespace tulle::detail
