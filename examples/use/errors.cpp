// SPDX-License-Identifier: Apache-2.0
// The code of docs/use/errors.md, and the messages that it shows.
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

template <class F>
void show(F const& f) {
  try {
    f();
    std::puts("no error");
  } catch (tulle::error const& e) {
    std::printf("%s: %s\n", name(e.code()), e.what());
  }
}

int main() {
  auto const a = tulle::generate("diffusion2d5:10");
  auto const graph = tulle::generate("rmat:10:8");
  std::vector<double> x(a.cols, 1.0), y(a.rows), small(3);

  // [catch]
  try {
    tulle::spmv(1.0, a, small, 0.0, y);
  } catch (tulle::error const& e) {
    if (e.code() == tulle::errc::shape_mismatch)
      std::printf("%s\n", e.what()); // spmv: x has 3 entries but A has 100 columns
  }
  // [/catch]

  show([&] { tulle::spmv(1.0, a, small, 0.0, y); });
  show([&] { tulle::spmv(1.0, a, x, 0.0, x); });
  show([&] {
    std::vector<int> const ptr{0, 2, 3}, col{0, 2, 7};
    std::vector<double> const val{1, 2, 3};
    tulle::csr_view const v(2, 3, ptr, col, val);
  });
  show([&] {
    std::vector<int> const ptr{0, 2, 1}, col{0, 2, 1};
    std::vector<double> const val{1, 2, 3};
    tulle::csr_view const v(2, 3, ptr, col, val);
  });
  show([&] { tulle::generate("random:3000000000:3:3"); });
  show([&] { tulle::spgemm(tulle::cpu{.workspace_limit = 100}, graph, graph); });
  show([&] {
    tulle::spmv(1.0, tulle::transposed(a), x, 0.0, y, {.method = tulle::spmv_method::merge});
  });
  show([&] { tulle::read_matrix<double>("not-there.mtx"); });
  show([&] {
    std::FILE* const f = std::fopen("bad.mtx", "w");
    std::fputs("%%MatrixMarket matrix coordinate real general\n3 3 1\n1 9 1.0\n", f);
    std::fclose(f);
    tulle::read_matrix<double>("bad.mtx");
  });

  // [stop]
  std::stop_source stop; // another thread calls stop.request_stop()
  stop.request_stop();
  try {
    tulle::stop_scope const scope(stop.get_token()); // for the calls of this thread
    auto const c = tulle::spgemm(a, a);
  } catch (tulle::error const& e) {
    std::printf("%s\n", name(e.code())); // stopped
  }
  // [/stop]
}
