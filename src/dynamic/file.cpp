// SPDX-License-Identifier: Apache-2.0

// A dynamic matrix in a file: a header, the length of each row, the columns of all rows, their
// values, in this machine's byte order, which the header tells; each part is followed by its
// CRC-32. The file takes its name only when all of it is on the disk.
#include "tulle/core/error.hpp"
#include "tulle/core/types.hpp"

#include "dynamic/rows.hpp"
#include "io/output_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <sys/stat.h>
#include <zlib.h>

namespace tulle {
namespace {

constexpr std::uint32_t file_version = 1;
constexpr std::size_t buffer_bytes = std::size_t(1) << 20;

struct file_header {
  char magic[8] = {'t', 'u', 'l', 'l', 'e', 'd', 'y', 'n'};
  std::uint32_t version = file_version;
  std::uint32_t type = 0;       // type_tag
  std::uint64_t order = 0x0102; // reads otherwise on a machine of the other kind
  std::uint64_t rows = 0, cols = 0, entries = 0;
};

[[noreturn]] void io_error(std::string const& path, char const* what) {
  fail(errc::io, "%s: %s: %s", path.c_str(), what, std::strerror(errno));
}

/// Writes parts; the file is gone if it is not finished.
class file_writer {
public:
  explicit file_writer(std::string const& path) : file_(path), buffer_(buffer_bytes) {}

  void put(void const* data, std::size_t bytes) {
    crc_ = static_cast<std::uint32_t>(crc32_z(crc_, static_cast<Bytef const*>(data), bytes));
    raw(data, bytes);
  }
  void end_part() {
    std::uint32_t const crc = crc_;
    crc_ = 0;
    raw(&crc, sizeof crc);
  }
  void finish() {
    flush();
    file_.finish(true);
  }

private:
  void raw(void const* data, std::size_t bytes) {
    auto const* from = static_cast<std::byte const*>(data);
    while (bytes > 0) {
      std::size_t const n = std::min(bytes, buffer_.size() - held_);
      std::copy_n(from, n, buffer_.data() + held_);
      held_ += n;
      from += n;
      bytes -= n;
      if (held_ == buffer_.size())
        flush();
    }
  }
  void flush() {
    file_.write(buffer_.data(), held_);
    held_ = 0;
  }

  detail::output_file file_;
  array<std::byte> buffer_;
  std::size_t held_ = 0;
  std::uint32_t crc_ = 0;
};

class file_reader {
public:
  explicit file_reader(std::string const& path)
      : path_(path), file_(std::fopen(path.c_str(), "rb")) {
    if (!file_)
      io_error(path, "cannot be read");
  }
  file_reader(file_reader const&) = delete;
  ~file_reader() { std::fclose(file_); }

