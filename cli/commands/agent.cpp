// `belay agent` and `belay validate`: everything around a node except the node itself.

#include "actors/node/config/node_config.hpp"
#include "actors/node/disk/data_directory.hpp"
#include "actors/node/node.hpp"
#include "actors/telemetry/log.hpp"
#include "actors/telemetry/old_names.hpp"
#include "cli/commands/all.hpp"
#include "cli/flags/options.hpp"
#include "cli/help/nearest.hpp"
#include "cli/help/usage.hpp"
#include "cli/output/json_text.hpp"
#include "cli/output/private_file.hpp"

#include <boost/json/value_from.hpp>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <unistd.h>

namespace belay::cli {

namespace {

/// The start of Consul's banner. Scripts wait for its first and last lines.
std::string banner(const actors::node_config& c) {
  std::string clients;
  for (const auto& a : c.client_addrs)
    clients += (clients.empty() ? "" : " ") + a;
  auto yes = [](bool b) { return b ? "true" : "false"; };
  return std::string("==> Starting Belay agent...\n") +  //
         "           Version: 'v" BELAY_VERSION "'\n" +  //
         "           Node ID: '" + c.node_id + "'\n" +   //
         "         Node name: '" + c.node_name + "'\n" + //
         "        Datacenter: '" + c.datacenter + "' (Segment: '<all>')\n" + "            Server: " + yes(c.server) +
         " (Bootstrap: " + yes(c.bootstrap) + ")\n" + "       Client Addr: [" + clients +
         "] (HTTP: " + std::to_string(c.http_port) + ", HTTPS: " + std::to_string(c.https_port) +
         ", gRPC: -1, DNS: -1)\n" + "      Cluster Addr: " + c.advertise_addr +
         " (Server: " + std::to_string(c.server_port) + ")\n" +
         "           Encrypt: Gossip: " + yes(!c.peer_tls.encrypt.empty()) +
         ", TLS-Outgoing: " + yes(c.peer_tls.verify_outgoing || c.peer_tls.verify_server_hostname) +
         ", TLS-Incoming: " + yes(c.peer_tls.verify_incoming) + ", Auto-Encrypt-TLS: false\n\n" +
         "==> Log data will now stream in as it occurs:\n\n";
}

/// Keeps the process ID in a file while the node runs.
class pid_file {
public:
  explicit pid_file(std::string path) : path_(std::move(path)) {
    if (path_.empty())
      return;
    errno = 0; // a stream does not report why it failed
    if (!(std::ofstream(path_) << ::getpid() << std::flush))
      complaint_ = "Could not open pid file: open " + path_ + ": " + reason(errno != 0 ? errno : EIO);
  }
  ~pid_file() {
    std::error_code ignored;
    if (complaint_.empty() && !path_.empty())
      std::filesystem::remove(path_, ignored);
  }
  /// Why the file cannot be written; empty: it was written, or there is none.
  const std::string& complaint() const { return complaint_; }

private:
  std::string path_, complaint_;
};

/// Prints `flag provided but not defined: -x`, and the flag that may have been meant.
void wrong_flag(const std::string& complaint, terminal t) {
  t.err << complaint << "\n";
  const auto all = actors::flags_of_agent();
  std::vector<std::string_view> names;
  for (const auto& f : all)
    names.push_back(f.name);
  const auto at = complaint.rfind(": -");
  if (const auto near = at == complaint.npos ? std::string_view() : nearest(complaint.substr(at + 3), names);
      !near.empty())
    t.err << "Did you mean -" << near << "?\n";
  t.err << "Usage: belay agent [options]\n`belay agent -h` explains it.\n";
}

int complain(const actors::config_error& e, terminal t) {
  if (e.exit_code == 0) {
    for (const auto& c : agent_commands())
      if (c.run_words != nullptr)
        t.out << usage(c);
    return 0;
  }
  if (e.wrong_usage)
    wrong_flag(e.text, t);
  else
    t.err << "==> " << e.text << "\n";
  return e.exit_code;
}

int agent(const arguments& args, terminal t) {
  auto parsed = actors::parse_agent_arguments(args);
  if (auto* error = std::get_if<actors::config_error>(&parsed))
    return complain(*error, t);
  auto& begun = std::get<actors::parsed_command_line>(parsed);
  auto& config = begun.config;
  if (auto wrong = log::configure(config.log); !wrong.empty())
    return complain({wrong}, t);
  if (config.dev) {
    if (config.node_id.empty())
      config.node_id = actors::random_uuid();
  } else {
    auto who = actors::open_data_directory(config.data_dir, config.node_id, config.datacenter);
    if (!who)
      return complain({who.error()}, t);
    config.node_id = who->uuid;
  }
  pid_file pid(config.pid_file);
  if (!pid.complaint().empty())
    return complain({pid.complaint()}, t);

  t.out << banner(config) << std::flush;
  for (const auto& line : begun.warnings)
    log::warn("agent", line);
  for (const auto* row : begun.old_names)
    actors::warn_of_old_name(*row);
  // A client that closes its connection during a response must not end the node.
  std::signal(SIGPIPE, SIG_IGN);

  return actors::run_node(std::move(begun), [args]() -> result<actors::parsed_command_line> {
    auto again = actors::parse_agent_arguments(args);
    if (auto* error = std::get_if<actors::config_error>(&again))
      return failure{error->text};
    return std::get<actors::parsed_command_line>(std::move(again));
  });
}

int validate(const options& o, terminal t) {
  if (o.words().empty())
    return error(t, "Must specify at least one config file or directory");
  if (const auto format = o.value("config-format"); !format.empty() && format != "hcl" && format != "json")
    return error(t, "-config-format must be either 'hcl' or 'json");
  auto parsed = actors::parse_config_files(o.words(), o.value("config-format"));
  if (auto* wrong = std::get_if<actors::config_error>(&parsed))
    return error(t, "Config validation failed: " + wrong->text);
  const auto& accepted = std::get<actors::parsed_command_line>(parsed);
  auto warnings = accepted.warnings;
  for (const auto* row : accepted.old_names)
    warnings.push_back(old_name_warning(*row));
  if (o.json()) {
    t.out << pretty(boost::json::object{{"Valid", true}, {"Warnings", boost::json::value_from(warnings)}});
  } else if (!o.on("quiet")) {
    for (const auto& w : warnings)
      t.err << w << "\n";
    t.out << "Configuration is valid!\n";
  }
  return 0;
}

int version(const options& o, terminal t) {
  if (o.json())
    t.out << pretty(boost::json::object{{"Version", BELAY_VERSION}, {"Compatible", "1.8.7"}});
  else if (t.called.substr(t.called.rfind('/') + 1) ==
           "consul") // programs that start Consul read its version from the first line
    t.out << "Consul v1.8.7\nBelay v" BELAY_VERSION "\n";
  else
    t.out << "Belay v" BELAY_VERSION "\nCompatible with the Consul 1.8.7 API\n";
  return 0;
}

std::vector<flag> agent_table() {
  std::vector<flag> out;
  for (const auto& f : actors::flags_of_agent())
    if (f.name != "h" && f.name != "help")
      out.push_back(
          {f.name, f.takes_value ? flag_kind::text : flag_kind::toggle, f.takes_value ? "<value>" : "", f.help});
  return out;
}

} // namespace

std::vector<command> agent_commands() {
  using enum flag_kind;
  return {
      {.name = "agent",
       .help = "Run a server or client agent",
       .asks = reach::nothing,
       .formats = false,
       .flags = agent_table(),
       .examples = {{"agent -dev", "Run a single server with its data in memory"},
                    {"agent -config-dir=/etc/belay.d", "Run a server with the configuration files of a folder"}},
       .run = nullptr,
       .run_words = agent},
      {.name = "validate",
       .help = "Check configuration files",
       .operands = "FILE_OR_FOLDER...",
       .asks = reach::nothing,
       .flags = {{"config-format", text, "<hcl|json>", "format of files with any name: hcl or json"},
                 {"quiet", toggle, "", "print nothing if there is no error"}},
       .examples = {{"validate /etc/belay.d", "Check all files of a folder, in the order in which an agent reads them"},
                    {"validate -quiet server.hcl", "Check in a script: only the exit code counts"}},
       .run = validate},
      {.name = "version",
       .help = "Show the version",
       .asks = reach::nothing,
       .examples = {{"version", "Print the version of Belay and of the API that it serves"},
                    {"version -format=json", "Print it as JSON"}},
       .run = version},
  };
}

} // namespace belay::cli
