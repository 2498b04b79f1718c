// Servers are replaced one by one by those of another version, under load. BELAY_OLD_BINARY: the
// program of the previous version; `tools/nightly upgrade` builds those that
// tests/cluster/version_before names, and runs with each the cases that it names there: cases
// tagged [no_acl_before] need a version before ACLs, [acl_before] one that has them,
// [no_queues_before] one without claims, [no_once_before] one that has claims, but no
// idempotency keys, [no_histories_before] one that has changes, but whose cursors name no
// history.

#include "tests/cluster/upgrades/lockers.hpp"
#include "tests/cluster/upgrades/replaced_servers.hpp"

using namespace belay::harness;

TEST_CASE("the previous version is upgraded server by server, and downgraded again", "[.upgrade]") {
  raise_file_limit();
  servers_of_before servers;
  auto& [old_program, new_program, cluster] = servers;
  workload load(http_ports(cluster), 6);
  REQUIRE(load.wait_for_more(200));
  replace_all(cluster, load, new_program);
  replace_all(cluster, load, old_program);
  replace_all(cluster, load, new_program);
  check_nothing_lost(cluster, load);
}

// The order in docs/operate/security.md is: all servers first, then `acl`. Here an operator enables ACLs
// while an old server is a member, and downgrades when they are in force.
TEST_CASE("ACLs are enabled after the last server of the previous version is replaced, and then it cannot return",
          "[.upgrade][no_acl_before]") {
  raise_file_limit();
  const auto old_program = program_of_before();
  const auto new_program = server_command::from_environment(BELAY_BINARY_DIR);
  const boost::json::object acl{
      {"enabled", true}, {"default_policy", "allow"}, {"tokens", {{"master", "root-secret"}}}};
  server_cluster cluster(old_program, {3, "node", {}});
  cluster.start_all();
  cluster.wait_ready();
  REQUIRE(cluster.node(0).put("/v1/kv/before", "1").body.starts_with("true"));

  // The old version recognizes the setting as one that it must reject.
  auto& last = cluster.node(2);
  cluster.configure({{"acl", acl}});
  replace(last, old_program);
  ends_with(last, {"acl.enabled = true: this build does not enforce ACLs"});
  cluster.configure();
  last.start();
  cluster.wait_ready(); // it has read its configuration, which changes now

  // Meanwhile nothing of ACLs is written, and servers configured with them give clients the reason.
  cluster.configure({{"acl", acl}});
  replace(cluster.node(0), new_program);
  replace(cluster.node(1), new_program);
  const auto bootstrap = [&] { return cluster.node(0).put("/v1/acl/bootstrap", ""); };
  std::string received, written;
  const bool others_go_on = eventually(milliseconds{60000}, [&] {
    received = bootstrap().body;
    written = last.put("/v1/kv/meanwhile", "1").body;
    return received.starts_with("ACLs are not active yet") && written.starts_with("true");
  });
  INFO(received << "\n" << written << "\n" << file_tail(last.log_file(), 3000));
  CHECK(others_go_on);
  CHECK(bootstrap().status == 500);
  const auto write = cluster.node(1).put("/v1/kv/a", "1");
  CHECK(write.status == 500);
  CHECK(write.body.find("when all servers run a version that supports them") != std::string::npos);

  replace(last, new_program);
  for (std::size_t i = 0; i < 3; ++i)
    REQUIRE(eventually(milliseconds{60000},
                       [&] { return cluster.node(i).get("/v1/acl/tokens?token=root-secret").status == 200; }));
  cluster.wait_ready();
  CHECK(cluster.node(0).get("/v1/acl/tokens").status == 403);
  CHECK(bootstrap().body.starts_with("Permission denied: ACL bootstrap no longer allowed"));
  for (const auto* key : {"/v1/kv/before", "/v1/kv/meanwhile"})
    CHECK(cluster.node(1).get(key).status == 200);

  // The downgraded server stops at the first entry that it cannot read, with advice.
  cluster.configure();
  replace(last, old_program);
  cannot_go_back(last);
  CHECK(cluster.node(0).put("/v1/kv/after?token=root-secret", "1").body.starts_with("true"));
  cluster.configure({{"acl", acl}});
  last.replace_program(new_program);
  last.start();
  cluster.wait_ready();
  CHECK(cluster.wait_equal() == "");
  CHECK(last.get("/v1/kv/after?stale&token=root-secret").status == 200);
}

