// Client agents of the previous version hold locks while the servers, then the agents are replaced.
// From 0.3.0 on an agent stores a secret of its node (docs/operate/security.md, B3). One without it must
// not be rejected, or two clients hold its lock. BELAY_OLD_BINARY: see upgrade_test.cpp.

#include "tests/cluster/upgrades/replaced_servers.hpp"

#include <boost/json.hpp>

using namespace belay::harness;
namespace json = boost::json;

namespace {

/// A session on the agent's node, which ends when the agent counts as failed, and its lock.
class held_lock {
public:
  explicit held_lock(server_node& agent) : key_("locks/" + agent.name()), node_(agent.name()) {
    const auto made = agent.put("/v1/session/create", R"({"LockDelay":"0s"})");
    REQUIRE(made.ok());
    session_ = std::string(json::parse(made.body).at("ID").as_string());
    REQUIRE(agent.put("/v1/kv/" + key_ + "?acquire=" + session_, "mine").body.starts_with("true"));
  }
  bool is_held(server_node& requested) const {
    const auto row = requested.get("/v1/kv/" + key_);
    return row.ok() && json::parse(row.body).at(0).as_object().contains("Session") &&
           json::parse(row.body).at(0).at("Session").as_string() == session_;
  }
  const std::string& node() const { return node_; }

private:
  std::string key_, node_, session_;
};

bool was_refused(server_node& agent) {
  const auto log = file_text(agent.log_file());
  return log.find("client agent rejected by the cluster") != std::string::npos ||
         log.find("the cluster refuses this client agent") != std::string::npos; // 0.2.0
}

bool has_proof(server_node& requested, const std::string& node) {
  const auto row = requested.get("/v1/catalog/node/" + node);
  return row.ok() && json::parse(row.body).at("Node").at("Meta").as_object().contains("belay-node-proof");
}

} // namespace

TEST_CASE("locks of client agents of the previous version survive the servers' upgrade and their own",
          "[.upgrade][no_histories_before]") {
  raise_file_limit();
  const auto old_program = program_of_before();
  const auto new_program = server_command::from_environment(BELAY_BINARY_DIR);
  server_cluster cluster(old_program, {3, "node", {{"log_level", "info"}}, 0, 3});
  cluster.agent(2).replace_program(new_program); // an agent of this version at servers of the previous version
  cluster.start_all();
  cluster.wait_ready();
  cluster.wait_agents();
  const held_lock locks[] = {held_lock(cluster.agent(0)), held_lock(cluster.agent(1)), held_lock(cluster.agent(2))};
  workload load(http_ports(cluster), 4);
  REQUIRE(load.wait_for_more(200));
  const auto all_held = [&] {
    for (const auto& lock : locks) {
      INFO(lock.node());
      CHECK(lock.is_held(cluster.node(0)));
    }
    for (std::size_t i = 0; i < 3; ++i)
      CHECK_FALSE(was_refused(cluster.agent(i)));
  };
  const auto becomes = [&](std::size_t i, const server_command& program) {
    INFO("server " << i << " becomes " << program.text);
    replace(cluster.node(i), program);
    cluster.wait_ready();
    cluster.wait_agents();
    REQUIRE(load.wait_for_more(200));
    all_held();
  };
  becomes(0, new_program);
  becomes(0, old_program);
  for (std::size_t i = 0; i < 3; ++i)
    becomes(i, new_program);
  // All servers support secrets now. Longer than an agent may be silent: each was checked.
  REQUIRE(eventually(milliseconds{60000}, [&] { return has_proof(cluster.node(0), cluster.agent(2).name()); }));
  std::size_t received = 0;
  const auto warned = [&] {
    received = 0;
    for (std::size_t agent : {0, 1})
      for (std::size_t i = 0; i < 3; ++i)
        if (file_text(cluster.node(i).log_file())
                .find("client agent without a secret: only its address identifies its node node=" +
                      cluster.agent(agent).name()) != std::string::npos) {
          ++received;
          break;
        }
    return received == 2;
  };
  CHECK(eventually(milliseconds{60000}, warned));
  REQUIRE(load.wait_for_more(500));
  std::this_thread::sleep_for(milliseconds{7000}); // longer than an agent may be silent
  all_held();
  // Their own upgrade is a restart, which brings a secret.
  for (std::size_t i = 0; i < 2; ++i) {
    replace(cluster.agent(i), new_program);
    cluster.wait_agents();
    CHECK(eventually(milliseconds{60000}, [&] { return has_proof(cluster.node(0), cluster.agent(i).name()); }));
    CHECK_FALSE(was_refused(cluster.agent(i)));
  }
  CHECK(locks[2].is_held(cluster.node(0)));
  check_nothing_lost(cluster, load);
}
