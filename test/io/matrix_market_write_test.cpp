// SPDX-License-Identifier: Apache-2.0

// What is written, and that it reads back to the same bits.
#include "tulle/format/formats.hpp"

#include "files.hpp"

#include <bit>
#include <cmath>
#include <complex>
#include <csignal>
#include <limits>
#include <random>
#include <rapidcheck/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>

namespace tulle::test::matrix_market_write_test {
namespace {

template <class M>
std::string text_of(M const& a, write_options const& options = {}) {
  std::ostringstream out;
  write_matrix_market(out, a, options);
  return out.str();
}

TEST(matrix_market_write, the_picture_is_this_text) {
  EXPECT_EQ(text_of(example()), "%%MatrixMarket matrix coordinate real general\n4 4 7\n"
                                "1 1 1\n1 3 2\n2 2 3\n3 4 4\n4 1 5\n4 2 6\n4 3 7\n");
  coo<double> const a{2, 3, {1, 0}, {2, 0}, {-0.5, 1e300}};
  EXPECT_EQ(text_of(a),
            "%%MatrixMarket matrix coordinate real general\n2 3 2\n2 3 -0.5\n1 1 1e+300\n");
}

TEST(matrix_market_write, fields_are_chosen_on_request) {
  using matrix_market::field;
  csr<double> const a{1, 3, {0, 3}, {0, 1, 2}, {3, -4, -0.0}};
  std::string const head = "%%MatrixMarket matrix coordinate ";
  EXPECT_EQ(text_of(a, {.field = field::pattern}),
            head + "pattern general\n1 3 3\n1 1\n1 2\n1 3\n");
  EXPECT_EQ(text_of(a, {.field = field::integer}),
            head + "integer general\n1 3 3\n1 1 3\n1 2 -4\n1 3 -0\n");
  EXPECT_EQ(text_of(a, {.field = field::complex}),
            head + "complex general\n1 3 3\n1 1 3 0\n1 2 -4 0\n1 3 -0 0\n");
  EXPECT_EQ(
      error_of([&] { text_of(a, {.field = field::unsigned_integer}); }),
      "unsupported: write_matrix_market: value -4+0i of entry 1 is not an unsigned 64-bit integer");
  csr<double> const b{1, 1, {0, 1}, {0}, {1.5}};
  EXPECT_EQ(error_of([&] { text_of(b, {.field = field::integer}); }),
            "unsupported: write_matrix_market: value 1.5+0i of entry 0 is not a 64-bit integer");
  csr<std::complex<double>> const c{1, 1, {0, 1}, {0}, {{1, 2}}};
  EXPECT_EQ(error_of([&] { text_of(c, {.field = field::real}); }),
            "unsupported: write_matrix_market: value 1+2i of entry 0 is not real");
}

TEST(matrix_market_write, comments_come_back) {
  std::string const comments = "%GraphBLAS type fp64\n\n kept as it is \n";
  matrix_market_header h;
  read_text(text_of(example(), {.comments = comments}), {.header = &h});
  EXPECT_EQ(h.comments, comments);
  read_text(text_of(example(), {.comments = "no newline"}), {.header = &h});
  EXPECT_EQ(h.comments, "no newline\n");
}

TEST(matrix_market_write, full_digits_are_seventeen) {
  csr<double> const a{1, 1, {0, 1}, {0}, {0.1}};
  EXPECT_NE(text_of(a, {.digits = digits::full}).find("1 1 1.0000000000000001e-01\n"),
            std::string::npos);
}

TEST(matrix_market_write, symmetric_matrices_are_one_triangle) {
  using matrix_market::symmetry;
  using complex = std::complex<double>;
  csr<double> const s{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {1, 2, 2, 3}};
  EXPECT_EQ(text_of(s, {.symmetry = symmetry::symmetric}),
            "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 1\n2 1 2\n2 2 3\n");
  EXPECT_EQ(read_text(text_of(s, {.symmetry = symmetry::symmetric})), s);
  csr<double> const k{2, 2, {0, 1, 2}, {1, 0}, {-2, 2}};
  EXPECT_EQ(read_text(text_of(k, {.symmetry = symmetry::skew_symmetric})), k);
  csr<complex> const h{2, 2, {0, 2, 3}, {0, 1, 0}, {{1, 0}, {2, 3}, {2, -3}}};
  EXPECT_EQ(read_text<complex>(text_of(h, {.symmetry = symmetry::hermitian})), h);
  EXPECT_EQ(text_of(coo<double>{2, 2, {1, 0}, {0, 1}, {5, 5}}, {.symmetry = symmetry::symmetric}),
            "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 5\n");

  EXPECT_EQ(error_of([&] { text_of(k, {.symmetry = symmetry::symmetric}); }),
            "bad_structure: write_matrix_market: not symmetric: entry (0, 1) does not match its "
            "mirror image");
  EXPECT_EQ(error_of([&] { text_of(h, {.symmetry = symmetry::symmetric}); }).substr(0, 14),
            "bad_structure:");
  EXPECT_EQ(error_of([&] { text_of(s, {.symmetry = symmetry::skew_symmetric}); }).substr(0, 14),
            "bad_structure:");
  EXPECT_EQ(error_of([&] {
              text_of(csr<double>{2, 2, {0, 1, 1}, {1}, {2}}, {.symmetry = symmetry::symmetric});
            }),
            "bad_structure: write_matrix_market: not symmetric: entry (0, 1) is stored without its "
            "mirror image");
  EXPECT_EQ(
      error_of([&] {
        text_of(csr<double>{1, 2, {0, 0}, {}, {}}, {.symmetry = symmetry::symmetric});
      }),
      "bad_structure: write_matrix_market: a symmetric matrix is square, but this one is 1 x 2");
}

TEST(matrix_market_write, nothing_is_written_of_a_broken_view) {
  csr<double> const a(unchecked, 1, 1, {0, 1}, {5}, {1});
  EXPECT_EQ(error_of([&] { text_of(a); }).substr(0, 14), "bad_structure:");
}

TEST(matrix_market_write, matrices_without_entries_round_trip) {
  for (auto const& a : {csr<double>{0, 0, {0}, {}, {}}, csr<double>{3, 0, {0, 0, 0, 0}, {}, {}},
                        csr<double>{0, 5, {0}, {}, {}}, csr<double>{2, 2, {0, 0, 0}, {}, {}}})
    EXPECT_EQ(read_text(text_of(a)), a);
}

TEST(matrix_market_write, nan_and_infinities_round_trip) {
  double const inf = std::numeric_limits<double>::infinity();
  csr<double> const a{1, 3, {0, 3}, {0, 1, 2}, {inf, -inf, std::nan("")}};
  auto const b = read_text(text_of(a));
  EXPECT_EQ(b.val[0], inf);
  EXPECT_EQ(b.val[1], -inf);
  EXPECT_TRUE(std::isnan(b.val[2]));
}

/// Any bits that are a number.
template <class R>
R any_real() {
  using bits = std::conditional_t<sizeof(R) == 4, std::uint32_t, std::uint64_t>;
  auto const v = std::bit_cast<R>(*rc::gen::arbitrary<bits>());
  auto const simple = static_cast<R>(*rc::gen::inRange(-1000, 1000)) / 8;
  return std::isfinite(v) && *rc::gen::arbitrary<bool>() ? v : simple;
}
template <class V>
V any_value() {
  if constexpr (std::is_floating_point_v<V>)
    return any_real<V>();
  else
    return V(any_real<typename V::value_type>(), any_real<typename V::value_type>());
}

template <class V, class I, class O>
csr<V, I, O> any_matrix() {
  I const rows = *rc::gen::inRange<I>(1, 40);
  I const cols = *rc::gen::inRange<I>(1, 40);
  auto const n = *rc::gen::inRange<std::size_t>(0, 60);
  array<I> row(n), col(n);
  array<V> val(n);
  for (std::size_t k = 0; k < n; ++k) {
    row[k] = *rc::gen::inRange<I>(0, rows);
    col[k] = *rc::gen::inRange<I>(0, cols);
    val[k] = any_value<V>();
  }
  return coo<V, I, O>(rows, cols, std::move(row), std::move(col), std::move(val)).to_csr();
}

#define TULLE_ROUND_TRIP(tag, V, I, O)                                                             \
  RC_GTEST_PROP(matrix_market_round_trip, tag, ()) {                                               \
    auto const a = any_matrix<V, I, O>();                                                          \
    for (auto d : {digits::shortest, digits::full})                                                \
      RC_ASSERT((read_text<V, I, O>(text_of(a, {.digits = d})) == a));                             \
    auto const b = coo<V, I, O>::from_csr(a.view());                                               \
    RC_ASSERT((read_text_coo<V, I, O>(text_of(b)) == b));                                          \
  }
TULLE_TYPES(TULLE_ROUND_TRIP)
TULLE_BASIC_TYPES(TULLE_ROUND_TRIP)

csr<double> large() { // several chunks of the writer
  std::mt19937_64 random(3);
  std::size_t const n = 150000;
  array<std::int32_t> row(n), col(n);
  array<double> val(n);
  for (std::size_t k = 0; k < n; ++k) {
    row[k] = static_cast<std::int32_t>(random() % 20000 / 7 * 7); // with empty rows
    col[k] = static_cast<std::int32_t>(random() % 90000);
    val[k] = std::normal_distribution<>()(random);
  }
  return coo<double>(20001, 90000, std::move(row), std::move(col), std::move(val)).to_csr();
}

TEST(matrix_market_write, files_are_the_same_for_every_number_of_threads) {
  folder const f;
  auto const a = large();
  for (auto* name : {"a.mtx", "a.mtx.gz"}) {
    write_matrix_market(f / name, a, {.threads = 1});
    auto const one = contents(f / name);
    EXPECT_EQ(read_matrix_market(f / name), a);
    for (int threads : {2, 3, 7}) {
      write_matrix_market(f / name, a, {.threads = threads});
      EXPECT_EQ(contents(f / name), one);
    }
  }
  EXPECT_LT(contents(f / "a.mtx.gz").size(), contents(f / "a.mtx").size() / 2 + 1000);
  EXPECT_EQ(contents(f / "a.mtx.gz").substr(0, 2), "\x1f\x8b");
  EXPECT_EQ(f.files(), 2u); // no temporary is left
}

TEST(matrix_market_write, a_failed_write_leaves_the_old_file) {
  folder const f;
  auto const path = f.write("a.mtx", "old");
  csr<double> const a{1, 1, {0, 1}, {0}, {1.5}};
  EXPECT_NE(
      error_of([&] { write_matrix_market(path, a, {.field = matrix_market::field::integer}); }),
      "");
  EXPECT_EQ(contents(path), "old");
  EXPECT_EQ(f.files(), 1u);
}

TEST(matrix_market_write, places_that_cannot_be_written_are_told) {
  folder const f;
  EXPECT_EQ(error_of([&] { write_matrix_market(f / "none/a.mtx", example()); }),
            "io: a.mtx: cannot create: No such file or directory");
  EXPECT_NE(error_of([&] { write_matrix_market(f / ".", example()); }).find("Is a directory"),
            std::string::npos);
  if (std::filesystem::exists("/dev/full")) {
    EXPECT_EQ(error_of([] { write_matrix_market("/dev/full", example()); }),
              "io: full: cannot write: No space left on device");
  }
  std::ofstream closed;
  EXPECT_EQ(error_of([&] { write_matrix_market(closed, example()); }),
            "io: stream: cannot write 52 bytes");
  std::stringbuf full(std::ios::in); // takes nothing
  std::ostream throwing(&full);
  throwing.exceptions(std::ios::badbit | std::ios::failbit);
  EXPECT_EQ(error_of([&] { write_matrix_market(throwing, example()); }),
            "io: stream: cannot write 52 bytes");
}

TEST(matrix_market_write, mode_and_links_of_an_old_file_stay) {
  folder const f;
  auto const path = f.write("a.mtx", "old");
  std::filesystem::permissions(path, std::filesystem::perms::owner_read |
                                         std::filesystem::perms::owner_write);
  std::filesystem::create_symlink("a.mtx", f / "link.mtx");
  write_matrix_market(f / "link.mtx", example());
  EXPECT_TRUE(std::filesystem::is_symlink(f / "link.mtx"));
  EXPECT_EQ(read_matrix_market(path), example());
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST(matrix_market_write, says_what_it_wrote) {
  std::ostringstream out;
  auto const said = write_matrix_market(out, example(), {.comments = "one\n"});
  matrix_market_header h;
  read_text(out.str(), {.header = &h});
  EXPECT_EQ(said, h);
}

TEST(matrix_market_write, gzip_on_request) {
  folder const f;
  write_matrix_market(f / "a.mtx", example(), {.gzip = true});
  EXPECT_EQ(contents(f / "a.mtx").substr(0, 2), "\x1f\x8b");
  EXPECT_EQ(text_of(example(), {.gzip = true}), contents(f / "a.mtx"));
  EXPECT_EQ(read_matrix_market(f / "a.mtx"), example());
  write_matrix_market(f / "b.mtx.gz", example(), {.gzip = false});
  EXPECT_EQ(contents(f / "b.mtx.gz"), text_of(example()));
}

std::size_t threads_alive() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

/// Writes, reads and writes with one thread where four are the default, and tells whether any was
/// started.
bool starts_threads() {
  ::setenv("TULLE_THREADS", "4", 1);
  std::size_t const before = threads_alive();
  std::size_t const n = std::size_t{1} << 20;
  coo<double> const a(unchecked, 1, 1, array<std::int32_t>(n, 0), array<std::int32_t>(n, 0),
                      array<double>(n, 1.0));
  std::stringstream text;
  write_matrix_market(text, a, {.field = matrix_market::field::pattern, .threads = 1});
  csr<double> const b = read_matrix_market(text, {.threads = 1});
  write_matrix_market(text, b, {.field = matrix_market::field::pattern, .threads = 1});
  return threads_alive() != before;
}

// In a process of its own, where nothing has started threads yet.
TEST(matrix_market_write, one_thread_is_one_thread) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(std::exit(starts_threads() ? 1 : 0), ::testing::ExitedWithCode(0), "");
}

TEST(matrix_market_write, what_a_killed_writer_left_goes_with_the_next) {
  folder const f;
  auto const path = f.write("a.mtx", "old");
  auto const a = large();
  for (char const* name : {"a.mtx.tmp", "a.mtx.1-x.tmp", "a.mtx.notes", "b.mtx.1-1.tmp"})
    f.write(name, "someone else's");
  for (int k = 0; k < 2; ++k) {
    pid_t const child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) { // threads = 1: nothing here needs a thread
      rlimit const none{0, 0};
      rlimit const little{100000, 100000};
      ::setrlimit(RLIMIT_CORE, &none);
      ::setrlimit(RLIMIT_FSIZE, &little);
      ::signal(SIGXFSZ, SIG_DFL); // which ends the process, as SIGKILL does
      write_matrix_market(path, a, {.threads = 1});
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    EXPECT_EQ(contents(path), "old");
    EXPECT_EQ(f.files(), 6u); // of one killed writer: the second removed what the first left
  }
  write_matrix_market(path, a);
  EXPECT_EQ(f.files(), 5u);
  EXPECT_EQ(read_matrix_market(path), a);
}

TEST(matrix_market_write, writers_of_one_file_do_not_take_each_other_for_dead) {
  folder const f;
  auto const path = f / "a.mtx";
  std::vector<std::string> errors(4);
  std::vector<std::thread> writers;
  for (std::string& e : errors)
    writers.emplace_back([&] {
      for (int k = 0; k < 100 && e.empty(); ++k)
        e = error_of([&] { write_matrix_market(path, example(), {.threads = 1}); });
    });
  for (std::thread& w : writers)
    w.join();
  EXPECT_EQ(errors, std::vector<std::string>(4));
  EXPECT_EQ(f.files(), 1u);
  EXPECT_EQ(read_matrix_market(path), example());
}

} // namespace
} // namespace tulle::test::matrix_market_write_test
