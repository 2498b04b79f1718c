#include "protocol/base/random.hpp"
#include "protocol/http/network.hpp"
#include "protocol/http/reading/filtering.hpp"
#include "protocol/wire/command_codec.hpp"
#include "tests/actors/gateway/http_gateway_fixture.hpp"

#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <thread>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using namespace std::chrono_literals;

namespace {

write_result decided(bool yes) {
  return {{}, wire::call_outcome::done, yes, log_index{9}, {}};
}

/// Value of a counter.
std::uint64_t count_in(const metrics& m, const std::string& name) {
  const auto text = m.prometheus("t");
  const auto at = text.find("\nt_" + name + " ");
  REQUIRE(at != std::string::npos);
  return std::stoull(text.substr(at + name.size() + 4));
}

/// The value that a KV write which reached raft_peer would store.
std::string value_of(const propose_write& w) {
  const auto command = wire::decode_command(*w.command);
  REQUIRE(command);
  return std::string(*std::get<state::kv_write>(*command).op.value);
}

status_result cluster_of_one(bool with_leader) {
  status_result s;
  const raft::member m{node_id{1}, "11111111-2222-3333-4444-555555555555", "n1", "127.0.0.1:8300"};
  s.view.config.members = {m};
  s.view.config.voters = {m.id};
  s.view.self = m.id;
  s.view.soft.term = term_id{3};
  if (with_leader) {
    s.view.soft.leader = m.id;
    s.view.soft.role = raft::role::leader;
    s.view.serving = true;
  }
  s.commit = s.applied = s.last = log_index{12};
  s.digest = 0xabc;
  s.peers = {{m, true, false, true, {}}};
  return s;
}

} // namespace

TEST_CASE("a connection serves one request after another", "[gateway]") {
  gateway_fixture f;
  auto c = f.client();
  for (int i = 0; i < 3; ++i) {
    const auto r = c.ask(get("/v1/kv/a"));
    CHECK(r.status == 200);
    CHECK(r.has("X-Consul-Index: 5"));
    CHECK(r.has("Date: "));
    CHECK(r.body.find("\"Key\":\"a\"") != std::string::npos);
  }
  const auto r = c.ask(put("/v1/kv/a", "hello"));
  CHECK(r.status == 200);
  CHECK(r.body == "true");
  CHECK(f.behind().write_count() == 1);
  CHECK(value_of(f.behind().writes[0]) == "hello");
}

// A client may send many writes before it reads a response. They are decided together, in any
// order, but the responses must come in the order of the requests, or the client would mix them up.
TEST_CASE("answers to pipelined writes keep their order", "[gateway]") {
  gateway_fixture f;
  f.behind().hold_writes = true;
  auto c = f.client();
  c.send(put("/v1/kv/a", "1") + put("/v1/kv/b", "2") + put("/v1/kv/c", "3"));
  REQUIRE(eventually([&] { return f.behind().write_count() == 3; }));
  CHECK(value_of(f.behind().writes[0]) == "1");
  CHECK(value_of(f.behind().writes[2]) == "3");
  f.answer_write(2, decided(true));
  f.answer_write(1, {{}, wire::call_outcome::unknown, {}, {}, "leadership lost while committing log"});
  f.answer_write(0, decided(false));
  CHECK(c.read().body == "false");
  const auto second = c.read();
  CHECK(second.status == 500);
  CHECK(second.body == "leadership lost while committing log");
  CHECK(c.read().body == "true");
}

// A read after a write on the same connection must see it: servers that read one request at a time
// guarantee that implicitly.
TEST_CASE("a read waits for the writes before it", "[gateway]") {
  gateway_fixture f;
  f.behind().hold_writes = true;
  auto c = f.client();
  c.send(put("/v1/kv/a", "1") + get("/v1/kv/a") + put("/v1/kv/a", "2"));
  REQUIRE(eventually([&] { return f.behind().write_count() == 1; }));
  auto other = f.client();
  CHECK(other.ask(get("/v1/kv/other")).status == 200);
  CHECK(f.behind().read_count() == 1);
  f.answer_write(0, decided(true));
  CHECK(c.read().body == "true");
  CHECK(c.read().has("X-Consul-Index: 5"));
  REQUIRE(eventually([&] { return f.behind().write_count() == 2; }));
  f.answer_write(1, decided(true));
  CHECK(c.read().body == "true");
}

TEST_CASE("an acquire reaches the state machine first, and waits for earlier commands", "[gateway]") {
  gateway_fixture f;
  f.behind().hold_writes = true;
  auto c = f.client();
  c.send(put("/v1/kv/a", "1") + put("/v1/kv/a?acquire=11111111-2222-3333-4444-555555555555", "2") +
         put("/v1/kv/a", "3"));
  REQUIRE(eventually([&] { return f.behind().write_count() == 1; }));
  f.sync();
  CHECK(f.behind().checked.empty());
  f.answer_write(0, decided(true));
  CHECK(c.read().body == "true");
  CHECK(c.read().body == "false");
  REQUIRE(eventually([&] { return f.behind().write_count() == 2; }));
  CHECK(f.behind().checked.size() == 1);
  f.answer_write(1, decided(true));
  CHECK(c.read().body == "true");
}

TEST_CASE("a request may arrive in any two pieces", "[gateway]") {
  gateway_fixture f;
  const std::string request = "PUT /v1/kv/split?flags=3 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";
  auto c = f.client();
  for (std::size_t i = 1; i < request.size(); ++i) {
    c.send(request.substr(0, i));
    f.sync();
    const auto r = c.ask(request.substr(i));
    REQUIRE(r.status == 200);
    REQUIRE(r.body == "true");
    REQUIRE(f.behind().write_count() == i);
    REQUIRE(value_of(f.behind().writes[i - 1]) == "hello");
  }
}

TEST_CASE("chunked bodies are assembled and limited by their actual size", "[gateway]") {
  gateway_fixture f;
  auto c = f.client();
  const std::string head = "PUT /v1/kv/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  CHECK(c.ask(head + "5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nTrailer: t\r\n\r\n").body == "true");
  CHECK(value_of(f.behind().writes[0]) == "hello world");

  const std::string piece(65536, 'z');
  c.send(head);
  for (int i = 0; i < 9; ++i)
    c.send("10000\r\n" + piece + "\r\n");
  const auto r = c.read();
  CHECK(r.status == 413);
  CHECK(r.has("Connection: close"));
  CHECK(r.body.rfind("Request body too large, max size: 524288 bytes.", 0) == 0);
  CHECK(f.behind().write_count() == 1);
}

TEST_CASE("a body that is announced too large is refused before it is sent", "[gateway]") {
  gateway_fixture f;
  const std::string head = "PUT /v1/kv/a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: ";
  {
    auto c = f.client();
    const auto r = c.ask(head + "524289\r\n\r\n");
    CHECK(r.status == 413);
    CHECK(r.body.rfind("Request body(524289 bytes) too large, max size: 524288 bytes.", 0) == 0);
    CHECK(c.closed());
  }
  auto c = f.client();
  c.send(head + "524288\r\n\r\n");
  const auto go_on = c.read(false);
  CHECK(go_on.status == 100);
  CHECK(c.ask(std::string(524288, 'b')).body == "true");
  CHECK(value_of(f.behind().writes.at(0)).size() == 524288);
}

// Many clients send the whole body before they read. The rejection must reach them anyway.
TEST_CASE("a refused body that is sent anyway does not cost the client the answer", "[gateway]") {
  gateway_fixture f;
  auto c = f.client();
  c.send(put("/v1/kv/a", std::string(4 << 20, 'b')));
  CHECK(c.read().status == 413);
}