// ACLs are in force all the time, and writers have a token. While one server is old, new ones can
// be downgraded. Later each write carries the leader's decision (state::authorization_level): a
// downgraded server stops with advice, and nothing acknowledged is lost. Permissions are the same.
TEST_CASE("servers with ACLs in force are upgraded under load with a token, and downgraded while one is old",
          "[.upgrade][acl_before]") {
  raise_file_limit();
  const auto old_program = program_of_before();
  const auto new_program = server_command::from_environment(BELAY_BINARY_DIR);
  const std::string master = "root-secret", writer = "5ec2e700-0000-4000-8000-00000000b0b0";
  server_cluster cluster(
      old_program,
      {3, "node", {{"acl", {{"enabled", true}, {"default_policy", "allow"}, {"tokens", {{"master", master}}}}}}});
  cluster.start_all();
  cluster.wait_ready();
  const auto as = [&](std::size_t i, const std::string& token, const std::string& method, const std::string& target,
                      const std::string& body = {}) {
    return exchange(cluster.node(i).http_port(), {method, target, {{"X-Consul-Token", token}}, body, false},
                    milliseconds{10000});
  };
  REQUIRE(eventually(milliseconds{60000}, [&] { return as(0, master, "GET", "/v1/acl/tokens").status == 200; }));

  // Only that token can write keys: the harness's requests without a token need none.
  const auto made = [&](const std::string& what, const std::string& body) {
    const auto reply = as(0, master, "PUT", what, body);
    INFO(what << ": " << reply.status << " " << reply.body);
    REQUIRE(reply.status == 200);
  };
  made("/v1/acl/policy", R"({"Name":"no-keys","Rules":"key_prefix \"\" { policy = \"deny\" }"})");
  made(
      "/v1/acl/policy",
      R"({"Name":"load","Rules":"key_prefix \"\" { policy = \"deny\" } key_prefix \"load/\" { policy = \"write\" }"})");
  made("/v1/acl/token/00000000-0000-0000-0000-000000000002",
       R"({"Description":"Anonymous Token","Policies":[{"Name":"no-keys"}]})");
  made("/v1/acl/token", R"({"SecretID":")" + writer + R"(","Policies":[{"Name":"load"}]})");
  const auto rights_hold = [&](std::size_t i) {
    INFO("asked: server " << i);
    CHECK(as(i, writer, "PUT", "/v1/kv/elsewhere", "1").status == 403);
    CHECK(cluster.node(i).put("/v1/kv/load/nobody", "1").status == 403);
    CHECK(cluster.node(i).get("/v1/kv/load/nobody").status == 403);
  };
  for (std::size_t i = 0; i < cluster.size(); ++i)
    REQUIRE(eventually(milliseconds{10000}, [&] { return cluster.node(i).get("/v1/kv/a").status == 403; }));

  workload load(http_ports(cluster), 6, writer);
  REQUIRE(load.wait_for_more(200));
  const auto becomes = [&](std::size_t i, const server_command& program) {
    INFO("server " << i << " becomes " << program.text);
    replace(cluster.node(i), program);
    cluster.wait_ready();
    REQUIRE(load.wait_for_more(200));
    for (std::size_t k = 0; k < cluster.size(); ++k)
      rights_hold(k);
  };
  becomes(0, new_program);
  becomes(1, new_program);
  becomes(1, old_program);
  becomes(0, old_program);
  for (std::size_t i = 0; i < cluster.size(); ++i)
    becomes(i, new_program);

  // All are new: a downgraded server stops, and the others are not affected.
  const auto followed = (cluster.wait_leader() + 1) % cluster.size();
  auto& back = cluster.node(followed);
  replace(back, old_program);
  cannot_go_back(back);
  REQUIRE(load.wait_for_more(200));
  becomes(followed, new_program);

  // A deleted token has no permissions at any server.
  check_nothing_lost(cluster, load);
  const auto accessor = boost::json::parse(as(0, writer, "GET", "/v1/acl/token/self").body).at("AccessorID");
  REQUIRE(as(0, master, "DELETE", "/v1/acl/token/" + std::string(accessor.as_string())).status == 200);
  for (std::size_t i = 0; i < cluster.size(); ++i)
    CHECK(eventually(milliseconds{10000}, [&] { return as(i, writer, "GET", "/v1/kv/load/?keys").status == 403; }));
}

