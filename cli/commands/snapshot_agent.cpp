// `belay snapshot agent`: saves an archive every hour. If several programs run it, one of them
// saves.

#include "cli/api/api_connection.hpp"
#include "cli/api/bell.hpp"
#include "cli/commands/all.hpp"
#include "cli/flags/options.hpp"
#include "cli/locks/holding.hpp"
#include "cli/output/private_file.hpp"
#include "cli/process/long_run.hpp"
#include "cli/snapshots/snapshot_file.hpp"
#include "protocol/go_compat/url.hpp"
#include "storage/numbered_files.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <ostream>

namespace belay::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view name_begins = "belay-", name_ends = ".snap";
// In milliseconds, the year 11,000. A larger number in a name is not that of a saved file.
constexpr std::int64_t number_max = 285'000'000'000'000;

struct agent_settings {
  std::chrono::milliseconds interval;
  std::size_t retain = 30, failures_max = 3;
  std::filesystem::path folder;
  std::string lock_prefix;
};

class snapshot_agent final : public long_run {
public:
  snapshot_agent(asio::io_context& loop, const api_client& client, const options& o, agent_settings s, terminal t)
      : long_run(loop), settings_(std::move(s)), query_(o.query()), terminal_(t), target_(client.target()),
        held_(make_holding(loop, client.target(), o.write_query(), {settings_.lock_prefix})),
        connection_(loop, client.target()), bell_(loop.get_executor()) {}

private:
  void stop(int) override {
    connection_.close();
    held_->stop();
    bell_.ring();
  }

  asio::awaitable<int> all() override {
    if (settings_.interval == 0ms) {
      const bool saved = co_await save();
      co_return saved ? 0 : 1;
    }
    const auto begun = co_await held_->begin("Belay snapshot agent");
    if (!begun)
      co_return error(terminal_, "Error creating session: " + begun.error());
    terminal_.out << "Waiting for the lock " << held_->key() << "\n" << std::flush;
    const auto got = co_await held_->acquire();
    int code = 0;
    if (got && *got) {
      terminal_.out << "Acquired the lock: saving snapshots\n" << std::flush;
      asio::co_spawn(loop_, watch(), asio::detached);
      code = co_await save_again_and_again();
      held_->stop();
      while (!lost_)
        co_await bell_.wait(100ms);
    } else if (!got) {
      code = error(terminal_, "Error acquiring the lock: " + got.error());
    }
    (void)co_await held_->release();
    co_await held_->end();
    co_return code;
  }

  asio::awaitable<int> save_again_and_again() {
    std::size_t failures = 0;
    while (!stopped_) {
      const bool saved = co_await save();
      failures = saved ? 0 : failures + 1;
      if (stopped_)
        break;
      if (!lost_ && failures > settings_.failures_max)
        co_return error(terminal_, "Giving up after " + std::to_string(failures) + " failures in a row");
      const auto due = lock_clock::now() + settings_.interval;
      while (!stopped_ && !lost_ && lock_clock::now() < due)
        co_await bell_.wait(1s);
      if (lost_ && !stopped_)
        co_return error(terminal_, "The lock was lost; start the command again to wait for it");
    }
    co_return 0;
  }

  /// @returns false after printing an error
  asio::awaitable<bool> save() {
    const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
    std::int64_t number = now.time_since_epoch().count();
    // The clock may have gone back: the newest file would be the first one to be removed.
    if (const auto before = saved(); !before.empty())
      number = std::max(number, before.back().first + 1);
    const auto path = settings_.folder / (std::string(name_begins) + std::to_string(number) + std::string(name_ends));
    unverified_file file(path.string());
    api_request get{.method = "GET", .path = "/v1/snapshot", .query = query_};
    get.sink = [&](std::string_view piece) { return file.append(piece); };
    const auto answer = co_await connection_.ask(std::move(get));
    if (stopped_ || lost_)
      co_return false;
    if (!file.complaint().empty()) {
      error(terminal_, "Error writing unverified snapshot file: " + file.complaint());
      co_return false;
    }
    if (const auto complaint = complaint_about(answer); !complaint.empty()) {
      error(terminal_, "Error saving snapshot: " + complaint);
      co_return false;
    }
    const auto facts = file.put_in_place();
    if (!facts) {
      error(terminal_, facts.error());
      co_return false;
    }
    terminal_.out << "Saved " << path.string() << " (index " << facts->index << ", " << facts->size << " bytes)\n"
                  << std::flush;
    remove_old();
    co_return true;
  }

