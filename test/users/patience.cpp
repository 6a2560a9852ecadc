// SPDX-License-Identifier: Apache-2.0
// A program with a cancel button: another thread stops a long product.
// prints: stopped
#include <chrono>
#include <cstdio>
#include <thread>
#include <tulle/tulle.hpp>

int main() {
  auto const a = tulle::generate("random:4000:4000:400000");
  std::stop_source button;
  std::jthread const user([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    button.request_stop();
  });
  tulle::stop_scope const scope(button.get_token());
  try {
    for (;;)
      tulle::spgemm(a, a);
  } catch (tulle::error const& e) {
    std::puts(name(e.code()));
  }
}
