// SPDX-License-Identifier: Apache-2.0

// The same matrix for every size of chunk, number of threads and kind of source; the same line in
// every error.
#include "files.hpp"

#include <complex>
#include <memory_resource>
#include <new>
#include <random>

namespace tulle::test::matrix_market_chunks_test {
namespace {

/// Entries in no order, with duplicates, comments, blank lines and both line ends.
std::string messy_text(std::string const& kind, int values, int lines) {
  std::mt19937 random(7);
  auto number = [&](int limit) {
    return static_cast<int>(random() % static_cast<unsigned>(limit));
  };
  std::string text;
  int entries = 0;
  for (int k = 0; k < lines; ++k) {
    if (number(7) == 0)
      text += number(2) ? "  \t" : "% comment 1 2 3";
    else {
      int const i = 1 + number(30);
      int const j = 1 + number(30);
      text += std::string(static_cast<std::size_t>(number(3)), ' ');
      text += std::to_string(i) + " " + std::to_string(j + (i == j ? (j == 30 ? -1 : 1) : 0));
      for (int v = 0; v < values; ++v)
        text += "  " + std::to_string(number(2000) - 1000) + "." + std::to_string(number(100000));
      ++entries;
    }
    text += number(5) ? "\n" : "\r\n";
  }
  return "%%MatrixMarket matrix coordinate " + kind + "\n% messy\n30 30 " +
         std::to_string(entries) + "\n" + text;
}

constexpr int thread_counts[] = {1, 2, 3, 7};

template <class V>
void reads_the_same_in_chunks(std::string const& text) {
  folder const f;
  auto const path = f.write("a.mtx", text);
  auto const packed = f.write("a.mtx.gz", gzip(text));
  auto const whole = read_text<V>(text, {.threads = 1, .chunk_bytes = text.size()});
  auto const whole_coo = read_text_coo<V>(text, {.threads = 1, .chunk_bytes = text.size()});
  auto const summed = read_text<V>(text, {.duplicates = on_duplicates::sum, .threads = 1});
  for (std::size_t bytes = 1; bytes <= 64; ++bytes) {
    for (int threads : thread_counts) {
      read_options options{.threads = threads, .chunk_bytes = bytes};
      ASSERT_EQ(read_matrix_market<V>(path, options), whole) << bytes << ", " << threads;
      ASSERT_EQ(read_matrix_market_coo<V>(path, options), whole_coo) << bytes << ", " << threads;
      options.duplicates = on_duplicates::sum;
      ASSERT_EQ(read_matrix_market<V>(path, options), summed) << bytes << ", " << threads;
    }
    // Streams start their threads for each block of a few bytes, so not for every number of them.
    read_options const options{.threads = 1 + static_cast<int>(bytes % 3), .chunk_bytes = bytes};
    ASSERT_EQ(read_text<V>(text, options), whole) << bytes;
    ASSERT_EQ(read_matrix_market<V>(packed, options), whole) << bytes;
  }
}

TEST(matrix_market_chunks, general_files_read_the_same) {
  reads_the_same_in_chunks<double>(messy_text("real general", 1, 80));
}
TEST(matrix_market_chunks, skew_files_read_the_same) {
  reads_the_same_in_chunks<double>(messy_text("real skew-symmetric", 1, 80));
}
TEST(matrix_market_chunks, pattern_files_read_the_same) {
  reads_the_same_in_chunks<float>(messy_text("pattern symmetric", 0, 80));
}
TEST(matrix_market_chunks, complex_files_read_the_same) {
  reads_the_same_in_chunks<std::complex<double>>(messy_text("complex hermitian", 2, 60));
}
TEST(matrix_market_chunks, array_files_read_the_same) {
  std::string text = "%%MatrixMarket matrix array real symmetric\n12 12\n";
  for (int k = 0; k < 78; ++k)
    text += std::to_string(k) + (k % 5 == 0 ? "\n\n" : ".5\n");
  reads_the_same_in_chunks<double>(text);
}

TEST(matrix_market_chunks, many_entries_read_the_same) {
  // Enough for several parts in every stage: the counting sort deals 2^15 entries to a thread.
  std::string text = "%%MatrixMarket matrix coordinate real symmetric\n3000 3000 200000\n";
  std::mt19937 random(1);
  for (int k = 0; k < 200000; ++k)
    text += std::to_string(1 + random() % 3000) + " " + std::to_string(1 + random() % 3000) + " " +
            std::to_string(k) + "\n";
  auto const one = read_text(text, {.threads = 1});
  auto const summed = read_text(text, {.duplicates = on_duplicates::sum, .threads = 1});
  for (int threads : thread_counts)
    for (std::size_t bytes : {1000, 65536, 1 << 20}) {
      EXPECT_EQ(read_text(text, {.threads = threads, .chunk_bytes = bytes}), one);
      EXPECT_EQ(read_text(text, {.duplicates = on_duplicates::sum, .threads = threads}), summed);
    }
  EXPECT_EQ(summed, one.to_csr());
}

TEST(matrix_market_chunks, rows_in_order_need_no_sorting) {
  std::string text = "%%MatrixMarket matrix coordinate integer general\n50000 7 120000\n";
  for (int k = 0; k < 120000; ++k)
    text +=
        std::to_string(1 + k / 4 + k / 60000 * 10000) + " " + std::to_string(1 + k % 7) + " 1\n";
  folder const f;
  auto const path = f.write("a.mtx", text);
  auto const expected = read_matrix_market_coo(path, {.threads = 1}).to_csr(); // no duplicates here
  for (int threads : thread_counts)
    EXPECT_EQ(read_matrix_market(path, {.threads = threads, .chunk_bytes = 5000}), expected);
}

TEST(matrix_market_chunks, errors_name_the_same_line) {
  std::string text = "%%MatrixMarket matrix coordinate real general\n% 2\n9 9 40\n\n% 5\n";
  for (int k = 6; k < 40; ++k)
    text += k % 9 == 0 ? "\n" : "1 2 3.25\r\n";
  std::string const bad = text + "1 77 1\n1 1 1\n99 1 1\n";
  std::string const extra = text + std::string(60, '\n') + "1 1 1\n1 1 1\n9 9 9\n2 2 2\n";
  for (std::size_t bytes = 1; bytes <= 64; ++bytes)
    for (int threads : {1, 2}) {
      read_options const options{.threads = threads, .chunk_bytes = bytes};
      ASSERT_EQ(error_in(bad, options), "io: stream:40: column 77 is outside 1..9");
      ASSERT_EQ(error_in(text, options),
                "io: stream: 40 entries promised, file ends after 30 (line 39)");
      std::string const few = "%%MatrixMarket matrix coordinate real general\n% 2\n9 9 31\n" +
                              extra.substr(extra.find("\n\n") + 1);
      ASSERT_EQ(error_in(few, options),
                "io: stream:101: expected the end of the file after 31 entries, found another");
    }
}

/// Counts what is out, and throws at the k-th allocation.
class failing_memory final : public std::pmr::memory_resource {
public:
  explicit failing_memory(int good) : left_(good) {}
  std::size_t out() const { return out_; }

private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (left_-- <= 0)
      throw std::bad_alloc();
    out_ += bytes;
    return ::operator new (bytes, std::align_val_t{alignment});
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    out_ -= bytes;
    ::operator delete (p, std::align_val_t{alignment});
  }
  bool do_is_equal(memory_resource const& other) const noexcept override { return this == &other; }
  int left_;
  std::size_t out_ = 0;
};

TEST(matrix_market_chunks, every_failed_allocation_is_told_and_leaves_nothing) {
  folder const f;
  auto const text = messy_text("real symmetric", 1, 300);
  std::string const paths[] = {f.write("a.mtx", text), f.write("b", gzip(text))};
  for (auto const& path : paths)
    for (bool as_coo : {false, true}) {
      bool done = false;
      int k = 0;
      for (; !done; ++k) {
        failing_memory memory(k);
        read_options const options{
            .duplicates = on_duplicates::sum, .threads = 2, .memory = &memory, .chunk_bytes = 500};
        auto const e = error_of([&] {
          as_coo ? (void)read_matrix_market_coo(path, options)
                 : (void)read_matrix_market(path, options);
        });
        done = e.empty();
        EXPECT_EQ(e.substr(0, 14), done ? "" : "out_of_memory:") << e;
        EXPECT_EQ(memory.out(), 0u) << k;
      }
      EXPECT_GT(k, 8);
    }
}

/// Remembers how much was out at most.
class peak_memory final : public std::pmr::memory_resource {
public:
  std::size_t peak() const { return peak_; }

private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    peak_ = std::max(peak_, out_ += bytes);
    return ::operator new (bytes, std::align_val_t{alignment});
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    out_ -= bytes;
    ::operator delete (p, std::align_val_t{alignment});
  }
  bool do_is_equal(memory_resource const& other) const noexcept override { return this == &other; }
  std::size_t out_ = 0;
  std::size_t peak_ = 0;
};

TEST(matrix_market_chunks, memory_follows_the_text_and_not_the_claim) {
  folder const f;
  std::string const path = f.write("a.mtx", "%%MatrixMarket matrix coordinate real general\n"
                                            "9 9 1000000000000000000\n1 1 1\n");
  peak_memory memory;
  EXPECT_NE(error_of([&] { read_matrix_market<double, std::int64_t>(path, {.memory = &memory}); }),
            "");
  EXPECT_LT(memory.peak(), 100u);
}

TEST(matrix_market_chunks, blank_lines_of_a_stream_take_no_memory) {
  std::string text = "%%MatrixMarket matrix coordinate real general\n9 9 100\n";
  for (int k = 0; k < 100; ++k)
    text += std::string(100000, '\n') + "1 1 1\n"; // 10 MB
  peak_memory memory;
  auto const a =
      read_text(text, {.threads = 2, .memory = &memory, .chunk_bytes = std::size_t{1} << 16});
  EXPECT_EQ(a.col.size(), 100u);
  EXPECT_LT(memory.peak(), 3u << 20);
}

} // namespace
} // namespace tulle::test::matrix_market_chunks_test
