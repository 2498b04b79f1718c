#include "tests/cluster/cluster_fixture.hpp"

#include <atomic>
#include <iostream>
#include <mutex>
#include <set>
#include <thread>

using namespace belay::harness;

namespace {

constexpr milliseconds timeout{2000};
constexpr std::size_t writers_count = 8;
constexpr auto counter = "/v1/kv/counted?add=1";

/// Writers that increment counters. Each write is sent until a response has its outcome.
class counting_writers {
public:
  explicit counting_writers(std::vector<std::uint16_t> ports) : ports_(std::move(ports)) {
    for (std::size_t i = 0; i < writers_count; ++i)
      threads_.emplace_back([this, i] { write(i); });
  }
  ~counting_writers() { join(); }

  /// Sends this many more writes, as fast as possible.
  void go_on(std::size_t writes) {
    requested_for_ += writes;
    left_ += static_cast<std::int64_t>(writes);
  }
  /// Returns when all outcomes are known.
  void join() {
    ending_ = true;
    for (auto& t : threads_)
      if (t.joinable())
        t.join();
  }
  std::size_t done() const { return done_; }
  bool all_done() const { return done_ == requested_for_; }
  std::size_t replayed() const { return replayed_; }
  std::size_t sent() const { return sent_; }
  /// How often the outcome was unknown: 500, 408, or no response.
  std::size_t untold() const { return untold_; }
  /// The sums in responses, each from one write.
  const std::set<std::int64_t>& sums() const { return sums_; }
  const std::vector<std::string>& complaints() const { return complaints_; }

private:
  void write(std::size_t number) {
    for (std::size_t n = 0;;) {
      if (left_.fetch_sub(1) > 0) {
        until_known(number, "w" + std::to_string(number) + "-" + std::to_string(n++));
        continue;
      }
      ++left_;
      if (ending_)
        return;
      std::this_thread::sleep_for(milliseconds{1});
    }
  }

  void until_known(std::size_t number, const std::string& key) {
    const http_request request{"PUT", counter, {{"Idempotency-Key", key}}, std::nullopt, false};
    for (std::size_t attempt = number;; ++attempt) {
      http_connection c(ports_[attempt % ports_.size()]);
      ++sent_;
      // Some responses to first copies are lost with the connection.
      if (attempt == number && (number + done_) % 3 == 0) {
        c.send(request, timeout);
        c.close();
        ++untold_;
        continue;
      }
      const auto r = c.ask(request, timeout);
      if (r.ok())
        return note(r);
      if (r.error.empty() && r.status != 500 && r.status != 408)
        return complain(key + " was answered " + std::to_string(r.status) + " " + r.body);
      ++untold_;
      std::this_thread::sleep_for(milliseconds{20});
    }
  }

  void note(const http_reply& r) {
    const std::lock_guard lock(mutex_);
    ++done_;
    replayed_ += r.header("X-Belay-Replayed") != nullptr ? 1 : 0;
    const auto sum = boost::json::parse(r.body).at("Value").to_number<std::int64_t>();
    if (!sums_.insert(sum).second)
      complaints_.push_back("two writes were told the sum " + std::to_string(sum));
  }
  void complain(std::string text) {
    const std::lock_guard lock(mutex_);
    complaints_.push_back(std::move(text));
  }

  std::vector<std::uint16_t> ports_;
  std::atomic<bool> ending_{false};
  std::atomic<std::int64_t> left_{0};
  std::atomic<std::size_t> requested_for_{0};
  std::atomic<std::size_t> done_{0}, replayed_{0}, sent_{0}, untold_{0};
  std::mutex mutex_;
  std::set<std::int64_t> sums_;
  std::vector<std::string> complaints_;
  std::vector<std::thread> threads_;
};

/// A server is isolated, or cannot send, or a link is cut. The others continue.
void cut_links(server_cluster& cluster, std::size_t leader, const counting_writers& writers, std::size_t round) {
  INFO("round " << round);
  auto& links = cluster.links();
  const auto follower = (leader + 1) % 3, other = (leader + 2) % 3;
  const auto stays_alone = [&](std::size_t node) {
    CHECK_FALSE(cluster.node(node).get("/v1/kv/counted?consistent", milliseconds{600}).ok());
  };
  switch (round % 4) {
  case 0:
    links.isolate(follower);
    stays_alone(follower);
    break;
  case 1:
    links.isolate(leader);
    stays_alone(leader);
    break;
  case 2:
    links.cut(leader, follower);
    links.cut(leader, other);
    stays_alone(leader);
    break;
  default:
    links.cut(leader, follower);
    links.cut(follower, leader);
    std::this_thread::sleep_for(milliseconds{600});
    break;
  }
  const auto before = writers.done();
  CHECK(eventually(milliseconds{30000}, [&] { return writers.done() > before || writers.all_done(); }));
  links.heal();
}

/// In every other round the remaining servers cannot communicate at first.
void kill_leader(server_cluster& cluster, std::size_t leader, std::size_t round) {
  const auto one = (leader + 1) % 3, other = (leader + 2) % 3;
  if (round % 2 == 0) {
    cluster.links().cut(one, other);
    cluster.links().cut(other, one);
  }
  cluster.node(leader).kill_hard();
  if (round % 2 == 0) {
    std::this_thread::sleep_for(milliseconds{400});
    cluster.links().heal();
  }
  const auto next = cluster.wait_leader();
  cluster.node(next).pause();
  std::this_thread::sleep_for(milliseconds{300});
  cluster.node(next).resume();
  cluster.node(leader).start();
  cluster.wait_ready();
}

} // namespace

