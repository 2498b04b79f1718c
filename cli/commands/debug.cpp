// `belay debug`: what helpers want to see of a node, gathered over some time into one file.

#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/output/json_text.hpp"
#include "cli/output/tar_file.hpp"
#include "protocol/golang/duration.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/array.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <ostream>

namespace belay::cli {

namespace json = boost::json;
using namespace std::chrono_literals;

namespace {

constexpr const char* targets[] = {"metrics", "logs", "host", "agent", "cluster"};
constexpr std::chrono::nanoseconds shortest_duration = 10s, shortest_interval = 5s;

/// @returns true: it was SIGINT or SIGTERM that ended it
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

class gathering {
public:
  gathering(const api_client& client, std::vector<std::string> wanted, std::chrono::nanoseconds interval, terminal t)
      : client_(client), wanted_(std::move(wanted)), interval_(interval), terminal_(t) {}

  bool wants(std::string_view target) const {
    return std::find(wanted_.begin(), wanted_.end(), target) != wanted_.end();
  }
  void add(const std::string& name, std::string content) { files_.push_back({name, std::move(content)}); }
  const std::vector<tar_entry>& files() const { return files_; }

  /// The JSON of one path under a name; what cannot be had is told and left out.
  void fetch(const std::string& name, const std::string& path) {
    const auto answer = client_.get_json(path, {});
    if (answer)
      add(name, pretty(*answer));
    else
      terminal_.err << "[WARN] Unable to capture " << name << ": " << answer.error() << "\n";
  }

