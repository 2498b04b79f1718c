#pragma once
// One server of a test: its folder, configuration, ports and process.

#include "tests/harness/child_process.hpp"

#include <boost/json.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace belay::harness {

/// The command that starts a server, with `{config}` (the JSON configuration file) and optional
/// `{data_dir}` `{http}` (host:port) `{http_port}` `{server_port}` `{node_name}`.
struct server_command {
  std::string text;
  /// The reference joins by its gossip ports, Belay by its server ports.
  bool is_reference() const;

  /// BELAY_SERVER from the environment, or `agent -config-file {config}` of BELAY_BINARY or of the
  /// program in `build_folder`.
  static server_command from_environment(const std::string& build_folder);
};

class server_node {
public:
  /// Picks ports; starts nothing. `folder` must exist and be empty.
  server_node(server_command command, std::string name, std::filesystem::path folder);

  /// Merges `config` over the defaults of every node (ports, folders, addresses, name), and writes
  /// it to its file. Merges the members of `ports` one by one.
  void configure(const boost::json::object& config);

  /// From the next start on another program runs, on the same data.
  void replace_program(server_command command) { command_ = std::move(command); }
  /// Starts the process. @pre it is not running
  void start();
  /// kill -9, and waits for the end.
  void kill_hard();
  /// SIGTERM, and waits; then kill -9. @returns how it ended
  process_end stop(milliseconds limit = milliseconds{10000});
  void pause();  ///< SIGSTOP; returns when it has stopped
  void resume(); ///< SIGCONT
  /// Removes all its data. @pre it is not running
  void wipe();
  /// kill -9 and new ports; used if a port is taken.
  void change_ports();

  bool running();
  bool paused() const { return paused_; }
  child_process& process() { return *process_; }
  const std::string& name() const { return name_; }
  std::uint16_t http_port() const { return http_port_; }
  std::uint16_t server_port() const { return server_port_; }
  /// The address for `retry_join` of the others.
  std::string join_address() const;
  std::filesystem::path config_file() const { return folder_ / "config.json"; }
  std::filesystem::path log_file() const { return folder_ / "server.log"; }
  std::filesystem::path data_folder() const { return folder_ / "data"; }

  http_reply get(const std::string& target, milliseconds limit = milliseconds{10000}) const;
  http_reply put(const std::string& target, std::string body, milliseconds limit = milliseconds{10000}) const;

private:
  server_command command_;
  std::string name_;
  std::filesystem::path folder_;
  std::uint16_t http_port_ = 0;
  std::uint16_t server_port_ = 0;
  std::uint16_t serf_port_ = 0;
  bool paused_ = false;
  std::unique_ptr<child_process> process_;
};

} // namespace belay::harness
