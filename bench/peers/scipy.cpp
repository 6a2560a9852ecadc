// SPDX-License-Identifier: Apache-2.0

// SciPy's sparse arrays in a process of its own, which runs scipy_peer.py and times its calls. The
// two talk over a socket: the process ends when our end closes, also when we are killed.
#include "tulle/core/fail.hpp"

#include "bench/peers/peer.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <memory>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tulle::bench {
namespace {

// The script lies beside this module.
std::string script() {
  static char const here = 0;
  Dl_info where;
  if (dladdr(&here, &where) == 0)
    fail(errc::backend, "scipy: where am I?");
  std::string const module = where.dli_fname;
  return module.substr(0, module.rfind('/') + 1) + "scipy_peer.py";
}

class python {
public:
  python() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      fail(errc::backend, "scipy: socketpair failed");
    here_ = ends[0];
    posix_spawn_file_actions_t wiring;
    posix_spawn_file_actions_init(&wiring);
    posix_spawn_file_actions_adddup2(&wiring, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&wiring, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&wiring, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::string interpreter = TULLE_SCIPY_PYTHON, file = script();
    char* const arguments[] = {interpreter.data(), file.data(), nullptr};
    int const status =
        posix_spawnp(&child_, interpreter.c_str(), &wiring, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&wiring);
    close(ends[1]);
    if (status != 0) {
      close(here_);
      fail(errc::backend, "scipy: %s does not start: error %d", interpreter.c_str(), status);
    }
  }
  python(python const&) = delete;
  ~python() {
    close(here_);
    kill(child_, SIGKILL); // it holds nothing that must be put away
    waitpid(child_, nullptr, 0);
  }

  void say(void const* data, std::size_t bytes) {
    auto const* at = static_cast<char const*>(data);
    while (bytes > 0) {
      ssize_t const sent = send(here_, at, bytes, MSG_NOSIGNAL);
      if (sent <= 0)
        fail(errc::backend, "scipy: the process has ended");
      at += sent;
      bytes -= static_cast<std::size_t>(sent);
    }
  }
  void say(std::string const& line) { say(line.data(), line.size()); }

  void hear(void* data, std::size_t bytes) {
    auto* at = static_cast<char*>(data);
    while (bytes > 0) {
      ssize_t const got = recv(here_, at, bytes, 0);
      if (got <= 0)
        fail(errc::backend, "scipy: the process has ended");
      at += got;
      bytes -= static_cast<std::size_t>(got);
    }
  }
  std::string hear_line() {
    std::string line;
    for (char c = 0; hear(&c, 1), c != '\n';)
      line += c;
    return line;
  }

private:
  int here_ = -1;
  pid_t child_ = -1;
};

template <class T>
void say_array(python& process, T const* data, std::size_t size) {
  process.say(data, size * sizeof(T));
}
template <class V, class I>
void say_matrix(python& process, csr_view<V, I, I> const& a) {
  I const zero = 0; // a matrix without rows may have no row_ptr
  say_array(process, a.row_ptr ? a.row_ptr : &zero, static_cast<std::size_t>(a.rows) + 1);
  say_array(process, a.col, static_cast<std::size_t>(a.nnz));
  say_array(process, a.val, static_cast<std::size_t>(a.nnz));
}

/// A process that was told what to do by `line`, and by the arrays that say_arrays() sends.
template <class Say>
contestant start(std::string const& line, std::shared_ptr<python> const& process,
                 Say const& say_arrays) {
  std::string const version = process->hear_line();
  if (!version.starts_with("SciPy "))
    fail(errc::backend, "scipy: %s", version.c_str());
  process->say(line);
  say_arrays();
  contestant c;
  c.peer = "scipy";
  c.threads = 1;
  c.path = version + ", 1 thread, in a process of its own";
  std::string const made = process->hear_line();
  if (std::sscanf(made.c_str(), "%zu %lf", &c.bytes, &c.convert_seconds) != 2)
    fail(errc::backend, "scipy: unexpected: %s", made.c_str());
  c.peak_bytes = c.bytes;
  c.timed_run = [process] {
    process->say("run\n");
    return std::strtod(process->hear_line().c_str(), nullptr);
  };
  c.run = [timed = c.timed_run] { timed(); };
  c.poison = [process] { process->say("poison\n"); };
  return c;
}

/// What both ends call the types.
template <class V, class I>
std::string types() {
  return "float" + std::to_string(8 * sizeof(V)) + " int" + std::to_string(8 * sizeof(I)) + " ";
}
template <class V, class I>
std::string sizes(csr_view<V, I, I> const& a) {
  return types<V, I>() + std::to_string(a.rows) + " " + std::to_string(a.cols) + " " +
         std::to_string(a.nnz);
}

template <class V, class I>
void hand_out_csr(contestant& c, std::shared_ptr<python> const& process) {
  c.result = [process](void* to) {
    process->say("result\n");
    std::string const line = process->hear_line();
    std::size_t rows = 0, cols = 0, nnz = 0;
    if (std::sscanf(line.c_str(), "%zu %zu %zu", &rows, &cols, &nnz) != 3)
      fail(errc::backend, "scipy: unexpected: %s", line.c_str());
    csr<V, I, I> a(unchecked, static_cast<I>(rows), static_cast<I>(cols), array<I>(rows + 1),
                   array<I>(nnz), array<V>(nnz));
    process->hear(a.row_ptr.data(), a.row_ptr.bytes());
    process->hear(a.col.data(), a.col.bytes());
    process->hear(a.val.data(), a.val.bytes());
    *static_cast<csr<V, I, I>*>(to) = std::move(a);
  };
}

} // namespace

