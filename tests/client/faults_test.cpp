// Failures outside the library: servers that stop, hang and restart, callers that give up, forks.
#include "tests/client/servers.hpp"

#include <atomic>
#include <cstdlib>
#include <fcntl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace belay;
using namespace belay::client_tests;
using std::chrono::steady_clock;

namespace {

milliseconds since(steady_clock::time_point begun) {
  return std::chrono::duration_cast<milliseconds>(steady_clock::now() - begun);
}

} // namespace

// Three servers. The one in use is killed while a lock is held and another client waits for it;
// then the next one hangs. The session survives, and calls continue to work.
TEST_CASE("client: servers are lost, and held locks stay held", "[client]") {
  auto cluster = started(our_server(), 3);
  client a(options_for(*cluster));
  client b(options_for(*cluster));
  auto held = a.lock("x").acquire(seconds(10));
  REQUIRE(held);
  std::atomic<bool> second_has_it = false;
  std::thread waits([&] {
    auto second = b.lock("x").acquire(seconds(60));
    second_has_it = second.done();
    CHECK(second);
  });
  REQUIRE(a.put("k", "1"));
  cluster->node(0).kill_hard();
  CHECK(harness::eventually(seconds(20), [&] { return a.put("k", "2", seconds(2)).done(); }));
  std::this_thread::sleep_for(seconds(4));
  CHECK(held->safe());
  CHECK_FALSE(second_has_it);
  cluster->node(0).start();
  cluster->wait_ready();
  cluster->node(1).pause();
  CHECK(harness::eventually(seconds(20), [&] { return a.get("k", seconds(2)).done(); }));
  std::this_thread::sleep_for(seconds(4));
  CHECK(held->safe());
  cluster->node(1).resume();
  CHECK(harness::eventually(seconds(10), [&] { return held->release(seconds(2)).done(); }));
  waits.join();
  CHECK(second_has_it);
}

TEST_CASE("client: a server that hangs blocks no caller and no destructor, and the loss is reported in time",
          "[client]") {
  auto cluster = started(our_server(), 1);
  auto options = options_for(*cluster, milliseconds(3000));
  auto c = std::make_unique<client>(options);
  auto held = c->lock("x").acquire(seconds(10));
  REQUIRE(held);
  std::atomic<bool> reported = false;
  std::stop_callback when_lost(held->lost(), [&] { reported = true; });
  cluster->node(0).pause();
  auto begun = steady_clock::now();
  auto nothing_came = c->get("k", milliseconds(500));
  CHECK(nothing_came.refused());
  CHECK(since(begun) < milliseconds(500) * 6);
  auto lost_write = c->put("k", "v", milliseconds(500));
  CHECK(lost_write.unknown());
  CHECK(harness::eventually(3 * options.session.ttl, [&] { return reported.load(); }));
  CHECK_FALSE(held->safe());
  CHECK(held->lost_reason() == "no renewal was acknowledged in time");
  begun = steady_clock::now();
  c.reset();
  CHECK(since(begun) < 5 * options.linger);
  cluster->node(0).resume();
}

// The server receives the request and is paused: no response arrives in time. When it runs again
// the library requests the outcome of the write, and the caller gets it.
TEST_CASE("client: a write whose response was lost is resolved", "[client]") {
  auto cluster = started(our_server(), 1);
  client c(options_for(*cluster));
  REQUIRE(c.put("k", "before"));
  cluster->node(0).pause();
  std::thread resumes([&] {
    std::this_thread::sleep_for(milliseconds(6500));
    cluster->node(0).resume();
  });
  auto written = c.put("k", "after", seconds(9));
  resumes.join();
  CHECK(written);
  CHECK(c.get("k")->found->value == "after");
}

TEST_CASE("client: a caller that is stopped returns soon, and leaves the queue", "[client]") {
  auto cluster = started(our_server(), 1);
  client a(options_for(*cluster));
  client b(options_for(*cluster));
  auto held = a.lock("x").acquire(seconds(10));
  REQUIRE(held);
  std::stop_source stop;
  auto begun = steady_clock::now();
  std::thread stops([&] {
    std::this_thread::sleep_for(milliseconds(500));
    stop.request_stop();
  });
  auto stopped = b.lock("x").acquire(seconds(60), stop.get_token());
  CHECK(stopped.reason() == reason::stopped);
  CHECK(since(begun) < seconds(30));
  stops.join();
  CHECK(harness::eventually(seconds(5), [&] {
    return cluster->node(0).get("/v1/kv/x?claims").body.find("\"QueueLength\":0") != std::string::npos;
  }));
}

// Limits are added to the time of the machine, where the longest one would overflow.
TEST_CASE("client: the longest limit is no deadline that has passed", "[client]") {
  auto cluster = started(our_server(), 1);
  auto options = options_for(*cluster);
  options.grace = milliseconds::max();
  client c(options);
  CHECK(c.put("k", "v", milliseconds::max()));
  CHECK(c.lock("x").acquire(milliseconds::max()));
}

