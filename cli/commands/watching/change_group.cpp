// `belay watch -changes -group`: the members of a group work on changes.

#include "cli/api/api_client.hpp"
#include "cli/api/awaited.hpp"
#include "cli/api/bell.hpp"
#include "cli/api/command_environment.hpp"
#include "cli/commands/watching/change_feed.hpp"
#include "cli/commands/watching/change_lines.hpp"
#include "cli/commands/watching/watch_handler.hpp"
#include "cli/process/command_name.hpp"
#include "cli/process/long_run.hpp"
#include "protocol/go_compat/duration.hpp"

#include <belay/consumer.hpp>
#include <belay/session.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <csignal>
#include <ostream>

namespace belay::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// The time between SIGTERM and SIGKILL, as in `belay lock`.
constexpr auto grace_of_handler = 5s;
/// How much later than this program the supervisor ends the handler. The next member also waits for
/// the lock delay (15 s).
constexpr auto supervisor_of_group_waits = 1s;
constexpr auto sends_deadline_every = 200ms;
constexpr auto session_within = 10s, acknowledge_within = 30s, leave_within = 5s, try_again_after = 1s;

struct group_order {
  std::string prefix, name;
  v0::session_options session;
  v0::consumer_options consumer;
};

class group_member final : public long_run {
public:
  group_member(asio::io_context& loop, const api_client& client, const options& o, const group_order& order, terminal t)
      : long_run(loop), name_(order.name), limits_(order.consumer), terminal_(t), bell_(loop.get_executor()),
        clock_(loop.get_executor()), handler_(loop.get_executor(), o.words(), o.on_by_default("shell"), t),
        sockets_(loop, client.target(), o.write_query().text()), member_(sockets_, order.session),
        group_(member_, order.prefix, order.name, order.consumer) {
    sockets_.on_trouble(complaints_of_watch(t));
    // The deliveries that next() waits for are no longer this member's then.
    member_.on_change([this] {
      if (member_.state() == v0::session_state::lost)
        interrupted_.stop();
    });
  }

private:
  void stop(int signal) override {
    handler_.stop(signal);
    interrupted_.stop();
  }

  asio::awaitable<int> all() override {
    int code = 0;
    while (!stopped_ && code == 0) {
      auto fetching = next();
      const auto one = co_await awaited(std::move(fetching));
      if (one)
        co_await work_on(*one);
      else if (!is_given_up(one.error()))
        code = error(terminal_, "Error watching changes: " + one.error().text());
    }
    auto leaving = leave();
    const auto left = co_await awaited(std::move(leaving));
    co_return code;
  }

  /// Waits until this member is the active one and there is a delivery, however long no server
  /// responds. A session that was lost is replaced by another one.
  v0::task<v0::result<v0::delivery>> next() {
    while (!stopped_) {
      interrupted_.reset();
      v0::status ready = co_await have_session();
      if (ready && member_.safe()) {
        v0::deadline limit(sockets_.now() + for_ever, &interrupted_);
        v0::result<v0::delivery> got = co_await group_.next(limit);
        if (got)
          co_return got;
        ready = got.error();
      }
      const bool again = ready || ready.reason() == v0::reason::session || is_given_up(ready.error());
      if (!again && !passes(ready.error()))
        co_return ready.error();
      auto later = sockets_.now() + try_again_after;
      co_await v0::sleep_until(sockets_, later, &interrupted_);
    }
    co_return v0::error(v0::outcome::refused, v0::reason::stopped, {});
  }

  v0::task<v0::status> have_session() {
    if (member_.state() != v0::session_state::closed && member_.state() != v0::session_state::lost)
      co_return v0::nothing();
    v0::deadline limit(sockets_.now() + session_within, &interrupted_);
    v0::status opened = co_await member_.open(limit);
    co_return opened;
  }

  /// Lets the next member continue.
  v0::task<v0::status> leave() {
    v0::deadline limit(sockets_.now() + leave_within);
    v0::status left = co_await group_.leave(limit);
    v0::status closed = co_await member_.close(limit);
    co_return closed;
  }