// Responses are lost, leaders are killed, links are cut, a server is paused; every write is sent
// until its outcome is known. Each must take effect once.
TEST_CASE("writes with idempotency keys take effect once", "[exactly_once]") {
  const auto writes = number_from_environment("BELAY_ONCE_WRITES", 600);
  const auto rounds = number_from_environment("BELAY_CLUSTER_ROUNDS", 3);
  auto cluster = ready_cluster(3, {}, true);
  counting_writers writers(http_ports(*cluster));
  std::size_t requested_for = 0;
  // A burst of writes, with faults in the middle.
  const auto burst = [&](std::size_t so_far) {
    writers.go_on(writes * so_far / (2 * rounds) - requested_for);
    requested_for = writes * so_far / (2 * rounds);
    std::this_thread::sleep_for(milliseconds{5 + 7 * (so_far % 5)});
  };
  for (std::size_t k = 1; k <= rounds; ++k) {
    const auto begun = std::chrono::steady_clock::now();
    auto leader = cluster->wait_leader();
    burst(2 * k - 1);
    kill_leader(*cluster, leader, k);
    leader = cluster->wait_leader();
    const auto killed = seconds_since(begun);
    burst(2 * k);
    cut_links(*cluster, leader, writers, k);
    const auto healed = seconds_since(begun);
    cluster->wait_ready();
    REQUIRE(eventually(milliseconds{60000}, [&] { return writers.all_done(); }));
    std::cout << "round " << k << ": killed and back " << killed << " s, healed after " << healed
              << " s, all known after " << seconds_since(begun) << " s\n";
  }
  writers.join();
  cluster->wait_ready();
  CHECK(cluster->wait_equal() == "");
  CHECK(writers.complaints() == std::vector<std::string>{});
  CHECK(writers.done() == writes);
  CHECK(writers.sums().size() == writes);
  for (const auto port : http_ports(*cluster))
    CHECK(http_get(port, "/v1/kv/counted?raw&consistent").body == std::to_string(writes));
  std::cout << writes << " writes, " << rounds << " leaders killed, links cut " << rounds + rounds / 2
            << " times: sent " << writers.sent() << " times, " << writers.untold()
            << " times untold what became of it, " << writers.replayed() << " answered again\n";
  CHECK(writers.replayed() > 0);
}

TEST_CASE("a cancelled write never takes effect, through whichever server it arrives", "[exactly_once]") {
  auto cluster = ready_cluster(3);
  const auto ports = http_ports(*cluster);
  const auto put = [&](std::size_t node, const std::string& key) {
    return exchange(ports[node], {"PUT", counter, {{"Idempotency-Key", key}}, std::nullopt, false}, timeout);
  };
  const auto outcome = [&](std::size_t node, const std::string& key) {
    return exchange(ports[node], {"GET", "/v1/outcome/" + key, {}, std::nullopt, false}, timeout);
  };
  const auto cancel = [&](std::size_t node, const std::string& key) {
    return exchange(ports[node], {"PUT", "/v1/outcome/" + key + "/cancel", {}, std::nullopt, false}, timeout);
  };
  CHECK(outcome(0, "a").status == 404);
  CHECK(cancel(0, "a").body.find(R"("State":"cancelled")") != std::string::npos);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(put(i, "a").status == 410);
    CHECK(outcome(i, "a").body.find(R"("State":"cancelled")") != std::string::npos);
  }
  REQUIRE(put(1, "b").ok());
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(cancel(i, "b").body.find(R"("State":"done")") != std::string::npos);
    CHECK(put(i, "b").header("X-Belay-Replayed") != nullptr);
  }
  CHECK(http_get(ports[0], "/v1/kv/counted?raw&consistent").body == "1");
}
