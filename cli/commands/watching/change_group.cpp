// `belay watch -changes -group`: changes are worked through by the members of a group.

#include "cli/commands/watching/change_feed.hpp"
#include "cli/commands/watching/change_lines.hpp"
#include "cli/commands/watching/watch_handler.hpp"
#include "cli/http/api_client.hpp"
#include "cli/locks/session_lease.hpp"
#include "cli/process/command_name.hpp"
#include "cli/process/run_until_told.hpp"
#include "cli/recipes/library_group.hpp"
#include "protocol/golang/duration.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <csignal>
#include <ostream>

namespace belay::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// Between SIGTERM and SIGKILL, as with `belay lock`.
constexpr auto grace_of_handler = 5s;
/// So much later than this program its guard ends it; the next member has to wait for the lock delay (15 s) besides.
constexpr auto guard_of_group_waits = 1s;
constexpr auto tells_guard_every = 200ms;

class group_member {
public:
  group_member(asio::io_context& loop, const api_client& client, const options& o, group_order order, terminal t)
      : loop_(loop), order_(order), terminal_(t), bell_(loop.get_executor()), clock_(loop.get_executor()),
        handler_(loop.get_executor(), o.words(), o.on_by_default("shell"), t),
        source_(loop.get_executor(), client.target(), o.write_query().text(), std::move(order)) {
    source_.on_trouble(complaints_of_watch(t));
  }

  int run() {
    return run_until_told(
        loop_, [this] { return all(); },
        [this](int signal) {
          stopped_ = true;
          handler_.stop(signal);
          source_.stop();
        });
  }

private:
  asio::awaitable<int> all() {
    int code = 0;
    while (!stopped_ && code == 0) {
      told_delivery one;
      const auto end = co_await source_.next(one);
      if (end.what == library_end::how::failed)
        code = error(terminal_, "Error watching changes: " + end.why);
      else if (end.done())
        co_await work_on(one);
    }
    co_await source_.leave();
    co_return code;
  }

  asio::awaitable<void> work_on(const told_delivery& one) {
    std::string lines = one.what.is_snapshot ? line_of_void("snapshot", one.what.place) : std::string();
    for (const auto& c : one.what.changes)
      lines += line_of(c);
    lost_ = false;
    working_ = true;
    tell_guard();
    asio::co_spawn(loop_, end_when_lost(), asio::detached);
    asio::co_spawn(loop_, keep_guard_informed(), asio::detached);
    watch_handler::variables added = {{"BELAY_PLACE", one.what.place},
                                      {"BELAY_TRIES", std::to_string(one.tries)},
                                      {"BELAY_LOCK_FENCE", std::to_string(one.fence)}};
    const bool well = co_await handler_.run(std::move(lines), std::move(added));
    source_.handled();
    bell_.ring();
    while (working_ || informing_)
      co_await bell_.wait(100ms);
    if (stopped_)
      co_return; // one that was told to end may not have done it
    if (well && !lost_) {
      const auto end = co_await source_.acknowledge();
      if (!end.done())
        error(terminal_, "Not acknowledged, it comes again: " + end.why);
      co_return;
    }
    if (lost_)
      error(terminal_, "The session was lost: another member has the change, or it comes again");
    else if (one.what.is_snapshot || one.tries < order_.tries_max)
      error(terminal_, "Try " + std::to_string(one.tries) + ", it comes again in " +
                           golang::format_duration(std::chrono::nanoseconds(order_.again_after)));
    else
      error(terminal_, "That was the last try: it goes to " + order_.name + "/dead/" + one.dead);
  }

  /// While this program is stopped, the guard ends the handler before another member can have its change.
  void tell_guard() {
    const auto until =
        lock_clock::now() + std::chrono::duration_cast<lock_clock::time_point::duration>(source_.safe_for());
    if (until <= told_guard_)
      return;
    told_guard_ = until;
    handler_.ends_at({until + guard_of_group_waits, until + guard_of_group_waits + grace_of_handler});
  }

  asio::awaitable<void> keep_guard_informed() {
    informing_ = true;
    while (working_) {
      co_await clock_.wait(tells_guard_every);
      if (!lost_)
        tell_guard();
    }
    informing_ = false;
    bell_.ring();
  }

  /// Another member may begin with the same change at once.
  asio::awaitable<void> end_when_lost() {
    lost_ = co_await source_.lost();
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

  asio::io_context& loop_;
  group_order order_;
  terminal terminal_;
  bell bell_, clock_;
  watch_handler handler_;
  library_group source_;
  bool stopped_ = false;
  bool working_ = false;   ///< end_when_lost() has not ended
  bool informing_ = false; ///< nor has keep_guard_informed()
  bool lost_ = false;
  lock_clock::time_point told_guard_;
};

} // namespace

int work_for_group(const options& o, terminal t) {
  for (const auto* other : {"place", "snapshot"})
    if (o.given(other))
      return o.wrong_usage(t, std::string("-group and -") + other +
                                  " exclude each other: a group keeps its place, and begins with the keys as they are");
  if (o.words().empty())
    return o.wrong_usage(t, "-group needs a command: a change is acknowledged when it does not fail");
  group_order order;
  order.prefix = without_leading_slash(o.value("prefix"));
  order.name = without_leading_slash(o.value("group"));
  while (order.name.ends_with('/'))
    order.name.pop_back();
  if (order.name.empty())
    return o.wrong_usage(t, "The group must have a name");
  if ((order.name + "/").starts_with(order.prefix))
    return o.wrong_usage(t, "The group keeps its own keys below " + order.name + "/: they must not be below -prefix");
  order.again_after = std::chrono::ceil<std::chrono::milliseconds>(o.duration("retry", order.again_after));
  if (order.again_after <= 0ms)
    return o.wrong_usage(t, "The time of -retry must be positive");
  if (o.given("tries"))
    order.tries_max = o.number("tries");
  if (order.tries_max == 0)
    return o.wrong_usage(t, "There must be one try at least: -tries");
  order.session_name = "Member of '" + order.name + "' for '" + name_of_command(o.words()) + "'";
  const auto client = o.client(t);
  if (!client)
    return 1;
  asio::io_context loop;
  return group_member(loop, *client, o, std::move(order), t).run();
}

} // namespace belay::cli
