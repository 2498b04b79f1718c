// In a container belay is the first process, and inherits what check scripts leave behind: zombies,
// unless it waits for them. Here PR_SET_CHILD_SUBREAPER makes a process inherit them.

#include "cli/process/init_process.hpp"

#include <catch2/catch.hpp>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

using namespace belay::cli;
using namespace std::chrono_literals;

namespace {

/// Runs `program` with continue_in_child() where orphans are inherited. @returns its exit code.
/// @param meanwhile its pid
int code_of(
    const std::function<int()>& program, const std::function<void(pid_t)>& meanwhile = [](pid_t) {}) {
  const auto init = ::fork();
  REQUIRE(init >= 0);
  if (init == 0) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const auto code = continue_in_child();
    ::_exit(code ? *code : program());
  }
  meanwhile(init);
  int how = 0;
  REQUIRE(::waitpid(init, &how, 0) == init);
  return WIFEXITED(how) ? WEXITSTATUS(how) : -WTERMSIG(how);
}

/// The states of that process's children: Z is one that has ended and was not waited for.
std::string states_of_children(pid_t parent) {
  std::string states;
  for (const auto& each : std::filesystem::directory_iterator("/proc")) {
    if (each.path().filename().string().find_first_not_of("0123456789") != std::string::npos)
      continue; // no process, or one with another name
    std::ifstream in(each.path() / "stat");
    std::string text;
    if (!std::getline(in, text) || text.rfind(')') == std::string::npos)
      continue;
    const auto rest = text.substr(text.rfind(')') + 2); // STATE PPID ...
    if (std::stoi(rest.substr(2)) == parent)
      states += rest[0];
  }
  return states;
}

bool eventually(const std::function<bool()>& is_so) {
  const auto until = std::chrono::steady_clock::now() + 20s;
  while (!is_so() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(5ms);
  return is_so();
}

void leave_an_orphan() {
  const auto child = ::fork();
  if (child == 0) {
    if (::fork() == 0)
      std::this_thread::sleep_for(100ms);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
}

} // namespace

TEST_CASE("init_process: processes that a program leaves behind are reaped after its end") {
  const auto code = code_of([] {
    const auto init = ::getppid();
    for (int i = 0; i < 20; ++i)
      leave_an_orphan();
    const bool inherited = eventually([&] { return states_of_children(init).size() > 1; });
    return inherited && eventually([&] { return states_of_children(init).size() == 1; }) ? 7 : 8;
  });
  CHECK(code == 7);
}

TEST_CASE("init_process: signals reach the program, and its end is reported as a shell does") {
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  static int response = -1;
  response = ready[1];
  const auto program = [](int signal, bool handled) {
    return [=] {
      std::signal(signal, handled ? [](int) { ::_exit(42); } : SIG_DFL); // Catch2 has handlers of its own
      if (::write(response, "x", 1) != 1)
        return 1;
      for (;;)
        ::pause();
    };
  };
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGQUIT}) {
    INFO(signal);
    const auto send = [&](pid_t init) {
      char c;
      REQUIRE(::read(ready[0], &c, 1) == 1);
      ::kill(init, signal);
    };
    CHECK(code_of(program(signal, true), send) == 42);
    if (signal != SIGQUIT) // which writes a core
      CHECK(code_of(program(signal, false), send) == 128 + signal);
  }
  ::close(ready[0]);
  ::close(ready[1]);
}
