#include "tests/cluster/cluster_fixture.hpp"

#include <boost/json.hpp>

#include <atomic>
#include <iostream>
#include <mutex>
#include <thread>

namespace json = boost::json;
using namespace belay::harness;
using std::chrono::steady_clock;

namespace {

/// Holds a lock with a session and renews it at any responding server, like a client library.
class holder {
public:
  holder(std::size_t number, std::vector<std::uint16_t> ports) : number_(number), ports_(std::move(ports)) {}

  /// @returns false: no session, or no lock, for 10 s (the servers have to be in the catalog first)
  bool begin() {
    const auto begun = steady_clock::now();
    while (!begun_once())
      if (seconds_since(begun) > 10)
        return false;
    return true;
  }

  void run(const std::atomic<bool>& over) {
    for (std::size_t renewal = number_; !over; ++renewal) {
      const auto reply = http_put(ports_[renewal % ports_.size()], "/v1/session/renew/" + session_, "");
      if (reply.ok())
        ++renewed_;
      else if (reply.status == 404)
        lost_ = true;
      else
        continue; // that server is down: try the next one at once
      std::this_thread::sleep_for(milliseconds{1000});
    }
  }

  /// The present entry of the key; empty if it cannot be read.
  std::string lock() const {
    const auto reply = http_get(ports_[0], key() + "?consistent");
    return reply.ok() ? json::serialize(json::parse(reply.body)) : "";
  }
  std::string key() const { return "/v1/kv/held/" + std::to_string(number_); }
  const std::string& session() const { return session_; }
  bool lost() const { return lost_; }
  std::size_t renewed() const { return renewed_; }

private:
  bool begun_once() {
    // Not bound to the health of the server in use, which will be killed.
    const auto created = http_put(ports_[number_ % ports_.size()], "/v1/session/create",
                                  R"({"TTL":"10s","LockDelay":"0s","NodeChecks":[],"Name":"holder"})");
    if (!created.ok())
      return false;
    session_ = std::string(json::parse(created.body).at("ID").as_string());
    return http_put(ports_[0], key() + "?acquire=" + session_, "held").body.starts_with("true");
  }

  std::size_t number_;
  std::vector<std::uint16_t> ports_;
  std::string session_;
  std::atomic<bool> lost_ = false;
  std::atomic<std::size_t> renewed_ = 0;
};

} // namespace

// A hundred clients hold a lock each with sessions of 10 s and renew them every second. The leader
// is killed repeatedly: each new leader starts the timers again, so no session ends.
TEST_CASE("no session of a client that renews is lost with the leader", "[sessions]") {
  const auto rounds = number_from_environment("BELAY_CLUSTER_ROUNDS", 3);
  auto cluster = ready_cluster(3);
  std::vector<std::unique_ptr<holder>> holders;
  for (std::size_t i = 0; i < 100; ++i) {
    holders.push_back(std::make_unique<holder>(i, http_ports(*cluster)));
    REQUIRE(holders.back()->begin());
  }
  std::vector<std::string> before;
  for (const auto& h : holders)
    before.push_back(h->lock());

  std::atomic<bool> over = false;
  std::vector<std::thread> threads;
  for (const auto& h : holders)
    threads.emplace_back([&over, h = h.get()] { h->run(over); });
  for (std::size_t round = 0; round < rounds; ++round) {
    const auto leader = cluster->wait_leader();
    const auto killed = steady_clock::now();
    cluster->node(leader).kill_hard();
    CHECK(cluster->wait_leader() != leader);
    std::cout << "round " << round + 1 << ": a new leader after "
              << std::chrono::duration<double>(steady_clock::now() - killed).count() << " s\n";
    cluster->node(leader).start();
    cluster->wait_ready();
    std::this_thread::sleep_for(milliseconds{1500});
  }
  // Longer than a session lives without renewals.
  std::this_thread::sleep_for(std::chrono::seconds{21});
  over = true;
  for (auto& t : threads)
    t.join();

  std::size_t renewals = 0;
  for (std::size_t i = 0; i < holders.size(); ++i) {
    INFO("holder " << i);
    CHECK_FALSE(holders[i]->lost());
    CHECK_FALSE(before[i].empty());
    CHECK(holders[i]->lock() == before[i]); // holder, LockIndex and ModifyIndex
    CHECK(before[i].find(holders[i]->session()) != std::string::npos);
    renewals += holders[i]->renewed();
  }
  CHECK(renewals > holders.size() * rounds);
  std::cout << renewals << " renewals\n";
}
