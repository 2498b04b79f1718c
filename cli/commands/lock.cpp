// `belay lock`: a command that runs while a lock is held, and not for a moment longer.
//
// A server ends a session not before its TTL is over after the last renewal; from then on somebody else may get the lock (after its
// lock delay). So the command is asked to end so early that it can be killed before that.

#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/locks/holding.hpp"
#include "cli/output/json_text.hpp"
#include "cli/process/guarded_child.hpp"
#include "protocol/golang/url.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ostream>

namespace belay::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// Between SIGTERM and SIGKILL, as Consul's.
constexpr std::chrono::milliseconds grace = 5s;
/// How often the time is looked at, which goes on while timers do not: when the machine was suspended.
constexpr std::chrono::milliseconds look_every = 200ms;

struct lock_order {
  holding_settings settings;
  std::string session_name;
  std::vector<std::string> words; ///< the command
  bool shell = true, pass_stdin = false, verbose = false, child_exit_code = false;
};

class lock_run {
public:
  lock_run(asio::io_context& loop, const api_client& client, const options& o, lock_order order, terminal t)
      : loop_(loop), order_(std::move(order)), terminal_(t),
        lease_(loop.get_executor(), client.target(), o.write_query()),
        held_(make_holding(loop.get_executor(), client.target(), o.write_query(), lease_, order_.settings)),
        signals_(loop, SIGINT, SIGTERM), forwarded_(loop, SIGUSR1, SIGUSR2, SIGQUIT), bell_(loop.get_executor()) {
    struct sigaction now {};
    if (::sigaction(SIGHUP, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) // nohup
      signals_.add(SIGHUP);
  }

  int run() {
    int code = 1;
    asio::co_spawn(
        loop_,
        [](lock_run& self, int& out) -> asio::awaitable<void> {
          out = co_await self.all();
          self.lease_.stop();
          self.signals_.cancel();
          self.forwarded_.cancel();
        }(*this, code),
        asio::detached);
    loop_.run();
    return code;
  }

private:
  void say(const std::string& text) {
    if (order_.verbose)
      terminal_.out << text << "\n" << std::flush;
  }

  asio::awaitable<int> all() {
    wait_for_signals();
    const auto begun = co_await lease_.begin(order_.session_name);
    if (!begun)
      co_return error(terminal_, "Lock acquisition failed: failed to create session: " + begun.error());
    asio::co_spawn(loop_, lease_.keep(), asio::detached);
    say("Attempting lock acquisition");
    result<bool> got = false; // no conditional expression: g++ 12 destroys the temporaries of one with co_await twice
    if (!shutdown_)
      got = co_await held_->acquire();
    int code = 1;
    if (got && *got)
      code = co_await work();
    else
      error(terminal_,
            got ? "Shutdown triggered or timeout during lock acquisition" : "Lock acquisition failed: " + got.error());
    const auto released = co_await give_up(got && *got);
    co_await lease_.end();
    co_return std::max(code, released);
  }

  /// Runs the command. @returns the exit code, as far as it is the command's
  asio::awaitable<int> work() {
    if (shutdown_) {
      error(terminal_, "Shutdown triggered during lock acquisition");
      co_return 0;
    }
    for (const auto last = lock_clock::now() + grace; too_late() && lock_clock::now() < last;)
      co_await bell_.wait(look_every); // the next renewal may be on its way
    if (too_late() || shutdown_) {
      error(terminal_, "Lock lost before the command was started");
      co_return 2;
    }
    say("Starting handler");
    child_plan plan;
    plan.argv = command_line(order_.words, order_.shell);
    plan.pass_stdin = order_.pass_stdin;
    plan.environment = {{"CONSUL_LOCK_HELD", "true"},
                        {"BELAY_LOCK_HELD", "true"},
                        {"BELAY_LOCK_KEY", held_->key()},
                        {"BELAY_LOCK_SESSION", lease_.id()}};
    if (!held_->fence().empty())
      plan.environment.emplace_back("BELAY_LOCK_FENCE", held_->fence());
    if (order_.pass_stdin)
      say("Stdin passed to handler process");
    auto started = guarded_child::start(loop_.get_executor(), plan);
    if (!started) {
      error(terminal_, "Error starting handler: " + started.error());
      co_return order_.child_exit_code ? 2 : 0;
    }
    child_ = std::move(*started);
    asio::co_spawn(loop_, wait_for_child(), asio::detached);
    asio::co_spawn(loop_, watch_lock(), asio::detached);
    while (!end_ && !shutdown_ && !lost_ && !too_late())
      co_await bell_.wait(look_every);
    const bool by_itself = end_.has_value();
    if (by_itself) {
      say("Child terminated, releasing lock");
    } else {
      say(shutdown_ ? "Shutdown triggered, killing child" : "Lock lost, killing child");
      co_await kill_child();
    }
    const bool well = end_ && end_->well();
    child_.reset(); // and what it left behind
    held_->stop();
    while (!lost_) // watch_lock() has ended
      co_await bell_.wait(look_every);
    co_return order_.child_exit_code && (!well && !(shutdown_ && !by_itself)) ? 2 : 0;
  }

  /// A command that is asked now to end can just be killed before the session may be over.
  bool too_late() const { return lock_clock::now() + grace >= lease_.valid_until(); }

  asio::awaitable<void> kill_child() {
    say("Terminating child pid " + std::to_string(child_->pid()));
    if (shutdown_ == SIGINT)
      child_->signal(SIGINT);
    if (const int why = child_->signal(SIGTERM); why != 0)
      error(terminal_, "Failed to terminate " + std::to_string(child_->pid()) + ": " + std::strerror(why));
    const auto last = std::min(lock_clock::now() + grace, lease_.valid_until());
    while (!end_ && lock_clock::now() < last)
      co_await bell_.wait(
          std::min(look_every, 1ms + std::chrono::duration_cast<std::chrono::milliseconds>(last - lock_clock::now())));
    if (end_) {
      say("Child terminated");
      co_return;
    }
    say("Child did not exit after grace period of 5s");
    say("Killing child pid " + std::to_string(child_->pid()));
    child_->signal(SIGKILL);
    while (!end_)
      co_await bell_.wait(look_every);
  }

  /// @returns 1 after a complaint
  asio::awaitable<int> give_up(bool was_held) {
    held_->stop();
    auto released = co_await held_->release();
    // A lock that is not released is nobody's until the session has ended, and its lock delay.
    for (const auto last = lock_clock::now() + grace;
         was_held && !released && lock_clock::now() < last && !lease_.over();) {
      co_await bell_.wait(look_every);
      released = co_await held_->release();
    }
    if (!was_held)
      co_return 0; // whatever came of it: the session ends
    if (!released)
      co_return error(terminal_, "Lock release failed: " + released.error());
    const auto cleaned = co_await held_->clean_up();
    if (!cleaned)
      co_return error(terminal_, "Lock cleanup failed: " + cleaned.error());
    say(*cleaned ? "Cleanup succeeded" : "Cleanup aborted, lock in use");
    co_return 0;
  }

  asio::awaitable<void> wait_for_child() {
    auto end = co_await child_->ended();
    if (!end.well())
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
  lock_order order_;
  terminal terminal_;
  session_lease lease_;
  std::unique_ptr<holding> held_;
  asio::signal_set signals_, forwarded_;
  bell bell_; ///< rung when one of these changes
  std::unique_ptr<guarded_child> child_;
  std::optional<child_end> end_;
  int shutdown_ = 0;  ///< the signal
  bool lost_ = false; ///< or nobody watches it any more
};

int lock(const options& o, terminal t) {
  const auto limit = o.integer("n", 1), retries = o.integer("monitor-retry", 3);
  if (limit <= 0)
    return error(t, "Lock holder limit must be positive");
  if (o.words().size() < 2)
    return error(t, "Key prefix and child command must be specified");
  const auto patience = o.given("timeout") ? o.duration("timeout", 0s) : o.duration("try", 0s);
  if (patience < 0s)
    return error(t, "Timeout must be positive");
  if (retries < 0)
    return error(t, "Number for 'monitor-retry' must be >= 0");
  const auto client = o.client(t);
  if (!client)
    return 1;
  if (const auto complaint = complaint_about(client->ask("GET", "/v1/status/leader", {})); !complaint.empty())
    return error(t, "Error querying Consul agent: " + complaint);

  lock_order order;
  order.words.assign(o.words().begin() + 1, o.words().end());
  order.settings.prefix = golang::clean_path("/" + o.words()[0]).substr(1);
  while (order.settings.prefix.ends_with('/'))
    order.settings.prefix.pop_back();
  order.settings.limit = static_cast<std::size_t>(limit);
  order.settings.retries = static_cast<std::size_t>(retries);
  order.settings.patience = std::chrono::ceil<std::chrono::milliseconds>(patience);
  order.session_name = o.value("name");
  if (order.session_name.empty())
    order.session_name =
        "Consul lock for '" + joined(order.words, " ") + "' at '" + without_leading_slash(o.words()[0]) + "'";
  order.shell = !o.given("shell") || o.on("shell");
  order.pass_stdin = o.on("pass-stdin");
  order.verbose = o.on("verbose");
  order.child_exit_code = o.on("child-exit-code");
  if (order.verbose)
    t.out << (limit == 1
                  ? "Setting up lock at path: " + order.settings.prefix + "/.lock"
                  : "Setting up semaphore (limit " + std::to_string(limit) + ") at prefix: " + order.settings.prefix)
          << "\n"
          << std::flush;
  asio::io_context loop;
  return lock_run(loop, *client, o, std::move(order), t).run();
}

} // namespace

std::vector<command> lock_commands() {
  using enum flag_kind;
  return {
      {.name = "lock",
       .help = "Runs a command while a lock is held",
       .operands = "PREFIX COMMAND...",
       .text = "The lock is the key PREFIX/.lock, as `consul lock` has it; with -n more than one may hold it at once. "
               "It is released when the\n"
               "command ends. If it is lost, or no server can be reached, or this program is told to end (SIGTERM, "
               "SIGINT, SIGHUP), the\n"
               "command gets SIGTERM, and SIGKILL 5 s later, or sooner: in any case before a server may give the lock "
               "to somebody else.\n"
               "Signals go to all that the command has started and that is in its process group, and nothing of it is "
               "left when the lock is\n"
               "released. If this program is killed, the command is killed with it.\n"
               "\n"
               "The command finds in its environment CONSUL_LOCK_HELD=true, BELAY_LOCK_KEY, BELAY_LOCK_SESSION and, of "
               "a lock (not of a\n"
               "semaphore), BELAY_LOCK_FENCE: the number that guards other systems against a holder that was paused "
               "(docs/guides/locks.md).",
       .formats = false,
       .flags = {{"child-exit-code", toggle, "",
                  "exit with 2 if the command failed, or was killed because the lock was lost"},
                 {"monitor-retry", integer, "<number>",
                  "errors in a row, 1 s apart, after which the lock counts as lost (default 3)"},
                 {"n", integer, "<number>", "how many may hold it at once (default 1)"},
                 {"name", text, "<name>", "name of the session (default: made from the command)"},
                 {"pass-stdin", toggle, "", "the command reads the standard input; else it reads nothing"},
                 {"shell", toggle, "", "run the command by $SHELL, or /bin/sh; -shell=false runs it as it is"},
                 {"timeout", duration, "<duration>", "give up if the lock is not had after so long (default: never)"},
                 {"try", duration, "<duration>", "the same, by its old name"},
                 {"verbose", toggle, "", "tell what is done"}},
       .examples = {{"lock jobs/report ./make-report", "One machine at a time makes the report"},
                    {"lock -timeout=1s -child-exit-code jobs/report ./make-report",
                     "Not at all if another one is at it"},
                    {"lock -n=3 jobs/upload ./upload", "At most three at once"}},
       .run = lock}};
}

} // namespace belay::cli
