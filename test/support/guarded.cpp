// SPDX-License-Identifier: Apache-2.0
#include "support/guarded.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tulle::test {

constexpr int most_ends = 8;               // processes that end, before the rest is given up
constexpr std::size_t most_text = 1 << 16; // of all failures
constexpr int seconds = 2;        // a case, of processor time; none needs a hundredth of it
constexpr int most_seconds = 600; // a process, of time: one that waits for ever

/// What the child tells, in memory that outlives it.
struct guard::shared {
  std::size_t case_number; // of the case that runs, from 1 on
  std::size_t run;
  bool is_done;
  char name[256];
  std::size_t text_size;
  char text[most_text]; // failures, each with a line end
};

bool guard::begin(char const* format, ...) {
  if (++seen_ <= shared_->case_number)
    return false;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(shared_->name, sizeof shared_->name, format, arguments);
  va_end(arguments);
  shared_->case_number = seen_;
  ++shared_->run;
  itimerval const limit = {{0, 0}, {seconds, 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
  return true;
}

void guard::failed(std::string const& why) {
  std::string const line = std::string(shared_->name) + ": " + why + '\n';
  if (shared_->text_size + line.size() > most_text)
    return;
  std::memcpy(shared_->text + shared_->text_size, line.data(), line.size());
  shared_->text_size += line.size();
}

std::size_t guard::cases() const {
  return shared_->run;
}

struct guarded_run {
  guard g;

  guarded_run() {
    void* const p = mmap(nullptr, sizeof(guard::shared), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
      throw std::runtime_error("mmap");
    g.shared_ = static_cast<guard::shared*>(p);
  }
  ~guarded_run() { munmap(g.shared_, sizeof(guard::shared)); }

  /// Until body returns or the process ends; the status of that.
  int once(std::function<void(guard&)> const& body) {
    std::fflush(nullptr);
    pid_t const child = fork();
    if (child == 0) {
      limit();
      alarm(most_seconds);
      try {
        body(g);
        g.shared_->is_done = true;
      } catch (std::exception const& e) {
        g.failed(std::string("threw ") + e.what());
      }
      _exit(g.shared_->is_done ? 0 : 1);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
      throw std::runtime_error("fork");
    return status;
  }
  bool is_done() const { return g.shared_->is_done; }
  std::string where() const {
    return g.shared_->case_number == 0 ? "before the first case" : g.shared_->name;
  }
  std::string text() const { return {g.shared_->text, g.shared_->text_size}; }

private:
  static void limit() {
#ifndef TULLE_SANITIZED // its shadow takes terabytes of address space
    std::size_t pages = 0;
    if (std::FILE* const f = std::fopen("/proc/self/statm", "r")) {
      if (std::fscanf(f, "%zu", &pages) != 1)
        pages = 0;
      std::fclose(f);
    }
    if (pages != 0) {
      rlim_t const most = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + (256u << 20);
      rlimit const address_space = {most, most};
      setrlimit(RLIMIT_AS, &address_space);
    }
#endif
    rlimit const no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
  }
};

std::vector<std::string> run_guarded(std::function<void(guard&)> const& body, std::size_t& cases) {
  guarded_run run;
  std::vector<std::string> failures;
  for (int ends = 0; !run.is_done(); ++ends) {
    if (ends == most_ends) {
      failures.push_back("too many processes ended; the rest was not run");
      break;
    }
    int const status = run.once(body);
    if (run.is_done())
      break;
    failures.push_back(
        run.where() + ": the process ended with " +
        (WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : std::to_string(WEXITSTATUS(status))));
    std::fprintf(stderr, "%s\n", failures.back().c_str()); // now, should the next one be the last
  }
  std::string const text = run.text();
  for (std::size_t at = 0; at < text.size();) {
    std::size_t const end = text.find('\n', at);
    failures.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  cases = run.g.cases();
  return failures;
}

} // namespace tulle::test