TEST_CASE("bytes that are not HTTP are rejected, and the connection ends", "[gateway]") {
  gateway_fixture f;
  const auto refused = [&](const std::string& bytes, int status, const std::string& body) {
    INFO(bytes.substr(0, 60));
    auto c = f.client();
    const auto r = c.ask(bytes);
    CHECK(r.status == status);
    CHECK(r.body == body);
    CHECK(r.has("Content-Type: text/plain; charset=utf-8"));
    CHECK(r.has("Connection: close"));
    CHECK(c.closed());
  };
  const std::string bad = "400 Bad Request";
  refused("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n", 400, bad);
  refused("GET / HTTP/3.7\r\nHost: x\r\n\r\n", 400, bad);
  refused("GET / HTTP/1.1\r\nHost x\r\n\r\n", 400, bad);
  refused("PUT /v1/kv/a HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400, bad);
  refused("PUT /v1/kv/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400, bad);
  refused("PUT /v1/kv/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400, bad);
  refused(get("/v1/kv/bad%zz"), 400, bad);
  refused("GET /v1/kv/a HTTP/1.1\r\n\r\n", 400, "400 Bad Request: missing required Host header");
  refused("GET /v1/kv/a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "400 Bad Request: too many Host headers");
  refused("GET /v1/kv/a HTTP/1.1\r\nHost: a b\r\n\r\n", 400, "400 Bad Request: malformed Host header");
  refused("PUT /v1/kv/a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, bad);
  const std::string too_large = "431 Request Header Fields Too Large";
  refused(get("/v1/kv/a", "X: " + std::string(1 << 20, 'x') + "\r\n"), 431, too_large);
  refused(get("/" + std::string((1 << 20) + 10, 'x')), 431, too_large);
  CHECK(f.behind().write_count() == 0);
}

TEST_CASE("requests before a broken one are answered", "[gateway]") {
  gateway_fixture f;
  auto c = f.client();
  c.send(put("/v1/kv/a", "1") + get("/v1/kv/b") + "nonsense\r\n\r\n" + put("/v1/kv/a", "2"));
  CHECK(c.read().body == "true");
  CHECK(c.read().status == 200);
  CHECK(c.read().status == 400);
  CHECK(c.closed());
  CHECK(f.behind().write_count() == 1);
}

TEST_CASE("HEAD has the headers of its answer and no body", "[gateway]") {
  gateway_fixture f;
  auto c = f.client();
  c.send("HEAD /v1/kv/a HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto r = c.read(false);
  CHECK(r.status == 405);
  CHECK(r.has("Allow: OPTIONS,GET,PUT,DELETE"));
  CHECK(r.has("Content-Length: 23")); // length of "method HEAD not allowed"
  CHECK(c.ask(get("/v1/kv/a")).status == 200);
}

TEST_CASE("HTTP/1.0 keeps the connection only on request", "[gateway]") {
  gateway_fixture f;
  auto c = f.client();
  CHECK(c.ask("GET /v1/kv/a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").has("Connection: keep-alive"));
  CHECK(c.ask("GET /v1/kv/a HTTP/1.0\r\n\r\n").has("Connection: close"));
  CHECK(c.closed());
}

TEST_CASE("Connection: close is obeyed", "[gateway]") {
  gateway_fixture f;
  auto c = f.client();
  c.send(get("/v1/kv/a", "Connection: close\r\n") + get("/v1/kv/b"));
  CHECK(c.read().has("Connection: close"));
  CHECK(c.closed());
  CHECK(f.behind().read_count() == 1);
}

// A client that sends requests and does not read may fill its own socket, but not the server's
// memory. After a megabyte nothing more is read from it.
TEST_CASE("a slow reader holds up only itself", "[gateway]") {
  gateway_fixture f;
  constexpr std::size_t value_bytes = 512 * 1024;
  constexpr int requests = 60;
  f.behind().answer = [](const state::query&) { return entry_result("k", std::string(value_bytes, 'v')); };
  auto c = f.client(4096);
  std::string all;
  for (int i = 0; i < requests; ++i)
    all += get("/v1/kv/k?raw");
  c.send(all);
  // Kernel buffers take some megabytes; the rest would be in the server.
  std::size_t seen = 0;
  for (;;) { // until nothing more can be sent
    for (int i = 0; i < 20; ++i)
      f.sync();
    const auto n = f.behind().read_count();
    if (n == seen && n > 0)
      break;
    seen = n;
  }
  CHECK(seen < requests);
  auto other = f.client();
  CHECK(other.ask(get("/v1/kv/k?raw")).body.size() == value_bytes);
  for (int i = 0; i < requests; ++i) {
    const auto r = c.read();
    REQUIRE(r.status == 200);
    REQUIRE(r.body.size() == value_bytes);
  }
}

TEST_CASE("a client that disconnects ends its blocking query", "[gateway]") {
  gateway_fixture f;
  f.behind().hold_reads = true;
  auto c = f.client();
  c.send(get("/v1/kv/a?index=5&wait=5m"));
  REQUIRE(eventually([&] { return f.behind().read_count() == 1; }));
  CHECK(f.behind().reads[0].request.min_index == 5);
  CHECK(f.behind().cancel_count() == 0);
  c.reset();
  REQUIRE(eventually([&] { return f.behind().cancel_count() == 1; }));
  CHECK(f.behind().cancelled[0] == f.behind().reads[0].id);
  f.answer_read(0); // too late: the client is gone
  f.sync();
}

TEST_CASE("a blocking query waits a little longer than requested, at random", "[gateway]") {
  gateway_fixture f;
  f.behind().hold_reads = true;
  std::vector<raw_client> clients;
  const auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) {
    clients.push_back(f.client());
    clients.back().send(get("/v1/kv/a?index=5&wait=16s"));
  }
  REQUIRE(eventually([&] { return f.behind().read_count() == 20; }));
  const auto after = std::chrono::steady_clock::now();
  std::vector<std::int64_t> extra;
  for (const auto& q : f.behind().reads) {
    CHECK(q.deadline >= before + 16s);
    CHECK(q.deadline <= after + 17s);
    extra.push_back((q.deadline - before).count());
  }
  std::sort(extra.begin(), extra.end());
  CHECK(std::unique(extra.begin(), extra.end()) == extra.end());
}

TEST_CASE("deadlines use the clock of the node", "[gateway]") {
  // After a suspension that clock is ahead of the system's: its deadlines would be over at once.
  struct ahead final : node_clock {
    monotonic_time now() const override { return std::chrono::steady_clock::now() + 24h; }
    std::chrono::nanoseconds in_system_time(std::chrono::nanoseconds own) const override { return own; }
  };
  const auto clock = std::make_shared<const ahead>();
  gateway_fixture f({}, clock);
  f.behind().hold_reads = true;
  auto c = f.client();
  const auto before = clock->now();
  c.send(get("/v1/kv/a?index=5&wait=16s"));
  REQUIRE(eventually([&] { return f.behind().read_count() == 1; }));
  CHECK(f.behind().reads[0].deadline >= before + 16s);
  f.answer_read(0);
  CHECK(c.read().status == 200);
}

TEST_CASE("a client may close its side and still read the answer", "[gateway]") {
  gateway_fixture f;
  f.behind().hold_writes = true;
  auto c = f.client();
  c.send(put("/v1/kv/a", "1") + get("/v1/kv/a"));
  c.end_of_output();
  REQUIRE(eventually([&] { return f.behind().write_count() == 1; }));
  f.sync();
  f.answer_write(0, decided(true));
  CHECK(c.read().body == "true");
  CHECK(c.read().status == 200);
  CHECK(c.closed());
}

TEST_CASE("connections of one client address are limited", "[gateway]") {
  gateway_settings s;
  s.connections_per_client_max = 3;
  gateway_fixture f(s);
  std::vector<raw_client> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(f.client());
    CHECK(clients.back().ask(get("/v1/kv/a")).status == 200);
  }
  CHECK(f.client().closed());
  CHECK(clients[0].ask(get("/v1/kv/a")).status == 200);
  clients.pop_back();
  CHECK(eventually([&] { return f.client().ask(get("/v1/kv/a")).status == 200; }));
}

TEST_CASE("connections beyond the limit are closed at once", "[gateway]") {
  gateway_settings s;
  s.connections_max = 2;
  gateway_fixture f(s);
  f.behind().hold_reads = true;
  auto first = f.client(), second = f.client();
  first.send(get("/v1/kv/a"));
  second.send(get("/v1/kv/a"));
  REQUIRE(eventually([&] { return f.behind().read_count() == 2; }));
  CHECK(f.client().closed()); // both others are active
  f.answer_read(0);
  f.answer_read(1);
  CHECK(first.read().status == 200);
  CHECK(second.read().status == 200);
}

// Idle connections were never closed: eight addresses took all descriptors, and new clients were
// rejected for as long as those connections stayed.
TEST_CASE("idle connections are closed when there are too many, oldest first", "[gateway][B12]") {
  gateway_settings s;
  s.connections_max = 3;
  gateway_fixture f(s);
  auto oldest = f.client();
  CHECK(oldest.ask(get("/v1/kv/a")).status == 200);
  auto older = f.client();
  CHECK(older.ask(get("/v1/kv/a")).status == 200);
  auto half = f.client();
  half.send("GET /v1/kv/a HTTP/1.1\r\n"); // not idle: it is in the middle of a request
  f.sync();
  auto joining_member = f.client();
  CHECK(joining_member.ask(get("/v1/kv/a")).status == 200);
  CHECK(oldest.closed());
  CHECK(older.ask(get("/v1/kv/a")).status == 200);
  half.send("Host: x\r\n\r\n");
  CHECK(half.read().status == 200);
}

TEST_CASE("addresses count by the network that one client has") {
  CHECK(http::network_of("10.1.2.3") == "10.1.2.3");
  CHECK(http::network_of("::ffff:10.1.2.3") == "10.1.2.3"); // address at a socket for both families
  CHECK(http::network_of("2001:db8:1:2:3:4:5:6") == "2001:db8:1:2::/64");
  CHECK(http::network_of("fe80::1%eth0") == http::network_of("fe80::2"));
  CHECK(http::network_of("@") == "@");
  client_admission a(3, live_limit{0});
  const auto* one = a.admit("2001:db8::1");
  const auto* two = a.admit("2001:db8::2");
  const auto* three = a.admit("10.1.2.3");
  REQUIRE((one != nullptr && two != nullptr && three != nullptr));
  CHECK(a.full());
  CHECK(a.admit("10.1.2.4") == nullptr);
  CHECK(a.networks().at("2001:db8::/64") == 2);
  a.leave(*one);
  CHECK_FALSE(a.full());
  CHECK(a.networks().at("2001:db8::/64") == 1);
}

#ifndef __SANITIZE_ADDRESS__ // the sanitizers need descriptors themselves, and abort without
// The connection waits in the kernel's queue until there are descriptors.
TEST_CASE("running out of descriptors does not stop the listener", "[gateway]") {
  gateway_settings s;
  s.connections_max = 1000;
  gateway_fixture f(s);
  auto first = f.client();                         // stays: its end would free a descriptor at the wrong moment
  CHECK(first.ask(get("/v1/kv/a")).status == 200); // all threads have what they need
  const auto reads = f.behind().read_count();
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit low = before;
  low.rlim_cur = 200;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &low) == 0);
  std::vector<int> fillers;
  for (int fd; (fd = ::dup(0)) >= 0;)
    fillers.push_back(fd);
  const auto free_one = [&] {
    ::close(fillers.back());
    fillers.pop_back();
  };
  REQUIRE(fillers.size() > 2);
  free_one();
  auto c = f.client(); // takes that one: none is left for the other end
  c.send(get("/v1/kv/a"));
  std::this_thread::sleep_for(250ms); // some attempts fail; nothing depends on how many
  CHECK(f.behind().read_count() == reads);
  free_one();
  CHECK(c.read().status == 200);
  for (int fd : fillers)
    ::close(fd);
  CHECK(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(f.client().ask(get("/v1/kv/a")).status == 200);
}
#endif

#ifndef __SANITIZE_ADDRESS__
TEST_CASE("clients do not take the last descriptors", "[gateway]") {
  // The process ends if the log cannot open a segment. The clients' own ends count as well.
  gateway_settings s;
  s.connections_max = 1000;
  s.connections_per_client_max = 1000;
  gateway_fixture f(s);
  auto first = f.client();
  CHECK(first.ask(get("/v1/kv/a")).status == 200);
  const int next = ::dup(0);
  REQUIRE(next >= 0);
  ::close(next);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit low = before;
  low.rlim_cur = static_cast<rlim_t>(next) + 70;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &low) == 0);
  std::vector<decltype(f.client())> clients;
  for (int i = 0; i < 34; ++i) { // 68 descriptors if all were accepted
    clients.push_back(f.client());
    std::this_thread::sleep_for(10ms);
  }
  std::this_thread::sleep_for(500ms);
  std::vector<int> files;
  for (int i = 0; i < 8; ++i)
    if (const int fd = ::dup(0); fd >= 0)
      files.push_back(fd);
  CHECK(files.size() == 8);
  for (int fd : files)
    ::close(fd);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(clients.back().ask(get("/v1/kv/a")).status == 200); // it has waited
}
#endif

TEST_CASE("at shutdown blocking queries end and answers in flight are sent", "[gateway]") {
  gateway_fixture f;
  f.behind().hold_reads = true;
  f.behind().hold_writes = true;
  auto parked = f.client();
  parked.send(get("/v1/kv/a?index=5&wait=5m"));
  auto writer = f.client();
  writer.send(put("/v1/kv/a", "1"));
  auto idle = f.client();
  idle.send("GET /v1/kv/a HT"); // half a request
  REQUIRE(eventually([&] { return f.behind().read_count() == 1 && f.behind().write_count() == 1; }));
  f.sync();
  std::thread answering([&] {
    CHECK(parked.read().status == 500);
    f.answer_write(0, decided(true));
  });
  CHECK(f.stop());
  answering.join();
  const auto r = writer.read();
  CHECK(r.body == "true");
  CHECK(r.has("Connection: close"));
  CHECK(idle.closed());
  CHECK(eventually([&] { return f.behind().cancel_count() == 1; })); // sent to an actor of another thread
}

namespace {

state::reply refused_for_delay(std::uint64_t ms) {
  state::reply r = false;
  r.note.why = state::refused_for::lock_delay;
  r.note.retry_after_ms = ms;
  return r;
}

} // namespace

TEST_CASE("an acquire may wait for the end of a lock-delay", "[gateway]") {
  gateway_fixture f;
  state::reply granted = true;
  granted.note.fence = 9;
  f.behind().check_replies = {granted, refused_for_delay(5), refused_for_delay(20)};
  auto c = f.client();
  const auto r = c.ask(put("/v1/kv/a?acquire=s&queue=10s", "v"));
  CHECK(r.body == "true");
  CHECK(r.has("X-Belay-Fence: 9"));
  CHECK(f.behind().check_count() == 3); // the delay had started again in between

  // Without `wait`, and while another client holds the lock, the response comes at once.
  f.behind().check_replies = {refused_for_delay(60'000)};
  CHECK(c.ask(put("/v1/kv/a?acquire=s", "v")).has("X-Belay-Retry-After-Ms: 60000"));
  CHECK(c.ask(put("/v1/kv/a?acquire=s&queue=10s", "v")).body == "false");
  CHECK(f.behind().check_count() == 5);

  // After its wait the client gets the remaining delay.
  f.behind().check_replies = {refused_for_delay(50'000), refused_for_delay(60'000)};
  const auto late = c.ask(put("/v1/kv/a?acquire=s&queue=30ms", "v"));
  CHECK(late.body == "false");
  CHECK(late.has("X-Belay-Reason: lock-delay"));
  CHECK(late.has("X-Belay-Retry-After-Ms: 50000"));
}

TEST_CASE("a session on this server's node waits until the node is in the catalog", "[gateway]") {
  gateway_settings s;
  s.routes.node_name = "n";
  gateway_fixture f(s);
  const state::reply not_there{state::refusal{std::string(state::missing_node_registration)}};
  f.behind().check_replies = {state::reply{std::string("id")}, not_there, not_there};
  auto c = f.client();
  CHECK(c.ask(put("/v1/session/create", "")).body == R"({"ID":"id"})");
  CHECK(f.behind().check_count() == 3);

  f.behind().check_replies = {not_there};
  CHECK(c.ask(put("/v1/session/create", R"({"Node": "another"})")).body == "Missing node registration");
  CHECK(f.behind().check_count() == 4);
}

TEST_CASE("a client that disconnects does not get the lock when the delay is over", "[gateway]") {
  gateway_fixture f;
  f.behind().check_replies = {refused_for_delay(300)};
  auto c = f.client();
  c.send(put("/v1/kv/a?acquire=s&queue=10s", "v"));
  REQUIRE(eventually([&] { return f.behind().check_count() == 1; }));
  f.sync();
  c.close();
  std::this_thread::sleep_for(600ms); // longer than the delay: nothing may arrive
  CHECK(f.behind().check_count() == 1);
}

TEST_CASE("at shutdown no client continues to wait for a lock delay", "[gateway]") {
  gateway_fixture f;
  f.behind().check_replies = {refused_for_delay(60'000)};
  auto c = f.client();
  c.send(put("/v1/kv/a?acquire=s&queue=5m", "v"));
  REQUIRE(eventually([&] { return f.behind().check_count() == 1; }));
  f.sync();
  CHECK(f.stop());
  CHECK(c.read().status == 500);
}

TEST_CASE("a request without a response gets 500", "[gateway]") {
  gateway_settings s;
  s.queue_timeout = 10ms;
  s.answer_slack = 10ms;
  gateway_fixture f(s);
  f.behind().hold_writes = true;
  auto c = f.client();
  const auto r = c.ask(put("/v1/kv/a", "1"));
  CHECK(r.status == 500);
  CHECK(r.body == "rpc error making call: i/o timeout");
  f.answer_write(0, decided(true)); // late: must not be taken for the next one's response
  f.behind().hold_writes = false;
  CHECK(c.ask(get("/v1/kv/a")).status == 200);
}

TEST_CASE("half a request without progress does not keep its connection", "[gateway]") {
  gateway_settings s;
  s.limits.stall = 1s;
  gateway_fixture f(s);
  auto c = f.client();
  c.send("PUT /v1/kv/a HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhel");
  auto idle = f.client();
  CHECK(idle.ask(get("/v1/kv/a")).status == 200);
  CHECK(c.closed());
  CHECK(idle.ask(get("/v1/kv/a")).status == 200); // between requests a client may be silent for any time
}

TEST_CASE("a header that trickles in does not keep its connection, and an idle client between requests keeps its own",
          "[gateway]") {
  gateway_settings s;
  s.limits.pace.header = 1s;
  gateway_fixture f(s);
  auto idle = f.client(), early = f.client(), slow = f.client();
  CHECK(idle.ask(get("/v1/kv/a")).status == 200);
  slow.send("GET /v1/kv/a HTTP/1.1\r\nHost: x\r\n");
  for (int i = 0; i < 80; ++i) { // never silent for long
    slow.send("a: b\r\n");
    std::this_thread::sleep_for(50ms);
  }
  slow.send("\r\n");
  CHECK(slow.read().status == 0); // closed without a response
  CHECK(idle.ask(get("/v1/kv/a")).status == 200);
  CHECK(early.ask(get("/v1/kv/a")).status == 200); // it had sent nothing
}

TEST_CASE("bodies that are never completed cannot take more than their budget", "[gateway]") {
  gateway_settings s;
  s.bytes_in_flight_max = 2u << 20;
  s.limits.linger = 60s; // until all rejections are read
  gateway_fixture f(s);
  std::vector<raw_client> unfinished;
  for (int i = 0; i < 20; ++i) {
    unfinished.push_back(f.client());
    unfinished.back().send("PUT /v1/kv/a HTTP/1.1\r\nHost: x\r\nContent-Length: 400000\r\n\r\n" +
                           std::string(300'000, 'x'));
    auto other = f.client(); // is served all the while, because it holds little
    REQUIRE(other.ask(put("/v1/kv/b", "1")).body == "true");
  }
  f.sync();
  const auto shed = count_in(f.numbers(), "http_shed_connections");
  CHECK(shed >= 12);
  CHECK(shed <= 18);
  int refused = 0;
  for (auto& c : unfinished) {
    c.send(std::string(100'000, 'x'));
    const auto r = c.read();
    if (r.status == 200)
      continue;
    CHECK(r.status == 503);
    CHECK(r.body == "too many bytes of requests and responses are in flight: see limits.http_max_bytes_in_flight");
    CHECK(r.has("Connection: close"));
    ++refused;
  }
  CHECK(refused >= 12);
}

TEST_CASE("answers that are not read cannot take more than their budget", "[gateway]") {
  gateway_settings s;
  s.bytes_in_flight_max = 32u << 20;
  gateway_fixture f(s);
  constexpr std::size_t value_bytes = 12u << 20; // more than socket buffers take
  f.behind().answer = [](const state::query&) { return entry_result("k", std::string(value_bytes, 'v')); };
  std::vector<raw_client> slow;
  for (int i = 0; i < 8; ++i) {
    slow.push_back(f.client(4096));
    slow.back().send(get("/v1/kv/k?raw"));
  }
  auto other = f.client();
  REQUIRE(eventually([&] { return f.behind().read_count() == 8; }));
  f.sync();
  CHECK(other.ask(put("/v1/kv/b", "1")).body == "true");
  CHECK(count_in(f.numbers(), "http_shed_connections") >= 5);
  int whole = 0;
  for (auto& c : slow) {
    const auto r = c.read();
    whole += r.status == 200 && r.body.size() == value_bytes ? 1 : 0;
  }
  CHECK(whole >= 1);
  CHECK(whole <= 3);
}

namespace {

/// Behind this gateway the test decides everything. A delay of a millisecond is overload.
struct overloaded_gateway {
  static gateway_settings settings() {
    gateway_settings s;
    s.shedding = {1ms, 4};
    return s;
  }

  overloaded_gateway() {
    f.behind().hold_writes = f.behind().hold_reads = true;
    for (std::size_t i = 0; i < 6; ++i) { // more than load_min, less than twice as much
      waiting.push_back(f.client());
      waiting.back().send(put("/v1/kv/waits", "1"));
      REQUIRE(eventually([&] { return f.behind().write_count() == i + 1; }));
    }
  }
  ~overloaded_gateway() {
    f.behind().hold_writes = f.behind().hold_reads = false;
    for (std::size_t i = 0; i < f.behind().write_count(); ++i)
      f.answer_write(i, decided(true));
    for (std::size_t i = 0; i < f.behind().read_count(); ++i)
      f.answer_read(i);
  }

  /// One more client writes repeatedly, and gets each response late, until one is rejected.
  void reach() {
    auto c = f.client();
    for (int i = 0; i < 1000; ++i) {
      const auto before = f.behind().write_count();
      const auto refused = count_in(f.numbers(), "http_shed_writes");
      c.send(put("/v1/kv/more", "1"));
      REQUIRE(eventually(
          [&] { return f.behind().write_count() > before || count_in(f.numbers(), "http_shed_writes") > refused; }));
      if (f.behind().write_count() > before) {
        std::this_thread::sleep_for(5ms);
        f.answer_write(before, decided(true));
        REQUIRE(c.read().status == 200);
        continue;
      }
      const auto r = c.read();
      CHECK(r.status == 500); // the only status on which Consul's clients retry
      CHECK(r.body == "rate limit exceeded, try again later or against a different server");
      CHECK(r.has("Retry-After: 1"));
      return;
    }
    FAIL("nothing was refused");
  }

  gateway_fixture f{settings()};
  std::vector<raw_client> waiting;
};

} // namespace

// More requests arrive than can be answered. If all wait, live holders lose sessions and locks.
TEST_CASE("under overload writes are refused first, then reads, and renewals and releases pass",
          "[gateway][overload]") {
  overloaded_gateway o;
  auto& f = o.f;
  o.reach();

  constexpr auto session = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee";
  auto keeper = f.client();
  CHECK(keeper.ask(put(std::string("/v1/session/renew/") + session, "")).status == 404);     // by raft_peer
  CHECK(keeper.ask(put(std::string("/v1/kv/lock?release=") + session, "")).body == "false"); // by the fsm
  const auto looked_at = f.behind().check_count();
  CHECK(keeper.ask(put(std::string("/v1/session/destroy/") + session, "")).status == 200);
  CHECK(f.behind().check_count() == looked_at + 1);
  CHECK(keeper.ask(get("/v1/agent/metrics")).status == 200);

  // Six are unfinished. Reads are rejected when there are eight: twice load_min.
  auto reader = f.client();
  reader.send(get("/v1/kv/a"));
  CHECK(eventually([&] { return f.behind().read_count() == 1; }));
  bool refused = false;
  std::vector<raw_client> readers;
  for (int i = 0; i < 100 && !refused; ++i) {
    o.reach();
    const auto requested = f.behind().read_count();
    const auto shed = count_in(f.numbers(), "http_shed_reads");
    readers.push_back(f.client());
    readers.back().send(get("/v1/kv/b"));
    REQUIRE(eventually(
        [&] { return f.behind().read_count() > requested || count_in(f.numbers(), "http_shed_reads") > shed; }));
    refused = count_in(f.numbers(), "http_shed_reads") > shed;
  }
  REQUIRE(refused);
  CHECK(readers.back().read().status == 500);
  CHECK(keeper.ask(put(std::string("/v1/session/renew/") + session, "")).status == 404);
}

TEST_CASE("after an overload no request is rejected", "[gateway][overload]") {
  overloaded_gateway o;
  o.reach();
  for (std::size_t i = 0; i < 6; ++i)
    o.f.answer_write(i, decided(true));
  o.f.behind().hold_writes = false;
  auto c = o.f.client();
  CHECK(eventually([&] { return c.ask(put("/v1/kv/a", "1")).status == 200; }));
}

// Clients that each wait for a response are not rejected, however slow the disk.
TEST_CASE("requests that are slow within the limit are not rejected", "[gateway][overload]") {
  gateway_settings s;
  s.shedding = {1ms, 8};
  gateway_fixture f(s);
  f.behind().hold_writes = true;
  std::vector<raw_client> clients;
  for (int i = 0; i < 8; ++i)
    clients.push_back(f.client());
  std::size_t answered = 0;
  for (int round = 0; round < 5; ++round) {
    for (auto& c : clients)
      c.send(put("/v1/kv/a", "1"));
    REQUIRE(eventually([&] { return f.behind().write_count() == answered + clients.size(); }));
    std::this_thread::sleep_for(260ms); // longer than a window
    for (auto& c : clients) {
      f.answer_write(answered++, decided(true));
      CHECK(c.read().status == 200);
    }
  }
  CHECK(count_in(f.numbers(), "http_shed_writes") == 0);
}

namespace {

/// Clients that each request a listing, and again after each response; on a thread of their own.
class flood {
public:
  explicit flood(gateway_fixture& f) {
    // Blocking queries with an old index are answered at once, and do not count meanwhile.
    const auto request = get("/v1/kv/tree?recurse&index=1", "Accept-Encoding: gzip\r\n");
    for (int i = 0; i < connections; ++i)
      clients_.push_back(f.client());
    thread_ = std::thread([this, request] {
      for (auto& c : clients_)
        c.send(request);
      while (!stop_)
        for (auto& c : clients_) {
          ++(c.read().status == 200 ? done_ : refused_);
          c.send(request);
        }
    });
  }
  ~flood() {
    stop_ = true;
    thread_.join();
  }

  std::uint64_t done() const { return done_; }
  std::uint64_t refused() const { return refused_; }

private:
  static constexpr int connections = 96;
  std::vector<raw_client> clients_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> done_{0}, refused_{0};
  std::thread thread_;
};

/// A gateway whose thread takes long for each compressed listing, just too short for pieces.
struct slow_gateway {
  explicit slow_gateway(forward::shedding_rules r) : f(settings(r)) {
    state::kv_entries found;
    seeded_random random(1);
    for (int i = 0; i < 90; ++i) {
      state::kv_draft e;
      e.key = "tree/" + std::to_string(i);
      std::string value;
      while (value.size() < 400)
        value += static_cast<char>(random.below(256));
      e.value = make_payload(std::move(value));
      e.create_index = e.modify_index = log_index{9};
      found.entries.push_back(e);
    }
    f.behind().answer = [rows = state::query_result{log_index{9}, std::move(found)}](const state::query&) {
      return rows;
    };
  }

  static gateway_settings settings(forward::shedding_rules r) {
    gateway_settings s;
    s.shedding = r;
    s.reload = [](const std::function<void(std::string)>& then) { // on the thread that must not block
      std::this_thread::sleep_for(300ms);
      then({});
    };
    return s;
  }

  gateway_fixture f;
};

/// Sends renewals, releases and ends of sessions in sequence. @returns the time that they take
std::chrono::nanoseconds keep_locks(gateway_fixture& f) {
  const std::string session = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee";
  auto keeper = f.client();
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) {
    CHECK(keeper.ask(put("/v1/session/renew/" + session, "")).status == 404); // the response of raft_peer
    CHECK(keeper.ask(put("/v1/kv/lock?release=" + session, "")).body == "false");
    CHECK(keeper.ask(put("/v1/session/destroy/" + session, "")).status == 200);
  }
  return std::chrono::steady_clock::now() - began;
}

} // namespace

// The thread that reads requests is overloaded: they wait in the kernel, where nothing counts them.
TEST_CASE("when requests wait to be read, writes are refused first, then reads, and renewals and releases are in time",
          "[gateway][overload]") {
  std::chrono::nanoseconds without{};
  {
    slow_gateway g({0ms, 16}); // never rejects
    flood reads(g.f);
    REQUIRE(eventually([&] { return reads.done() > 500; }));
    without = keep_locks(g.f);
    CHECK(reads.refused() == 0);
  }
  slow_gateway g({10ms, 16});
  flood reads(g.f);
  auto writer = g.f.client();
  for (int i = 0; i < 200 && reads.refused() < 500; ++i) { // each waits as long as a read does
    writer.ask(put("/v1/kv/a", "1"));
    std::this_thread::sleep_for(20ms);
  }
  REQUIRE(reads.refused() >= 500);
  CHECK(keep_locks(g.f) < without / 2);

  // Reads continue at the rate that can be answered; no write is accepted meanwhile.
  const auto done = reads.done();
  const auto refused = reads.refused();
  int puts = 0, puts_refused = 0;
  REQUIRE(eventually([&] {
    ++puts;
    puts_refused += writer.ask(put("/v1/kv/a", "1")).status == 500 ? 1 : 0;
    return puts >= 50 && reads.refused() > refused + 500 && reads.done() > done;
  }));
  const auto reads_then = reads.done() - done + reads.refused() - refused;
  CHECK(static_cast<double>(puts_refused) / puts >
        static_cast<double>(reads.refused() - refused) / static_cast<double>(reads_then));
  CHECK(puts_refused > puts * 9 / 10);
}

TEST_CASE("a pause, a burst and a slow request are no overload of the thread that reads requests",
          "[gateway][overload]") {
  slow_gateway g({1ms, 16});
  constexpr int clients = 32;
  std::vector<raw_client> burst;
  for (int i = 0; i < clients; ++i)
    burst.push_back(g.f.client());
  auto operator_of_it = g.f.client();
  for (int round = 0; round < 4; ++round) {
    if (round % 2 == 0) // nothing is read for much longer than any request may wait
      operator_of_it.send(put("/v1/agent/reload", ""));
    for (auto& c : burst)
      c.send(get("/v1/kv/tree?recurse"));
    for (auto& c : burst)
      CHECK(c.read().status == 200);
    if (round % 2 == 0)
      CHECK(operator_of_it.read().status == 200);
    std::this_thread::sleep_for(600ms); // two probes pass, with nothing to do
    CHECK(burst[0].ask(put("/v1/kv/a", "1")).status == 200);
  }
  CHECK(count_in(g.f.numbers(), "http_shed_writes") == 0);
  CHECK(count_in(g.f.numbers(), "http_shed_reads") == 0);
}

namespace {

std::shared_ptr<const state::query_result> tree_of(std::size_t keys, std::size_t value_bytes) {
  state::kv_entries found;
  for (std::size_t i = 0; i < keys; ++i) {
    state::kv_draft e;
    e.key = "tree/" + std::to_string(i);
    e.value = make_payload(std::string(value_bytes, 'v'));
    e.create_index = e.modify_index = log_index{9};
    found.entries.push_back(e);
  }
  return std::make_shared<const state::query_result>(state::query_result{log_index{9}, std::move(found)});
}

std::uint64_t gauge_in(const metrics& m, const std::string& name) {
  return count_in(m, name);
}

} // namespace

// A hundred clients wait for a tree, and one key of it changes. A body for each would be a hundred
// times the work, on the HTTP thread, and a hundred times the memory.
TEST_CASE("one rendering serves all queries woken by the same change", "[gateway][large]") {
  gateway_fixture f;
  f.behind().hold_reads = true;
  constexpr std::size_t watchers = 100;
  std::vector<raw_client> clients;
  for (std::size_t i = 0; i < watchers; ++i) {
    clients.push_back(f.client(1 << 16)); // the kernel takes little of it
    clients.back().send(get("/v1/kv/tree?recurse&index=5&wait=5m"));
  }
  REQUIRE(eventually([&] { return f.behind().read_count() == watchers; }));
  const auto rows = tree_of(4'000, 1'000);
  f.answer_reads_with(0, rows);
  REQUIRE(eventually([&] { return count_in(f.numbers(), "http_shared_answers") == watchers - 1; }));
  REQUIRE(eventually([&] { return count_in(f.numbers(), "http_renderings") == 1; }));

  const auto first = clients.front().read();
  CHECK(first.status == 200);
  CHECK(first.has("X-Consul-Index: 9"));
  // While hardly any client has read it, it exists once.
  CHECK(eventually([&] { return gauge_in(f.numbers(), "http_buffered_bytes") >= first.body.size(); }));
  CHECK(gauge_in(f.numbers(), "http_buffered_bytes") < 2 * first.body.size());
  http::read_request same;
  same.query = state::kv_list{"tree"};
  CHECK((first.body == http::answer_read(same, *rows, {}, {}).body));
  for (std::size_t i = 1; i < watchers; ++i)
    CHECK((clients[i].read().body == first.body));
  CHECK(count_in(f.numbers(), "http_renderings") == 1);
  // No client needs it now.
  f.sync();
  CHECK(eventually([&] { return gauge_in(f.numbers(), "http_buffered_bytes") < first.body.size() / 10; }));
}

TEST_CASE("a response in another format, or filtered, has its own rendering", "[gateway][large]") {
  gateway_fixture f;
  f.behind().hold_reads = true;
  std::vector<raw_client> clients;
  const auto ask = [&](const std::string& target, const std::string& header = "") {
    clients.push_back(f.client(4096));
    clients.back().send(get(target, header));
    REQUIRE(eventually([&] { return f.behind().read_count() == clients.size(); }));
  };
  ask("/v1/kv/tree?recurse");
  ask("/v1/kv/tree?recurse&stale"); // the same body
  ask("/v1/kv/tree?recurse&pretty");
  ask("/v1/kv/tree?recurse", "Accept-Encoding: gzip\r\n");
  ask("/v1/kv/tree?recurse&filter=Key%20!=%20%22tree/7%22");
  ask("/v1/kv/tree?recurse&filter=Key%20!=%20%22tree/7%22"); // the same rows are left
  f.answer_reads_with(0, tree_of(2'000, 1'000));
  std::vector<answer> answers;
  for (auto& c : clients)
    answers.push_back(c.read());
  CHECK(count_in(f.numbers(), "http_renderings") == 4);
  CHECK(count_in(f.numbers(), "http_shared_answers") == 2);
  CHECK((answers[0].body == answers[1].body));
  CHECK(answers[2].body.size() > answers[0].body.size());
  CHECK(answers[2].body.rfind("[\n    {\n", 0) == 0);
  CHECK(answers[3].has("Content-Encoding: gzip"));
  CHECK(answers[3].body.size() < answers[0].body.size());
  CHECK(answers[4].body.find("\"tree/7\"") == std::string::npos);
  CHECK((answers[4].body == answers[5].body));
  // Keep-alive continues after it, and HEAD has the length.
  f.behind().hold_reads = false;
  CHECK(clients[0].ask(get("/v1/kv/a")).status == 200);
}

TEST_CASE("a request during the same response shares it, and gets its own after a row has changed",
          "[gateway][large]") {
  gateway_fixture f;
  const auto rows = tree_of(8'000, 1'000);
  auto changed = *rows;
  f.behind().answer = [&](const state::query&) { return *rows; };
  std::vector<raw_client> slow;
  for (int i = 0; i < 3; ++i) {
    slow.push_back(f.client(4096));
    slow.back().send(get("/v1/kv/tree?recurse"));
    REQUIRE(eventually([&] {
      return count_in(f.numbers(), "http_renderings") + count_in(f.numbers(), "http_shared_answers") ==
             static_cast<std::uint64_t>(i) + 1;
    }));
  }
  CHECK(count_in(f.numbers(), "http_renderings") == 1);
  auto& first = std::get<state::kv_entries>(changed.data).entries.front();
  first = state::kv_entry_ptr(*first); // written again with the same content
  f.behind().answer = [&](const state::query&) { return changed; };
  slow.push_back(f.client(4096));
  slow.back().send(get("/v1/kv/tree?recurse"));
  REQUIRE(eventually([&] { return count_in(f.numbers(), "http_renderings") == 2; }));
  const auto body = slow[0].read().body;
  CHECK(body.size() > 8'000'000);
  for (std::size_t i = 1; i < slow.size(); ++i)
    CHECK((slow[i].read().body == body));
}

/// The same rows as the results of a transaction.
state::txn_reply results_of(const state::query_result& tree) {
  state::txn_reply r;
  for (const auto& e : std::get<state::kv_entries>(tree.data).entries)
    r.results.push_back({e, true});
  return r;
}

// The request of one client for a large answer may take long, but must not delay all others.
TEST_CASE("others are served between the pieces of a large answer", "[gateway][large][B6][B7]") {
  const auto tree = tree_of(30'000, 1'000); // 150 pieces
  const std::string get_tree = R"({"KV":{"Verb":"get-tree","Key":"tree"}})";
  std::string filter = "Value%20contains%20q0";
  for (int i = 1; i < 8; ++i)
    filter += "%20or%20Value%20contains%20q" + std::to_string(i); // 240 slices
  struct row {
    const char* what;
    std::string request;
    std::size_t bytes_min;
  };
  const row rows[] = {
      {"a list", get("/v1/kv/tree?recurse", "Accept-Encoding: gzip\r\n"), 40'000},
      {"a transaction that reads", put("/v1/txn", "[" + get_tree + "]"), 40'000'000},
      {"a transaction that writes", put("/v1/txn", "[" + get_tree + R"(,{"KV":{"Verb":"delete","Key":"k"}}])"),
       40'000'000},
      {"a filter that leaves nothing", get("/v1/kv/tree?recurse&filter=" + filter), 0},
  };
  for (const auto& r : rows) {
    gateway_fixture f;
    f.behind().answer = [&](const state::query& q) {
      return std::holds_alternative<state::txn_read>(q) ? state::query_result{log_index{9}, results_of(*tree)} : *tree;
    };
    f.behind().apply = [&](const state::command&) { return state::reply(results_of(*tree)); };
    auto other = f.client();
    REQUIRE(other.ask(get("/nothing")).status == 404);
    using clock = std::chrono::steady_clock;
    const auto began = clock::now();
    auto large = std::async(std::launch::async, [&] { return f.client().ask(r.request); });
    clock::duration longest{0};
    while (large.wait_for(0s) != std::future_status::ready) {
      const auto requested = clock::now();
      REQUIRE(other.ask(get("/nothing")).status == 404);
      longest = std::max(longest, clock::now() - requested);
      REQUIRE(clock::now() - began < 60s);
    }
    const auto all = clock::now() - began;
    const auto answer = large.get();
    INFO(r.what << ": the longest took " << longest / 1us << " us of " << all / 1us);
    CHECK(longest < all / 4);
    CHECK(answer.status == (r.bytes_min == 0 ? 404 : 200));
    CHECK(answer.body.size() >= r.bytes_min);
  }
}

// The write is done. The client receives its answer however slowly it reads; the answer counts.
TEST_CASE("a large answer to a write counts while its client takes it", "[gateway][large][B6]") {
  gateway_fixture f;
  const auto tree = tree_of(8'000, 1'000);
  f.behind().apply = [&](const state::command&) { return state::reply(results_of(*tree)); };
  f.behind().check_index = log_index{12};
  auto slow = f.client(4096);
  slow.send(put("/v1/txn", R"([{"KV":{"Verb":"get-tree","Key":"tree"}},{"KV":{"Verb":"delete","Key":"k"}}])"));
  CHECK(eventually([&] { return gauge_in(f.numbers(), "http_buffered_bytes") > 8'000'000; }));
  const auto r = slow.read();
  CHECK(r.status == 200);
  CHECK(r.has("X-Belay-Index: 12"));
  CHECK((r.body == http::render_write(state::txn{}, results_of(*tree), {}).body));
  CHECK(eventually([&] { return gauge_in(f.numbers(), "http_buffered_bytes") < 100'000; }));
}

TEST_CASE("a rendering without a waiting client ends", "[gateway][large]") {
  gateway_fixture f;
  f.behind().hold_reads = true;
  auto large = f.client();
  large.send(get("/v1/kv/tree?recurse&index=5&wait=5m", "Accept-Encoding: gzip\r\n"));
  REQUIRE(eventually([&] { return f.behind().read_count() == 1; }));
  f.answer_reads_with(0, tree_of(40'000, 1'000));
  large.reset();
  f.sync();
  REQUIRE(eventually([&] { return f.behind().cancel_count() == 1; }));
  f.behind().hold_reads = false;
  auto other = f.client();
  CHECK(other.ask(get("/v1/kv/a")).status == 200);
  CHECK(eventually([&] { return gauge_in(f.numbers(), "http_buffered_bytes") < 100'000; }));
  CHECK(count_in(f.numbers(), "http_renderings") == 0);
}

// Rendered as a whole it would exceed the limit of all clients together.
TEST_CASE("a very large answer is rendered as its client takes it", "[gateway][large]") {
  gateway_settings s;
  s.bytes_in_flight_max = 32u << 20;
  gateway_fixture f(s);
  f.behind().hold_reads = true;
  auto slow = f.client(4096);
  slow.send(get("/v1/kv/tree?recurse", "Connection: close\r\n"));
  REQUIRE(eventually([&] { return f.behind().read_count() == 1; }));
  f.answer_reads_with(0, tree_of(60'000, 1'000));
  f.sync();
  auto other = f.client();
  CHECK(other.ask(put("/v1/kv/b", "1")).body == "true");
  CHECK(eventually([&] { return gauge_in(f.numbers(), "http_buffered_bytes") > 1'000'000; })); // its rows
  CHECK(gauge_in(f.numbers(), "http_buffered_bytes") < 8'000'000);
  const auto all = slow.rest();
  CHECK(all.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(all.find("Transfer-Encoding: chunked\r\n") != all.npos);
  CHECK(all.size() > 80'000'000);
  CHECK(all.ends_with("\r\n0\r\n\r\n"));
  std::size_t keys = 0;
  for (auto at = all.find("\"Key\":"); at != all.npos; at = all.find("\"Key\":", at + 1))
    ++keys;
  CHECK(keys >= 59'000); // some are cut by the end of a chunk
  CHECK(keys <= 60'000);
  CHECK(count_in(f.numbers(), "http_shed_connections") == 0);
  CHECK(other.ask(get("/nothing")).status == 404);
}

TEST_CASE("renewals reach raft_peer and return", "[gateway]") {
  gateway_fixture f;
  auto c = f.client();
  const auto r = c.ask(put("/v1/session/renew/aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", ""));
  CHECK(r.status == 404);
  CHECK(r.body == "Session id 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee' not found");
}

TEST_CASE("questions about the cluster are answered from raft_peer's view", "[gateway]") {
  gateway_settings s;
  s.facts.node_name = "n1";
  s.facts.node_uuid = "11111111-2222-3333-4444-555555555555";
  s.facts.address = "127.0.0.1";
  s.facts.effective_settings = {{"ServerMode", "true"}};
  gateway_fixture f(s);
  f.behind().status = cluster_of_one(true);
  auto c = f.client();
  CHECK(c.ask(get("/v1/status/leader")).body == "\"127.0.0.1:8300\"");
  CHECK(c.ask(get("/v1/status/peers")).body == "[\"127.0.0.1:8300\"]");
  CHECK(c.ask(get("/v1/catalog/datacenters")).body == "[\"dc1\"]");
  CHECK(c.ask(get("/v1/operator/raft/configuration")).body ==
        "{\"Servers\":[{\"ID\":\"11111111-2222-3333-4444-555555555555\",\"Node\":\"n1\",\"Address\":\"127.0.0.1:8300\","
        "\"Leader\":true,\"ProtocolVersion\":\"3\",\"Voter\":true}],\"Index\":0}");
  const auto members = c.ask(get("/v1/agent/members")).body;
  CHECK(members.rfind("[{\"Name\":\"n1\",\"Addr\":\"127.0.0.1\",\"Port\":8300,\"Tags\":{\"acls\":\"0\"", 0) == 0);
  CHECK(members.find("\"Status\":1,\"ProtocolMin\":1") != std::string::npos);
  CHECK(members.find("\"wan_join_port\":\"8302\"") != std::string::npos);
  const auto self = c.ask(get("/v1/agent/self")).body;
  for (const char* part :
       {"{\"Config\":{\"Datacenter\":\"dc1\",\"NodeName\":\"n1\"", "\"DebugConfig\":{\"ServerMode\":true}",
        "\"leader\":\"true\"", "\"leader_addr\":\"127.0.0.1:8300\"", "\"state\":\"Leader\"", "\"applied_index\":\"12\"",
        "\"state_digest\":\"0000000000000abc\"", "\"num_peers\":\"0\"",
        "\"Meta\":{\"consul-network-segment\":\"\"}}"}) {
    INFO(part);
    CHECK(self.find(part) != std::string::npos);
  }
}

TEST_CASE("without a WAN pool members name no port of it", "[gateway]") {
  gateway_settings s;
  s.facts.node_name = "n1";
  s.facts.address = "127.0.0.1";
  s.facts.serf_wan_port = 0;
  gateway_fixture f(s);
  f.behind().status = cluster_of_one(true);
  auto c = f.client();
  CHECK(c.ask(get("/v1/agent/members")).body.find("wan_join_port") == std::string::npos);
}

TEST_CASE("without a leader the Raft configuration is held, then refused", "[gateway]") {
  gateway_settings s;
  s.queue_timeout = 50ms;
  gateway_fixture f(s);
  f.behind().status = cluster_of_one(false);
  auto c = f.client();
  CHECK(c.ask(get("/v1/status/leader")).body == "\"\"");
  CHECK(c.ask(get("/v1/operator/raft/configuration?stale")).status == 200);
  const auto r = c.ask(get("/v1/operator/raft/configuration"));
  CHECK(r.status == 500);
  CHECK(r.body == "No cluster leader");
}

TEST_CASE("requests are counted", "[gateway]") {
  gateway_fixture f;
  auto c = f.client();
  c.ask(get("/v1/kv/a"));
  c.ask(put("/v1/kv/a", "1"));
  f.numbers().fsync(3ms);
  const auto json = c.ask(get("/v1/agent/metrics"));
  CHECK(json.has("Content-Type: application/json"));
  CHECK(json.body.find("\"Name\":\"belay.http.connections\",\"Value\":1,") != std::string::npos);
  CHECK(json.body.find("\"Name\":\"belay.http.request\",\"Count\":2,") != std::string::npos);
  CHECK(json.body.find("\"Name\":\"belay.raft.fsync\",\"Count\":1,") != std::string::npos);
  CHECK(json.body.find("\"Sum\":3,\"Min\":3,\"Max\":3,\"Mean\":3,\"Stddev\":0,\"Labels\":{}") != std::string::npos);
  const auto text = c.ask(get("/v1/agent/metrics?format=prometheus"));
  CHECK(text.status == 200);
  CHECK(text.body.find("belay_raft_fsync_seconds_count 1\n") != std::string::npos);
  CHECK(text.body.find("\nprocess_resident_memory_bytes ") != std::string::npos);
  CHECK(text.body.find("\nprocess_open_fds ") != std::string::npos);
  CHECK(text.body.find("belay_raft_fsync_seconds_bucket{le=\"+Inf\"} 1\n") != std::string::npos);
}

TEST_CASE("a reload that fails returns the reason", "[gateway]") {
  gateway_settings s;
  auto text = std::make_shared<std::string>();
  s.reload = [text](const std::function<void(std::string)>& then) { then(*text); };
  gateway_fixture f(s);
  auto c = f.client();
  CHECK(c.ask(put("/v1/agent/reload", "")).status == 200);
  *text = "no such file";
  const auto r = c.ask(put("/v1/agent/reload", ""));
  CHECK(r.status == 500);
  CHECK(r.body == "no such file");
}

TEST_CASE("a client streams the log, until it disconnects or the server stops", "[gateway][monitor]") {
  log::configure({log::level::error, false, false, {}});
  gateway_fixture f;
  {
    auto other = f.client();
    const auto bad = other.ask(get("/v1/agent/monitor?loglevel=bad"));
    CHECK(bad.status == 400);
    CHECK(bad.body == "Bad request: Unknown log level: bad");
  }
  auto c = f.client(), json = f.client();
  const auto receive = [](raw_client& from, std::string& all, const std::string& wanted) {
    while (all.find(wanted) == std::string::npos) {
      const auto more = from.receive();
      if (more.empty())
        return false;
      all += more;
    }
    return true;
  };
  std::string response, response_as_json;
  c.send(get("/v1/agent/monitor?loglevel=warn"));
  json.send(get("/v1/agent/monitor?logjson"));
  REQUIRE(receive(c, response, "\r\n\r\n"));
  REQUIRE(receive(json, response_as_json, "\r\n\r\n"));
  CHECK(response.find("HTTP/1.1 200 OK\r\n") == 0);
  CHECK(response.find("Transfer-Encoding: chunked\r\n") != std::string::npos);
  log::info("test", "for one of them");
  log::warn("test", "for both", {{"n", 1}});
  CHECK(receive(c, response, "[WARN]  test: for both n=1\n"));
  CHECK(receive(json, response_as_json, R"("@message":"for both")"));
  CHECK(response.find("for one") == std::string::npos);
  CHECK(response_as_json.find("for one") != std::string::npos);
  json.close();
  CHECK(eventually([] { return !log::enabled(log::level::info); })); // no client needs such lines now
  CHECK(log::enabled(log::level::warn));
  log::warn("test", "the last one");
  CHECK(f.stop());
  response += c.rest();
  CHECK(response.find("the last one") != std::string::npos);
  CHECK(response.substr(response.size() - 5) == "0\r\n\r\n");
  CHECK_FALSE(log::enabled(log::level::warn));
  log::configure({});
}

// Each costs memory, and every line of the log is written once for each.
TEST_CASE("clients that stream the log are limited", "[gateway][monitor]") {
  log::configure({log::level::error, false, false, {}});
  gateway_fixture f;
  std::vector<raw_client> all;
  for (std::size_t i = 0; i < log_streams::streams_max; ++i) {
    all.push_back(f.client());
    all.back().send(get("/v1/agent/monitor"));
    CHECK(all.back().receive().find("200 OK") != std::string::npos);
  }
  CHECK(f.client().ask(get("/v1/agent/monitor")).status == 429);
  all.front().close();
  CHECK(eventually([&] {
    auto c = f.client();
    c.send(get("/v1/agent/monitor"));
    return c.receive().find("200 OK") != std::string::npos;
  }));
  log::configure({});
}

TEST_CASE("the machine is described", "[gateway]") {
  gateway_fixture f;
  auto c = f.client();
  const auto r = c.ask(get("/v1/agent/host"));
  CHECK(r.status == 200);
  CHECK(r.has("application/json"));
  CHECK(r.body.find("{\"Memory\":{\"total\":") == 0);
  CHECK(r.body.find("\"Errors\":") != std::string::npos);
}

TEST_CASE("a server that cannot leave returns the reason, and one that can returns that", "[gateway]") {
  gateway_settings s;
  auto text = std::make_shared<std::string>("not now");
  s.leave = [text](const std::function<void(std::string)>& then) { then(*text); };
  gateway_fixture f(s);
  auto c = f.client();
  const auto r = c.ask(put("/v1/agent/leave", ""));
  CHECK(r.status == 500);
  CHECK(r.body == "not now");
  text->clear();
  const auto left = c.ask(put("/v1/agent/leave", ""));
  CHECK(left.status == 200);
  CHECK(left.body.empty());
}

TEST_CASE("metrics with the meaning of Consul's have Consul's names", "[gateway]") {
  gateway_fixture f;
  auto c = f.client();
  CHECK(c.ask(get("/v1/agent/metrics")).body.find("autopilot") == std::string::npos); // unknown at this node
  f.numbers().autopilot(true, 1);
  f.numbers().proposed(3);
  f.numbers().commit_time(2ms);
  f.numbers().session_timers(4);
  f.numbers().certificates({{"https", "CN = \"a\\", 29}, {"peers", "CN = b", -2}});
  CHECK(c.ask(put("/v1/kv/a", "1")).status == 200);
  CHECK(c.ask(put("/v1/txn", R"([{"KV":{"Verb":"set","Key":"a","Value":""}}])")).status != 0);
  const auto json = c.ask(get("/v1/agent/metrics")).body;
  const auto has = [&](const std::string& text) { return json.find(text) != std::string::npos; };
  CHECK(has(R"("Name":"belay.autopilot.healthy","Value":1,)"));
  CHECK(has(R"("Name":"belay.autopilot.failure_tolerance","Value":1,)"));
  CHECK(has(R"("Name":"belay.session_ttl.active","Value":4,)"));
  CHECK(has(R"("Name":"belay.raft.apply","Count":3,)"));
  CHECK(has(R"("Name":"belay.raft.commitTime","Count":1,)"));
  CHECK(has(R"("Name":"belay.kvs.apply","Count":1,)"));
  CHECK(has(R"("Name":"belay.txn.apply","Count":1,)"));
  CHECK(has(R"("Name":"belay.tls.certificate_days_left","Value":-2,"Labels":{"certificate":"CN = b","use":"peers"}})"));
  const auto text = c.ask(get("/v1/agent/metrics?format=prometheus")).body;
  CHECK(text.find("belay_tls_certificate_days_left{certificate=\"CN = _a_\",use=\"https\"} 29\n") != std::string::npos);
  CHECK(text.find("belay_raft_commitTime_count 1\n") != std::string::npos);
  f.numbers().autopilot_unknown();
  CHECK(c.ask(get("/v1/agent/metrics?format=prometheus")).body.find("autopilot") == std::string::npos);
}
