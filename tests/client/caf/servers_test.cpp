// Actors and a real server: what actors hold, how soon the next one gets it, and the end of the
// session. BELAY_CAF_ROUNDS=200 measures that many rounds, and prints them (docs/guides/client.md).
#include "tests/client/servers.hpp"

#include <belay/caf/coordinator.hpp>

#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <cstdio>
#include <thread>

using namespace belay::client_tests;
using belay::milliseconds;
using std::chrono::steady_clock;
namespace ask = belay::caf;

namespace {

class system_with_messages {
public:
  system_with_messages() : system(ask::add_to(config_)) {}

private:
  ::caf::actor_system_config config_;

public:
  ::caf::actor_system system;
};

/// Closes the coordinator, and waits until it has ended.
void close(::caf::scoped_actor& self, const ask::coordinator_actor& c) {
  self->request(c, seconds(10), ask::close())
      .receive([] {}, [](::caf::error& e) { FAIL_CHECK(ask::error_of(e).text()); });
}

/// Requests the lock, and forwards what it receives.
::caf::behavior holder(::caf::event_based_actor* self, const ask::coordinator_actor& c, const ::caf::actor& boss,
                       std::string key) {
  ask::lock wanted;
  wanted.key = std::move(key);
  wanted.within = seconds(60);
  self->request(c, ::caf::infinite, wanted)
      .then([=](ask::grant& g) { self->send(boss, g); }, [=](::caf::error& e) { self->quit(e); });
  return {[=](ask::lost& m) { self->send(boss, m); }};
}

double us(steady_clock::duration d) {
  return std::chrono::duration<double, std::micro>(d).count();
}

/// An actor that holds the lock is killed, and the next one is granted it.
void measure(::caf::scoped_actor& self, const std::vector<ask::coordinator_actor>& coordinators, const char* name,
             int rounds) {
  std::vector<double> took;
  auto key = std::string("rounds/") + name;
  auto take = [&](int round) {
    auto c = coordinators[static_cast<std::size_t>(round) % coordinators.size()];
    return self->spawn(holder, c, ::caf::actor_cast<::caf::actor>(self), key);
  };
  auto granted = [&] {
    std::uint64_t fence = 0;
    self->receive([&](ask::grant& g) { fence = g.fence; },
                  ::caf::after(seconds(20)) >> [] { FAIL("nobody is granted it"); });
    return fence;
  };
  auto has = take(0);
  auto last = granted();
  for (int round = 1; round <= rounds; ++round) {
    auto waits = take(round);
    std::this_thread::sleep_for(milliseconds(20)); // it is in the queue
    auto begun = steady_clock::now();
    ::caf::anon_send_exit(has, ::caf::exit_reason::kill);
    auto fence = granted();
    took.push_back(us(steady_clock::now() - begun));
    CHECK(fence > last);
    last = fence;
    has = waits;
  }
  ::caf::anon_send_exit(has, ::caf::exit_reason::kill);
  std::sort(took.begin(), took.end());
  auto at = [&](double part) { return took[static_cast<std::size_t>(part * static_cast<double>(took.size() - 1))]; };
  if (rounds >= 100)
    std::printf("actor dies, next holder (%s): p50 %.0f us, p99 %.0f us, most %.0f us, %d rounds\n", name, at(0.5),
                at(0.99), took.back(), rounds);
  CHECK(at(0.5) < 1e6);
}

} // namespace

