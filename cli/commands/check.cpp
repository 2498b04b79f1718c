// `belay operator check`: reads the data directory of a stopped server, without HTTP.

#include "actors/node/disk/data_check.hpp"
#include "actors/telemetry/log.hpp"
#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/flags/options.hpp"
#include "cli/output/json_text.hpp"
#include "cli/output/table.hpp"

#include <ostream>

namespace belay::cli {

namespace json = boost::json;

namespace {

int check_data_directory(const options& o, terminal t) {
  if (o.words().size() != 1)
    return error(t, "One argument is required: DATA_DIR, the data directory of a stopped server");
  // The report has what a start would log.
  log::settings silent;
  silent.to_stdout = false;
  (void)log::configure(silent);
  const auto report = value_of(actors::check_data(o.words()[0]), t, "Error checking " + o.words()[0] + ": ");
  if (o.json()) {
    json::array parts;
    for (const auto& p : report.parts)
      parts.push_back(json::object{{"Part", p.name}, {"Right", p.right}, {"Found", p.what}});
    t.out << pretty(
        json::object{{"Starts", report.starts}, {"Verdict", report.conclusion}, {"Parts", std::move(parts)}});
  } else {
    std::vector<std::vector<std::string>> rows = {{"Part", "State", "Found"}};
    for (const auto& p : report.parts)
      rows.push_back({p.name, p.right ? "ok" : "WRONG", p.what});
    t.out << table(rows) << "\n\n" << report.conclusion << "\n";
  }
  return report.starts ? 0 : 1;
}

} // namespace

std::vector<command> check_commands() {
  return {{.name = "operator check",
           .help = "Check the data directory of a stopped server",
           .operands = "DATA_DIR",
           .text = "Reads the checkpoints, the log and the other files as a server does at its start, and applies the\n"
                   "log to the checkpoint. Changes nothing. The exit code is 0 only if a server would start from the\n"
                   "directory.",
           .asks = reach::nothing,
           .examples = {{"operator check /var/lib/belay", "Show each part and whether a server would start"},
                        {"operator check -format=json /var/lib/belay", "Print it as JSON"}},
           .run = check_data_directory}};
}

} // namespace belay::cli