TEST_CASE("client: no server listens, and options are wrong", "[client]") {
  client_options nobody;
  nobody.servers = {"http://127.0.0.1:1", "http://127.0.0.1:2"};
  client c(nobody);
  auto begun = steady_clock::now();
  CHECK(c.put("k", "v", seconds(2)).reason() == reason::unavailable);
  CHECK(since(begun) < seconds(6));
  auto refused = c.lock("x").acquire(milliseconds(300));
  CHECK(refused.reason() == reason::unavailable);
  for (const auto* bad : {"ftp://x", "http://", "http://x:0", "http://x:70000", "http://x/y", "http://a@b", "unix://",
                          "http://[::1", "http://x:8500\r\nX-Y: z"}) {
    client_options wrong;
    wrong.servers = {bad};
    client d(wrong);
    INFO(bad);
    CHECK(d.wrong().reason() == reason::invalid);
    CHECK(d.get("k").reason() == reason::invalid);
  }
}

// The child has the memory of the parent but not its thread.
TEST_CASE("client: a forked child holds nothing, sends nothing, and ends", "[client]") {
  auto cluster = started(our_server(), 1);
  auto* c = new client(options_for(*cluster));
  auto held = c->lock("x").acquire(seconds(10));
  REQUIRE(held);
  auto child = ::fork();
  if (child == 0) {
    ::alarm(10);
    bool right = c->get("k").reason() == reason::closed && !held->safe() && held->lost().stop_requested();
    { belay::client_lease gone = std::move(*held); }
    delete c;
    ::_exit(right ? 0 : 1);
  }
  int ended = 0;
  REQUIRE(::waitpid(child, &ended, 0) == child);
  CHECK(ended == 0);
  CHECK(held->safe());
  CHECK(c->get("k"));
  // A child that execs another program has none of the sockets.
  for (int fd = 3; fd < 256; ++fd) {
    int flags = ::fcntl(fd, F_GETFD);
    char name[64] = {};
    auto link = "/proc/self/fd/" + std::to_string(fd);
    if (flags >= 0 && ::readlink(link.c_str(), name, sizeof name - 1) > 0 &&
        std::string(name).substr(0, 7) == "socket:")
      CHECK((flags & FD_CLOEXEC) != 0);
  }
  { auto gone = std::move(*held); }
  delete c;
}

namespace {

task<result<reason>> asks_itself(client& c) {
  auto refusal = c.get("k").reason();
  co_return refusal;
}

} // namespace

TEST_CASE("client: on the client's own thread nothing may wait", "[client]") {
  auto cluster = started(our_server(), 1);
  client c(options_for(*cluster));
  auto refusal = c.run<reason>([&c](session&, deadline) { return asks_itself(c); }, seconds(5));
  REQUIRE(refusal);
  CHECK(*refusal == reason::invalid);
}

TEST_CASE("client: through a Unix socket", "[client]") {
  harness::scratch_folder folder;
  auto path = folder / "belay.sock";
  auto cluster = started(our_server(), 1, {{"client_addr", "127.0.0.1 unix://" + path}});
  auto options = options_for(*cluster);
  options.servers = {"unix://" + path};
  client c(options);
  CHECK(c.put("k", "v"));
  CHECK(c.lock("x").acquire(seconds(5)));
}

TEST_CASE("client: TLS, with certificates on both sides", "[client]") {
  harness::scratch_folder folder;
  auto belay_in_folder = [&](const std::string& words) {
    auto program = harness::environment("BELAY_BINARY", BELAY_BINARY_DIR "/belay");
    auto line = "cd " + folder.path().string() + " && " + program + " " + words + " > made.txt 2>&1";
    REQUIRE(std::system(line.c_str()) == 0);
  };
  belay_in_folder("tls ca create");
  belay_in_folder("tls cert create -server");
  belay_in_folder("tls cert create -client");
  auto port = harness::free_ports(1).front();
  auto cluster = started(our_server(), 1,
                         {{"ports", {{"https", port}}},
                          {"ca_file", folder / "consul-agent-ca.pem"},
                          {"cert_file", folder / "dc1-server-consul-0.pem"},
                          {"key_file", folder / "dc1-server-consul-0-key.pem"},
                          {"verify_incoming_https", true}});
  auto options = options_for(*cluster);
  options.servers = {"https://localhost:" + std::to_string(port)};
  options.ca_file = folder / "consul-agent-ca.pem";
  options.cert_file = folder / "dc1-client-consul-0.pem";
  options.key_file = folder / "dc1-client-consul-0-key.pem";
  {
    client c(options);
    CHECK(c.put("k", "v"));
    CHECK(c.lock("x").acquire(seconds(10)));
  }
  auto nobody = options;
  nobody.cert_file.clear();
  nobody.key_file.clear();
  CHECK_FALSE(client(nobody).get("k", seconds(1)));
  auto trusts_others = options;
  trusts_others.ca_file.clear();
  CHECK(client(trusts_others).put("k", "w", seconds(1)).reason() == reason::unavailable);
  auto missing = options;
  missing.ca_file = folder / "nothing.pem";
  CHECK(client(missing).wrong().reason() == reason::invalid);
}
