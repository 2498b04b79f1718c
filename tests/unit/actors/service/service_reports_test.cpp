// What systemd receives on $NOTIFY_SOCKET, word by word, and wrong environments.

#include "actors/service/service_reports.hpp"
#include "tests/harness/notify_socket.hpp"
#include "tests/harness/scratch.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <unistd.h>

using namespace belay;
using namespace belay::actors;
using namespace std::chrono_literals;

namespace {

constexpr watchdog::time start{1000s};

/// Sets environment variables of this test for a while.
struct variables {
  variables(const char* socket, const char* watchdog, const char* whose) {
    const auto set = [](const char* name, const char* value) {
      if (value != nullptr)
        ::setenv(name, value, 1);
      else
        ::unsetenv(name);
    };
    set("NOTIFY_SOCKET", socket);
    set("WATCHDOG_USEC", watchdog);
    set("WATCHDOG_PID", whose);
  }
  ~variables() {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"})
      ::unsetenv(name);
  }
};

service_socket opened_socket(const std::string& address) {
  auto s = service_socket::open(address);
  REQUIRE(s.ok());
  return std::move(*s);
}

} // namespace

TEST_CASE("the environment of a service is taken once, and only if it is meant for this process", "[service]") {
  using std::chrono::microseconds;
  const auto me = std::to_string(::getpid());
  {
    variables v("/run/systemd/notify", "30000000", me.c_str());
    const auto given = service_environment::take();
    CHECK(given.socket == "/run/systemd/notify");
    CHECK(given.watchdog == 30s);
    // Check scripts inherit the environment, and must not send notifications for the server.
    CHECK(std::getenv("NOTIFY_SOCKET") == nullptr);
    CHECK(std::getenv("WATCHDOG_USEC") == nullptr);
    CHECK(std::getenv("WATCHDOG_PID") == nullptr);
    CHECK(service_environment::take().socket.empty());
  }
  struct row {
    const char *watchdog, *whose;
    std::int64_t us;
  };
  const auto r = GENERATE(row{nullptr, nullptr, 0}, row{"2000000", nullptr, 2000000}, row{"2000000", "1", 0},
                          row{"", nullptr, 0}, row{"-5", nullptr, 0}, row{"5s", nullptr, 0}, row{"0", nullptr, 0},
                          row{"99999999999999999999", nullptr, 0}, row{"18446744073709551615", nullptr, 86400000000});
  variables v("@x", r.watchdog, r.whose);
  CHECK(service_environment::take().watchdog == microseconds(r.us));
}

TEST_CASE("an invalid address is rejected, and nothing listens without one", "[service]") {
  CHECK_FALSE(service_socket::open("relative").ok());
  CHECK_FALSE(service_socket::open("/").ok());
  CHECK_FALSE(service_socket::open("vsock:2:1234").ok());
  CHECK_FALSE(service_socket::open("/" + std::string(200, 'x')).ok());
  CHECK_FALSE(opened_socket("").wanted());
  CHECK(opened_socket("").notify("READY=1\n").ok());
  CHECK_FALSE(opened_socket("/nonexistent/socket").notify("READY=1\n").ok());
}

TEST_CASE("an abstract socket is spoken to as well as one in a folder", "[service]") {
  harness::scratch_folder folder;
  for (const auto& name : {folder / "notify", "@belay-test-" + std::to_string(::getpid())}) {
    INFO(name);
    harness::notify_socket manager(name);
    CHECK(opened_socket(name).notify("READY=1\n").ok());
    CHECK(manager.next(harness::milliseconds{5000}) == "READY=1\n");
  }
}

TEST_CASE("a service manager is notified of a start, heartbeats, a reload and the end", "[service]") {
  harness::scratch_folder folder;
  harness::notify_socket manager(folder / "notify");
  const auto received = [&] { return manager.next(harness::milliseconds{0}); };
  service_reports reports(opened_socket(folder / "notify"), 4s);
  auto numbers = std::make_shared<vitals>();
  const auto move = [&] {
    ++numbers->http_rounds[0];
    ++numbers->raft_rounds;
  };
  CHECK(received() == "");
  reports.ready(numbers, start);
  CHECK(received() == "READY=1\nSTATUS=Has no leader; index 0\n");
  CHECK(reports.until_due(start) == 0s);
  move();
  reports.look(start);
  CHECK(received() == "WATCHDOG=1\n");
  CHECK(reports.until_due(start) == 1s);
  reports.look(start + 999ms); // a signal came: nothing is due
  CHECK(received() == "");

  move();
  numbers->standing = cluster_standing::leads;
  numbers->applied_index = 17;
  reports.look(start + 1s);
  CHECK(received() == "WATCHDOG=1\nSTATUS=Leads the cluster; index 17\n");

  // The HTTP thread hangs from here on; Raft continues, so the index rises.
  for (int n = 2; n < 9; ++n) {
    ++numbers->raft_rounds;
    numbers->applied_index = static_cast<std::uint64_t>(16 + n);
    reports.look(start + std::chrono::seconds(n));
    const auto fed = received().find("WATCHDOG=1") != std::string::npos;
    CHECK(fed == (n == 2));
  }
  move();
  reports.look(start + 9s);
  CHECK(received() == "WATCHDOG=1\n");

  reports.reloading(start + 9500ms);
  CHECK(received() == "RELOADING=1\n"
                      "MONOTONIC_USEC=1009500000\n"
                      "STATUS=Reloads its configuration\n");
  reports.reloaded(false, start + 9600ms);
  CHECK(received() == "READY=1\n"
                      "STATUS=Leads the cluster; index 24; the last reload failed: see the log\n");
  reports.reloading(start + 9700ms);
  received();
  reports.reloaded(true, start + 9800ms);
  CHECK(received() == "READY=1\nSTATUS=Leads the cluster; index 24\n");
  reports.stopping();
  CHECK(received() == "STOPPING=1\n"
                      "STATUS=Completes pending requests and stops\n");
}

