// `belay agent` and `belay validate`: everything around a node that is not the node.

#include "actors/node/config/node_config.hpp"
#include "actors/node/data_directory.hpp"
#include "actors/node/node.hpp"
#include "actors/telemetry/log.hpp"
#include "cli/verbs.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <unistd.h>

namespace belay::cli {

namespace {

/// The start of Consul's banner: scripts wait for its first and last lines.
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

/// Holds the process id while the node runs.
class pid_file {
public:
  explicit pid_file(std::string path) : path_(std::move(path)) {
    if (!path_.empty())
      ok_ = static_cast<bool>(std::ofstream(path_) << ::getpid() << std::flush);
  }
  ~pid_file() {
    std::error_code ignored;
    if (ok_ && !path_.empty())
      std::filesystem::remove(path_, ignored);
  }
  bool ok() const { return ok_; }

private:
  std::string path_;
  bool ok_ = true;
};

int complain(const actors::config_error& e, terminal t) {
  if (e.exit_code == 0) {
    t.out << actors::agent_usage();
    return 0;
  }
  if (e.wrong_usage)
    t.err << e.text << "\n" << actors::agent_usage();
  else
    t.err << "==> " << e.text << "\n";
  return e.exit_code;
}

} // namespace

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
  if (!pid.ok())
    return complain({"cannot write the pid file " + config.pid_file}, t);

  t.out << banner(config) << std::flush;
  for (const auto& line : begun.warnings)
    log::warn("agent", line);
  // A client that hangs up while it is being answered must cost its connection, not the node.
  std::signal(SIGPIPE, SIG_IGN);

  return actors::run_node(std::move(begun), [args]() -> result<actors::parsed_command_line> {
    auto again = actors::parse_agent_arguments(args);
    if (auto* error = std::get_if<actors::config_error>(&again))
      return failure{error->text};
    return std::get<actors::parsed_command_line>(std::move(again));
  });
}

int validate(const arguments& args, terminal t) {
  std::vector<std::string> paths;
  bool quiet = false;
  for (const auto& a : args) {
    if (a == "-quiet" || a == "--quiet")
      quiet = true;
    else if (a == "-h" || a == "-help" || a == "--help") {
      t.out << "Usage: belay validate [-quiet] FILE_OR_FOLDER...\n";
      return 0;
    } else
      paths.push_back(a);
  }
  if (paths.empty())
    return error(t, "Must specify at least one config file or directory");
  auto parsed = actors::parse_config_files(paths);
  if (auto* wrong = std::get_if<actors::config_error>(&parsed))
    return error(t, "Config validation failed: " + wrong->text);
  if (!quiet) {
    for (const auto& w : std::get<actors::parsed_command_line>(parsed).warnings)
      t.err << w << "\n";
    t.out << "Configuration is valid!\n";
  }
  return 0;
}

} // namespace belay::cli
