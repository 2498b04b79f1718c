// `belay monitor`: streams the log of a node.

#include "cli/commands/all.hpp"
#include "cli/flags/options.hpp"

#include <ostream>

namespace belay::cli {

namespace {

int monitor(const options& o, terminal t) {
  const auto client = o.client(t);
  api_query query;
  if (const auto level = o.value("log-level"); !level.empty())
    query.add("loglevel", level);
  if (o.on("log-json"))
    query.add("logjson", "true");
  api_answer answer;
  const auto interrupted = client.ask_until_signal({.method = "GET",
                                                    .path = "/v1/agent/monitor",
                                                    .query = query,
                                                    .sink =
                                                        [&](std::string_view piece) {
                                                          t.out << piece << std::flush;
                                                          return t.out.good();
                                                        }},
                                                   answer);
  if (interrupted && *interrupted)
    return 0;
  if (!t.out)
    return 1; // the caller reports the failed write
  if (interrupted && !answer.found())
    return error(t, "Error starting monitor: " + answer.complaint());
  if (!interrupted && interrupted.error().find("the connection was closed") == std::string::npos)
    return error(t, "Error starting monitor: " + interrupted.error());
  t.out << "\nRemote side ended the monitor! This usually means that the\n"
           "remote side crashed or the requested log level was invalid.\n";
  return 1;
}

} // namespace

std::vector<command> monitor_commands() {
  using enum flag_kind;
  return {{.name = "monitor",
           .help = "Stream the log of a node",
           .text = "Runs until it is interrupted.",
           .asks = reach::agent,
           .formats = false,
           .flags = {{"log-json", toggle, "", "print each line as a JSON object"},
                     {"log-level", text, "<level>",
                      "lowest level shown: trace, debug, info, warn or error (default info)"}},
           .examples = {{"monitor", "Show lines from the level info"},
                        {"monitor -log-level=debug -log-json", "Show lines from the level debug as JSON"}},
           .run = monitor}};
}

} // namespace belay::cli
