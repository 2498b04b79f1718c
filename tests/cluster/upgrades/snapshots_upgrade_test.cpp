// Servers of 0.2.0 and of this version send each other their state. 0.2.0's digest covers the
// fencing token of a locked key in a stored response, and its bytes do not (CHANGELOG, 0.3.0). A
// follower without its disk must be rebuilt from a leader of the other version, and restart.

#include "tests/cluster/cluster_fixture.hpp"
#include "tests/cluster/upgrades/replaced_servers.hpp"

using namespace belay::harness;
namespace json = boost::json;

namespace {

constexpr milliseconds rebuilt_within{60000};

http_reply keyed_lock(server_node& node, const std::string& key, const std::string& session) {
  const json::array operations{
      json::object{{"KV", json::object{{"Verb", "lock"}, {"Key", key}, {"Value", "eA=="}, {"Session", session}}}}};
  return exchange(node.http_port(),
                  {"PUT", "/v1/txn", {{"Idempotency-Key", "once-" + key}}, json::serialize(operations), false},
                  milliseconds{10000});
}

/// A keyed transaction that locks a key; its response is stored. @returns the response
std::string lock_once(server_cluster& cluster, std::size_t at, const std::string& key) {
  std::string session, answer;
  REQUIRE(eventually(rebuilt_within, [&] {
    const auto made = cluster.node(at).put("/v1/session/create", R"({"TTL":"3600s","NodeChecks":[]})");
    if (made.ok())
      session = json::parse(made.body).at("ID").as_string();
    return made.ok();
  }));
  REQUIRE(eventually(rebuilt_within, [&] {
    const auto done = keyed_lock(cluster.node(at), key, session);
    answer = done.status == 200 ? done.body + session : "";
    return !answer.empty();
  }));
  return answer;
}

/// Whether a repeat gets the stored response and is not applied again.
bool keeps(server_cluster& cluster, std::size_t at, const std::string& key, const std::string& answer) {
  const auto session = answer.substr(answer.size() - 36);
  return eventually(rebuilt_within,
                    [&] { return keyed_lock(cluster.node(at), key, session).body + session == answer; });
}

/// Restarts the server without its disk, with the given program, once the leader's log no longer
/// reaches back far enough.
void rebuild(server_cluster& cluster, std::size_t which, std::size_t leader, const server_command& program,
             const std::string& key) {
  auto& node = cluster.node(which);
  node.stop();
  node.wipe();
  node.replace_program(program);
  for (int n = 0; n < 80; ++n)
    REQUIRE(eventually(rebuilt_within, [&] {
      return cluster.node(leader)
          .put("/v1/kv/fill/" + std::to_string(n % 7), std::to_string(n))
          .body.starts_with("true");
    }));
  node.start();
  const bool rebuilt = eventually(rebuilt_within, [&] { return node.get("/v1/kv/" + key + "?stale").ok(); });
  INFO(file_tail(node.log_file(), 3000));
  REQUIRE(rebuilt);
  // It has a vote again when the server that it replaces is removed.
  REQUIRE(eventually(rebuilt_within, [&] {
    return node.get("/v1/operator/autopilot/health").body.find("\"Healthy\":true") != std::string::npos;
  }));
  node.stop();
  node.start();
  cluster.wait_ready();
  INFO(file_tail(node.log_file(), 3000));
  CHECK(node.get("/v1/kv/" + key + "?stale").ok());
}

/// Pauses other servers until that one leads. (0.2.0 would not start again.)
void let_lead(server_cluster& cluster, std::size_t wanted) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    const auto leader = cluster.wait_leader();
    if (leader == wanted)
      return;
    cluster.node(leader).pause();
    (void)cluster.wait_leader();
    cluster.node(leader).resume();
    cluster.wait_ready();
  }
  FAIL("server " << wanted << " did not become the leader");
}

} // namespace

TEST_CASE("servers of 0.2.0 and of this version rebuild each other with kept answers about locked keys",
          "[.upgrade][no_histories_before]") {
  raise_file_limit();
  const auto old_program = program_of_before();
  const auto new_program = server_command::from_environment(BELAY_BINARY_DIR);
  server_cluster cluster(old_program, {3, "node", {}});
  cluster.configure({{"raft_snapshot_threshold", 8},
                     {"raft_snapshot_interval", "1s"},
                     {"raft_trailing_logs", 4},
                     {"log_level", "warn"}});
  cluster.start_all();
  cluster.wait_ready();

  const auto old_leader = cluster.wait_leader();
  const auto first = lock_once(cluster, old_leader, "locked-first");
  const auto newer = (old_leader + 1) % 3, other = (old_leader + 2) % 3;
  rebuild(cluster, newer, cluster.wait_leader(), new_program, "locked-first");
  INFO(file_tail(cluster.node(newer).log_file(), 6000));
  CHECK(file_text(cluster.node(newer).log_file()).find("checkpoint accepted, although its digest differs") !=
        std::string::npos);
  CHECK(keeps(cluster, newer, "locked-first", first));

  let_lead(cluster, newer);
  const auto second = lock_once(cluster, newer, "locked-second");
  rebuild(cluster, other, newer, old_program, "locked-second");
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(keeps(cluster, i, "locked-first", first));
    CHECK(keeps(cluster, i, "locked-second", second));
  }

  for (std::size_t i = 0; i < 3; ++i) {
    replace(cluster.node(i), new_program);
    cluster.wait_ready();
  }
  CHECK(keeps(cluster, old_leader, "locked-first", first));
  CHECK(keeps(cluster, old_leader, "locked-second", second));
}
