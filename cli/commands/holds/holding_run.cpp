#include "cli/commands/holds/holding_run.hpp"

#include "cli/api/bell.hpp"
#include "cli/output/escaped_output.hpp"
#include "cli/process/command_name.hpp"
#include "cli/process/supervised_child.hpp"
#include "protocol/base/mutants.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/signal_set.hpp>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ostream>

namespace belay::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// The time between SIGTERM and SIGKILL, as in Consul.
constexpr std::chrono::milliseconds grace = 5s;
/// How much later than this program the supervisor asks the command to end. This program may not be
/// scheduled for a moment.
constexpr std::chrono::milliseconds supervisor_waits = 1s;
/// How often the clock is checked. Timers stop while the machine is suspended; the clock does not.
constexpr std::chrono::milliseconds look_every = 200ms;

class holding_run {
public:
  holding_run(asio::io_context& loop, std::unique_ptr<holding> held, run_order order, terminal t)
      : loop_(loop), order_(std::move(order)), terminal_(t), held_(std::move(held)), signals_(loop, SIGINT, SIGTERM),
        forwarded_(loop, SIGUSR1, SIGUSR2, SIGQUIT), bell_(loop.get_executor()), clock_(loop.get_executor()) {
    struct sigaction now {};
    if (::sigaction(SIGHUP, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) // not under nohup
      signals_.add(SIGHUP);
  }

  int run() {
    int code = 1;
    asio::co_spawn(
        loop_,
        [](holding_run& self, int& out) -> asio::awaitable<void> {
          out = co_await self.all();
          self.signals_.cancel();
          self.forwarded_.cancel();
        }(*this, code),
        asio::detached);
    loop_.run();
    return code;
  }

private:
  void log_line(const std::string& text) {
    if (order_.verbose)
      terminal_.out << text << "\n" << std::flush;
  }

  asio::awaitable<int> all() {
    wait_for_signals();
    const auto begun = co_await held_->begin(order_.session_name);
    if (!begun)
      co_return error(terminal_, "Lock acquisition failed: failed to create session: " + begun.error());
    log_line("Attempting lock acquisition");
    if (terminal_.screen)
      asio::co_spawn(loop_, show_waiting(), asio::detached);
    result<bool> got = false; // no conditional expression: g++ 12 destroys the temporaries of one with co_await twice
    if (!shutdown_)
      got = co_await held_->acquire();
    stop_showing();
    int code = 1;
    if (got && *got)
      code = co_await work();
    else
      error(terminal_,
            got ? "Shutdown triggered or timeout during lock acquisition" : "Lock acquisition failed: " + got.error());
    const auto released = co_await give_up(got && *got);
    co_await held_->end();
    co_return std::max(code, released);
  }

  /// Shows on a screen how long it has been waiting.
  asio::awaitable<void> show_waiting() {
    const auto begun = lock_clock::now();
    co_await clock_.wait(1s);
    while (waiting_) {
      const auto so_far = std::chrono::duration_cast<std::chrono::seconds>(lock_clock::now() - begun);
      write_over_line(terminal_.out);
      terminal_.out << "Waiting for " << held_->key() << ": " << so_far.count() << " s" << std::flush;
      shown_ = true;
      co_await clock_.wait(1s);
    }
  }

  void stop_showing() {
    waiting_ = false;
    clock_.ring();
    if (shown_)
      terminal_.out << "\n" << std::flush;
  }

  /// Runs the command.
  /// @returns the exit code, without failures of the release
  asio::awaitable<int> work() {
    if (shutdown_) {
      error(terminal_, "Shutdown triggered during lock acquisition");
      co_return 0;
    }
    for (const auto last = lock_clock::now() + grace; too_late() && lock_clock::now() < last;)
      co_await bell_.wait(look_every); // a renewal may be under way
    if (too_late() || shutdown_) {
      error(terminal_, "Lock lost before the command was started");
      co_return 2;
    }
    log_line("Starting handler");
    child_plan plan;
    plan.argv = command_line(order_.words, order_.shell);
    plan.pass_stdin = order_.pass_stdin;
    plan.environment = {{"CONSUL_LOCK_HELD", "true"},
                        {"BELAY_LOCK_HELD", "true"},
                        {"BELAY_LOCK_KEY", held_->key()},
                        {"BELAY_LOCK_SESSION", held_->session()}};
    if (!held_->fence().empty())
      plan.environment.emplace_back("BELAY_LOCK_FENCE", held_->fence());
    if (order_.pass_stdin)
      log_line("Stdin passed to handler process");
    deadline_sent_ = held_->valid_until();
    plan.deadline = {deadline_sent_ - grace + supervisor_waits, deadline_sent_};
    auto started = supervised_child::start(loop_.get_executor(), plan);
    if (!started) {
      error(terminal_, "Error starting handler: " + started.error());
      co_return order_.child_exit_code ? 2 : 0;
    }
    child_ = std::move(*started);
    asio::co_spawn(loop_, wait_for_child(), asio::detached);
    asio::co_spawn(loop_, watch_lock(), asio::detached);
    while (!end_ && !shutdown_ && !lost_ && !too_late()) {
      send_deadline();
      co_await bell_.wait(look_every);
    }
    const bool by_itself = end_.has_value();
    if (by_itself) {
      log_line("Child terminated, releasing lock");
    } else {
      log_line(shutdown_ ? "Shutdown triggered, killing child" : "Lock lost, killing child");
      co_await kill_child();
    }
    const bool well = end_ && end_->well();
    child_.reset(); // also kills what the command left behind
    held_->stop();
    while (!lost_) // until watch_lock() has ended
      co_await bell_.wait(look_every);
    co_return order_.child_exit_code && (!well && !(shutdown_ && !by_itself)) ? 2 : 0;
  }

  /// Whether less than the grace period is left until the session may be over.
  bool too_late() const { return lock_clock::now() + grace >= held_->valid_until(); }

  /// Lets the supervisor end the command in time, even while this program is stopped.
  void send_deadline() {
    const auto until = held_->valid_until();
    if (until <= deadline_sent_)
      return; // each deadline is sent only once
    deadline_sent_ = until;
    child_->ends_at({until - grace + supervisor_waits, until});
  }

  asio::awaitable<void> kill_child() {
    log_line("Terminating child pid " + std::to_string(child_->pid()));
    const bool late = MUTANT(child_killed_after_grace_only);
    child_->ends_at({child_deadline::time::max(), // SIGTERM is sent only once
                     late ? lock_clock::now() + grace : held_->valid_until()});
    if (shutdown_ == SIGINT)
      child_->signal(SIGINT);
    if (const int why = child_->signal(SIGTERM); why != 0)
      error(terminal_, "Failed to terminate " + std::to_string(child_->pid()) + ": " + std::strerror(why));
    const auto last = late ? lock_clock::now() + grace : std::min(lock_clock::now() + grace, held_->valid_until());
    while (!end_ && lock_clock::now() < last)
      co_await bell_.wait(
          std::min(look_every, 1ms + std::chrono::duration_cast<std::chrono::milliseconds>(last - lock_clock::now())));
    if (end_) {
      log_line("Child terminated");
      co_return;
    }
    log_line("Child did not exit after grace period of 5s");
    log_line("Killing child pid " + std::to_string(child_->pid()));
    child_->signal(SIGKILL);
    while (!end_)
      co_await bell_.wait(look_every);
  }

  /// @returns 1 after printing an error
  asio::awaitable<int> give_up(bool was_held) {
    held_->stop();
    auto released = co_await held_->release();
    // A lock that is not released blocks other clients until its session and its lock delay have
    // ended.
    for (const auto last = lock_clock::now() + grace;
         was_held && !released && lock_clock::now() < last && !held_->over();) {
      co_await bell_.wait(look_every);
      released = co_await held_->release();
    }
    if (!was_held)
      co_return 0; // the result does not matter: the session ends
    if (!released)
      co_return error(terminal_, "Lock release failed: " + released.error());
    const auto cleaned = co_await held_->clean_up();
    if (!cleaned)
      co_return error(terminal_, "Lock cleanup failed: " + cleaned.error());
    log_line(*cleaned ? "Cleanup succeeded" : "Cleanup aborted, lock in use");
    co_return 0;
  }

  asio::awaitable<void> wait_for_child() {
    auto end = co_await child_->ended();
    if (!end.well() || end.overdue)
      error(terminal_, "Error running handler: " + end.text());
    end_ = end;
    bell_.ring();
  }

  asio::awaitable<void> watch_lock() {
    co_await held_->watch();
    lost_ = true;
    bell_.ring();
  }

  void wait_for_signals() {
    signals_.async_wait([this](const boost::system::error_code& ec, int number) {
      if (ec)
        return;
      shutdown_ = number;
      if (!child_)
        held_->stop();
      bell_.ring();
      wait_for_signals();
    });
    wait_to_forward();
  }

  void wait_to_forward() {
    forwarded_.async_wait([this](const boost::system::error_code& ec, int number) {
      if (ec)
        return;
      if (child_)
        child_->signal(number);
      wait_to_forward();
    });
  }

  asio::io_context& loop_;
  run_order order_;
  terminal terminal_;
  std::unique_ptr<holding> held_;
  asio::signal_set signals_, forwarded_;
  bell bell_; ///< rung when one of the members below changes
  bell clock_;
  bool waiting_ = true, shown_ = false;
  std::unique_ptr<supervised_child> child_;
  lock_clock::time_point deadline_sent_; ///< until when the supervisor lets the command run
  std::optional<child_end> end_;
  int shutdown_ = 0;  ///< the signal that was received; 0: none
  bool lost_ = false; ///< it was lost, or watch() has returned
};

} // namespace

int run_while_held(asio::io_context& loop, std::unique_ptr<holding> held, run_order order, terminal t) {
  return holding_run(loop, std::move(held), std::move(order), t).run();
}

api_request is_there(const acquire_deadline& deadline) {
  api_request r{.method = "GET", .path = "/v1/status/leader", .query = {}};
  r.limit = deadline.limit({});
  return r;
}

run_order order_of(const options& o, const std::string& what) {
  run_order order;
  order.words.assign(o.words().begin() + 1, o.words().end());
  if (order.words.size() > 1 && order.words[0] == "--")
    order.words.erase(order.words.begin());
  order.session_name = o.value("name");
  if (order.session_name.empty())
    order.session_name =
        what + " for '" + name_of_command(order.words) + "' at '" + without_leading_slash(o.words()[0]) + "'";
  order.shell = o.on_by_default("shell");
  order.pass_stdin = o.on("pass-stdin");
  order.verbose = o.on("verbose");
  order.child_exit_code = o.on("child-exit-code");
  return order;
}

} // namespace belay::cli
