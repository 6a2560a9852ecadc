// SPDX-License-Identifier: Apache-2.0

// Files of dynamic matrices: round trips, damage, and processes that die while they save.
#include "dynamic/model.hpp"
#include "support/expect.hpp"
#include "support/zoo.hpp"

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

namespace tulle::test::file_test {
namespace {

using matrix = dynamic_csr<double>;

struct folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("tulle_dynamic_" + std::to_string(::getpid()));
  folder() { std::filesystem::create_directories(path); }
  ~folder() { std::filesystem::remove_all(path); }
  std::string file(char const* name) const { return (path / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path), {}));
  }
};

std::string bytes_of(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(std::string const& path, std::string const& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(dynamic_file, holds_the_entries_as_they_were_stored) {
  folder const f;
  std::string const path = f.file("a");
  for (animal const& one : zoo()) {
    dynamic_options o;
    o.pending_from = 1;
    matrix d = matrix::from_csr(borrowed(unsorted(one.matrix)), o);
    if (d.rows() > 0 && d.cols() > 0)
      d.insert(d.rows() - 1, 0, 1.5);
    d.save(path);
    EXPECT_EQ(f.files(), 1u);
    matrix const back = matrix::load(path);
    back.validate();
    EXPECT_TRUE(stored(back.snapshot()) == stored(d.snapshot())) << one.name;
  }
  EXPECT_TRUE(fails_with(errc::io, {"holds a matrix of f64_i32, not of f32_i64"},
                         [&] { (dynamic_csr<float, std::int64_t>::load(path)); }));
}

TEST(dynamic_file, refuses_whatever_is_damaged) {
  folder const f;
  std::string const path = f.file("a");
  matrix d(3, 5);
  d.insert(0, 4, 1);
  d.insert(2, 2, 3);
  d.save(path);
  std::string const whole = bytes_of(path);
  std::string const other = f.file("b");
  for (std::size_t n = 0; n < whole.size(); ++n) {
    write(other, whole.substr(0, n));
    EXPECT_TRUE(fails_with(errc::io, {other}, [&] { matrix::load(other); })) << n << " bytes";
  }
  for (std::size_t n = 0; n < whole.size(); ++n)
    for (int const bit : {0, 7}) {
      std::string damaged = whole;
      damaged[n] = static_cast<char>(damaged[n] ^ 1 << bit);
      write(other, damaged);
      EXPECT_TRUE(fails_with(errc::io, {other}, [&] { matrix::load(other); })) << "byte " << n;
    }
  std::string later = whole;
  later[8] = 2;
  write(other, later);
  EXPECT_TRUE(
      fails_with(errc::io, {"is of version 2", "reads version 1"}, [&] { matrix::load(other); }));
  write(other, whole + "x");
  EXPECT_TRUE(fails_with(errc::io, {"has bytes after its end"}, [&] { matrix::load(other); }));
  write(other, std::string(200, 'x'));
  EXPECT_TRUE(fails_with(errc::io, {"is not a file of"}, [&] { matrix::load(other); }));
  EXPECT_TRUE(fails_with(errc::io, {"cannot be read"}, [&] { matrix::load(f.file("none")); }));
  EXPECT_TRUE(fails_with(errc::io, {"cannot create"}, [&] { d.save(f.file("no/such/folder")); }));
}

// Sizes whose bytes wrap, with the right checksum.
TEST(dynamic_file, refuses_sizes_that_no_file_has) {
  folder const f;
  std::string const path = f.file("a");
  using wide = dynamic_csr<double, std::int64_t>;
  wide d(2, 3);
  d.insert(1, 1, 1);
  d.save(path);
  std::string const whole = bytes_of(path);
  for (std::size_t const at : {24u, 32u, 40u}) // rows, columns, entries
    for (std::uint64_t const n : {(std::uint64_t(1) << 61) - 1, std::uint64_t(1) << 60,
                                  std::uint64_t(1) << 61, std::uint64_t(1) << 63, UINT64_MAX}) {
      if (at == 32 && n < std::uint64_t(1) << 63)
        continue; // as many columns as there may be
      std::string hostile = whole;
      std::memcpy(hostile.data() + at, &n, sizeof n);
      auto const crc = static_cast<std::uint32_t>(
          crc32_z(0, reinterpret_cast<Bytef const*>(hostile.data()), 48));
      std::memcpy(hostile.data() + 48, &crc, sizeof crc);
      write(path, hostile);
      EXPECT_TRUE(fails_with(errc::io, {path}, [&] { wide::load(path); })) << at << ": " << n;
    }
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"could not allocate"},
                         [] { wide((std::int64_t(1) << 61) - 2, 1); }));
}

TEST(dynamic_file, is_whole_whenever_the_process_that_saves_is_killed) {
  folder const f;
  std::string const path = f.file("a");
  csr<double> const a = from_lengths(3000, std::vector<std::int32_t>(2000, 40));
  matrix const one = matrix::from_csr(a.view());
  matrix two = matrix::from_csr(a.view());
  two.insert(0, 0, 1);
  auto const before = stored(one.snapshot());
  auto const after = stored(two.snapshot());
  one.save(path);
  std::mt19937 random(1);
  int seen = 0;        // of the second matrix
  int interrupted = 0; // a file that never got its name
  for (int turn = 0; turn < 20; ++turn) {
    pid_t const child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) { // nothing here starts a thread
      for (;;) {
        two.save(path);
        one.save(path);
      }
    }
    ::usleep(1000 + random() % 40000);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    auto const found = stored(matrix::load(path).snapshot());
    EXPECT_TRUE(found == before || found == after);
    seen += found == after;
    interrupted += f.files() > 1;
    one.save(path); // and removes what is left of the one that was killed
    EXPECT_EQ(f.files(), 1u);
  }
  EXPECT_GT(seen, 0);
  EXPECT_GT(interrupted, 0);
}

} // namespace
} // namespace tulle::test::file_test
