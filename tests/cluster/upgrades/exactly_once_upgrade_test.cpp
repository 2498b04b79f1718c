// Upgrades from a version without streams and idempotency keys (docs/reference/changes.md,
// docs/reference/exactly-once.md).

#include "tests/cluster/changes/crowd_of_followers.hpp"
#include "tests/cluster/upgrades/lockers.hpp"
#include "tests/cluster/upgrades/replaced_servers.hpp"

#include <atomic>
#include <iostream>
#include <mutex>
#include <set>
#include <thread>

using namespace belay::harness;

namespace {

constexpr milliseconds requested_for{10000};

http_reply keyed(server_node& node, const std::string& target, const std::string& key, std::string body = {}) {
  return exchange(node.http_port(), {"PUT", target, {{"Idempotency-Key", key}}, std::move(body), false}, requested_for);
}

/// Writes keys with idempotency keys, and without them where an older server rejects them.
class keyed_writer {
public:
  explicit keyed_writer(std::vector<std::uint16_t> ports) : ports_(std::move(ports)), thread_([this] { write(); }) {}
  ~keyed_writer() { stop(); }
  keyed_writer(const keyed_writer&) = delete;
  keyed_writer& operator=(const keyed_writer&) = delete;

  void stop() {
    stopping_ = true;
    if (thread_.joinable())
      thread_.join();
  }
  std::size_t refused() const { return refused_; }
  std::size_t done() const { return done_; }
  std::size_t replayed() const { return replayed_; }
  /// @pre stopped
  const std::set<std::string>& acknowledged() const { return acknowledged_; }

private:
  void write() {
    for (std::size_t n = 0; !stopping_; ++n) {
      const auto name = "watched/" + std::to_string(n);
      http_request r{"PUT", "/v1/kv/" + name, {{"Idempotency-Key", "w-" + std::to_string(n)}}, name, false};
      for (std::size_t attempt = n; !stopping_; ++attempt) {
        const auto response = exchange(ports_[attempt % ports_.size()], r, requested_for);
        if (response.status == 409 && !r.headers.empty()) {
          ++refused_;
          r.headers.clear();
        }
        if (response.ok()) {
          acknowledged_.insert(name);
          ++done_;
          replayed_ += response.header("X-Belay-Replayed") != nullptr ? 1 : 0;
          break;
        }
        std::this_thread::sleep_for(milliseconds{20});
      }
      std::this_thread::sleep_for(milliseconds{5});
    }
  }

  std::vector<std::uint16_t> ports_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::size_t> refused_{0}, done_{0}, replayed_{0};
  std::set<std::string> acknowledged_;
  std::thread thread_;
};

void check_refused_for_level(const http_reply& r) {
  INFO(r.status << ' ' << r.error << r.body);
  CHECK(r.status == 409);
  CHECK(r.body.find(" feature level 6: install Belay 0.2.0 or newer there") != std::string::npos);
}

/// Checks that this server rejects what an older server could not read; everything else works.
void check_mixed(server_node& node, const std::string& key) {
  check_refused_for_level(keyed(node, "/v1/kv/refused", key, "1"));
  check_refused_for_level(node.put("/v1/kv/refused?add=1", ""));
  check_refused_for_level(exchange(node.http_port(), {"DELETE", "/v1/outcome/" + key, {}, {}, false}, requested_for));
  CHECK(node.get("/v1/kv/refused?consistent").status == 404);
  CHECK(node.put("/v1/kv/plain", "1").body.starts_with("true"));
}

/// A claim that is held, and one that waits for it.
class standing_claims {
public:
  explicit standing_claims(server_cluster& cluster) : cluster_(cluster) {
    for (auto* session : {&holder_, &waiter_}) {
      const auto made = cluster.node(0).put("/v1/session/create", R"({"Checks":[],"LockDelay":"0s"})");
      REQUIRE(made.ok());
      *session = std::string(boost::json::parse(made.body).at("ID").as_string());
      REQUIRE(eventually(milliseconds{30000}, [&] {
        const auto requested = cluster.node(0).put("/v1/claim/leader?session=" + *session, "");
        return requested.ok();
      }));
    }
  }
  void check(const std::string& holder, std::size_t waiting) const {
    for (std::size_t i = 0; i < cluster_.size(); ++i) {
      INFO("server " << i);
      const auto r = cluster_.node(i).get("/v1/claim/leader?consistent");
      REQUIRE(r.ok());
      const auto shown = boost::json::parse(r.body);
      REQUIRE(shown.at("Holders").as_array().size() == 1);
      CHECK(shown.at("Holders").at(0).at("Session").as_string() == holder);
      CHECK(shown.at("QueueLength").to_number<std::size_t>() == waiting);
    }
  }
  void check() const { check(holder_, 1); }
  /// The claim that waited all the time is granted.
  void check_handed_on() const {
    REQUIRE(eventually(requested_for, [&] {
      return exchange(cluster_.node(1).http_port(), {"DELETE", "/v1/claim/leader?id=" + holder_, {}, {}, false},
                      requested_for)
          .ok();
    }));
    check(waiter_, 0);
  }

private:
  server_cluster& cluster_;
  std::string holder_, waiter_;
};

} // namespace

