// SPDX-License-Identifier: Apache-2.0

// src/io/zip.cpp:  the central directory at the end of the archive, and the members it names.
//
// Of PKWARE's APPNOTE 6.3: end record (4.3.16), zip64 end record and its locator (4.3.14, 4.3.15),
// directory entries (4.3.12), local headers (4.3.7), zip64 extra field (4.5.3).
#include "io/zip.hpp"

#include "tulle/core/error.hpp"

#include "io/bytes.hpp"

#include <new>
#include <zlib.h>

namespace tulle::detail {
namespace {

using ull = unsigned long long;

constexpr std::uint32_t local_header = 0x04034b50;
constexpr std::uint32_t directory_entry = 0x02014b50;
constexpr std::uint32_t end_record = 0x06054b50;
constexpr std::uint32_t end_record_64 = 0x06064b50;
constexpr std::uint32_t locator_64 = 0x07064b50;
constexpr std::uint32_t elsewhere_32 = 0xffffffff; // the number is in a zip64 field
constexpr std::size_t end_bytes = 22;
constexpr std::size_t locator_bytes = 20;
constexpr std::size_t end_64_bytes = 56;
constexpr std::size_t entry_bytes = 46;
constexpr std::size_t local_bytes = 30;

} // namespace

zip_archive::zip_archive(char const* name, text_range data, std::uint64_t most,
                         std::pmr::memory_resource* memory)
    : name_(name), data_(data), most_(most), memory_(memory) {
  read_directory();
}

void zip_archive::read_directory() {
  std::uint64_t const size = data_.size();
  char const* const data = data_.begin;
  if (size < end_bytes)
    fail(errc::io, "%s: %llu bytes are no zip archive, which has at least %zu", name_,
         static_cast<ull>(size), end_bytes);
  // The end record stands before a comment of at most 64 KiB.
  std::uint64_t end = size - end_bytes;
  std::uint64_t const first = end > 0xffff ? end - 0xffff : 0;
  while (load<std::uint32_t>(data + end) != end_record ||
         end + end_bytes + load<std::uint16_t>(data + end + 20) != size) {
    if (end == first)
      fail(errc::io, "%s: byte %llu: the zip archive has no end record; is it truncated?", name_,
           static_cast<ull>(size));
    --end;
  }
  std::uint64_t bytes = load<std::uint32_t>(data + end + 12);
  std::uint64_t at = load<std::uint32_t>(data + end + 16);
  if (bytes == elsewhere_32 || at == elsewhere_32 ||
      load<std::uint16_t>(data + end + 10) == 0xffff) {
    if (end < locator_bytes || load<std::uint32_t>(data + end - locator_bytes) != locator_64)
      fail(errc::io, "%s: byte %llu: the zip64 locator is missing", name_, static_cast<ull>(end));
    std::uint64_t const there = load<std::uint64_t>(data + end - locator_bytes + 8);
    if (size < end_64_bytes || there > size - end_64_bytes ||
        load<std::uint32_t>(data + there) != end_record_64)
      fail(errc::io, "%s: byte %llu: the zip64 end record is missing", name_,
           static_cast<ull>(there));
    bytes = load<std::uint64_t>(data + there + 40);
    at = load<std::uint64_t>(data + there + 48);
  }
  if (at > end || bytes > end - at)
    fail(errc::io, "%s: byte %llu: the zip directory should be at byte %llu with %llu bytes", name_,
         static_cast<ull>(end), static_cast<ull>(at), static_cast<ull>(bytes));
  for (std::uint64_t const last = at + bytes; at != last;)
    at = read_entry(at, last);
}

std::uint64_t zip_archive::read_entry(std::uint64_t at, std::uint64_t end) {
  char const* const p = data_.begin + at;
  std::uint64_t const left = end - at;
  std::uint64_t need = entry_bytes;
  std::uint64_t name_bytes = 0;
  std::uint64_t extra_bytes = 0;
  if (left >= entry_bytes && load<std::uint32_t>(p) == directory_entry) {
    name_bytes = load<std::uint16_t>(p + 28);
    extra_bytes = load<std::uint16_t>(p + 30);
    need += name_bytes + extra_bytes + load<std::uint16_t>(p + 32);
  } else {
    need = left + 1;
  }
  if (need > left)
    fail(errc::io, "%s: byte %llu: the zip directory is damaged", name_, static_cast<ull>(at));

  entry e{.name = std::string(p + entry_bytes, name_bytes),
          .flags = load<std::uint16_t>(p + 8),
          .method = load<std::uint16_t>(p + 10),
          .crc = load<std::uint32_t>(p + 16),
          .packed = load<std::uint32_t>(p + 20),
          .size = load<std::uint32_t>(p + 24),
          .at = load<std::uint32_t>(p + 42)};
  char const* x = p + entry_bytes + name_bytes;
  for (char const* const last = x + extra_bytes; last - x >= 4;) {
    std::uint64_t const field = load<std::uint16_t>(x + 2);
    char const* const field_end = x + 4 + std::min(field, static_cast<std::uint64_t>(last - x - 4));
    if (load<std::uint16_t>(x) == 1) {
      x += 4;
      for (std::uint64_t* const number : {&e.size, &e.packed, &e.at})
        if (*number == elsewhere_32 && field_end - x >= 8) {
          *number = load<std::uint64_t>(x);
          x += 8;
        }
    }
    x = field_end;
  }
  entries_.push_back(std::move(e));
  return at + need;
}

/// The last of a name, as Python's zipfile does.
zip_archive::entry const* zip_archive::find(std::string const& member) const {
  for (auto e = entries_.rbegin(); e != entries_.rend(); ++e)
    if (e->name == member)
      return &*e;
  return nullptr;
}

zip_bytes zip_archive::read(std::string const& member) {
  entry const* const e = find(member);
  if (!e)
    fail(errc::io, "%s: has no member %s", name_, member.c_str());
  std::uint64_t const size = data_.size();
  if (size < local_bytes || e->at > size - local_bytes ||
      load<std::uint32_t>(data_.begin + e->at) != local_header)
    fail(errc::io, "%s: byte %llu: the header of member %s should be here", name_,
         static_cast<ull>(e->at), member.c_str());
  if (e->flags & 1)
    fail(errc::unsupported, "%s: member %s is encrypted", name_, member.c_str());
  char const* const header = data_.begin + e->at;
  std::uint64_t const at =
      e->at + local_bytes + load<std::uint16_t>(header + 26) + load<std::uint16_t>(header + 28);
  if (at > size || e->packed > size - at)
    fail(errc::io,
         "%s: byte %llu: member %s should have %llu bytes here, but the file ends after "
         "%llu",
         name_, static_cast<ull>(at), member.c_str(), static_cast<ull>(e->packed),
         static_cast<ull>(size));
  text_range const packed{data_.begin + at, data_.begin + at + e->packed};
  zip_bytes out;
  if (e->method == 0) {
    if (e->packed != e->size)
      fail(errc::io, "%s: byte %llu: member %s is stored in %llu bytes, but has %llu", name_,
           static_cast<ull>(at), member.c_str(), static_cast<ull>(e->packed),
           static_cast<ull>(e->size));
    out.text = packed;
  } else if (e->method == 8) {
    out.inflated = inflate_all(*e, packed);
    out.text = {out.inflated.data(), out.inflated.data() + e->size};
  } else {
    fail(errc::unsupported,
         "%s: member %s is compressed by method %d; stored and deflated are "
         "read",
         name_, member.c_str(), e->method);
  }
  if (crc32_z(0, reinterpret_cast<Bytef const*>(out.text.begin), out.text.size()) != e->crc)
    fail(errc::io, "%s: byte %llu: member %s is damaged: its checksum differs", name_,
         static_cast<ull>(at), member.c_str());
  return out;
}

array<char> zip_archive::inflate_all(entry const& e, text_range packed) {
  if (e.size > most_ - inflated_)
    fail(errc::out_of_memory,
         "%s: member %s and those before it hold more than %llu bytes; raise max_bytes to read "
         "them",
         name_, e.name.c_str(), static_cast<ull>(most_));
  constexpr std::uint64_t best = 1032; // times smaller: more deflate cannot do
  if (e.size / best > packed.size())
    fail(errc::io,
         "%s: byte %llu: member %s should have %llu bytes, but %zu compressed ones cannot", name_,
         static_cast<ull>(packed.begin - data_.begin), e.name.c_str(), static_cast<ull>(e.size),
         packed.size());
  struct stream : z_stream {
    stream() : z_stream{} {
      if (inflateInit2(this, -15) != Z_OK)
        throw std::bad_alloc();
    }
    stream(stream const&) = delete;
    ~stream() { inflateEnd(this); }
  } z;
  // Grows with what comes out, up to the size promised and a byte to see that there is no more.
  constexpr std::uint64_t least = 1 << 16;
  array<char> out(std::min(e.size + 1, std::max<std::uint64_t>(least, 4 * packed.size())), memory_);
  std::size_t done = 0;
  char const* in = packed.begin;
  auto const at = static_cast<ull>(packed.begin - data_.begin);
  for (int status = Z_OK; status != Z_STREAM_END;) {
    if (done == out.size()) {
      if (done > e.size)
        break;
      array<char> larger(std::min<std::uint64_t>(e.size + 1, 2 * out.size()), memory_);
      std::memcpy(larger.data(), out.data(), done);
      out.swap(larger);
    }
    constexpr std::size_t most = 1 << 30;
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in));
    z.avail_in = static_cast<uInt>(std::min(most, static_cast<std::size_t>(packed.end - in)));
    z.next_out = reinterpret_cast<Bytef*>(out.data() + done);
    auto const room = static_cast<uInt>(std::min(most, out.size() - done));
    z.avail_out = room;
    status = inflate(&z, Z_NO_FLUSH);
    in = reinterpret_cast<char const*>(z.next_in);
    done += room - z.avail_out;
    if (status == Z_MEM_ERROR)
      throw std::bad_alloc();
    if (status != Z_OK && status != Z_STREAM_END)
      fail(errc::io, "%s: byte %llu: member %s is damaged: %s", name_,
           at + static_cast<ull>(in - packed.begin), e.name.c_str(),
           status == Z_BUF_ERROR ? "it ends too early"
           : z.msg               ? z.msg
                                 : "bad data");
  }
  if (done != e.size)
    fail(errc::io, "%s: byte %llu: member %s should have %llu bytes, found %s%llu", name_, at,
         e.name.c_str(), static_cast<ull>(e.size), done > e.size ? "more than " : "",
         static_cast<ull>(done > e.size ? e.size : done));
  inflated_ += e.size;
  return out;
}

} // namespace tulle::detail
