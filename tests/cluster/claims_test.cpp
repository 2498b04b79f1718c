#include "tests/cluster/cluster_fixture.hpp"

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace belay::harness;
using std::chrono::steady_clock;

namespace {

constexpr milliseconds requested_for{10000};
constexpr milliseconds waits_for{120000};
constexpr std::size_t waiters_count = 100;

/// A cluster with a read replica and a client agent. Clients use all nodes except the leader.
struct entry_points {
  std::unique_ptr<server_cluster> cluster;
  std::vector<std::uint16_t> ports; ///< followers, the replica, the agent
  std::uint16_t agent_port = 0;
};

std::uint64_t number_in(const http_reply& r, const char* member) {
  return boost::json::parse(r.body).at(member).to_number<std::uint64_t>();
}

/// A request for a lock: a claim, or the acquire of a key.
class queue_of_waiters {
public:
  queue_of_waiters(const entry_points& f, std::string name, bool of_keys)
      : entry_points_(f), name_(std::move(name)), of_keys_(of_keys) {}

  std::string new_session(std::uint16_t port) const {
    const auto r = http_put(port, "/v1/session/create", R"({"Checks":[],"LockDelay":"0s"})", requested_for);
    REQUIRE(r.ok());
    return std::string(boost::json::parse(r.body).at("ID").as_string());
  }

  /// The first one holds the lock, the others queue in this order. When it returns, each waits at
  /// its server: one with an undecided request responds `unknown` when the leader is killed.
  void line_up() {
    const auto before = parked();
    for (std::size_t i = 0; i <= waiters_count; ++i) {
      const auto port = entry_points_.ports[i % entry_points_.ports.size()];
      waiters_.push_back({new_session(port), port, std::make_unique<http_connection>(port)});
      ask(i);
      if (i == 0)
        check_granted(0, answer(0));
      else
        REQUIRE(eventually(requested_for, [&] { return queue_length() == i; }));
    }
    REQUIRE(eventually(requested_for, [&] { return parked() >= before + waiters_count; }));
  }

  /// Each is granted the lock in turn and releases it.
  void resume_all() {
    for (std::size_t i = 0; i < waiters_count; ++i) {
      INFO("turn " << i);
      release(i);
      check_granted(i + 1, answer(i + 1));
    }
    release(waiters_count);
  }

  std::size_t queue_length() const {
    const auto r = http_get(entry_points_.ports.front(), target("", of_keys_ ? "?claims&consistent" : "?consistent"));
    return r.ok() ? number_in(r, "QueueLength") : 0;
  }

  /// Requests that are blocked at servers.
  std::uint64_t parked() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < entry_points_.cluster->size(); ++i) {
      const auto metrics = boost::json::parse(entry_points_.cluster->node(i).get("/v1/agent/metrics").body);
      for (const auto& gauge : metrics.at("Gauges").as_array())
        if (gauge.at("Name").as_string().ends_with("watch.parked_queries"))
          sum += gauge.at("Value").to_number<std::uint64_t>();
    }
    return sum;
  }

private:
  struct waiter {
    std::string session;
    std::uint16_t port;
    std::unique_ptr<http_connection> connection;
  };

  std::string target(const std::string& action, const std::string& query) const {
    return (of_keys_ ? "/v1/kv/" : "/v1/claim/") + name_ + action + query;
  }

  void ask(std::size_t i) {
    const auto& w = waiters_[i];
    const auto query = (of_keys_ ? "?queue=100s&acquire=" : "?wait=100s&session=") + w.session;
    REQUIRE(w.connection->send({"PUT", target("", query), {}, "v" + std::to_string(i), false}, requested_for) == "");
  }

  http_reply answer(std::size_t i) {
    auto r = waiters_[i].connection->receive(waits_for);
    // An agent's own connection may have been to the killed server. A retry keeps the position.
    while (waiters_[i].port == entry_points_.agent_port && (!r.error.empty() || r.status == 500)) {
      INFO("asked again: " << r.status << ' ' << r.error << r.body);
      ++requested_again_;
      REQUIRE(requested_again_ < 10 * waiters_count);
      waiters_[i].connection = std::make_unique<http_connection>(waiters_[i].port);
      ask(i);
      r = waiters_[i].connection->receive(waits_for);
    }
    return r;
  }

  void check_granted(std::size_t i, const http_reply& r) {
    INFO("waiter " << i << ": " << r.status << ' ' << r.error << r.body);
    REQUIRE(r.ok());
    std::uint64_t fence = 0;
    if (of_keys_) {
      REQUIRE(r.body.starts_with("true"));
      REQUIRE(r.header("X-Belay-Fence") != nullptr);
      fence = std::stoull(*r.header("X-Belay-Fence"));
    } else {
      REQUIRE(r.body.find("\"held\"") != std::string::npos);
      fence = number_in(r, "Fence");
    }
    CHECK(fence > newest_fence_); // no request was granted twice, and none before its turn
    newest_fence_ = fence;
  }

  /// Releases it again if the response was lost.
  void release(std::size_t i) {
    const auto& session = waiters_[i].session;
    const http_request r = of_keys_ ? http_request{"PUT", target("", "?release=" + session), {}, "", false}
                                    : http_request{"DELETE", target("", "?id=" + session), {}, {}, false};
    REQUIRE(eventually(waits_for, [&] {
      const auto response = exchange(waiters_[i].port, r, requested_for);
      return response.ok() && (response.body.starts_with("true") || holder_is_another(session));
    }));
  }
  bool holder_is_another(const std::string& session) const {
    const auto r = http_get(entry_points_.ports.front(), target("", of_keys_ ? "?claims&consistent" : "?consistent"));
    return r.status == 404 || (r.ok() && boost::json::parse(r.body).at("Holders").as_array().empty()) ||
           (r.ok() && boost::json::parse(r.body).at("Holders").at(0).at("Session").as_string() != session);
  }

  const entry_points& entry_points_;
  std::string name_;
  bool of_keys_;
  std::vector<waiter> waiters_;
  std::uint64_t newest_fence_ = 0;
  std::size_t requested_again_ = 0;
};

} // namespace