// Writers use idempotency keys all the time: older servers ignore them, newer ones report the old
// server. Changes are followed at servers of this version. Claims and turns of locks continue.
TEST_CASE("keyed writes, changes, claims and locks during an upgrade, and a downgrade before its end",
          "[.upgrade][no_once_before]") {
  raise_file_limit();
  servers_of_before servers;
  auto& [old_program, new_program, cluster] = servers;
  const standing_claims claims(cluster);
  workload load(http_ports(cluster), 4);
  lockers lock_clients(http_ports(cluster), 6);
  const auto becomes = [&](std::size_t i, const server_command& program) {
    INFO("server " << i << " becomes " << program.text);
    replace(cluster.node(i), program);
    cluster.wait_ready();
    REQUIRE(load.wait_for_more(200));
    REQUIRE(lock_clients.each_gets_on(3));
    CHECK(lock_clients.two_at_once() == 0);
    claims.check();
  };
  becomes(0, new_program);
  check_mixed(cluster.node(0), "mixed-0");
  becomes(1, new_program);
  {
    crowd_of_followers crowd({cluster.node(0).http_port(), cluster.node(1).http_port()}, "watched/", 6, 2);
    keyed_writer writer(http_ports(cluster));
    for (const std::size_t i :
         {1, 0, 2}) // its followers of changes move elsewhere; the last one has the old version and may lead
      becomes(i, i == 2 ? old_program : new_program);
    check_mixed(cluster.node(0), "mixed-1");
    check_mixed(cluster.node(1), "mixed-2");
    REQUIRE(eventually(milliseconds{30000}, [&] { return writer.done() > 100; }));
    writer.stop();
    const auto last = cluster.node(0).put("/v1/kv/watched/~", "the last one");
    REQUIRE(last.header("X-Belay-Index") != nullptr);
    crowd.end_at(std::stoull(*last.header("X-Belay-Index")));
    CHECK(crowd.complaints() == std::vector<std::string>{});
    CHECK(crowd.void_states() == 0);
    CHECK(crowd.received().checker().wrong() == std::vector<std::string>{});
    CHECK(crowd.received().size() > writer.acknowledged().size());
    CHECK(crowd.resumed() >= 6);
    for (const auto& name : writer.acknowledged())
      CHECK(crowd.received().checker().known().contains(name));
    CHECK(writer.refused() > 0);
    CHECK(writer.replayed() == 0);
    std::cout << "mixed: " << writer.done() << " writes, " << writer.refused()
              << " refused with their keys first; each of 8 received " << crowd.received().size() << " changes, "
              << crowd.resumed() << " times at another server\n";
  }
  becomes(1, old_program);
  becomes(0, old_program);
  for (std::size_t i = 0; i < cluster.size(); ++i)
    becomes(i, new_program);

  // All servers support them now: each write is sent to all three, and counts once.
  REQUIRE(eventually(milliseconds{30000}, [&] { return keyed(cluster.node(0), "/v1/kv/plain", "first", "2").ok(); }));
  CHECK(keyed(cluster.node(1), "/v1/kv/plain", "first", "2").header("X-Belay-Replayed") != nullptr);
  constexpr int writes = 20;
  for (int n = 0; n < writes; ++n)
    for (std::size_t i = 0; i < cluster.size(); ++i) {
      const auto response = keyed(cluster.node(i), "/v1/kv/counted?add=1", "count-" + std::to_string(n));
      INFO(response.status << ' ' << response.error << response.body);
      CHECK(response.ok());
      CHECK((response.header("X-Belay-Replayed") != nullptr) == (i > 0));
    }
  CHECK(cluster.node(2).get("/v1/kv/counted?raw&consistent").body == std::to_string(writes));
  CHECK(cluster.node(0).get("/v1/outcome/count-0").body.find(R"("State":"done")") != std::string::npos);
  CHECK(cluster.node(0).get("/v1/kv/refused?consistent").status == 404);

  // A downgrade is no longer possible; the other servers are not affected.
  const auto follower = (cluster.wait_leader() + 1) % cluster.size();
  auto& back = cluster.node(follower);
  replace(back, old_program);
  ends_with(back, {"install Belay ", "checkpoint row that cannot be decoded"});
  REQUIRE(lock_clients.each_gets_on(3));
  becomes(follower, new_program);
  claims.check_handed_on();
  lock_clients.stop();
  CHECK(lock_clients.failed() == 0);
  CHECK(lock_clients.two_at_once() == 0);
  check_nothing_lost(cluster, load);
}

