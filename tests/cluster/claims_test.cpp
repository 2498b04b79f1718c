#include "tests/cluster/cluster_fixture.hpp"

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

using namespace belay::harness;
using std::chrono::steady_clock;

namespace {

constexpr milliseconds asked_for{10000};
constexpr milliseconds waits_for{120000};
constexpr std::size_t waiters_count = 100;

/// A cluster with a read replica and a client agent, and whom of it clients ask: nobody asks the leader.
struct fronts {
  std::unique_ptr<server_cluster> cluster;
  std::vector<std::uint16_t> ports; ///< followers, the replica, the agent
  std::uint16_t agent_port = 0;
};

std::uint64_t number_in(const http_reply& r, const char* member) {
  return boost::json::parse(r.body).at(member).to_number<std::uint64_t>();
}

/// A wish for a lock: a claim, or the acquire of a key.
class queue_of_waiters {
public:
  queue_of_waiters(const fronts& f, std::string name, bool of_keys)
      : fronts_(f), name_(std::move(name)), of_keys_(of_keys) {}

  std::string new_session(std::uint16_t port) const {
    const auto r = http_put(port, "/v1/session/create", R"({"Checks":[],"LockDelay":"0s"})", asked_for);
    REQUIRE(r.ok());
    return std::string(boost::json::parse(r.body).at("ID").as_string());
  }

  /// The first one has it, the others queue behind each other, in this order. When it returns each waits at the server that was asked:
  /// one that has not heard what became of a request when the leader is killed answers that it does not know.
  void line_up() {
    const auto before = parked();
    for (std::size_t i = 0; i <= waiters_count; ++i) {
      const auto port = fronts_.ports[i % fronts_.ports.size()];
      waiters_.push_back({new_session(port), port, std::make_unique<http_connection>(port)});
      ask(i);
      if (i == 0)
        check_granted(0, answer(0));
      else
        REQUIRE(eventually(asked_for, [&] { return queue_length() == i; }));
    }
    REQUIRE(eventually(asked_for, [&] { return parked() >= before + waiters_count; }));
  }

  /// Each in turn is granted and gives way to the next one.
  void take_turns() {
    for (std::size_t i = 0; i < waiters_count; ++i) {
      INFO("turn " << i);
      release(i);
      check_granted(i + 1, answer(i + 1));
    }
    release(waiters_count);
  }

  std::size_t queue_length() const {
    const auto r = http_get(fronts_.ports.front(), target("", of_keys_ ? "?claims&consistent" : "?consistent"));
    return r.ok() ? number_in(r, "QueueLength") : 0;
  }

  /// Requests that wait at servers.
  std::uint64_t parked() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < fronts_.cluster->size(); ++i) {
      const auto metrics = boost::json::parse(fronts_.cluster->node(i).get("/v1/agent/metrics").body);
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
    REQUIRE(w.connection->send({"PUT", target("", query), {}, "v" + std::to_string(i), false}, asked_for) == "");
  }

  http_reply answer(std::size_t i) {
    auto r = waiters_[i].connection->receive(waits_for);
    // An agent's own connection may have been to the server that was killed. Who asks again is in his place.
    while (waiters_[i].port == fronts_.agent_port && (!r.error.empty() || r.status == 500)) {
      INFO("asked again: " << r.status << ' ' << r.error << r.body);
      ++asked_again_;
      REQUIRE(asked_again_ < 10 * waiters_count);
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
    CHECK(fence > newest_fence_); // nobody was granted twice, and nobody before his turn
    newest_fence_ = fence;
  }

  /// Whoever does not hear that it was done does it again.
  void release(std::size_t i) {
    const auto& session = waiters_[i].session;
    const http_request r = of_keys_ ? http_request{"PUT", target("", "?release=" + session), {}, "", false}
                                    : http_request{"DELETE", target("", "?id=" + session), {}, {}, false};
    REQUIRE(eventually(waits_for, [&] {
      const auto said = exchange(waiters_[i].port, r, asked_for);
      return said.ok() && (said.body.starts_with("true") || holder_is_another(session));
    }));
  }
  bool holder_is_another(const std::string& session) const {
    const auto r = http_get(fronts_.ports.front(), target("", of_keys_ ? "?claims&consistent" : "?consistent"));
    return r.status == 404 || (r.ok() && boost::json::parse(r.body).at("Holders").as_array().empty()) ||
           (r.ok() && boost::json::parse(r.body).at("Holders").at(0).at("Session").as_string() != session);
  }

  const fronts& fronts_;
  std::string name_;
  bool of_keys_;
  std::vector<waiter> waiters_;
  std::uint64_t newest_fence_ = 0;
  std::size_t asked_again_ = 0;
};

} // namespace

// A hundred wait in a queue, through followers, a read replica and a client agent, when the leader is killed. The wait belongs to the
// replicated state: a place that was lost, two that are granted one thing, or a request that waits for ever would show.
TEST_CASE("claims: a killed leader loses no wait, and the order stays", "[.claims][failover]") {
  const auto rounds = number_from_environment("BELAY_CLAIM_ROUNDS", 2);
  raise_file_limit();
  const auto command = server_command::from_environment(BELAY_BINARY_DIR);
  if (command.is_reference())
    return;
  fronts f;
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
    REQUIRE(eventually(asked_for, [&] { return q.queue_length() == waiters_count; }));
    const auto begun = steady_clock::now();
    q.take_turns();
    std::cout << "round " << round + 1 << ": another leader after " << elected << " s, " << waiters_count
              << " turns taken in " << seconds_since(begun) << " s\n";
    cluster.node(leader).start();
    cluster.wait_ready();
    cluster.wait_agents();
  }
  CHECK(cluster.wait_equal() == "");
}