// The previous version has no replicas and makes each server that follows it a voter. So a replica
// follows only servers of this version: it waits while others lead, and its vote never counts.
TEST_CASE("a read replica beside servers that are upgraded to this version, and downgraded again", "[.upgrade]") {
  raise_file_limit();
  const auto old_program = program_of_before();
  const auto new_program = server_command::from_environment(BELAY_BINARY_DIR);
  server_cluster cluster(old_program, {3, "node", {}, 1});
  cluster.node(3).replace_program(new_program);
  for (std::size_t i = 0; i < 3; ++i)
    cluster.node(i).start();
  const auto leads = [&] {
    return eventually(milliseconds{30000}, [&] { return cluster.leader_according_to(0).has_value(); });
  };
  REQUIRE(leads());
  workload load({cluster.node(0).http_port(), cluster.node(1).http_port(), cluster.node(2).http_port()}, 6);
  REQUIRE(load.wait_for_more(200));
  cluster.node(3).start();
  const auto replica_votes = [&] {
    const auto reply = cluster.node(0).get("/v1/operator/raft/configuration");
    const auto configuration = boost::json::parse(reply.body);
    for (const auto& s : configuration.at("Servers").as_array())
      if (s.at("Node").as_string() == cluster.node(3).name() && s.at("Voter").as_bool())
        return true;
    return false;
  };
  const auto replace = [&](const server_command& program) {
    for (std::size_t i = 0; i < 3; ++i) {
      INFO("server " << i << " becomes " << program.text);
      cluster.node(i).stop();
      cluster.node(i).replace_program(program);
      cluster.node(i).start();
      REQUIRE(leads());
      REQUIRE(load.wait_for_more(200));
      CHECK_FALSE(replica_votes());
    }
  };
  // It is not ready, and its log says why.
  REQUIRE(load.wait_for_more(500));
  CHECK_FALSE(replica_votes());
  CHECK(cluster.node(3).get("/v1/kv/?keys&stale", milliseconds{10000}).status != 200);
  CHECK(file_tail(cluster.node(3).log_file(), 100000).find("does not support read replicas") != std::string::npos);
  replace(new_program);
  cluster.wait_ready();
  CHECK(cluster.node(3).get("/v1/kv/?keys").status == 200);
  replace(old_program);
  CHECK(cluster.node(3).get("/v1/kv/?keys&stale").status == 200); // its old state
  replace(new_program);
  check_nothing_lost(cluster, load);
  CHECK_FALSE(replica_votes());
}

// Queues need every server to support them. Until then, acquires with a wait work as they did
// without queues, and claims are rejected. Grants and waits outlive each server; downgrades work
// until the first queue.
TEST_CASE("no wait for a lock is lost when servers are upgraded, and downgraded while one is old",
          "[.upgrade][no_queues_before]") {
  raise_file_limit();
  servers_of_before servers;
  auto& [old_program, new_program, cluster] = servers;
  workload load(http_ports(cluster), 4);
  lockers lock_clients(http_ports(cluster), 12);
  REQUIRE(lock_clients.each_gets_on(3));
  const auto becomes = [&](std::size_t i, const server_command& program) {
    INFO("server " << i << " becomes " << program.text);
    replace(cluster.node(i), program);
    cluster.wait_ready();
    REQUIRE(load.wait_for_more(200));
    REQUIRE(lock_clients.each_gets_on(3));
    CHECK(lock_clients.two_at_once() == 0);
  };
  const auto made = cluster.node(0).put("/v1/session/create", R"({"Checks":[],"LockDelay":"0s"})");
  REQUIRE(made.ok());
  const std::string session(boost::json::parse(made.body).at("ID").as_string());
  const auto claim = [&] { return cluster.node(0).put("/v1/claim/leader?session=" + session, ""); };

  becomes(0, new_program);
  becomes(1, new_program);
  const auto refused = claim();
  CHECK(refused.status == 409);
  CHECK(refused.body.find("feature level") != std::string::npos);
  becomes(1, old_program);
  becomes(0, old_program);
  for (std::size_t i = 0; i < cluster.size(); ++i)
    becomes(i, new_program);
  REQUIRE(eventually(milliseconds{30000}, [&] { return claim().ok(); }));

  const auto follower = (cluster.wait_leader() + 1) % cluster.size();
  // It stops at an entry that it cannot read, or at a row: 0.1.0 does not check its level.
  auto& back = cluster.node(follower);
  replace(back, old_program);
  ends_with(back, {"install Belay ", "checkpoint row that cannot be decoded"});
  REQUIRE(lock_clients.each_gets_on(3));
  becomes(follower, new_program);
  lock_clients.stop();
  CHECK(lock_clients.failed() == 0);
  CHECK(lock_clients.two_at_once() == 0);
  check_nothing_lost(cluster, load);
}