// A hundred requests wait in a queue, through followers, a replica and an agent, when the leader is
// killed. The wait is replicated: a lost position, double grant or endless wait shows.
TEST_CASE("claims: a killed leader loses no wait, and the order stays", "[.claims][failover]") {
  const auto rounds = number_from_environment("BELAY_CLAIM_ROUNDS", 2);
  raise_file_limit();
  const auto command = server_command::from_environment(BELAY_BINARY_DIR);
  if (command.is_reference())
    return;
  entry_points f;
  f.cluster = std::make_unique<server_cluster>(command, cluster_options{3, "node", {}, 1, 1});
  auto& cluster = *f.cluster;
  cluster.start_all();
  cluster.wait_ready();
  cluster.wait_agents();
  f.agent_port = cluster.agent(0).http_port();
  for (std::size_t round = 0; round < rounds; ++round) {
    INFO("round " << round);
    const auto leader = cluster.wait_leader();
    f.ports.clear();
    for (std::size_t i = 0; i < cluster.size(); ++i)
      if (i != leader)
        f.ports.push_back(cluster.node(i).http_port());
    f.ports.push_back(f.agent_port);
    queue_of_waiters q(f, "jobs/" + std::to_string(round), round % 2 == 1);
    q.line_up();
    const auto killed = steady_clock::now();
    cluster.node(leader).kill_hard();
    CHECK(cluster.wait_leader() != leader);
    const auto elected = seconds_since(killed);
    REQUIRE(eventually(requested_for, [&] { return q.queue_length() == waiters_count; }));
    const auto begun = steady_clock::now();
    q.resume_all();
    std::cout << "round " << round + 1 << ": another leader after " << elected << " s, " << waiters_count
              << " turns taken in " << seconds_since(begun) << " s\n";
    cluster.node(leader).start();
    cluster.wait_ready();
    cluster.wait_agents();
  }
  CHECK(cluster.wait_equal() == "");
}

namespace {

/// One client holds the lock of a key, two wait for it in order. Sessions live until the end.
class two_in_line {
public:
  two_in_line(std::string key, std::uint16_t holder, std::uint16_t first, std::uint16_t second)
      : key_(std::move(key)), ports_{holder, first, second} {
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      // Sessions of the holder's node outlive the agent's.
      const auto made = http_put(ports_[0], "/v1/session/create", R"({"Checks":[],"LockDelay":"0s"})", requested_for);
      REQUIRE(made.ok());
      sessions_.push_back(std::string(boost::json::parse(made.body).at("ID").as_string()));
      asks(i, ports_[i]);
      if (i == 0)
        REQUIRE(connections_[0]->receive(requested_for).body.starts_with("true"));
      else
        REQUIRE(eventually(requested_for, [&] { return waiting() == i; }));
    }
  }