/// y = A x or A^T x, by what the process calls it.
template <class V, class I>
contestant multiplier(char const* op, csr_view<V, I, I> const& a, V const* x, I x_size, I y_size) {
  auto const process = std::make_shared<python>();
  contestant c = start(std::string(op) + " " + sizes(a) + "\n", process, [&] {
    say_matrix(*process, a);
    say_array(*process, x, static_cast<std::size_t>(x_size));
  });
  c.result = [process, size = static_cast<std::size_t>(y_size)](void* to) {
    process->say("result\n");
    process->hear(to, size * sizeof(V));
  };
  return c;
}

template <class V, class I>
std::vector<contestant> contestants(spmv_problem<V, I> const& p) {
  return {multiplier("spmv", p.a, p.x, p.a.cols, p.a.rows)};
}
template <class V, class I>
std::vector<contestant> contestants(spmv_transposed_problem<V, I> const& p) {
  return {multiplier("spmv_transposed", p.a, p.x, p.a.rows, p.a.cols)};
}

template <class V, class I>
std::vector<contestant> contestants(sddmm_problem<V, I> const& p) {
  auto const process = std::make_shared<python>();
  auto const width = static_cast<std::size_t>(p.columns);
  contestant c = start("sddmm " + std::to_string(width) + " " + sizes(p.a) + "\n", process, [&] {
    say_matrix(*process, p.a);
    say_array(*process, p.x, static_cast<std::size_t>(p.a.rows) * width);
    say_array(*process, p.y, static_cast<std::size_t>(p.a.cols) * width);
  });
  c.result = [process, size = static_cast<std::size_t>(p.a.nnz)](void* to) {
    process->say("result\n");
    process->hear(to, size * sizeof(V));
  };
  return {c};
}

template <class V, class I>
std::vector<contestant> contestants(spmspv_problem<V, I> const& p) {
  auto const process = std::make_shared<python>();
  contestant c =
      start("spmspv " + std::to_string(p.index.size()) + " " + sizes(p.a) + "\n", process, [&] {
        say_matrix(*process, p.a);
        say_array(*process, p.index.data(), p.index.size());
        say_array(*process, p.val.data(), p.val.size());
      });
  hand_out_csr<V, I>(c, process);
  return {c};
}

template <class V, class I>
std::vector<contestant> contestants(convert_problem<V, I> const& p) {
  std::vector<contestant> all;
  for (char const* const to : {"coo", "csc"}) {
    auto const process = std::make_shared<python>();
    all.push_back(start(std::string("convert ") + to + " " + sizes(p.a) + "\n", process,
                        [&] { say_matrix(*process, p.a); }));
    all.back().format = to;
    hand_out_csr<V, I>(all.back(), process);
  }
  return all;
}

template <class V, class I>
std::vector<contestant> contestants(transpose_problem<V, I> const& p) {
  auto const process = std::make_shared<python>();
  contestant c =
      start("transpose " + sizes(p.a) + "\n", process, [&] { say_matrix(*process, p.a); });
  hand_out_csr<V, I>(c, process);
  return {c};
}

template <class V, class I>
std::vector<contestant> contestants(add_problem<V, I> const& p) {
  auto const process = std::make_shared<python>();
  contestant c = start("add " + std::to_string(p.alpha) + " " + sizes(p.a) + " " +
                           std::to_string(p.b.nnz) + "\n",
                       process, [&] {
                         say_matrix(*process, p.a);
                         say_matrix(*process, p.b);
                       });
  hand_out_csr<V, I>(c, process);
  return {c};
}

/// Of two matrices, by what the process calls it.
template <class V, class I>
std::vector<contestant> of_two(char const* op, csr_view<V, I, I> const& a,
                               csr_view<V, I, I> const& b) {
  auto const process = std::make_shared<python>();
  contestant c = start(std::string(op) + " " + sizes(a) + " " + std::to_string(b.rows) + " " +
                           std::to_string(b.cols) + " " + std::to_string(b.nnz) + "\n",
                       process, [&] {
                         say_matrix(*process, a);
                         say_matrix(*process, b);
                       });
  hand_out_csr<V, I>(c, process);
  return {c};
}
template <class V, class I>
std::vector<contestant> contestants(multiply_elements_problem<V, I> const& p) {
  return of_two("multiply", p.a, p.b);
}
template <class V, class I>
std::vector<contestant> contestants(kron_problem<V, I> const& p) {
  return of_two("kron", p.a, p.b);
}

template <class V, class I>
std::vector<contestant> contestants(assemble_problem<V, I> const& p) {
  auto const process = std::make_shared<python>();
  contestant c = start("assemble " + types<V, I>() + std::to_string(p.rows) + " " +
                           std::to_string(p.cols) + " " + std::to_string(p.val.size()) + "\n",
                       process, [&] {
                         say_array(*process, p.row.data(), p.row.size());
                         say_array(*process, p.col.data(), p.col.size());
                         say_array(*process, p.val.data(), p.val.size());
                       });
  hand_out_csr<V, I>(c, process);
  return {c};
}

// SciPy reads by fast_matrix_market, which has threads.
template <class V, class I>
std::vector<contestant> contestants(read_problem<V, I> const& p) {
  std::vector<contestant> all;
  for (char const* const to : {"coo", "csr"}) {
    auto const process = std::make_shared<python>();
    all.push_back(start(std::string("read ") + to + " " + types<V, I>() +
                            std::to_string(p.threads) + " " + p.path + "\n",
                        process, [] {}));
    all.back().format = to;
    all.back().threads = p.threads;
    all.back().path =
        all.back().path.substr(0, all.back().path.find(',')) + " mmread, fast_matrix_market inside";
    hand_out_csr<V, I>(all.back(), process);
  }
  return all;
}

} // namespace tulle::bench

TULLE_PEER
