// Host names: a name server that does not respond must delay nothing, least of all heartbeats.

#include "actors/names/name_lookups.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

using namespace belay::actors;

namespace {

/// A name server that waits until the test lets it answer; its threads may outlive the test.
struct slow_server {
  std::mutex mutex;
  std::condition_variable changed;
  bool answers = false;
  std::atomic<int> requested{0};
};

name_lookups::lookup lookup_asking(std::shared_ptr<slow_server> s) {
  return [s](const std::string& host) -> name_lookups::addresses {
    ++s->requested;
    if (host.find("slow") == 0) {
      std::unique_lock lock(s->mutex);
      s->changed.wait(lock, [&] { return s->answers; });
    }
    if (host == "nobody")
      return {};
    return all_resolved("10.0.0.7", nullptr, 0);
  };
}

std::optional<socket_endpoint> found_soon(name_lookups& names, const std::string& host) {
  for (int i = 0; i < 2000; ++i) {
    if (auto e = names.find(host, 8300))
      return e;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return std::nullopt;
}

} // namespace

TEST_CASE("addresses need no name server", "[name_lookups]") {
  name_lookups names([](const std::string&) -> name_lookups::addresses { std::abort(); });
  for (const auto* host : {"127.0.0.1", "::1"}) {
    const auto e = names.find(host, 8300);
    REQUIRE(e);
    CHECK(host_text(*e) == host);
  }
  CHECK_FALSE(names.find("", 8300));
}

TEST_CASE("the number of names is bounded, whichever client brings them", "[name_lookups]") {
  const auto requested = std::make_shared<std::atomic<int>>(0);
  name_lookups names([requested](const std::string&) {
    ++*requested;
    return all_resolved("10.0.0.7", nullptr, 0);
  });
  for (int i = 0; i < 200; ++i)
    (void)names.find("name" + std::to_string(i), 8300);
  CHECK(found_soon(names, "name0"));
  CHECK_FALSE(names.find("name199", 8300));
  CHECK(*requested <= 64);
}

TEST_CASE("a name that is not answered delays neither the caller nor other names", "[name_lookups]") {
  // If find() waited, this test would not end: the answer is given only afterwards.
  const auto server = std::make_shared<slow_server>();
  name_lookups names(lookup_asking(server));
  for (int i = 0; i < 100; ++i)
    CHECK_FALSE(names.find("slow", 8300));
  const auto quick = found_soon(names, "quick");
  REQUIRE(quick);
  CHECK(host_text(*quick) == "10.0.0.7");
  CHECK_FALSE(names.find("slow", 8300));
  while (server->requested < 2) // the thread that looks up the slow name may start late
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(server->requested == 2); // once for each name, however often it was requested
  {
    std::lock_guard lock(server->mutex);
    server->answers = true;
  }
  server->changed.notify_all();
  CHECK(found_soon(names, "slow"));
}

TEST_CASE("after a failed connection the next address of a name is tried, and a good one is kept", "[name_lookups]") {
  name_lookups names([](const std::string&) {
    return name_lookups::addresses{*numeric_endpoint("::1", 0), *numeric_endpoint("10.0.0.7", 0)};
  });
  const auto next = [&] { return host_text(*found_soon(names, "two")); };
  CHECK(next() == "::1");
  names.failed("two");
  names.failed("two"); // two connections to that address were begun
  CHECK(next() == "10.0.0.7");
  CHECK(next() == "10.0.0.7");
  names.failed("two");
  CHECK(next() == "::1");
  names.failed("unknown");
}

namespace {

/// Records results; requested on one thread, called on another.
struct listener {
  std::mutex mutex;
  std::vector<std::size_t> answers; ///< the number of addresses in each result
  std::shared_ptr<name_lookups::answered> then =
      std::make_shared<name_lookups::answered>([this](const name_lookups::addresses& list) {
        std::lock_guard lock(mutex);
        answers.push_back(list.size());
      });

  std::vector<std::size_t> received() {
    std::lock_guard lock(mutex);
    return answers;
  }
  bool notified_soon() {
    for (int i = 0; i < 2000 && received().empty(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return !received().empty();
  }
};

void let_answer(slow_server& server) {
  {
    std::lock_guard lock(server.mutex);
    server.answers = true;
  }
  server.changed.notify_all();
}

} // namespace

TEST_CASE("a request for a name is answered once, and repeated ones are answered again", "[name_lookups]") {
  const auto server = std::make_shared<slow_server>();
  name_lookups names(lookup_asking(server));
  listener first, second, third, gone;
  names.ask("slow", first.then);
  names.ask("slow", second.then);
  names.ask("slow", gone.then);
  gone.then.reset();
  CHECK(first.received().empty());
  let_answer(*server);
  REQUIRE(first.notified_soon());
  REQUIRE(second.notified_soon());
  names.ask("slow", third.then);
  CHECK(first.received() == std::vector<std::size_t>{1});
  CHECK(third.received() == std::vector<std::size_t>{1});
  CHECK(gone.received().empty());
  CHECK(server->requested == 1);

  listener nobody, too_long;
  names.ask("nobody", nobody.then);
  REQUIRE(nobody.notified_soon());
  CHECK(nobody.received() == std::vector<std::size_t>{0});
  names.ask(std::string(1 << 20, 'a'), too_long.then);
  CHECK(too_long.received() == std::vector<std::size_t>{0});
}

TEST_CASE("unresolved names take no more threads than the limit, and the others follow when one is free",
          "[name_lookups]") {
  const auto server = std::make_shared<slow_server>();
  name_lookups names(lookup_asking(server), 64, 2);
  std::vector<std::unique_ptr<listener>> all;
  for (int i = 0; i < 10; ++i)
    names.ask("slow" + std::to_string(i), all.emplace_back(std::make_unique<listener>())->then);
  CHECK(server->requested <= 2);
  let_answer(*server);
  for (const auto& each : all)
    CHECK(each->notified_soon());
  CHECK(server->requested == 10);
}

TEST_CASE("an IPv4 address is one, whatever kind of socket it was seen through", "[name_lookups]") {
  // On an IPv6 socket a member's address is ::ffff:10.0.0.7, which no configuration names.
  for (const auto* seen : {"10.0.0.7", "::ffff:10.0.0.7"})
    CHECK(host_text(*numeric_endpoint(seen, 8300)) == "10.0.0.7");
}
