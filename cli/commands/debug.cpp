// `belay debug`: collects diagnostics of a node, over some time, into one file.

#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/output/json_text.hpp"
#include "cli/output/private_file.hpp"
#include "cli/output/tar_file.hpp"
#include "protocol/go_compat/duration.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/array.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <ostream>
#include <sys/stat.h>

namespace belay::cli {

namespace json = boost::json;
using namespace std::chrono_literals;

namespace {

constexpr const char* targets[] = {"metrics", "logs", "host", "agent", "cluster"};
constexpr std::chrono::nanoseconds shortest_duration = 10s, shortest_interval = 5s;

/// @returns true if SIGINT or SIGTERM ended the wait
bool sleep_or_signal(std::chrono::nanoseconds time) {
  boost::asio::io_context loop;
  boost::asio::signal_set signals(loop, SIGINT, SIGTERM);
  boost::asio::steady_timer timer(loop, time);
  bool signalled = false;
  timer.async_wait([&](const boost::system::error_code&) { signals.cancel(); });
  signals.async_wait([&](const boost::system::error_code& ec, int) {
    signalled = !ec;
    timer.cancel();
  });
  loop.run();
  return signalled;
}

/// Writes collected data to the files of a folder immediately: some minutes of a busy server's log
/// would need too much memory.
class gathering {
public:
  using clock = std::chrono::steady_clock;

  /// @param end when collecting ends; no request lasts longer
  gathering(const api_client& client, std::string folder, std::vector<std::string> wanted,
            std::chrono::nanoseconds interval, clock::time_point end, terminal t)
      : client_(client), folder_(std::move(folder)), wanted_(std::move(wanted)), interval_(interval), end_(end),
        terminal_(t) {}

  bool wants(std::string_view target) const {
    return std::find(wanted_.begin(), wanted_.end(), target) != wanted_.end();
  }
  void add(const std::string& name, const std::string& content) {
    private_file file(folder_ + "/" + name);
    file.append(content);
    note(file);
  }
  /// The first error of a write; empty: none. Nothing more is collected after an error.
  const std::string& complaint() const { return complaint_; }

  /// Stores the JSON of `path` as the file `name`. If the request fails, prints a warning and
  /// continues without it.
  void fetch(const std::string& name, const std::string& path) {
    const auto answer = client_.get_json(path, {}, until(end_));
    if (answer)
      add(name, pretty(*answer));
    else
      terminal_.err << "[WARN] Unable to capture " << name << ": " << answer.error() << "\n";
  }

  bool over() const { return clock::now() >= end_; }

  /// Collects metrics, and the log until the interval ends.
  /// @returns true if it was interrupted, or a file cannot be written
  bool one_interval() {
    const auto next = std::min(clock::now() + interval_, end_);
    const auto part = std::to_string(std::time(nullptr));
    if (::mkdir((folder_ + "/" + part).c_str(), 0700) != 0) {
      complaint_ = "mkdir " + folder_ + "/" + part + ": " + reason(errno);
      return true;
    }
    if (wants("metrics"))
      fetch(part + "/metrics.json", "/v1/agent/metrics");
    if (!wants("logs"))
      return sleep_or_signal(until(next)) || !complaint_.empty();
    private_file log(folder_ + "/" + part + "/consul.log");
    api_answer answer;
    const auto interrupted =
        client_.ask_until_signal({.method = "GET",
                                  .path = "/v1/agent/monitor",
                                  .query = api_query().add("loglevel", "debug"),
                                  .sink = [&](std::string_view piece) { return log.append(piece); },
                                  .limit = until(next)},
                                 answer);
    note(log);
    if (interrupted && !*interrupted && !answer.found())
      terminal_.err << "[WARN] Unable to capture the log: " << answer.complaint() << "\n";
    if ((interrupted && *interrupted) || !complaint_.empty())
      return true;
    return clock::now() < next && sleep_or_signal(until(next)); // the server ended the stream
  }

  /// The time until `then`, at least a millisecond, as a limit of zero means no limit.
  static std::chrono::milliseconds until(clock::time_point then) {
    return std::max(std::chrono::ceil<std::chrono::milliseconds>(then - clock::now()), 1ms);
  }

private:
  void note(const private_file& file) {
    if (complaint_.empty())
      complaint_ = file.complaint();
  }