  void first_disconnects() { connections_[1].reset(); }
  void first_asks_again(std::uint16_t port) { asks(1, port); }
  std::size_t waiting() const {
    const auto r = http_get(ports_[0], "/v1/kv/" + key_ + "?claims&consistent");
    return r.ok() ? number_in(r, "QueueLength") : 0;
  }
  /// The client that gets the lock when its holder releases it: 1 or 2.
  std::size_t next() {
    REQUIRE(
        http_put(ports_[0], "/v1/kv/" + key_ + "?release=" + sessions_[0], "", requested_for).body.starts_with("true"));
    const auto r = http_get(ports_[0], "/v1/kv/" + key_ + "?consistent");
    REQUIRE(r.ok());
    const auto holder = std::string(boost::json::parse(r.body).at(0).at("Session").as_string());
    return static_cast<std::size_t>(std::find(sessions_.begin(), sessions_.end(), holder) - sessions_.begin());
  }
  /// Whether the claim that still waits gets its response.
  bool is_notified(std::size_t i) { return connections_[i]->receive(requested_for).body.starts_with("true"); }

private:
  void asks(std::size_t i, std::uint16_t port) {
    connections_.resize(ports_.size());
    connections_[i] = std::make_unique<http_connection>(port);
    REQUIRE(connections_[i]->send({"PUT", "/v1/kv/" + key_ + "?queue=100s&acquire=" + sessions_[i], {}, "v", false},
                                  requested_for) == "");
  }

  std::string key_;
  std::vector<std::uint16_t> ports_;
  std::vector<std::string> sessions_;
  std::vector<std::unique_ptr<http_connection>> connections_;
};

} // namespace

// docs/reference/http-extensions.md, "Waiting for a lock". A grant to a client that is gone would block the
// lock. A position lost with a restart would send a live client to the end of the queue.
TEST_CASE("claims: a client that ends its connection leaves the queue of a lock, and no other client does",
          "[.claims]") {
  raise_file_limit();
  const auto command = server_command::from_environment(BELAY_BINARY_DIR);
  if (command.is_reference())
    return;
  server_cluster cluster(command, cluster_options{3, "node", {}, 0, 1});
  cluster.start_all();
  cluster.wait_ready();
  cluster.wait_agents();
  const auto leader = cluster.wait_leader();
  const auto holder = cluster.node(leader).http_port();
  auto& follower = cluster.node((leader + 1) % 3);
  const auto other = cluster.node((leader + 2) % 3).http_port();
  auto& agent = cluster.agent(0);
  constexpr milliseconds longer_than_kept{8000}, sooner{2500};

  two_in_line at_follower("gone/follower", holder, follower.http_port(), other);
  two_in_line at_leader("gone/leader", holder, holder, other);
  two_in_line through_agent("gone/agent", holder, agent.http_port(), other);
  two_in_line comes_back("gone/back", holder, follower.http_port(), other);
  two_in_line back_through_agent("gone/back-agent", holder, agent.http_port(), other);
  for (auto* line : {&at_follower, &at_leader, &through_agent, &comes_back, &back_through_agent})
    line->first_disconnects();
  std::this_thread::sleep_for(sooner);
  for (auto* line : {&at_follower, &at_leader, &through_agent, &comes_back, &back_through_agent})
    CHECK(line->waiting() == 2);
  comes_back.first_asks_again(other);
  back_through_agent.first_asks_again(holder);
  for (auto* line : {&at_follower, &at_leader, &through_agent}) {
    CHECK(eventually(longer_than_kept, [&] { return line->waiting() == 1; }));
    CHECK(line->next() == 2);
    CHECK(line->is_notified(2));
  }
  std::this_thread::sleep_for(longer_than_kept - sooner);
  for (auto* line : {&comes_back, &back_through_agent}) {
    CHECK(line->waiting() == 2);
    CHECK(line->next() == 1);
    CHECK(line->is_notified(1));
  }

  two_in_line of_killed_server("end/server", holder, follower.http_port(), other);
  two_in_line of_killed_agent("end/agent", holder, agent.http_port(), other);
  follower.kill_hard();
  agent.kill_hard();
  std::this_thread::sleep_for(longer_than_kept);
  CHECK(of_killed_server.waiting() == 2);
  CHECK(of_killed_agent.waiting() == 2);
  agent.start();
  cluster.wait_agents();
  two_in_line of_stopped_agent("end/stopped-agent", holder, agent.http_port(), other);
  agent.stop();
  std::this_thread::sleep_for(longer_than_kept);
  CHECK(of_stopped_agent.waiting() == 2);
  for (auto* line : {&of_killed_server, &of_killed_agent, &of_stopped_agent}) {
    line->first_asks_again(other);
    CHECK(line->next() == 1);
    CHECK(line->is_notified(1));
  }
  follower.start();
  cluster.wait_ready();
  CHECK(cluster.wait_equal() == "");
}
