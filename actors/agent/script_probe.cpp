// asio_probes: runs a program whose exit code is the status.

#include "actors/agent/asio_probes.hpp"

#include "protocol/go_compat/duration.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

extern char** environ;

namespace belay::actors {

namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// As in Consul.
constexpr std::chrono::seconds script_timeout{30};
constexpr std::size_t script_output_bytes = 4096;
// A program closes its output when it exits: the remaining wait depends on scheduling only.
constexpr std::chrono::milliseconds exit_poll{10};
constexpr std::chrono::milliseconds kill_poll{100};

class script_probe final : public running_probe, public std::enable_shared_from_this<script_probe> {
public:
  script_probe(asio::io_context& loop, const agent::check_definition& check, probe_runner::finished then)
      : output_(loop), timer_(loop), exit_timer_(loop), args_(check.args), then_(std::move(then)) {
    timeout_ = check.timeout_ns > 0 ? std::chrono::nanoseconds(check.timeout_ns) : script_timeout;
    limit_ = check.output_bytes_max > 0 ? static_cast<std::size_t>(check.output_bytes_max) : script_output_bytes;
  }
  ~script_probe() override { kill_group(); }

  void start() override {
    if (const int why = spawn(); why != 0)
      return end("critical", why == ENOENT && args_.front().find('/') == std::string::npos
                                 ? "exec: \"" + args_.front() + "\": executable file not found in $PATH"
                                 : "fork/exec " + args_.front() + ": " + lower(std::strerror(why)));
    timer_.expires_after(timeout_);
    timer_.async_wait([self = shared_from_this()](error_code e) {
      if (!e)
        self->on_timeout();
    });
    read();
  }

  void abandon() override {
    then_ = nullptr;
    kill_group();
    timer_.cancel();
    error_code ignored;
    output_.close(ignored); // the pending read then reaps the child
  }

  bool lingers() const override { return !then_ && child_ > 0; }

private:
  static std::string lower(std::string text) {
    if (!text.empty() && text.front() >= 'A' && text.front() <= 'Z')
      text.front() = static_cast<char>(text.front() - 'A' + 'a');
    return text;
  }

  /// Starts a process group, so that its children can be killed with it. @returns errno, or 0
  int spawn() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      return errno;
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
    // Not every open descriptor is close-on-exec: LMDB's data file has all keys and tokens.
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
      sigaddset(&usual, s);
    posix_spawnattr_setsigmask(&attributes, &none); // this process blocks them
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    std::vector<char*> argv;
    for (auto& a : args_)
      argv.push_back(a.data());
    argv.push_back(nullptr);
    const int why = ::posix_spawnp(&child_, argv[0], &files, &attributes, argv.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    ::close(ends[1]);
    if (why != 0) {
      child_ = -1;
      ::close(ends[0]);
      return why;
    }
    output_.assign(ends[0]);
    return 0;
  }

  void read() {
    output_.async_read_some(asio::buffer(piece_), [self = shared_from_this()](error_code e, std::size_t n) {
      self->take({self->piece_.data(), n});
      if (!e)
        return self->read();
      error_code ignored;
      self->output_.close(ignored);
      self->reap();
    });
  }

  void take(std::string_view bytes) {
    written_ += bytes.size();
    captured_.append(bytes);
    if (captured_.size() > limit_) // the end is the important part
      captured_.erase(0, captured_.size() - limit_);
  }

  void reap() {
    int code = 0;
    const auto got = child_ > 0 ? ::waitpid(child_, &code, WNOHANG) : -1;
    if (got == 0) {
      if (timed_out_) // it may not be possible to kill it
        end_late();
      exit_timer_.expires_after(timed_out_ ? kill_poll : exit_poll);
      exit_timer_.async_wait([self = shared_from_this()](error_code) { self->reap(); });
      return;
    }
    child_ = -1;
    timer_.cancel();
    if (timed_out_)
      return end_late();
    auto shown = written_ > limit_ ? "Captured " + std::to_string(limit_) + " of " + std::to_string(written_) +
                                         " bytes\n...\n" + captured_
                                   : captured_;
    const int exit_code = got > 0 && WIFEXITED(code) ? WEXITSTATUS(code) : 2;
    end(exit_code == 0 ? "passing" : exit_code == 1 ? "warning" : "critical", std::move(shown));
  }

  void on_timeout() {
    timed_out_ = true;
    kill_group();
    // A process that escaped from the group may hold the pipe open forever.
    error_code ignored;
    output_.close(ignored);
  }

  void kill_group() {
    if (child_ <= 0)
      return;
    ::kill(-child_, SIGKILL);
    ::kill(child_, SIGKILL); // it may have left its group
  }

  void end_late() { end("critical", "Timed out (" + go_compat::format_duration(timeout_) + ") running check"); }

  void end(std::string status, std::string output) {
    if (auto then = std::exchange(then_, nullptr))
      then(std::move(status), std::move(output));
  }

  asio::posix::stream_descriptor output_;
  asio::steady_timer timer_, exit_timer_;
  std::vector<std::string> args_;
  std::chrono::nanoseconds timeout_;
  std::size_t limit_, written_ = 0;
  std::string captured_;
  std::array<char, 4096> piece_{};
  pid_t child_ = -1;
  bool timed_out_ = false;
  probe_runner::finished then_;
};

} // namespace

std::shared_ptr<running_probe> make_script_probe(asio::io_context& loop, const agent::check_definition& check,
                                                 probe_runner::finished then) {
  return std::make_shared<script_probe>(loop, check, std::move(then));
}

} // namespace belay::actors
