// SPDX-License-Identifier: Apache-2.0

/// Members of a zip archive in memory, stored or deflated, zip64 or not.
#pragma once
#include "tulle/core/array.hpp"

#include "io/text_source.hpp"

#include <string>
#include <vector>

namespace tulle::detail {

/// The bytes of one member, which are its own if it was compressed.
struct zip_bytes {
  text_range text;
  array<char> inflated;
};

class zip_archive {
public:
  /// `name` is for errors. `most` bytes may be inflated in all.
  zip_archive(char const* name, text_range data, std::uint64_t most,
              std::pmr::memory_resource* memory);

  bool has(std::string const& member) const { return find(member) != nullptr; }
  /// errc::io if there is no such member or it is damaged.
  zip_bytes read(std::string const& member);
  std::uint64_t inflated() const { return inflated_; } ///< bytes so far

private:
  struct entry {
    std::string name;
    std::uint16_t flags, method;
    std::uint32_t crc;
    std::uint64_t packed, size, at; ///< at: of the local header
  };

  entry const* find(std::string const& member) const;
  void read_directory();
  std::uint64_t read_entry(std::uint64_t at, std::uint64_t end);
  array<char> inflate_all(entry const& e, text_range packed);

  char const* name_;
  text_range data_;
  std::uint64_t most_;
  std::pmr::memory_resource* memory_;
  std::uint64_t inflated_ = 0;
  std::vector<entry> entries_;
};

} // namespace tulle::detail
