// Servers replaced one by one by those of another version, under load. BELAY_OLD_BINARY: the program of the version before;
// `tools/nightly upgrade` builds it.

#include "tests/cluster/cluster_fixture.hpp"

using namespace belay::harness;

namespace {

/// One server after the other, each once it serves again.
void replace_all(server_cluster& cluster, workload& load, const server_command& program) {
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    INFO("server " << i << " becomes " << program.text);
    cluster.node(i).stop();
    cluster.node(i).replace_program(program);
    cluster.node(i).start();
    cluster.wait_ready();
    REQUIRE(load.wait_for_more(200));
  }
}

} // namespace

TEST_CASE("the version before is replaced server by server, and put back", "[.upgrade]") {
  const auto before = environment("BELAY_OLD_BINARY", "");
  REQUIRE_FALSE(before.empty());
  raise_file_limit();
  const server_command old_program{before + " agent -config-file {config}"};
  const auto new_program = server_command::from_environment(BELAY_BINARY_DIR);
  server_cluster cluster(old_program, {3, "node", {}});
  cluster.start_all();
  cluster.wait_ready();
  workload load(http_ports(cluster), 6);
  REQUIRE(load.wait_for_more(200));
  replace_all(cluster, load, new_program);
  replace_all(cluster, load, old_program);
  replace_all(cluster, load, new_program);
  check_nothing_lost(cluster, load);
}