  const api_client& client_;
  std::string folder_, complaint_;
  std::vector<std::string> wanted_;
  std::chrono::nanoseconds interval_;
  clock::time_point end_;
  terminal terminal_;
};

/// Makes a new folder that only its owner may read.
/// @returns what is wrong, in the words of Consul; empty: nothing
std::string make_folder(const std::string& path) {
  struct stat there;
  if (::stat(path.c_str(), &there) == 0 || errno != ENOENT)
    return "output directory already exists: " + path;
  std::error_code ec;
  if (const auto above = std::filesystem::path(path).parent_path(); !above.empty())
    std::filesystem::create_directories(above, ec);
  if (::mkdir(path.c_str(), 0700) != 0)
    return "could not create output directory: mkdir " + path + ": " + reason(errno);
  return {};
}

/// Checks the options, creates the folder, and stores what does not change. Then it captures
/// metrics and the log once per interval until the duration is over or a signal arrives. At the end
/// it packs the folder, unless -archive is false.
int debug(const options& o, terminal t) {
  const auto duration = o.wait("duration", 2min), interval = o.wait("interval", 30s);
  auto wanted = o.values("capture");
  if (wanted.empty())
    wanted.assign(std::begin(targets), std::end(targets));
  const auto invalid = [&](const std::string& why) { return error(t, "==> Capture validation failed: " + why); };
  if (duration < shortest_duration)
    return invalid("duration must be longer than 10s");
  if (interval < shortest_interval)
    return invalid("interval must be longer than 5s");
  if (duration < interval)
    return invalid("duration (" + go_compat::format_duration(duration) + ") must be longer than interval (" +
                   go_compat::format_duration(interval) + ")");
  for (const auto& w : wanted)
    if (std::find(std::begin(targets), std::end(targets), w) == std::end(targets))
      return invalid("target not found: " + w);
  const auto client = o.client(t);
  const auto end = gathering::clock::now() + duration;
  const auto self = client.get_json("/v1/agent/self", {}, gathering::until(end));
  if (!self)
    return invalid("error querying target agent: " + self.error() + ". verify connectivity and agent address");
  const auto* config = member(*self, "Config");
  const auto version = config ? member_text(*config, "Version") : std::string();
  auto path = o.value("output", "belay-debug-" + std::to_string(std::time(nullptr)));
  while (path.size() > 1 && path.ends_with('/'))
    path.pop_back();
  if (const auto wrong = make_folder(path); !wrong.empty())
    return invalid(wrong);
  const bool archive = o.on_by_default("archive");
  const auto shown = path + (archive ? ".tar.gz" : "");
  t.out << "==> Starting debugger and capturing static information...\n     Agent Version: '" << version
        << "'\n          Interval: '" << go_compat::format_duration(interval) << "'\n          Duration: '"
        << go_compat::format_duration(duration) << "'\n            Output: '" << shown << "'\n           Capture: '"
        << joined(wanted, ", ") << "'\n"
        << std::flush;

  gathering all(client, path, wanted, interval, end, t);
  if (all.wants("agent"))
    all.add("agent.json", pretty(*self));
  if (all.wants("host"))
    all.fetch("host.json", "/v1/agent/host");
  if (all.wants("cluster"))
    all.fetch("cluster.json", "/v1/agent/members");
  if (all.wants("metrics") || all.wants("logs")) {
    const auto count = (duration + interval - 1ns) / interval; // the last one may be shorter
    for (std::int64_t i = 0; i < count && !all.over(); ++i) {
      t.out << "==> Capture " << i + 1 << " of " << count << "\n" << std::flush;
      const bool ended = all.one_interval();
      if (ended && all.complaint().empty())
        t.out << "==> Interrupted\n" << std::flush;
      if (ended)
        break;
    }
  }
  json::array captured;
  for (const auto& w : wanted)
    captured.emplace_back(w);
  all.add("index.json", pretty(json::object{{"Version", 1},
                                            {"AgentVersion", version},
                                            {"Interval", go_compat::format_duration(interval)},
                                            {"Duration", go_compat::format_duration(duration)},
                                            {"Targets", std::move(captured)}}));
  if (!all.complaint().empty())
    return error(t, "Capture failed: " + all.complaint() + "; the data collected so far is in " + path);
  if (archive) {
    if (const auto packed = pack_folder(path, shown, std::time(nullptr)); !packed)
      return error(t, "Archive creation failed: " + packed.error() + "; the collected data is in " + path);
    std::error_code ec;
    std::filesystem::remove_all(path, ec);
  }
  t.out << "    Saved debug archive: " << shown << "\n";
  return 0;
}

} // namespace

std::vector<command> debug_commands() {
  using enum flag_kind;
  return {
      {.name = "debug",
       .help = "Collect diagnostics of a node into an archive",
       .text = "Read the archive before you pass it on. If the command is interrupted, it writes what it has\n"
               "collected so far. While it runs, the files are in a folder with the name of the archive, which must\n"
               "not exist before. An existing archive of that name is replaced at the end.",
       .asks = reach::agent,
       .formats = false,
       .flags = {{"archive", toggle, "", "write a .tar.gz file (the default); -archive=false writes a folder"},
                 {"capture", list, "<what>", "metrics, logs, host, agent or cluster (default: all)"},
                 {"duration", duration, "<duration>",
                  "duration, at least 10s (default 2m), including the time of requests"},
                 {"interval", duration, "<duration>", "interval at which metrics are read, at least 5s (default 30s)"},
                 {"output", text, "<path>", "path of the archive without .tar.gz (default belay-debug-TIME)"}},
       .examples = {{"debug -duration=1m -interval=10s", "Collect everything, for one minute"},
                    {"debug -capture=agent -capture=cluster -output=/tmp/n1", "Collect only what takes no time"}},
       .run = debug}};
}

} // namespace belay::cli