  /// Metrics, and the log while the interval lasts. @returns true: it was interrupted
  bool one_interval() {
    const auto folder = std::to_string(std::time(nullptr)) + "/";
    add(folder, "");
    if (wants("metrics"))
      fetch(folder + "metrics.json", "/v1/agent/metrics");
    if (!wants("logs"))
      return sleep_or_signal(interval_);
    const auto begun = std::chrono::steady_clock::now();
    std::string log;
    api_answer answer;
    const auto interrupted =
        client_.ask_until_signal({.method = "GET",
                                  .path = "/v1/agent/monitor",
                                  .query = api_query().add("loglevel", "debug"),
                                  .sink =
                                      [&](std::string_view piece) {
                                        log += piece;
                                        return true;
                                      },
                                  .limit = std::chrono::duration_cast<std::chrono::milliseconds>(interval_)},
                                 answer);
    if (!log.empty())
      add(folder + "consul.log", std::move(log));
    if (interrupted && *interrupted)
      return true;
    const auto rest = interval_ - (std::chrono::steady_clock::now() - begun); // the server ended it, or has none
    return rest > 0s && sleep_or_signal(rest);
  }

private:
  const api_client& client_;
  std::vector<std::string> wanted_;
  std::chrono::nanoseconds interval_;
  terminal terminal_;
  std::vector<tar_entry> files_;
};

/// The folder, or the archive that holds it. @returns what is wrong; empty: nothing
std::string write_gathered(const std::string& path, bool archive, const std::vector<tar_entry>& files) {
  const auto name = std::filesystem::path(path).filename().string();
  if (archive) {
    std::vector<tar_entry> inside = {{name + "/", ""}};
    for (const auto& f : files)
      inside.push_back({name + "/" + f.name, f.content});
    const auto bytes = gzipped_tar(inside, std::time(nullptr));
    if (!bytes)
      return bytes.error();
    std::ofstream out(path + ".tar.gz", std::ios::binary);
    out << *bytes << std::flush;
    return out ? "" : "open " + path + ".tar.gz: " + std::strerror(errno);
  }
  std::error_code ec;
  std::filesystem::create_directories(path, ec);
  for (const auto& f : files) {
    const auto whole = path + "/" + f.name;
    if (f.name.ends_with('/')) {
      std::filesystem::create_directories(whole, ec);
      continue;
    }
    std::ofstream out(whole, std::ios::binary);
    out << f.content << std::flush;
    if (!out)
      return "open " + whole + ": " + std::strerror(errno);
  }
  return {};
}

int debug(const options& o, terminal t) {
  const auto duration = o.duration("duration", 2min), interval = o.duration("interval", 30s);
  auto wanted = o.values("capture");
  if (wanted.empty())
    wanted.assign(std::begin(targets), std::end(targets));
  const auto invalid = [&](const std::string& why) { return error(t, "==> Capture validation failed: " + why); };
  if (duration < shortest_duration)
    return invalid("duration must be longer than 10s");
  if (interval < shortest_interval)
    return invalid("interval must be longer than 5s");
  if (duration < interval)
    return invalid("duration (" + golang::format_duration(duration) + ") must be longer than interval (" +
                   golang::format_duration(interval) + ")");
  for (const auto& w : wanted)
    if (std::find(std::begin(targets), std::end(targets), w) == std::end(targets))
      return invalid("target not found: " + w);
  const auto client = o.client(t);
  if (!client)
    return 1;
  const auto self = client->get_json("/v1/agent/self", {});
  if (!self)
    return invalid("error querying target agent: " + self.error() + ". verify connectivity and agent address");
  const auto* config = member(*self, "Config");
  const auto version = config ? member_text(*config, "Version") : std::string();
  const auto path = o.value("output", "belay-debug-" + std::to_string(std::time(nullptr)));
  const bool archive = !o.given("archive") || o.on("archive");
  const auto shown = path + (archive ? ".tar.gz" : "");
  t.out << "==> Starting debugger and capturing static information...\n     Agent Version: '" << version
        << "'\n          Interval: '" << golang::format_duration(interval) << "'\n          Duration: '"
        << golang::format_duration(duration) << "'\n            Output: '" << shown << "'\n           Capture: '"
        << joined(wanted, ", ") << "'\n"
        << std::flush;

  gathering all(*client, wanted, interval, t);
  if (all.wants("agent"))
    all.add("agent.json", pretty(*self));
  if (all.wants("host"))
    all.fetch("host.json", "/v1/agent/host");
  if (all.wants("cluster"))
    all.fetch("cluster.json", "/v1/agent/members");
  if (all.wants("metrics") || all.wants("logs")) {
    const auto count = duration / interval;
    for (std::int64_t i = 0; i < count; ++i) {
      t.out << "==> Capture " << i + 1 << " of " << count << "\n" << std::flush;
      if (all.one_interval()) {
        t.out << "==> Interrupted\n" << std::flush;
        break;
      }
    }
  }
  json::array captured;
  for (const auto& w : wanted)
    captured.emplace_back(w);
  all.add("index.json", pretty(json::object{{"Version", 1},
                                            {"AgentVersion", version},
                                            {"Interval", golang::format_duration(interval)},
                                            {"Duration", golang::format_duration(duration)},
                                            {"Targets", std::move(captured)}}));
  if (const auto wrong = write_gathered(path, archive, all.files()); !wrong.empty())
    return error(t, "Archive creation failed: " + wrong);
  t.out << "    Saved debug " << (archive ? "archive" : "directory") << ": " << shown << "\n";
  return 0;
}

} // namespace

std::vector<command> debug_commands() {
  using enum flag_kind;
  return {
      {.name = "debug",
       .help = "Gathers what helpers want to see of a node into an archive",
       .text =
           "Look through the archive before you hand it on. When it is interrupted, what there is by then is written.",
       .asks = reach::agent,
       .formats = false,
       .flags = {{"archive", toggle, "", "write one .tar.gz (the default); -archive=false writes a folder"},
                 {"capture", list, "<what>", "metrics, logs, host, agent or cluster (default: all of them)"},
                 {"duration", duration, "<duration>", "how long to look, at least 10s (default 2m)"},
                 {"interval", duration, "<duration>", "how often metrics are read, at least 5s (default 30s)"},
                 {"output", text, "<path>", "the archive without .tar.gz (default belay-debug-TIME)"}},
       .examples = {{"debug -duration=1m -interval=10s", "Everything, for one minute"},
                    {"debug -capture=agent -capture=cluster -output=/tmp/n1", "Only what does not take time"}},
       .run = debug}};
}

} // namespace belay::cli