// A restore brings rows into the log. One that an older server cannot read would stop it.
TEST_CASE("an archive with outcomes is rejected while a server is older, and stops no server",
          "[.upgrade][no_once_before]") {
  raise_file_limit();
  const auto old_program = program_of_before();
  const auto new_program = server_command::from_environment(BELAY_BINARY_DIR);
  std::string with_claims, with_outcomes;
  {
    // By the old program: archives of this version name the clients of claims (feature level 8),
    // which older servers cannot read.
    server_cluster from(old_program, {1, "old", {}});
    from.start_all();
    from.wait_ready();
    const standing_claims claims(from);
    claims.check();
    with_claims = from.node(0).get("/v1/snapshot").body;
  }
  {
    server_cluster from(new_program, {1, "from", {}});
    from.start_all();
    from.wait_ready();
    REQUIRE(keyed(from.node(0), "/v1/kv/counted?add=1", "counted").ok());
    with_outcomes = from.node(0).get("/v1/snapshot").body;
  }
  server_cluster cluster(old_program, {3, "node", {}});
  cluster.start_all();
  cluster.wait_ready();
  for (const std::size_t i : {0, 1})
    replace(cluster.node(i), new_program);
  cluster.wait_ready();
  REQUIRE(cluster.node(0).put("/v1/kv/there", "1").body.starts_with("true"));
  for (const auto* leads : {"either version", "this version"}) {
    INFO("leads: " << leads);
    if (leads == std::string("this version")) { // the older one would report itself that it cannot read them
      replace(cluster.node(2), old_program);
      cluster.wait_ready();
      REQUIRE(cluster.wait_leader() != 2);
    }
    for (const std::size_t i : {0, 1})
      check_refused_for_level(cluster.node(i).put("/v1/snapshot", with_outcomes));
    CHECK(cluster.node(2).put("/v1/snapshot", with_outcomes).status == 500); // it cannot read them
    cluster.wait_ready();
    CHECK(cluster.wait_equal() == "");
    CHECK(cluster.node(2).running());
    CHECK(cluster.node(2).get("/v1/kv/there?stale").ok());
  }
  // An archive that all servers can read is restored.
  REQUIRE(eventually(requested_for, [&] { return cluster.node(0).put("/v1/snapshot", with_claims).ok(); }));
  cluster.wait_ready();
  CHECK(cluster.wait_equal() == "");
  for (std::size_t i = 0; i < cluster.size(); ++i)
    CHECK(cluster.node(i).get("/v1/claim/leader?consistent").ok());

  replace(cluster.node(2), new_program);
  cluster.wait_ready();
  REQUIRE(eventually(requested_for, [&] { return cluster.node(0).put("/v1/snapshot", with_outcomes).ok(); }));
  for (std::size_t i = 0; i < cluster.size(); ++i)
    CHECK(keyed(cluster.node(i), "/v1/kv/counted?add=1", "counted").header("X-Belay-Replayed") != nullptr);
  CHECK(cluster.wait_equal() == "");
}
