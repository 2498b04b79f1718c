// Two nodes of one actor system: one publishes the coordinator, the other one's actor has a lock.
#include "tests/client/servers.hpp"

#include <belay/caf/coordinator.hpp>

#include <caf/event_based_actor.hpp>
#include <caf/io/middleman.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace belay::client_tests;
using belay::milliseconds;
namespace ask = belay::caf;

namespace {

/// A node, with settings that do not come from the command line of the tests.
class node_config : public caf::actor_system_config {
public:
  node_config() {
    load<caf::io::middleman>();
    ask::add_to(*this);
    set("middleman.heartbeat-interval", caf::timespan(milliseconds(100)));
    set("middleman.connection-timeout", caf::timespan(milliseconds(600)));
  }
};

ask::lock shared_lock() {
  ask::lock m;
  m.key = "shared";
  m.within = seconds(60);
  return m;
}

class other_node {
public:
  explicit other_node(std::uint16_t port) {
    auto number = std::to_string(port);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setenv("BELAY_CAF_NODE", number.c_str(), 1);
      ::execl("/proc/self/exe", "test_client_caf", "[.caf-node]", static_cast<char*>(nullptr));
      ::_exit(127);
    }
  }
  ~other_node() {
    send(SIGKILL);
    int ended = 0;
    ::waitpid(pid_, &ended, 0);
  }
  other_node(const other_node&) = delete;
  other_node& operator=(const other_node&) = delete;
  void send(int signal) { ::kill(pid_, signal); }

private:
  pid_t pid_ = -1;
};

} // namespace

// The program of the other node.
TEST_CASE("caf: a node whose actor acquires the lock and keeps it", "[.caf-node]") {
  auto port = static_cast<std::uint16_t>(std::stoi(belay::harness::environment("BELAY_CAF_NODE", "0")));
  node_config config;
  caf::actor_system system(config);
  caf::scoped_actor self(system);
  auto c = system.middleman().remote_actor<ask::coordinator_actor>("127.0.0.1", port);
  REQUIRE(c);
  self->request(*c, caf::infinite, shared_lock()).receive([](ask::grant&) {}, [](caf::error&) {});
  std::this_thread::sleep_for(seconds(60));
}

TEST_CASE("caf: a node dies, or hangs, and its actor's lease ends", "[caf]") {
  auto cluster = started(our_server(), 1);
  node_config config;
  caf::actor_system system(config);
  caf::scoped_actor self(system);
  auto c = ask::coordinator(system, options_for(*cluster));
  auto port = system.middleman().publish(c, 0, "127.0.0.1");
  REQUIRE(port);
  for (int signal : {SIGKILL, SIGSTOP}) {
    INFO((signal == SIGKILL ? "killed" : "stopped"));
    other_node other(*port);
    REQUIRE(belay::harness::eventually(seconds(30), [&] {
      std::uint64_t leases = 0;
      self->request(c, seconds(5), ask::look_at_session())
          .receive([&](ask::session_now& now) { leases = now.leases; }, [](caf::error&) {});
      return leases == 1;
    }));
    auto next = self->request(c, caf::infinite, shared_lock());
    std::this_thread::sleep_for(milliseconds(100));
    auto begun = std::chrono::steady_clock::now();
    other.send(signal);
    std::uint64_t id = 0;
    next.receive([&](ask::grant& g) { id = g.id; }, [](caf::error& e) { FAIL(to_string(e)); });
    auto took = std::chrono::steady_clock::now() - begun;
    CHECK(took < seconds(10));
    if (belay::harness::environment("BELAY_CAF_ROUNDS", "") != "")
      std::printf("node %s, next holder: %.1f ms\n", signal == SIGKILL ? "killed" : "stopped",
                  std::chrono::duration<double, std::milli>(took).count());
    ask::release given_back;
    given_back.id = id;
    self->request(c, seconds(5), given_back).receive([] {}, [](caf::error& e) { FAIL(to_string(e)); });
  }
  caf::anon_send_exit(c, caf::exit_reason::user_shutdown);
  self->wait_for(c);
}
