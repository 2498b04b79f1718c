#include "sim/program/sweep.hpp"

#include "protocol/base/probe.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <list>
#include <memory>
#include <poll.h>
#include <sstream>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace belay::sim {

namespace json = boost::json;

namespace {

/// Seeds from `next`, `end` excluded.
struct seed_range {
  std::uint64_t next = 0, end = 0;
  bool empty() const { return next >= end; }
};

bool send_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto n = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

/// Appends what is available. @returns false at the end of the stream.
bool receive_some(int fd, std::string& into) {
  std::array<char, 65536> buffer;
  ssize_t n = 0;
  do
    n = ::recv(fd, buffer.data(), buffer.size(), 0);
  while (n < 0 && errno == EINTR);
  if (n <= 0)
    return false;
  into.append(buffer.data(), static_cast<std::size_t>(n));
  return true;
}

/// Removes the first line from `buffer`.
bool take_line(std::string& buffer, std::string& line) {
  const auto end = buffer.find('\n');
  if (end == buffer.npos)
    return false;
  line = buffer.substr(0, end);
  buffer.erase(0, end + 1);
  return true;
}

// ---- the worker: reads lines `first end`, responds to each seed with a line {report, probes}

json::object growth(const std::map<std::string, std::uint64_t>& before) {
  json::object o;
  for (const auto& [name, count] : probe_counts()) {
    const auto it = before.find(name);
    if (const auto more = count - (it == before.end() ? 0 : it->second); more != 0)
      o[name] = more;
  }
  return o;
}

[[noreturn]] void be_a_worker(const run_function& run, const sweep_options& options, const stderr_catcher& caught,
                              int socket) {
  std::string buffer, line;
  while (receive_some(socket, buffer)) {
    while (take_line(buffer, line)) {
      seed_range todo;
      std::istringstream(line) >> todo.next >> todo.end;
      for (; !todo.empty(); ++todo.next) {
        caught.restart();
        const auto before = probe_counts();
        tape choices(todo.next);
        const bool twice = todo.next % options.repeat_every == 0;
        const run_options how{options.profile, nullptr};
        json::object answer;
        answer["report"] = to_json(twice ? run_twice(run, choices, how) : run_guarded(run, choices, how));
        answer["probes"] = growth(before);
        if (!send_all(socket, json::serialize(answer) + "\n"))
          ::_exit(1);
      }
    }
  }
  ::_exit(0);
}

// ---- the parent

struct worker {
  int pid = 0;
  int socket = -1;
  std::unique_ptr<stderr_catcher> caught = std::make_unique<stderr_catcher>();
  std::string buffer;
  seed_range todo; ///< `next` is the seed it is running
  std::chrono::steady_clock::time_point since;
};

class crew {
public:
  crew(const run_function& run, const sweep_options& options)
      : run_(run), options_(options), fresh_{options.first_seed, options.end_seed}, limit_(options.end_seed) {}

  ~crew() {
    while (!workers_.empty())
      dismiss(workers_.begin());
  }

  result<figures> work() {
    const auto start = std::chrono::steady_clock::now();
    for (;;) {
      if (auto hired = hire(); !hired)
        return hired.reason();
      if (workers_.empty())
        break;
      listen();
      found_.wall = std::chrono::steady_clock::now() - start;
      if (options_.on_tick)
        options_.on_tick(found_);
      if (options_.stop && options_.stop()) {
        found_.interrupted = true;
        break;
      }
    }
    found_.wall = std::chrono::steady_clock::now() - start;
    return found_;
  }

private:
  using worker_iterator = std::list<worker>::iterator;

  /// The next few seeds; few, so that all workers end at about the same time.
  seed_range batch() {
    while (!returned_.empty() && returned_.front().next >= limit_)
      returned_.pop_front();
    if (!returned_.empty()) {
      auto b = returned_.front();
      returned_.pop_front();
      return b;
    }
    const auto end = std::min(fresh_.end, limit_);
    if (fresh_.next >= end)
      return {};
    const auto size = std::clamp<std::uint64_t>((end - fresh_.next) / (options_.jobs * 4), 1, 8);
    const seed_range b{fresh_.next, fresh_.next + size};
    fresh_.next = b.end;
    return b;
  }

  bool give(worker& w, seed_range b) {
    w.todo = b;
    w.since = std::chrono::steady_clock::now();
    return send_all(w.socket, std::to_string(b.next) + " " + std::to_string(b.end) + "\n");
  }

  /// Starts workers for the remaining seeds. @returns an error if there is work and no worker.
  status hire() {
    while (workers_.size() < options_.jobs) {
      const auto b = batch();
      if (b.empty())
        break;
      if (auto begun = begin(b); !begun) {
        returned_.push_front(b);
        if (workers_.empty())
          return begun;
        break;
      }
    }
    return done{};
  }

