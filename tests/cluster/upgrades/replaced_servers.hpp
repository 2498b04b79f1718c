#pragma once
// Servers that are replaced by another version, and servers that cannot be downgraded.

#include "tests/cluster/cluster_fixture.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace belay::harness {

/// Long enough for everything that servers do by themselves.
inline constexpr milliseconds soon{30000};

/// Replaces one server after another, each once the last one serves again.
inline void replace_all(server_cluster& cluster, workload& load, const server_command& program) {
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    INFO("server " << i << " becomes " << program.text);
    cluster.node(i).stop();
    cluster.node(i).replace_program(program);
    cluster.node(i).start();
    cluster.wait_ready();
    REQUIRE(load.wait_for_more(200));
  }
}

inline server_command program_of_before() {
  const auto before = environment("BELAY_OLD_BINARY", "");
  REQUIRE_FALSE(before.empty());
  return {before + " agent -config-file {config}"};
}

/// Three servers of the previous version, ready to be replaced by this one.
struct servers_of_before {
  server_command old_program = program_of_before();
  server_command new_program = server_command::from_environment(BELAY_BINARY_DIR);
  server_cluster cluster{old_program, {3, "node", {}}};

  servers_of_before() {
    cluster.start_all();
    cluster.wait_ready();
  }
};

/// Restarts it as that program, with the present configuration.
inline void replace(server_node& node, const server_command& program) {
  node.stop();
  node.replace_program(program);
  node.start();
}

/// The server ends by itself, with code 1, and its log has one of the texts.
inline void ends_with(server_node& node, const std::vector<std::string>& texts) {
  const auto end = node.process().wait(milliseconds{60000});
  REQUIRE(end);
  const auto response = file_tail(node.log_file(), 20000);
  INFO(response);
  CHECK(end->code == 1);
  CHECK(end->signal == 0);
  CHECK(std::any_of(texts.begin(), texts.end(),
                    [&](const std::string& text) { return response.find(text) != std::string::npos; }));
}

/// It has reached an entry that only the new version can read, and reports what to install.
inline void cannot_go_back(server_node& node) {
  ends_with(node, {"committed entry not readable by this version", "committed entry that this version cannot read"});
  CHECK(file_tail(node.log_file(), 20000).find("install Belay ") != std::string::npos);
}

} // namespace belay::harness