  asio::awaitable<void> work_on(const v0::delivery& one) {
    std::string lines = one.is_snapshot ? line_of_void("snapshot", one.cursor) : std::string();
    for (const auto& c : one.changes)
      lines += line_of(c);
    lost_ = false;
    worked_.reset();
    working_ = true;
    send_deadline();
    asio::co_spawn(loop_, end_when_lost(), asio::detached);
    asio::co_spawn(loop_, keep_supervisor_informed(), asio::detached);
    auto added = cursor_variables(one.cursor);
    added.emplace_back("BELAY_TRIES", std::to_string(one.tries));
    added.emplace_back("BELAY_LOCK_FENCE", std::to_string(group_.fence()));
    const bool well = co_await handler_.run(std::move(lines), std::move(added));
    worked_.stop();
    bell_.ring();
    while (working_ || informing_)
      co_await bell_.wait(100ms);
    if (stopped_)
      co_return; // a command that was stopped may not have done its work
    if (well && !lost_) {
      auto acknowledging = group_.ack(one.cursor, v0::deadline(sockets_.now() + acknowledge_within));
      const auto known = co_await awaited(std::move(acknowledging));
      if (!known)
        error(terminal_, "The change was not acknowledged and will be redelivered: " + known.error().text());
      co_return;
    }
    if (lost_)
      error(terminal_, "The session was lost: the change is delivered to another member, or redelivered here");
    else if (one.is_snapshot || one.tries < limits_.tries_max)
      error(terminal_, "Attempt " + std::to_string(one.tries) + " failed; the change will be redelivered in " +
                           go_compat::format_duration(std::chrono::nanoseconds(limits_.ack_wait)));
    else
      error(terminal_,
            "The last attempt failed; the change is stored in " + name_ + "/dead/" + v0::position_of(one.cursor));
  }

  /// Lets the supervisor end the handler before another member can get its change, even while this
  /// program is stopped.
  void send_deadline() {
    const auto left = member_.safe() ? member_.safe_until() - sockets_.now() : 0ns;
    const auto until = lock_clock::now() + std::chrono::duration_cast<lock_clock::time_point::duration>(left);
    if (until <= deadline_sent_)
      return;
    deadline_sent_ = until;
    handler_.ends_at({until + supervisor_of_group_waits, until + supervisor_of_group_waits + grace_of_handler});
  }

  asio::awaitable<void> keep_supervisor_informed() {
    informing_ = true;
    while (working_) {
      co_await clock_.wait(sends_deadline_every);
      if (!lost_)
        send_deadline();
    }
    informing_ = false;
    bell_.ring();
  }

  /// Ends the handler when the session is lost: another member may start with the same change at
  /// once.
  asio::awaitable<void> end_when_lost() {
    auto waiting = end_of_session_or_work();
    const bool lost = co_await awaited(std::move(waiting));
    lost_ = lost;
    if (lost_)
      handler_.signal(SIGTERM);
    for (const auto last = lock_clock::now() + grace_of_handler; lost_ && handler_.runs() && lock_clock::now() < last;)
      co_await bell_.wait(100ms);
    if (lost_)
      handler_.signal(SIGKILL);
    working_ = false;
    clock_.ring();
    bell_.ring();
  }

  /// @returns whether the session was lost
  v0::task<bool> end_of_session_or_work() {
    auto never = sockets_.now() + for_ever;
    co_await v0::sleep_until(sockets_, never, &member_.ended(), &worked_);
    co_return member_.ended().stopped();
  }

  std::string name_;
  v0::consumer_options limits_;
  terminal terminal_;
  bell bell_, clock_;
  watch_handler handler_;
  command_environment sockets_;
  v0::stop_source interrupted_; ///< ends the wait of next()
  v0::stop_source worked_;      ///< the work on the delivery has ended
  v0::session member_;
  v0::consumer group_;
  bool working_ = false;   ///< end_when_lost() has not returned
  bool informing_ = false; ///< nor has keep_supervisor_informed()
  bool lost_ = false;
  lock_clock::time_point deadline_sent_;
};

} // namespace

int work_for_group(const options& o, terminal t) {
  for (const auto* other : {"cursor-file", "snapshot"})
    if (o.given(other))
      return o.wrong_usage(t,
                           std::string("-group and -") + other +
                               " cannot be combined: a group stores its own cursor, and starts with the present keys");
  if (o.words().empty())
    return o.wrong_usage(t, "-group requires a command: a change is acknowledged when the command succeeds");
  group_order order;
  order.prefix = without_leading_slash(o.value("prefix"));
  order.name = without_leading_slash(o.value("group"));
  while (order.name.ends_with('/'))
    order.name.pop_back();
  if (order.name.empty())
    return o.wrong_usage(t, "-group must not be empty");
  if ((order.name + "/").starts_with(order.prefix))
    return o.wrong_usage(t, "The group stores its own keys under " + order.name + "/, which must not be under -prefix");
  auto& limits = order.consumer;
  limits.ack_wait = std::chrono::ceil<std::chrono::milliseconds>(o.wait("retry", limits.ack_wait));
  if (limits.ack_wait <= 0ms)
    return o.wrong_usage(t, "-retry must be positive");
  if (o.given("tries"))
    limits.tries_max = o.number("tries");
  if (limits.tries_max == 0)
    return o.wrong_usage(t, "-tries must be at least 1");
  order.session.name = "Member of '" + order.name + "' for '" + name_of_command(o.words()) + "'";
  const auto client = o.client(t);
  asio::io_context loop;
  return group_member(loop, client, o, order, t).run();
}

} // namespace belay::cli
