#pragma once
// Real servers for tests of the client library: Belay, and Consul if BELAY_CONSUL names it.

#include "tests/harness/scratch.hpp"
#include "tests/harness/server_cluster.hpp"

#include <belay/client.hpp>

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <vector>

namespace belay::client_tests {

using harness::milliseconds;
using std::chrono::seconds;

inline std::unique_ptr<harness::server_cluster> started(const harness::server_command& command, std::size_t nodes,
                                                        boost::json::object config = {}) {
  harness::raise_file_limit();
  config["session_ttl_min"] = "1s";
  auto cluster =
      std::make_unique<harness::server_cluster>(command, harness::cluster_options{nodes, "node", std::move(config)});
  cluster->start_all();
  cluster->wait_ready();
  return cluster;
}

inline harness::server_command our_server() {
  return harness::server_command::from_environment(BELAY_BINARY_DIR);
}

/// Belay and, if configured, Consul.
inline std::vector<harness::server_command> all_servers() {
  std::vector<harness::server_command> out = {our_server()};
  auto consul = harness::environment("BELAY_CONSUL", "");
  if (consul.empty())
    WARN("BELAY_CONSUL names no program: not run on Consul");
  else
    out.push_back({consul + " agent -config-file {config}"});
  return out;
}

inline client_options options_for(harness::server_cluster& cluster, milliseconds ttl = milliseconds(6000)) {
  client_options o;
  o.servers.clear();
  for (std::size_t i = 0; i < cluster.voters(); ++i)
    o.servers.push_back("http://127.0.0.1:" + std::to_string(cluster.node(i).http_port()));
  o.session.ttl = ttl;
  o.session.lock_delay = milliseconds(0);
  return o;
}

} // namespace belay::client_tests
