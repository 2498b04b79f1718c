// `belay lock` in a shell's job on a terminal: what Ctrl-Z, `fg`, `bg`, a read of the terminal and
// its end do to the command, even while the program is stopped. Otherwise it would run beside the
// next holder's, or keep the lock. The shell is a process of this test with a pseudo-terminal.

#include "cli/api/bell.hpp"
#include "cli/process/supervised_child.hpp"
#include "tests/unit/cli/variables.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <optional>
#include <poll.h>
#include <pty.h>
#include <sstream>
#include <sys/wait.h>
#include <termios.h>
#include <thread>
#include <unistd.h>

namespace job_control_test {

using namespace belay::cli;
using namespace std::chrono_literals;

namespace {

// Far above what any step takes: none needs a hundredth of this.
constexpr auto timeout = 60s;

bool becomes_true(const std::function<bool()>& holds) {
  for (const auto until = std::chrono::steady_clock::now() + timeout; std::chrono::steady_clock::now() < until;) {
    if (holds())
      return true;
    std::this_thread::sleep_for(5ms);
  }
  return holds();
}

std::string text_of(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string line_of(const std::string& file) {
  const auto text = text_of(file);
  return text.find('\n') == text.npos ? "" : text.substr(0, text.find('\n'));
}

/// The state in /proc: R, S, T, ...; Z: it has ended.
char state_of(pid_t pid) {
  const auto text = text_of("/proc/" + std::to_string(pid) + "/stat");
  const auto at = text.rfind(')');
  return at == text.npos ? 'Z' : text[at + 2];
}

/// Seconds of the machine's clock that includes suspensions, as in the last beat of a script.
double now() {
  return std::chrono::duration<double>(belay::actors::boot_clock::now().time_since_epoch()).count();
}

// In subshells: dash uses vfork(), and waits (D) for a child that is stopped before exec().
const std::string beats = "while :; do (exec cut -d' ' -f1 /proc/uptime) >>beats; (exec sleep 0.02); done";

double last_beat() {
  std::istringstream in(text_of("beats"));
  double last = 0;
  for (std::string line; std::getline(in, line);)
    if (!in.eof())
      last = std::stod(line);
  return last;
}
std::size_t beat_count() {
  const auto text = text_of("beats");
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// Does what a program like `belay lock` does, as far as it matters here. @returns its exit code
int run_program(const child_plan& plan, bool ends_on_hangup) {
  static bool hung_up;
  hung_up = false;
  if (ends_on_hangup)
    ::signal(SIGHUP, [](int) { hung_up = true; });
  boost::asio::io_context loop;
  auto child = supervised_child::start(loop.get_executor(), plan);
  if (!child)
    return 99;
  std::optional<child_end> end;
  boost::asio::co_spawn(
      loop,
      [](supervised_child& c, std::optional<child_end>& to) -> boost::asio::awaitable<void> {
        to = co_await c.ended();
      }(**child, end),
      boost::asio::detached);
  while (!end && !hung_up)
    loop.run_one_for(20ms);
  child->reset();
  const int tty = ::open("/dev/tty", O_RDWR);
  if (hung_up)
    return 77;
  const bool is_ours = tty < 0 || ::tcgetpgrp(tty) == ::getpgrp();
  if (!is_ours)
    return 88;
  return end->overdue ? 66 : end->signal != 0 ? 128 + end->signal : end->code;
}

/// A shell with one job, which is such a program. It reports each change of the job, and gets its
/// orders as letters: f: `fg`, b: `bg`, x: exit.
class shell {
public:
  shell(child_plan plan, bool in_foreground = true, bool ends_on_hangup = false) {
    int commands[2], events[2];
    REQUIRE(::pipe2(commands, O_CLOEXEC) == 0);
    REQUIRE(::pipe2(events, O_CLOEXEC) == 0);
    pid_ = ::forkpty(&terminal_, nullptr, nullptr, nullptr);
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      ::close(commands[1]);
      be_shell(plan, in_foreground, ends_on_hangup, commands[0], events[1]);
    }
    ::close(commands[0]);
    ::close(events[1]);
    commands_ = commands[1];
    events_ = events[0];
    REQUIRE(event().starts_with("job "));
  }
  ~shell() {
    ::close(commands_);
    ::close(events_);
    close_terminal();
    if (job_ > 0)
      ::kill(job_, SIGKILL);
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  pid_t job() const { return job_; }
  void type(const std::string& keys) { REQUIRE(::write(terminal_, keys.data(), keys.size()) > 0); }
  void send_command(char what) { REQUIRE(::write(commands_, &what, 1) == 1); }
  /// The local modes of the terminal (termios::c_lflag).
  tcflag_t modes() const {
    termios now{};
    REQUIRE(::tcgetattr(terminal_, &now) == 0); // the master has those of the slave
    return now.c_lflag;
  }
  void close_terminal() {
    if (terminal_ >= 0)
      ::close(std::exchange(terminal_, -1));
  }
  /// The next event: `job PID`, `stopped SIGNAL`, `exited CODE`, `killed SIGNAL`. Empty: none
  std::string event() {
    while (response_.find('\n') == response_.npos) {
      drain();
      pollfd waits{events_, POLLIN, 0};
      char bytes[256];
      const int ready = ::poll(&waits, 1, 20);
      const auto n = ready > 0 ? ::read(events_, bytes, sizeof bytes) : 0;
      if (n > 0)
        response_.append(bytes, static_cast<std::size_t>(n));
      else if (ready > 0 || std::chrono::steady_clock::now() > begun_ + timeout)
        return "";
    }
    const auto line = response_.substr(0, response_.find('\n'));
    response_.erase(0, line.size() + 1);
    if (line.starts_with("job "))
      job_ = std::stoi(line.substr(4));
    return line;
  }

private:
  /// Discards the output on the terminal, which would fill it.
  void drain() {
    pollfd waits{terminal_, POLLIN, 0};
    char bytes[256];
    while (terminal_ >= 0 && ::poll(&waits, 1, 0) > 0 && (waits.revents & POLLIN) != 0 &&
           ::read(terminal_, bytes, sizeof bytes) > 0) {
    }
  }

  [[noreturn]] static void be_shell(const child_plan& plan, bool in_foreground, bool ends_on_hangup, int commands,
                                    int events) {
    ::signal(SIGTTOU, SIG_IGN);
    ::signal(SIGTTIN, SIG_IGN);
    ::signal(SIGTSTP, SIG_IGN);
    ::signal(SIGHUP, SIG_IGN);
    const pid_t job = ::fork();
    if (job == 0) {
      ::setpgid(0, 0);
      for (const int number : {SIGTTOU, SIGTTIN, SIGTSTP, SIGHUP})
        ::signal(number, SIG_DFL);
      if (in_foreground) // so that nothing happens before
        while (::tcgetpgrp(STDIN_FILENO) != ::getpgrp())
          ::usleep(1000);
      ::_exit(run_program(plan, ends_on_hangup));
    }
    ::setpgid(job, job);
    if (in_foreground)
      ::tcsetpgrp(STDIN_FILENO, job);
    const auto run_cli = [events](const std::string& what) { (void)!::write(events, what.data(), what.size()); };
    run_cli("job " + std::to_string(job) + "\n");
    for (;;) {
      int status = 0;
      if (::waitpid(job, &status, WUNTRACED | WNOHANG) == job) {
        if (WIFSTOPPED(status)) {
          ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
          run_cli("stopped " + std::to_string(WSTOPSIG(status)) + "\n");
        } else {
          run_cli(WIFEXITED(status) ? "exited " + std::to_string(WEXITSTATUS(status)) + "\n"
                                    : "killed " + std::to_string(WTERMSIG(status)) + "\n");
          ::pause();
        }
      }
      pollfd waits{commands, POLLIN, 0};
      char what = 0;
      if (::poll(&waits, 1, 5) > 0 && ::read(commands, &what, 1) <= 0)
        ::_exit(0);
      if (what == 'f')
        ::tcsetpgrp(STDIN_FILENO, job);
      if (what == 'f' || what == 'b')
        ::kill(-job, SIGCONT);
    }
  }

  pid_t pid_ = -1, job_ = -1;
  int terminal_ = -1, commands_ = -1, events_ = -1;
  std::string response_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

child_plan script(const std::string& text) {
  return {{"/bin/sh", "-c", text}, {}};
}

const std::string stopped_by_terminal = "stopped " + std::to_string(SIGTSTP);
const std::string control_z = "\x1a", control_c = "\x03";

} // namespace

TEST_CASE("a command may read the terminal and set its modes, and the job has it back afterwards",
          "[child][terminal]") {
  const working_directory here;
  for (const auto* how : {"read x </dev/tty", "sh -c 'read x </dev/tty; echo $x >inner'; x=$(cat inner)",
                          "stty -echo </dev/tty; read x </dev/tty; stty echo </dev/tty"}) {
    INFO(how);
    shell s(script(std::string(how) + "; echo got:$x >out; exit 5"));
    s.type("hello\n");
    CHECK(s.event() == "exited 5");
    CHECK(line_of("out") == "got:hello");
    CHECK(::unlink("out") == 0);
  }
}

// As its standard input, `-pass-stdin`.
TEST_CASE("a command may read the terminal as its input", "[child][terminal]") {
  const working_directory here;
  auto plan = script("read x; echo got:$x >out; exit 5");
  plan.pass_stdin = true;
  shell s(plan);
  s.type("hello\n");
  CHECK(s.event() == "exited 5");
  CHECK(line_of("out") == "got:hello");
}

TEST_CASE("Ctrl-Z stops the command and the program, and both go on with fg", "[child][terminal]") {
  const working_directory here;
  shell s(script("echo $$ >pid; " + beats));
  REQUIRE(becomes_true([] { return beat_count() > 2; }));
  const auto command = std::stoi(line_of("pid"));
  for (int round = 0; round < 3; ++round) {
    s.type(control_z);
    REQUIRE(s.event() == stopped_by_terminal);
    CHECK(becomes_true([&] { return state_of(command) == 'T'; }));
    const auto before = beat_count();
    s.send_command(round == 1 ? 'b' : 'f');
    CHECK(becomes_true([&] { return beat_count() > before + 2; }));
    if (round == 1) { // in the background Ctrl-Z does not reach it
      s.type(control_z);
      ::kill(-s.job(), SIGTSTP);
      REQUIRE(s.event() == stopped_by_terminal);
      s.send_command('f');
      CHECK(becomes_true([&] { return state_of(command) != 'T'; }));
    }
  }
  s.type(control_c); // the job has the terminal, and the program the default disposition
  CHECK(s.event() == "killed " + std::to_string(SIGINT));
  CHECK(becomes_true([&] { return state_of(command) == 'Z'; }));
}

TEST_CASE("Ctrl-Z while the command has the terminal stops the program, too", "[child][terminal]") {
  const working_directory here;
  shell s(script("echo $$ >pid; read x </dev/tty; echo got:$x >out; read x </dev/tty; echo got:$x >out; exit 5"));
  s.type("one\n");
  REQUIRE(becomes_true([] { return line_of("out") == "got:one"; }));
  const auto command = std::stoi(line_of("pid"));
  REQUIRE(becomes_true([&] { return state_of(command) == 'S'; })); // it reads
  s.type(control_z);
  CHECK(s.event() == stopped_by_terminal);
  CHECK(becomes_true([&] { return state_of(command) == 'T'; }));
  s.send_command('f');
  s.type("two\n");
  CHECK(s.event() == "exited 5");
  CHECK(line_of("out") == "got:two");
}

TEST_CASE("a job in the background that reads the terminal stops until it is in the foreground", "[child][terminal]") {
  const working_directory here;
  shell s(script("read x </dev/tty; echo got:$x >out; exit 5"), false);
  CHECK(s.event() == "stopped " + std::to_string(SIGTTIN));
  s.send_command('b');
  CHECK(s.event() == "stopped " + std::to_string(SIGTTIN));
  s.send_command('f');
  s.type("hello\n");
  CHECK(s.event() == "exited 5");
  CHECK(line_of("out") == "got:hello");
}

// Ctrl-C reaches what has the terminal: an editor, a shell.
TEST_CASE("a command that has the terminal gets its signals", "[child][terminal]") {
  const working_directory here;
  shell s(script(
      "trap 'echo interrupted >out; exit 6' INT; read x </dev/tty; echo ready >ready; while :; do sleep 0.01; done"));
  s.type("x\n");
  REQUIRE(becomes_true([] { return line_of("ready") == "ready"; }));
  s.type(control_c);
  CHECK(s.event() == "exited 6");
  CHECK(line_of("out") == "interrupted");
}

TEST_CASE("terminal modes changed by a killed command are restored", "[child][terminal]") {
  const working_directory here;
  shell s(script("stty -echo -icanon </dev/tty; kill -9 $$"));
  CHECK(s.event() == "exited " + std::to_string(128 + SIGKILL));
  CHECK((s.modes() & (ECHO | ICANON)) == (ECHO | ICANON));
}

TEST_CASE("modes that a command leaves on purpose stay", "[child][terminal]") {
  const working_directory here;
  shell s(script("stty -echo </dev/tty"));
  CHECK(s.event() == "exited 0");
  CHECK((s.modes() & (ECHO | ICANON)) == ICANON);
}

// Only the command's group has the terminal, so both processes would remain and keep the lock.
TEST_CASE("when the terminal of the command is closed the program gets SIGHUP", "[child][terminal]") {
  const working_directory here;
  shell s(script("trap '' HUP; echo $$ >pid; read x </dev/tty; echo ready >ready; while :; do sleep 0.01; done"), true,
          true);
  s.type("x\n");
  REQUIRE(becomes_true([] { return line_of("ready") == "ready"; }));
  const auto command = std::stoi(line_of("pid"));
  s.close_terminal();
  CHECK(s.event() == "exited 77");
  CHECK(becomes_true([&] { return state_of(command) == 'Z'; }));
}

// The program is stopped and cannot end its command while its session expires.
TEST_CASE("while the program is stopped its guard ends the command in time", "[child][terminal]") {
  const working_directory here;
  using boot_clock = belay::actors::boot_clock;
  const bool by_terminal = GENERATE(false, true), obeys = !by_terminal;
  INFO((by_terminal ? "Ctrl-Z" : "SIGSTOP") << (obeys ? ", ends when asked" : ", does not end when asked"));
  auto plan = script(std::string(obeys ? "trap 'echo asked >asked; exit 3' TERM; " : "trap '' TERM; ") +
                     "echo $$ >pid; (trap '' TERM; " + beats + ") & " + beats);
  const auto begun = boot_clock::now();
  plan.deadline = {begun + 2s, begun + 4s};
  const double kill_at = std::chrono::duration<double>(plan.deadline.kill.time_since_epoch()).count();
  const double half_as_long = std::chrono::duration<double>(plan.deadline.kill - begun).count() / 2;
  shell s(plan);
  REQUIRE(becomes_true([] { return beat_count() > 2; }));
  const auto command = std::stoi(line_of("pid"));
  if (by_terminal)
    s.type(control_z);
  else
    ::kill(s.job(), SIGSTOP);
  CHECK(s.event().starts_with("stopped "));
  REQUIRE(becomes_true([&] { return state_of(command) == 'Z'; }));
  CHECK((line_of("asked") == "asked") == obeys);
  REQUIRE(becomes_true([&] { return now() > kill_at + half_as_long; }));
  CHECK(state_of(s.job()) == 'T');                 // the program did nothing
  CHECK(last_beat() < kill_at + half_as_long / 2); // nothing that it started continues, either
  s.send_command('f');
  CHECK(s.event() == "exited 66");
}

} // namespace job_control_test