TEST_CASE("each of several HTTP threads must make progress", "[service]") {
  vitals numbers;
  numbers.http_threads = 3;
  numbers.http_rounds[0] = 7;
  numbers.http_rounds[1] = 5;
  numbers.http_rounds[2] = 9;
  CHECK(numbers.fewest_http_rounds() == 5);
  numbers.http_rounds[0] = 100;
  CHECK(numbers.fewest_http_rounds() == 5);
  numbers.http_rounds[1] = 6;
  CHECK(numbers.fewest_http_rounds() == 6);
}

TEST_CASE("without a watchdog only changes are sent", "[service]") {
  harness::scratch_folder folder;
  harness::notify_socket manager(folder / "notify");
  const auto received = [&] { return manager.next(harness::milliseconds{0}); };
  service_reports reports(opened_socket(folder / "notify"), 0s);
  auto numbers = std::make_shared<vitals>();
  reports.ready(numbers, start);
  received();
  reports.look(start);
  reports.look(start + 60s);
  CHECK(received() == "");
  numbers->standing = cluster_standing::follows;
  reports.look(start + 120s);
  CHECK(received() == "STATUS=Follows a leader; index 0\n");
}

TEST_CASE("a client agent has no Raft, and is alive while its one thread makes progress", "[service]") {
  harness::scratch_folder folder;
  harness::notify_socket manager(folder / "notify");
  const auto received = [&] { return manager.next(harness::milliseconds{0}); };
  service_reports reports(opened_socket(folder / "notify"), 4s);
  auto numbers = std::make_shared<vitals>();
  numbers->has_raft = false;
  numbers->standing = cluster_standing::cut_off;
  reports.ready(numbers, start);
  CHECK(received() == "READY=1\n"
                      "STATUS=Client agent, no server reached\n");
  numbers->standing = cluster_standing::relays;
  for (int n = 1; n < 9; ++n) {
    if (n < 4)
      ++numbers->http_rounds[0];
    reports.look(start + std::chrono::seconds(n));
    const auto response = received();
    CHECK((response.find("WATCHDOG=1") != std::string::npos) == (n < 5));
    CHECK((response.find("STATUS=Client agent, servers reached\n") != std::string::npos) == (n == 1));
  }
}

TEST_CASE("without a service manager there is nothing to do", "[service]") {
  service_reports reports(service_socket(), 4s);
  reports.ready(std::make_shared<vitals>(), start);
  CHECK(reports.until_due(start + 5s) == 1h);
  reports.look(start + 5s);
  reports.reloading(start + 5s);
  reports.reloaded(true, start + 5s);
  reports.stopping();
}

// A reload may wait for names or disks, a departure for servers: neither is a stall.
TEST_CASE("heartbeats are sent while the thread that handles signals is busy, and none after the end", "[service]") {
  using harness::milliseconds;
  harness::scratch_folder folder;
  harness::notify_socket manager(folder / "notify");
  auto numbers = std::make_shared<vitals>();
  std::atomic<bool> moves = true;
  std::thread parts([&] {
    for (; moves; std::this_thread::sleep_for(5ms)) {
      ++numbers->http_rounds[0];
      ++numbers->raft_rounds;
    }
  });
  {
    service_reporter reporter(service_reports(opened_socket(folder / "notify"), 2s));
    reporter.ready(numbers);
    CHECK(manager.received("READY=1", milliseconds{20000}));
    reporter.reloading();
    CHECK(manager.received("RELOADING=1", milliseconds{20000}));
    for (int i = 0; i < 3; ++i)
      CHECK(manager.received("WATCHDOG=1", milliseconds{20000}));
    reporter.reloaded(true);
    CHECK(manager.received("READY=1", milliseconds{20000}));
    reporter.stopping();
    CHECK(manager.received("STOPPING=1", milliseconds{20000}));
    manager.drain();
    reporter.stopping(); // a second signal
    CHECK(manager.next(milliseconds{1500}) == "");
  }
  moves = false;
  parts.join();
  service_reporter silent(service_reports(service_socket(), 2s));
  silent.ready(numbers);
  silent.stopping();
}
