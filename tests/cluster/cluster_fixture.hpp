#pragma once
// Helpers for tests with real server processes: starts a cluster, its ports, and checks that
// nothing was lost.

#include "tests/cluster/workload.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace belay::harness {

/// The output of `belay operator check` for that data directory. @pre its server is stopped
inline std::string checked_data(const server_command& command, const std::filesystem::path& data) {
  const auto program = command.text.substr(0, command.text.find(' '));
  const scratch_folder folder;
  const auto output = folder / "check";
  child_process check({program, "operator", "check", data.string()}, output);
  CHECK(check.wait(milliseconds{60'000}));
  return file_text(output);
}

/// Stops its servers with the test. Then it applies each state again from the disk, and recomputes
/// whatever is stored beside its rows.
class recounted_cluster final : public server_cluster {
public:
  using server_cluster::server_cluster;
  ~recounted_cluster() override {
    for (std::size_t i = 0; i < size(); ++i) {
      node(i).kill_hard();
      if (command().is_reference() || !std::filesystem::exists(node(i).data_folder() / "raft"))
        continue;
      const auto response = checked_data(command(), node(i).data_folder());
      INFO("node " << node(i).name() << "\n" << response);
      CHECK(response.find("a sum or an index is wrong") == std::string::npos);
      CHECK(response.find("differs from that of its rows") == std::string::npos);
    }
  }
};

/// A started cluster that is ready. The same tests run against another server (BELAY_SERVER),
/// except for what the reference does not promise.
/// @param relayed its links can be cut
inline std::unique_ptr<server_cluster> ready_cluster(std::size_t nodes, boost::json::object config = {},
                                                     bool relayed = false) {
  raise_file_limit();
  auto command = server_command::from_environment(BELAY_BINARY_DIR);
  std::unique_ptr<server_cluster> cluster =
      std::make_unique<recounted_cluster>(command, cluster_options{nodes, "node", std::move(config), 0, 0, relayed});
  cluster->start_all();
  cluster->wait_ready();
  return cluster;
}

inline std::vector<std::uint16_t> http_ports(server_cluster& cluster) {
  std::vector<std::uint16_t> out;
  for (std::size_t i = 0; i < cluster.size(); ++i)
    out.push_back(cluster.node(i).http_port());
  return out;
}

/// Every acknowledged write is on every node, once, and all nodes have the same state.
inline void check_nothing_lost(server_cluster& cluster, workload& load) {
  load.stop();
  cluster.wait_ready();
  CHECK(cluster.wait_equal() == "");
  CHECK(load.violations() == std::vector<std::string>{});
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    INFO("node " << cluster.node(i).name());
    CHECK(load.compare(cluster.node(i).http_port(), "stale") == std::vector<std::string>{});
    CHECK(load.compare(cluster.node(i).http_port(), "consistent") == std::vector<std::string>{});
  }
  CHECK(load.acknowledged_count() > 0);
}

/// Sends a request. @returns false: the server has closed the connection
inline bool answered(http_connection& c) {
  return c.ask({"GET", "/v1/status/leader", {}, {}, false}, milliseconds{10000}).status == 200;
}

/// As many connections as one client may open; one of the harness may still be counted at first.
inline std::vector<std::unique_ptr<http_connection>> all_connections(std::uint16_t port, std::size_t limit) {
  std::vector<std::unique_ptr<http_connection>> open;
  REQUIRE(eventually(milliseconds{10000}, [&] {
    while (open.size() < limit) {
      open.push_back(std::make_unique<http_connection>(port));
      if (!answered(*open.back())) {
        open.pop_back();
        return false;
      }
    }
    return true;
  }));
  return open;
}

inline std::size_t number_from_environment(const char* name, std::size_t otherwise) {
  return std::stoul(environment(name, std::to_string(otherwise)));
}

} // namespace belay::harness
