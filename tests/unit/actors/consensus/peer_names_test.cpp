// Names of peers: a name server that does not answer must hold up nobody, least of all heartbeats.

#include "actors/consensus/peer_names.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

using namespace belay::actors;

namespace {

/// A name server that waits until it is told to answer; as threads do, it may outlive the test.
struct slow_server {
  std::mutex mutex;
  std::condition_variable changed;
  bool answers = false;
  std::atomic<int> asked{0};
};

peer_names::lookup asking(std::shared_ptr<slow_server> s) {
  return [s](const std::string& host) -> std::optional<socket_endpoint> {
    ++s->asked;
    if (host != "quick") {
      std::unique_lock lock(s->mutex);
      s->changed.wait(lock, [&] { return s->answers; });
    }
    return numeric_endpoint("10.0.0.7", 0);
  };
}

std::optional<socket_endpoint> found_soon(peer_names& names, const std::string& host) {
  for (int i = 0; i < 2000; ++i) {
    if (auto e = names.find(host, 8300))
      return e;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return std::nullopt;
}

} // namespace

TEST_CASE("addresses need no name server", "[peer_names]") {
  peer_names names([](const std::string&) -> std::optional<socket_endpoint> { std::abort(); });
  for (const auto* host : {"127.0.0.1", "::1"}) {
    const auto e = names.find(host, 8300);
    REQUIRE(e);
    CHECK(host_text(*e) == host);
  }
  CHECK_FALSE(names.find("", 8300));
}

TEST_CASE("an IPv4 address is one, whatever kind of socket it was seen through", "[peer_names]") {
  // On a socket of IPv6 a member's connections came from ::ffff:10.0.0.7, which no configuration names.
  for (const auto* seen : {"10.0.0.7", "::ffff:10.0.0.7"})
    CHECK(host_text(*numeric_endpoint(seen, 8300)) == "10.0.0.7");
}

TEST_CASE("names are few, whoever brings them", "[peer_names]") {
  const auto asked = std::make_shared<std::atomic<int>>(0);
  peer_names names([asked](const std::string&) {
    ++*asked;
    return numeric_endpoint("10.0.0.7", 0);
  });
  for (int i = 0; i < 200; ++i)
    (void)names.find("name" + std::to_string(i), 8300);
  CHECK(found_soon(names, "name0"));
  CHECK_FALSE(names.find("name199", 8300));
  CHECK(*asked <= 64);
}

TEST_CASE("a name that is not answered holds up neither the asker nor other names", "[peer_names]") {
  // Were find() to wait, this test would not end: the answer is given only afterwards.
  const auto server = std::make_shared<slow_server>();
  peer_names names(asking(server));
  for (int i = 0; i < 100; ++i)
    CHECK_FALSE(names.find("slow", 8300));
  const auto quick = found_soon(names, "quick");
  REQUIRE(quick);
  CHECK(host_text(*quick) == "10.0.0.7");
  CHECK_FALSE(names.find("slow", 8300));
  CHECK(server->asked == 2); // once for each name, however often it was wanted
  {
    std::lock_guard lock(server->mutex);
    server->answers = true;
  }
  server->changed.notify_all();
  CHECK(found_soon(names, "slow"));
}
