// From 0.2.0 to this version: a command about claims names its client only when all servers can
// read that (level 8). While one is of 0.2.0 the others decide like it, with equal digests.

#include "tests/cluster/cluster_fixture.hpp"
#include "tests/cluster/upgrades/replaced_servers.hpp"

#include <thread>

using namespace belay::harness;

namespace {

std::string session_at(server_node& node) {
  std::string id;
  REQUIRE(eventually(soon, [&] {
    const auto made = node.put("/v1/session/create", R"({"Checks":[],"LockDelay":"0s"})");
    if (made.ok())
      id = boost::json::parse(made.body).at("ID").as_string();
    return made.ok();
  }));
  return id;
}

http_reply removed(server_node& node, const std::string& target) {
  return exchange(node.http_port(), {"DELETE", target, {}, {}, false}, soon);
}

/// Acquires as a worker with the configured limit, after an operator raised it for a while.
int worker_after_raise(server_cluster& cluster, std::size_t at, const std::string& name) {
  auto& node = cluster.node(at);
  const auto session = session_at(node), other = session_at(node);
  const auto ask = [&](const std::string& whose) {
    return node.put("/v1/claim/" + name + "?kind=semaphore&limit=2&id=" + whose + "&session=" + whose, "");
  };
  CHECK(ask(session).ok());
  CHECK(node.put("/v1/claim/" + name + "/limit?n=5", "").ok());
  CHECK(removed(node, "/v1/claim/" + name + "/limit").ok());
  const auto status = ask(other).status;
  CHECK(removed(node, "/v1/claim/" + name + "?id=" + session).ok());
  CHECK(ask(session).status == 410); // in any version
  return status;
}

} // namespace

TEST_CASE("claims name their clients after the last server of 0.2.0 is replaced, and then it cannot return",
          "[.upgrade][no_histories_before]") {
  raise_file_limit();
  servers_of_before servers;
  auto& [old_program, new_program, cluster] = servers;
  int round = 0;
  const auto check_each = [&](int status) {
    for (std::size_t i = 0; i < cluster.size(); ++i) {
      INFO("server " << i);
      CHECK(worker_after_raise(cluster, i, "s" + std::to_string(++round)) == status);
    }
    CHECK(cluster.wait_equal() == "");
  };
  const auto becomes = [&](std::size_t i, const server_command& program) {
    INFO("server " << i << " becomes " << program.text);
    replace(cluster.node(i), program);
    cluster.wait_ready();
  };
  check_each(409);
  for (const std::size_t i : {0, 1}) {
    becomes(i, new_program);
    check_each(409);
  }
  becomes(2, old_program); // the leadership moves
  check_each(409);
  becomes(1, old_program);
  becomes(0, old_program);
  check_each(409);
  for (const std::size_t i : {0, 1, 2})
    becomes(i, new_program);
  // Each server has to receive the new versions of the others first.
  REQUIRE(eventually(soon, [&] {
    for (std::size_t i = 0; i < cluster.size(); ++i)
      if (worker_after_raise(cluster, i, "s" + std::to_string(++round)) != 200)
        return false;
    return true;
  }));
  check_each(200);
  const auto follower = (cluster.wait_leader() + 1) % cluster.size();
  replace(cluster.node(follower), old_program);
  ends_with(cluster.node(follower), {"install Belay 0.3.0", "checkpoint row that cannot be decoded"});
  becomes(follower, new_program);
  check_each(200);
}

namespace {

/// A client that waits for the lock of a key closes its connection.
struct left_wait {
  left_wait(server_node& holder, server_node& requested, std::string name) : at(&holder), key(std::move(name)) {
    const auto has_it = session_at(holder), waits = session_at(holder);
    REQUIRE(holder.put("/v1/kv/" + key + "?acquire=" + has_it, "").body.starts_with("true"));
    http_connection c(requested.http_port());
    // The parameter of 0.2.0 and the present one.
    REQUIRE(c.send({"PUT", "/v1/kv/" + key + "?acquire=" + waits + "&queue=100s&wait=100s", {}, "v", false}, soon) ==
            "");
    REQUIRE(eventually(soon, [&] { return waiting() == 1; }));
  }
  std::uint64_t waiting() const {
    const auto r = at->get("/v1/kv/" + key + "?claims");
    return r.ok() ? boost::json::parse(r.body).at("QueueLength").to_number<std::uint64_t>() : 0;
  }

  server_node* at;
  std::string key;
};

} // namespace

// An entry that withdraws waits would stop a server of 0.2.0.
TEST_CASE("waits of clients that disconnect are withdrawn after the last server of 0.2.0 is replaced",
          "[.upgrade][no_histories_before]") {
  raise_file_limit();
  servers_of_before servers;
  auto& [old_program, new_program, cluster] = servers;
  int round = 0;
  const auto stay = [&] {
    std::vector<left_wait> left;
    for (std::size_t i = 0; i < cluster.size(); ++i)
      left.emplace_back(cluster.node(0), cluster.node(i), "k" + std::to_string(++round));
    std::this_thread::sleep_for(milliseconds{8000});
    for (const auto& each : left)
      CHECK(each.waiting() == 1);
    CHECK(cluster.wait_equal() == "");
  };
  stay();
  for (const std::size_t i : {0, 1}) {
    replace(cluster.node(i), new_program);
    cluster.wait_ready();
    stay();
  }
  replace(cluster.node(2), new_program);
  cluster.wait_ready();
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    const left_wait left(cluster.node(0), cluster.node(i), "k" + std::to_string(++round));
    CHECK(eventually(soon, [&] { return left.waiting() == 0; }));
  }
  CHECK(cluster.wait_equal() == "");
}