  void get(char const* part, void* data, std::size_t bytes) {
    if (std::fread(data, 1, bytes, file_) != bytes)
      fail(errc::io, "%s: ends within its %s, of %zu bytes", path_.c_str(), part, bytes);
  }
  /// That the part just read has the checksum that follows it.
  void check(char const* part, void const* data, std::size_t bytes) {
    std::uint32_t crc = 0;
    get(part, &crc, sizeof crc);
    if (crc != crc32_z(0, static_cast<Bytef const*>(data), bytes))
      fail(errc::io, "%s: the checksum of its %s is wrong", path_.c_str(), part);
  }
  void get_checked(char const* part, void* data, std::size_t bytes) {
    get(part, data, bytes);
    check(part, data, bytes);
  }
  void check_end() {
    if (std::fgetc(file_) != EOF)
      fail(errc::io, "%s: has bytes after its end", path_.c_str());
  }
  /// Bytes of the whole file, before anything of that size is allocated.
  std::uint64_t bytes() const {
    struct stat about {};
    if (fstat(fileno(file_), &about) != 0)
      io_error(path_, "cannot be read");
    return static_cast<std::uint64_t>(about.st_size);
  }

private:
  std::string path_;
  std::FILE* file_;
};

file_header read_header(file_reader& in, std::string const& path, type_tag wanted) {
  file_header h;
  file_header const expected;
  in.get("head", &h, sizeof h);
  if (std::memcmp(h.magic, expected.magic, sizeof h.magic) != 0)
    fail(errc::io, "%s: is not a file of a dynamic_csr", path.c_str());
  if (h.version != file_version || h.order != expected.order)
    fail(errc::io, "%s: is of version %u%s; this reads version %u", path.c_str(), h.version,
         h.order != expected.order ? ", in another byte order" : "", file_version);
  in.check("head", &h, sizeof h);
  if (h.type != static_cast<std::uint32_t>(wanted))
    fail(errc::io, "%s: holds a matrix of %s, not of %s", path.c_str(),
         h.type < type_count ? name(static_cast<type_tag>(h.type)) : "unknown type", name(wanted));
  return h;
}

} // namespace

template <class V, class I>
void dynamic_csr<V, I>::save(std::string const& path) const {
  auto const s = snapshot(); // writers go on
  dynamic_view<V, I> const& a = s.view();
  file_header h;
  h.type = static_cast<std::uint32_t>(type_of<V, I, I>::value);
  h.rows = static_cast<std::uint64_t>(a.rows);
  h.cols = static_cast<std::uint64_t>(a.cols);
  h.entries = s.entries();
  file_writer out(path);
  out.put(&h, sizeof h);
  out.end_part();
  for (I i = 0; i < a.rows; ++i) {
    I const n = a.size(i);
    out.put(&n, sizeof n);
  }
  out.end_part();
  auto const each = [&](auto const& f) {
    for (I i = 0; i < a.rows; ++i)
      a.each_segment(i, f);
    out.end_part();
  };
  each([&](I const* col, V const*, I n) {
    out.put(col, static_cast<std::size_t>(n) * sizeof *col);
  });
  each([&](I const*, V const* val, I n) {
    out.put(val, static_cast<std::size_t>(n) * sizeof *val);
  });
  out.finish();
}

template <class V, class I>
dynamic_csr<V, I> dynamic_csr<V, I>::load(std::string const& path, options const& o) {
  file_reader in(path);
  file_header const h = read_header(in, path, type_of<V, I, I>::value);
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<I>::max());
  if (h.rows > most || h.cols > most || h.entries > most)
    fail(errc::io, "%s: %llu rows, %llu columns and %llu entries do not fit its %d-bit indices",
         path.c_str(), static_cast<unsigned long long>(h.rows),
         static_cast<unsigned long long>(h.cols), static_cast<unsigned long long>(h.entries),
         static_cast<int>(8 * sizeof(I)));
  std::uint64_t const bytes = in.bytes();
  if (h.rows > bytes / sizeof(I) ||
      h.entries > (bytes - h.rows * sizeof(I)) / (sizeof(I) + sizeof(V)))
    fail(errc::io, "%s: has %llu bytes, too few for %llu rows and %llu entries", path.c_str(),
         static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(h.rows),
         static_cast<unsigned long long>(h.entries));
  auto const rows = static_cast<I>(h.rows);
  auto const cols = static_cast<I>(h.cols);
  auto const entries = static_cast<std::size_t>(h.entries);
  auto const n = static_cast<std::size_t>(rows);
  csr<V, I, I> a(unchecked, rows, cols, array<I>(n + 1, o.where.memory),
                 array<I>(entries, o.where.memory), array<V>(entries, o.where.memory));
  a.row_ptr[0] = 0;
  in.get_checked("lengths of rows", a.row_ptr.data() + 1, n * sizeof(I));
  std::size_t sum = 0;
  for (std::size_t i = 1; i <= n; ++i) {
    if (a.row_ptr[i] < 0 || static_cast<std::size_t>(a.row_ptr[i]) > entries - sum)
      fail(errc::io, "%s: row %zu has %lld of %zu entries", path.c_str(), i - 1,
           static_cast<long long>(a.row_ptr[i]), entries);
    sum += static_cast<std::size_t>(a.row_ptr[i]);
    a.row_ptr[i] = static_cast<I>(sum);
  }
  if (sum != entries)
    fail(errc::io, "%s: its rows have %zu entries, its head says %zu", path.c_str(), sum, entries);
  in.get_checked("columns", a.col.data(), a.col.bytes());
  in.get_checked("values", a.val.data(), a.val.bytes());
  in.check_end();
  try {
    a.validate();
  } catch (error const& e) {
    fail(errc::io, "%s: %s", path.c_str(), e.what());
  }
  return dynamic::starts_compact(o, entries) ? adopt(std::move(a), o) : from_csr(a.view(), o);
}

#define TULLE_FILES(tag, V, I, O)                                                                  \
  template void dynamic_csr<V, I>::save(std::string const&) const;                                 \
  template dynamic_csr<V, I> dynamic_csr<V, I>::load(std::string const&, options const&);
TULLE_TYPES(TULLE_FILES)
#undef TULLE_FILES

} // namespace tulle
