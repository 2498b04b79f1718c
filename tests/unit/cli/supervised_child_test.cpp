// Commands that `belay lock` and `belay watch` run: none of them outlives the program.

#include "cli/api/bell.hpp"
#include "cli/process/supervised_child.hpp"
#include "tests/unit/cli/variables.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace belay::cli;

namespace {

struct started {
  boost::asio::io_context loop;
  std::unique_ptr<supervised_child> child;

  explicit started(const std::string& script) : started(child_plan{{"/bin/sh", "-c", script}, {{"ADDED", "yes"}}}) {}
  explicit started(const child_plan& plan) {
    auto c = supervised_child::start(loop.get_executor(), plan);
    REQUIRE(c);
    child = std::move(*c);
  }
  child_end end() {
    std::optional<child_end> out;
    boost::asio::co_spawn(
        loop,
        [](supervised_child& c, std::optional<child_end>& to) -> boost::asio::awaitable<void> {
          to = co_await c.ended();
        }(*child, out),
        boost::asio::detached);
    loop.restart();
    loop.run();
    REQUIRE(out);
    return *out;
  }
};

bool becomes_true(const std::function<bool()>& holds) {
  for (int i = 0; i < 3000; ++i) {
    if (holds())
      return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

std::string line_of(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

/// Whether /proc shows that the process is gone, or a zombie.
bool is_dead(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(in, text);
  const auto at = text.rfind(')');
  return at == text.npos || text[at + 2] == 'Z';
}

} // namespace

TEST_CASE("how a command ended", "[child]") {
  CHECK(started("exit 0").end().well());
  CHECK(started("exit 3").end().text() == "exit status 3");
  CHECK(started("kill -TERM $$").end().text() == "signal: terminated");
  started s("sleep 100");
  s.child->signal(SIGTERM);
  CHECK(s.end().signal == SIGTERM);
}

TEST_CASE("a command's environment and input", "[child]") {
  const working_directory here;
  CHECK(started("echo $ADDED >out; cat >>out; echo end >>out").end().well());
  std::ifstream in("out");
  const std::string text(std::istreambuf_iterator<char>(in), {});
  CHECK(text == "yes\nend\n"); // nothing to read
}

TEST_CASE("a command that is not there", "[child]") {
  boost::asio::io_context loop;
  const auto c = supervised_child::start(loop.get_executor(), child_plan{{"no-such-program"}, {}});
  REQUIRE_FALSE(c);
  CHECK(c.error() == "exec: \"no-such-program\": executable file not found in $PATH");
  const auto d = supervised_child::start(loop.get_executor(), child_plan{{"/etc/passwd"}, {}});
  REQUIRE_FALSE(d);
  CHECK(d.error() == "fork/exec /etc/passwd: permission denied");
}

// A shell starts a program and waits. Signalling only the shell would leave that running.
TEST_CASE("signals reach everything that a command has started", "[child]") {
  const working_directory here;
  started s("sh -c 'echo $$ >pid; exec sleep 100'; true");
  REQUIRE(becomes_true([] { return !line_of("pid").empty(); }));
  const auto inner = std::stoi(line_of("pid"));
  s.child->signal(SIGTERM);
  s.end();
  CHECK(becomes_true([&] { return is_dead(inner); }));
}

TEST_CASE("processes that a command leaves behind end with it", "[child]") {
  const working_directory here;
  pid_t left = 0;
  {
    started s("trap '' TERM HUP; sleep 100 & echo $! >pid");
    CHECK(s.end().well());
    left = std::stoi(line_of("pid"));
    CHECK_FALSE(is_dead(left));
  }
  CHECK(becomes_true([&] { return is_dead(left); }));
}

// The program is killed with SIGKILL: it cannot signal its command. The lock expires soon.
TEST_CASE("a command ends when the program is killed", "[child]") {
  const working_directory here;
  const pid_t program = ::fork();
  if (program == 0) {
    boost::asio::io_context loop;
    auto c = supervised_child::start(
        loop.get_executor(),
        child_plan{{"/bin/sh", "-c", "trap '' TERM HUP; echo $$ >pid; while :; do sleep 1; done"}, {}});
    ::pause();
    ::_exit(0);
  }
  REQUIRE(program > 0);
  REQUIRE(becomes_true([] { return !line_of("pid").empty(); }));
  const auto command = std::stoi(line_of("pid"));
  CHECK_FALSE(is_dead(command));
  ::kill(program, SIGKILL);
  ::waitpid(program, nullptr, 0);
  CHECK(becomes_true([&] { return is_dead(command); }));
}

TEST_CASE("command lines", "[child]") {
  const variables set({{std::string("SHELL"), std::string("/bin/bash")}});
  CHECK(command_line({"a", "b c"}, true) == std::vector<std::string>{"/bin/bash", "-c", "a b c"});
  CHECK(command_line({"a", "b c"}, false) == std::vector<std::string>{"a", "b c"});
}