TEST_CASE("caf: an actor dies and the next one has its lock, on a real server", "[caf]") {
  auto cluster = started(our_server(), 1);
  auto rounds = std::stoi(belay::harness::environment("BELAY_CAF_ROUNDS", "4"));
  system_with_messages s;
  ::caf::scoped_actor self(s.system);
  auto options = options_for(*cluster);
  auto one = ask::coordinator(s.system, options);
  auto other = ask::coordinator(s.system, options);
  measure(self, {one, other}, "of another coordinator", rounds);
  measure(self, {one}, "of the same coordinator", rounds);
  close(self, other);

  // The holder is notified of the end of the session.
  // An actor without references ends, and its lease with it: so keep one.
  auto is_notified = self->spawn(holder, one, ::caf::actor_cast<::caf::actor>(self), "told");
  std::uint64_t id = 0;
  self->receive([&](ask::grant& g) {
    id = g.id;
    CHECK(g.safe());
    CHECK(g.safe_for <= options.session.ttl);
  });
  std::string session;
  self->request(one, seconds(5), ask::look_at_session())
      .receive([&](ask::session_now& now) { session = now.id; }, [](::caf::error& e) { FAIL(to_string(e)); });
  cluster->node(0).put("/v1/session/destroy/" + session, "");
  self->receive([&](ask::lost& l) {
    CHECK(l.id == id);
    CHECK(l.reason == "destroyed");
  });
  // The next request gets a new session, until the coordinator is closed.
  auto again = self->spawn(holder, one, ::caf::actor_cast<::caf::actor>(self), "again");
  self->receive([](ask::grant&) {});
  CHECK(cluster->node(0).get("/v1/session/list").body != "[]");
  ::caf::anon_send_exit(one, ::caf::exit_reason::user_shutdown);
  self->receive([](ask::lost& l) { CHECK(l.reason == "the coordinator was closed"); });
  self->wait_for(one);
  CHECK(cluster->node(0).get("/v1/session/list").body == "[]");
  for (const auto& each : {is_notified, again})
    ::caf::anon_send_exit(each, ::caf::exit_reason::kill);
}

// 70 names are waited for, over 64 connections: renewals and short requests still get through.
TEST_CASE("caf: actors that wait for many names leave connections to renewals and short calls", "[caf]") {
  auto cluster = started(our_server(), 1);
  system_with_messages s;
  ::caf::scoped_actor self(s.system);
  auto boss = ::caf::actor_cast<::caf::actor>(self);
  auto other = ask::coordinator(s.system, options_for(*cluster, milliseconds(30000)));
  auto waits = ask::coordinator(s.system, options_for(*cluster, milliseconds(3000)));
  std::vector<::caf::actor> all;
  auto own = self->spawn(holder, waits, boss, "own");
  self->receive([](ask::grant&) {});
  for (auto c : {other, waits})
    for (int i = 0; i < 70; ++i) {
      all.push_back(self->spawn(holder, c, boss, "n" + std::to_string(i)));
      if (c == other)
        self->receive([](ask::grant&) {});
    }
  for (int i = 0; i < 9; ++i) {
    std::this_thread::sleep_for(seconds(1));
    ask::put short_one;
    short_one.key = "k";
    short_one.within = seconds(2);
    self->request(waits, ::caf::infinite, short_one)
        .receive([] {}, [](::caf::error& e) { FAIL_CHECK(ask::error_of(e).text()); });
  }
  self->request(waits, seconds(5), ask::look_at_session())
      .receive([](ask::session_now& now) { CHECK(now.leases == 1); }, [](::caf::error& e) { FAIL(to_string(e)); });
  for (const auto& each : all)
    ::caf::anon_send_exit(each, ::caf::exit_reason::kill);
  close(self, waits);
  close(self, other);
  ::caf::anon_send_exit(own, ::caf::exit_reason::kill);
}

TEST_CASE("caf: no server listens, options are wrong, and errors are shown", "[caf]") {
  system_with_messages s;
  ::caf::scoped_actor self(s.system);
  for (auto [server, why] :
       {std::pair("http://127.0.0.1:1", belay::reason::unavailable), std::pair("ftp://x", belay::reason::invalid)}) {
    belay::client_options options;
    options.servers = {server};
    auto c = ask::coordinator(s.system, options);
    ask::lock wanted;
    wanted.key = "x";
    wanted.within = milliseconds(300);
    self->request(c, seconds(10), wanted)
        .receive([](ask::grant&) { FAIL("granted"); },
                 [&, expected = why](::caf::error& e) {
                   CHECK(ask::error_of(e).reason() == expected);
                   CHECK(s.system.render(e).substr(0, 9) == "refused (");
                 });
    close(self, c);
  }
  CHECK(ask::error_of(::caf::sec::request_timeout).outcome() == belay::outcome::unknown);
}