  /// The saved files with the numbers in their names, the oldest first.
  std::vector<std::pair<std::int64_t, std::filesystem::path>> saved() const {
    auto found = storage::numbered_files(settings_.folder, name_begins, name_ends);
    std::erase_if(found, [](const auto& one) { return one.first >= number_max; });
    return found;
  }

  void remove_old() {
    const auto found = saved();
    std::error_code ec;
    for (std::size_t i = 0; settings_.retain != 0 && i + settings_.retain < found.size(); ++i)
      if (const auto& path = found[i].second; !std::filesystem::remove(path, ec))
        error(terminal_, "Error removing " + path.string() + ": " + ec.message());
  }

  asio::awaitable<void> watch() {
    co_await held_->watch();
    lost_ = true;
    connection_.close(); // the program that has the lock now saves
    bell_.ring();
  }

  agent_settings settings_;
  api_query query_;
  terminal terminal_;
  api_target target_;
  std::unique_ptr<holding> held_;
  api_connection connection_;
  bell bell_;
  bool lost_ = false;
};

int run_snapshot_agent(const options& o, terminal t) {
  if (!o.words().empty())
    return o.wrong_usage(t, "Too many arguments (expected 0, got " + std::to_string(o.words().size()) + ")");
  agent_settings s;
  const auto interval = o.wait("interval", 1h);
  if (interval < 0s || (interval > 0s && interval < 1s))
    return error(t, "-interval must be 0, or 1s or more");
  s.interval = std::chrono::duration_cast<std::chrono::milliseconds>(interval);
  s.folder = o.value("local-path", ".");
  if (o.given("retain"))
    s.retain = o.number("retain");
  if (o.given("max-failures"))
    s.failures_max = o.number("max-failures");
  // As in `belay lock`, the key is PREFIX/.lock.
  s.lock_prefix = go_compat::clean_path("/" + o.value("lock-key", "belay-snapshot")).substr(1);
  std::error_code ec;
  if (!std::filesystem::is_directory(s.folder, ec))
    return error(t, "Error opening the folder of snapshots: open " + s.folder.string() + ": " +
                        reason(ec ? ec.value() : ENOTDIR));
  const auto client = o.client(t);
  asio::io_context loop;
  return snapshot_agent(loop, client, o, std::move(s), t).run();
}

} // namespace

std::vector<command> snapshot_agent_commands() {
  using enum flag_kind;
  return {
      {.name = "snapshot agent",
       .help = "Save snapshots periodically, keep the newest",
       .text = "Runs until it is interrupted. Start it on several machines: one of them holds a lock and saves, the\n"
               "others wait. Files are named belay-TIME.snap, with the time in milliseconds since 1970, or a larger\n"
               "number if the clock has gone back. (`consul snapshot agent` is part of Consul Enterprise.)",
       .formats = false,
       .flags = {{"interval", duration, "<duration>", "time between snapshots (default 1h); 0: once, without the lock"},
                 {"local-path", text, "<folder>", "folder of the files (default: the current folder)"},
                 {"lock-key", text, "<prefix>", "prefix of the lock PREFIX/.lock (default belay-snapshot)"},
                 {"max-failures", unsigned_number, "<number>",
                  "number of consecutive failures after which the command ends (default 3)"},
                 {"retain", unsigned_number, "<number>", "number of files that are kept (default 30); 0: all"}},
       .examples = {{"snapshot agent -local-path=/var/backups/belay", "Save one each hour, keep 30"},
                    {"snapshot agent -interval=0 -local-path=/var/backups/belay", "Save one now, for cron"}},
       .run = run_snapshot_agent}};
}

} // namespace belay::cli