  status begin(seed_range b) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
      return failure{std::string("no socket: ") + std::strerror(errno)};
    worker w;
    w.socket = ends[0];
    const int parent = ::getpid();
    w.pid = ::fork();
    if (w.pid == 0) {
      become_child_of(parent);
      ::close(ends[0]);
      // Closes the parent's ends of other sockets, so that a worker sees the parent close its own.
      for (const auto& other : workers_)
        ::close(other.socket);
      w.caught->take_over(true);
      be_a_worker(run_, options_, *w.caught, ends[1]);
    }
    const int error = errno;
    ::close(ends[1]);
    if (w.pid < 0) {
      ::close(ends[0]);
      return failure{std::string("no process: ") + std::strerror(error)};
    }
    // If it has died, the end of its stream will show that.
    give(w, b);
    workers_.push_back(std::move(w));
    return done{};
  }

  /// Waits briefly for an event of a worker.
  void listen() {
    std::vector<pollfd> polled;
    std::vector<worker_iterator> who;
    for (auto w = workers_.begin(); w != workers_.end(); ++w) {
      polled.push_back({w->socket, POLLIN, 0});
      who.push_back(w);
    }
    if (::poll(polled.data(), polled.size(), 100) < 0)
      return;
    for (std::size_t i = 0; i < who.size(); ++i)
      if (polled[i].revents != 0)
        hear(who[i]);
      else
        watch_the_clock(who[i]);
    if (options_.until_failure)
      for (auto w = workers_.begin(); w != workers_.end();)
        w = w->todo.next >= limit_ ? dismiss(w) : std::next(w);
  }

  void hear(worker_iterator w) {
    if (!receive_some(w->socket, w->buffer)) {
      lost(w, std::nullopt);
      return;
    }
    std::string line;
    while (take_line(w->buffer, line))
      if (!take_answer(*w, line)) {
        lost(w, report_of_nonsense(w->todo.next));
        return;
      }
    if (!w->todo.empty())
      return;
    if (const auto b = batch(); b.empty())
      dismiss(w);
    else
      give(*w, b);
  }

  /// @returns false if the line is no response.
  bool take_answer(worker& w, const std::string& line) {
    json::parse_options anything;
    anything.allow_invalid_utf8 = true;
    boost::system::error_code ec;
    const auto v = json::parse(line, ec, {}, anything);
    const auto* o = ec ? nullptr : v.if_object();
    const auto* report = o == nullptr ? nullptr : o->if_contains("report");
    const auto* probes = o == nullptr ? nullptr : o->if_contains("probes");
    if (report == nullptr || probes == nullptr || !probes->is_object())
      return false;
    auto r = report_from_json(*report);
    if (!r || w.todo.empty() || r->seed != w.todo.next)
      return false;
    for (const auto& p : probes->get_object()) {
      const auto count = p.value().to_number<std::uint64_t>(ec);
      if (ec)
        return false;
      found_.probes[std::string(p.key())] += count;
    }
    ++w.todo.next;
    w.since = std::chrono::steady_clock::now();
    take_report(*r);
    return true;
  }

  void take_report(const run_report& r) {
    found_.add(r);
    if (options_.until_failure && r.outcome != run_outcome::passed)
      limit_ = std::min(limit_, r.seed);
    if (options_.on_report)
      options_.on_report(r);
  }

  void watch_the_clock(worker_iterator w) {
    if (options_.wall_limit.count() > 0 && std::chrono::steady_clock::now() - w->since > options_.wall_limit)
      lost(w, report_of_timeout(w->todo.next, options_.wall_limit));
  }

  static run_report report_of_nonsense(std::uint64_t seed) {
    run_report r;
    r.seed = seed;
    r.outcome = run_outcome::safety;
    r.checker = "worker";
    r.what = "the run's process sent an invalid report";
    return r;
  }

  /// The worker is unusable.
  /// @param why absent: it died by itself
  void lost(worker_iterator w, std::optional<run_report> why) {
    if (why)
      ::kill(w->pid, SIGKILL);
    int wait_status = 0;
    while (::waitpid(w->pid, &wait_status, 0) < 0 && errno == EINTR)
      ;
    if (!why)
      why = report_of_death(w->todo.next, wait_status, w->caught->tail());
    if (const seed_range rest{w->todo.next + 1, w->todo.end}; !rest.empty())
      returned_.push_front(rest);
    ::close(w->socket);
    workers_.erase(w);
    take_report(*why);
  }

  /// It has nothing to do, or its result is not needed.
  worker_iterator dismiss(worker_iterator w) {
    ::kill(w->pid, SIGKILL);
    while (::waitpid(w->pid, nullptr, 0) < 0 && errno == EINTR)
      ;
    ::close(w->socket);
    return workers_.erase(w);
  }

  const run_function& run_;
  const sweep_options& options_;
  seed_range fresh_;                ///< never handed out
  std::deque<seed_range> returned_; ///< handed out to a worker that died
  std::uint64_t limit_;             ///< seeds from here on are not needed
  std::list<worker> workers_;
  figures found_;
};

} // namespace

result<figures> sweep(const run_function& run, const sweep_options& options) {
  PRECONDITION(options.jobs > 0);
  PRECONDITION(options.repeat_every > 0);
  return crew(run, options).work();
}

} // namespace belay::sim
