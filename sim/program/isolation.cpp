#include "sim/program/isolation.hpp"

#include "protocol/base/hex.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ostream>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace belay::sim {

namespace json = boost::json;

namespace {

json::array to_json(const std::vector<tape_item>& items) {
  json::array out;
  out.reserve(items.size());
  for (const auto& i : items)
    out.push_back(json::array{static_cast<unsigned>(i.from.kind), i.from.number, i.position, i.value});
  return out;
}

/// Only for the output of to_json().
std::vector<tape_item> items_from_json(const json::array& a) {
  std::vector<tape_item> out;
  out.reserve(a.size());
  for (const auto& v : a) {
    const auto& i = v.as_array();
    out.push_back({{static_cast<stream_kind>(i.at(0).to_number<std::uint64_t>()), i.at(1).to_number<std::uint16_t>()},
                   i.at(2).to_number<std::uint64_t>(),
                   i.at(3).to_number<std::uint64_t>()});
  }
  return out;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

/// What a dying child sends. There is one run per process.
struct {
  const tape* choices = nullptr;
  std::ostream* trace = nullptr;
  int pipe = -1;
} last_words;

/// Not async-signal-safe, and need not be: the run itself raises nearly all of these signals. If it
/// deadlocks or faults again, the alarm or the default action ends it; only the tape is lost.
void write_last_words(int signal) {
  ::alarm(5);
  std::signal(signal, SIG_DFL);
  if (last_words.trace != nullptr)
    last_words.trace->flush();
  json::object o;
  o["taken"] = to_json(last_words.choices->taken());
  write_all(last_words.pipe, json::serialize(o));
  ::raise(signal);
}

[[noreturn]] void be_the_child(const isolation& how, tape& choices, int pipe) {
  last_words = {&choices, how.trace, pipe};
  // After a stack overflow the handler needs another stack.
  static std::array<char, 65536> stack;
  stack_t aside{};
  aside.ss_sp = stack.data();
  aside.ss_size = stack.size();
  ::sigaltstack(&aside, nullptr);
  struct sigaction act {};
  act.sa_handler = write_last_words;
  act.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (int s : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
    ::sigaction(s, &act, nullptr);

  run_options options;
  options.profile = how.profile;
  if (how.trace != nullptr)
    options.trace = [to = how.trace](const std::string& line) { *to << line << '\n'; };
  const auto report = how.twice ? run_twice(how.run, choices, options) : run_guarded(how.run, choices, options);
  if (how.trace != nullptr)
    how.trace->flush();
  json::object o;
  o["report"] = sim::to_json(report);
  o["taken"] = to_json(choices.taken());
  // Not exit(): the parent's buffers and exit handlers are the parent's.
  ::_exit(write_all(pipe, json::serialize(o)) ? 0 : 1);
}

/// Reads until the other end is closed. @returns false on timeout.
bool read_all(int fd, std::chrono::seconds limit, std::string& into) {
  const auto end = std::chrono::steady_clock::now() + limit;
  std::array<char, 65536> buffer;
  for (;;) {
    int wait_ms = -1;
    if (limit.count() > 0) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
      if (left <= 0)
        return false;
      wait_ms = static_cast<int>(std::min<std::int64_t>(left, 60'000));
    }
    pollfd p{fd, POLLIN, 0};
    if (::poll(&p, 1, wait_ms) <= 0)
      continue;
    const auto n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return true;
    into.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

std::string name_of_signal(int signal) {
  const char* abbreviation = ::sigabbrev_np(signal);
  return abbreviation != nullptr ? std::string("SIG") + abbreviation : "signal " + std::to_string(signal);
}

} // namespace

run_report run_guarded(const run_function& run, tape& choices, const run_options& options) {
  run_report r;
  try {
    r = run(choices, options);
  } catch (const std::exception& e) {
    r = {};
    r.outcome = run_outcome::safety;
    r.checker = "exception";
    r.what = e.what();
  } catch (...) {
    r = {};
    r.outcome = run_outcome::safety;
    r.checker = "exception";
    r.what = "of an unknown type";
  }
  r.seed = choices.seed();
  return r;
}

run_report run_twice(const run_function& run, tape& choices, const run_options& options) {
  auto first = run_guarded(run, choices, options);
  tape again(choices.seed(), choices.taken());
  const auto second = run_guarded(run, again, {options.profile, nullptr});
  if (first.trace_hash == second.trace_hash && first.outcome == second.outcome && first.events == second.events)
    return first;
  const auto words = [](const run_report& r) {
    return std::string(name_of(r.outcome)) + ", trace " + to_hex(r.trace_hash) + ", " + std::to_string(r.events) +
           " events";
  };
  const auto text = "first run: " + words(first) + "; its repetition: " + words(second);
  if (first.outcome == run_outcome::safety) {
    first.what += " (and not deterministic: " + text + ")";
  } else {
    first.outcome = run_outcome::nondeterminism;
    first.checker = "repetition";
    first.what = text;
  }
  return first;
}

result<isolated_run> run_isolated(const isolation& how, const tape& start) {
  int ends[2];
  if (::pipe(ends) != 0)
    return failure{std::string("no pipe: ") + std::strerror(errno)};
  stderr_catcher caught;
  if (how.trace != nullptr)
    how.trace->flush();
  const int parent = ::getpid();
  const auto child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    become_child_of(parent);
    caught.take_over(how.trace == nullptr);
    auto choices = start;
    be_the_child(how, choices, ends[1]);
  }
  const int error = errno;
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    return failure{std::string("no process: ") + std::strerror(error)};
  }
  std::string message;
  const bool in_time = read_all(ends[0], how.wall_limit, message);
  ::close(ends[0]);
  if (!in_time)
    ::kill(child, SIGKILL);
  int wait_status = 0;
  while (::waitpid(child, &wait_status, 0) < 0 && errno == EINTR)
    ;

  isolated_run out;
  out.stderr_tail = caught.tail();
  json::parse_options anything;
  anything.allow_invalid_utf8 = true; // the texts are the run's own, including bytes of keys
  boost::system::error_code ec;
  const auto v = json::parse(message, ec, {}, anything);
  const auto* o = ec ? nullptr : v.if_object();
  if (o != nullptr && o->contains("taken")) {
    out.taken = items_from_json(o->at("taken").as_array());
    out.taken_known = true;
  }
  if (!in_time) {
    out.report = report_of_timeout(start.seed(), how.wall_limit);
  } else if (o != nullptr && o->contains("report")) {
    auto r = report_from_json(o->at("report"));
    if (!r)
      return failure{"the process of the run sent an invalid report: " + r.error()};
    out.report = std::move(*r);
  } else {
    out.report = report_of_death(start.seed(), wait_status, out.stderr_tail);
  }
  return out;
}

stderr_catcher::stderr_catcher() : file_(::memfd_create("stderr", MFD_CLOEXEC)) {}

stderr_catcher::~stderr_catcher() {
  if (file_ >= 0)
    ::close(file_);
}

void stderr_catcher::take_over(bool stdout_too) const {
  if (file_ < 0)
    return;
  ::dup2(file_, 2);
  if (stdout_too)
    ::dup2(file_, 1);
}

void stderr_catcher::restart() const {
  if (file_ >= 0 && ::ftruncate(file_, 0) == 0)
    ::lseek(file_, 0, SEEK_SET);
}

std::string stderr_catcher::tail(std::size_t limit) const {
  const auto size = file_ < 0 ? 0 : ::lseek(file_, 0, SEEK_END);
  if (size <= 0)
    return {};
  std::string text(std::min<std::size_t>(limit, static_cast<std::size_t>(size)), '\0');
  const auto n = ::pread(file_, text.data(), text.size(), size - static_cast<off_t>(text.size()));
  text.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  for (auto& c : text)
    if (c != '\n' && (c < ' ' || c > '~'))
      c = '?';
  while (text.ends_with('\n'))
    text.pop_back();
  return text;
}

void become_child_of(int parent_pid) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent_pid)
    ::_exit(1);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  // Handlers of the parent have no meaning here.
  for (int s : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTERM})
    std::signal(s, SIG_DFL);
  std::signal(SIGINT, SIG_IGN);
}

run_report report_of_death(std::uint64_t seed, int wait_status, const std::string& stderr_tail) {
  run_report r;
  r.seed = seed;
  r.outcome = run_outcome::safety;
  if (WIFSIGNALED(wait_status)) {
    r.checker = name_of_signal(WTERMSIG(wait_status));
    r.what = "the run's process died";
  } else {
    r.checker = "exit";
    r.what = "the run's process ended with code " + std::to_string(WEXITSTATUS(wait_status));
  }
  if (!stderr_tail.empty())
    r.what += ": " + stderr_tail;
  return r;
}

run_report report_of_timeout(std::uint64_t seed, std::chrono::seconds limit) {
  run_report r;
  r.seed = seed;
  r.outcome = run_outcome::liveness;
  r.checker = "wall clock";
  r.what = "not over after " + std::to_string(limit.count()) + " seconds of real time";
  return r;
}

} // namespace belay::sim
