#include "cli/commands/watching/change_feed.hpp"

#include "cli/api/api_client.hpp"
#include "cli/api/awaited.hpp"
#include "cli/api/bell.hpp"
#include "cli/api/command_environment.hpp"
#include "cli/commands/watching/change_lines.hpp"
#include "cli/commands/watching/watch_handler.hpp"
#include "cli/process/long_run.hpp"

#include <belay/changes.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <ostream>

namespace belay::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// How soon a cursor is stored that has advanced without a change.
constexpr auto keep_every = 1s;

class change_feed final : public long_run {
public:
  change_feed(asio::io_context& loop, const api_client& client, const options& o, const std::string& cursor, terminal t)
      : long_run(loop), file_(o.value("cursor-file")), cursor_(cursor), terminal_(t), bell_(loop.get_executor()),
        handler_(loop.get_executor(), o.words(), o.on_by_default("shell"), t),
        sockets_(loop, client.target(), o.write_query().text()),
        source_(sockets_, without_leading_slash(o.value("prefix")),
                cursor.empty() && !o.on("snapshot") ? "now" : cursor) {
    sockets_.on_trouble(complaints_of_watch(t));
  }

private:
  void stop(int signal) override {
    handler_.stop(signal);
    stopping_.stop();
  }

  asio::awaitable<int> all() override {
    asio::co_spawn(loop_, keep_cursors(), asio::detached);
    bool well = true;
    while (well && !stopped_) {
      const v0::deadline limit(sockets_.now() + for_ever, &stopping_);
      auto fetching = fetch(limit);
      const auto some = co_await awaited(std::move(fetching));
      if (some) {
        const bool notified = co_await send_all(*some);
        well = notified || stopped_;
      } else if (!is_given_up(some.error())) {
        error(terminal_, "Error watching changes: " + some.error().text());
        well = false;
      }
    }
    ended_ = true;
    bell_.ring();
    co_return static_cast<int>(!well);
  }

  /// The timer of keep_cursors() may run between the return of next(), which advances the cursor,
  /// and all(). So the flag changes here.
  v0::task<v0::result<v0::change_batch>> fetch(v0::deadline limit) {
    waiting_ = true;
    v0::result<v0::change_batch> got = co_await source_.next(limit);
    waiting_ = false;
    co_return got;
  }

  /// Stores the cursor also while nothing changes under the prefix, as servers forget old changes.
  asio::awaitable<void> keep_cursors() {
    while (!ended_) {
      co_await bell_.wait(keep_every);
      // The cursor also advances when changes arrive, but then the feed is not waiting.
      const auto& cursor = source_.cursor();
      if (waiting_ && !cursor.empty() && cursor != "now" && !reached(cursor))
        co_return stopping_.stop();
    }
  }

  asio::awaitable<bool> send_all(const v0::change_batch& some) {
    if (some.is_snapshot && !cursor_.empty()) {
      const bool notified = co_await deliver_line(line_of_void("gap", cursor_), "");
      if (!notified)
        co_return false;
    }
    for (const auto& c : some.changes) {
      const bool notified = co_await deliver_line(line_of(c), c.cursor);
      if (!notified)
        co_return false;
      if (handler_.given() && !c.cursor.empty() && !reached(c.cursor))
        co_return false;
    }
    co_return reached(some.cursor);
  }

  /// @returns false after printing an error
  asio::awaitable<bool> deliver_line(std::string line, std::string cursor) {
    if (handler_.given()) {
      auto added = cursor_variables(cursor);
      const bool well = co_await handler_.run(std::move(line), std::move(added));
      co_return well && !stopped_; // a command that was stopped may not have done its work
    }
    terminal_.out << line << std::flush;
    co_return static_cast<bool>(terminal_.out);
  }

  bool reached(const std::string& cursor) {
    if (cursor == cursor_)
      return true;
    cursor_ = cursor;
    const auto stored = file_.empty() ? v0::status(v0::nothing()) : v0::file_cursor(file_).store(cursor);
    return stored || error(terminal_, "Error! The cursor cannot be stored: " + stored.error().text()) == 0;
  }

  std::string file_;
  std::string cursor_; ///< the cursor after the last change that was handled; empty: none
  terminal terminal_;
  bell bell_;
  watch_handler handler_;
  command_environment sockets_;
  v0::changes source_;
  v0::stop_source stopping_; ///< stops the wait for changes
  bool ended_ = false, waiting_ = false;
};

} // namespace

std::function<void(const std::string&)> complaints_of_watch(terminal t) {
  return [t](const std::string& why) {
    if (!why.empty())
      error(t, "Watch (changes) errored: " + why + "; retrying until it responds");
  };
}

int follow_changes(const options& o, terminal t) {
  for (const auto* other : {"group", "retry", "tries"})
    if (o.given(other) && !o.given("group"))
      return o.wrong_usage(t, std::string("-") + other + " requires -group=<name>");
  if (o.given("type"))
    return o.wrong_usage(t, "-changes and -type cannot be combined");
  if (o.on("stale"))
    return o.wrong_usage(t, "-changes and -stale cannot be combined: a change is the same at every server");
  if (o.given("group"))
    return work_for_group(o, t);
  const auto file = o.value("cursor-file");
  const auto from = file.empty() ? v0::result<std::string>(std::string()) : v0::file_cursor(file).load();
  if (!from)
    return error(t, "Error! " + from.error().text());
  const auto client = o.client(t);
  asio::io_context loop;
  return change_feed(loop, client, o, *from, t).run();
}

} // namespace belay::cli
