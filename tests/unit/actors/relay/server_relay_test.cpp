// A client agent's requests to simulated servers: the server chosen, retries, and liveness.

#include "tests/unit/actors/relay/made_up_loop.hpp"

#include "actors/relay/server_relay.hpp"
#include "actors/telemetry/log.hpp"

#include <thread>

using namespace belay;
using namespace belay::relay_test;

namespace {

const std::string alive = "/v1/internal/agent/alive";

wire::hello hello() {
  wire::hello h;
  h.self.id = node_id{7};
  h.self.uuid = "00000000-0000-4000-8000-000000000007";
  h.self.name = "a7";
  h.self.address = "127.0.0.1:7";
  h.datacenter = "dc1";
  h.client_agent = true;
  return h;
}

std::size_t hello_bytes() {
  std::string bytes;
  wire::encode_frame(hello(), bytes);
  return bytes.size();
}

std::string at(std::uint16_t port) {
  return "127.0.0.1:" + std::to_string(port);
}

struct asking_client : answer_listener {
  int status = 0;
  std::string body, failure;
  bool ended = false, nothing_sent = false;

  void on_head(int s, header_list) override { status = s; }
  void on_body(std::string_view bytes) override { body += bytes; }
  void on_end() override { ended = true; }
  void on_failure(std::string text, bool nothing) override {
    failure = std::move(text);
    nothing_sent = nothing;
  }
};

struct fixture {
  made_up_loop loop{hello_bytes()};
  std::optional<server_relay> relay;
  std::vector<bool> answers;                     ///< each change
  std::vector<std::vector<std::string>> servers; ///< the same
  log::tap lines{log::level::info, false, 100'000};

  explicit fixture(std::vector<std::string> named, std::vector<std::string> remembered = {},
                   name_lookups::lookup look_up = name_lookups::system_lookup()) {
    server_relay_settings s;
    s.look_up = std::move(look_up);
    s.hello = hello();
    s.servers = std::move(named);
    s.remembered = std::move(remembered);
    s.cluster_answers = [this](bool yes) { answers.push_back(yes); };
    s.servers_changed = [this](const std::vector<std::string>& now) { servers.push_back(now); };
    relay.emplace(loop, std::move(s));
    loop.post([this] { relay->start(); });
  }

  std::unique_ptr<relayed_call> ask(asking_client& c, const std::string& method, const std::string& target = "/v1/x") {
    return relay->begin({method, target, {}, {}, false}, c);
  }
  /// How often that was logged since the last call.
  std::size_t logged(const std::string& text) {
    std::size_t n = 0;
    const auto all = lines.take();
    for (auto found = all.find(text); found != std::string::npos; found = all.find(text, found + 1))
      ++n;
    return n;
  }
};

} // namespace

TEST_CASE("an unreachable server is replaced by another one, and the request does not notice", "[relay]") {
  fixture f({at(1), at(2), at(3)});
  f.loop.server(1).accepts = made_up_server::way::refuses;
  f.loop.server(2).accepts = made_up_server::way::hangs;
  asking_client c;
  const auto call = f.ask(c, "PUT");
  f.loop.run_for(milliseconds{4000});
  CHECK(c.ended);
  CHECK(c.body == "true");
  CHECK(f.loop.server(3).times("PUT", "/v1/x") == 1);
}

TEST_CASE("a name of a server has two addresses, and the server listens at the second one", "[relay]") {
  fixture f({"server-1.test:1"}, {}, [](const std::string&) {
    return name_lookups::addresses{*numeric_endpoint("::1", 0), *numeric_endpoint("127.0.0.1", 0)};
  });
  asking_client c;
  const auto call = f.ask(c, "GET");
  for (int i = 0; i < 3000 && !c.ended && c.failure.empty(); ++i) {
    f.loop.run_for(milliseconds{2});
    std::this_thread::sleep_for(milliseconds{1}); // the name is looked up on a thread
  }
  CHECK(c.body == "true");
}

TEST_CASE("a server without a leader is replaced by another one, however fast it responds", "[relay]") {
  fixture f({at(1), at(2), at(3)});
  for (const std::uint16_t port : {1, 2})
    f.loop.server(port).answer = [](const auto&) { return made_up_server::response{500, "No cluster leader"}; };
  f.loop.run_for(milliseconds{4000});
  CHECK(f.answers.back());
  asking_client c;
  const auto call = f.ask(c, "PUT");
  f.loop.run_for(milliseconds{100});
  CHECK(c.status == 200);
  CHECK(f.loop.server(3).times("PUT", "/v1/x") == 1);
}

TEST_CASE("while no server has a leader, all are tried in turn, and the last one again and again", "[relay]") {
  for (const std::size_t servers : {1, 3}) {
    fixture f(servers == 1 ? std::vector{at(1)} : std::vector{at(1), at(2), at(3)});
    for (const std::uint16_t port : {1, 2, 3})
      f.loop.server(port).answer = [](const auto&) { return made_up_server::response{500, "No cluster leader"}; };
    f.loop.run_for(milliseconds{9500});
    CHECK_FALSE(f.answers.back());
    for (std::uint16_t port = 1; port <= servers; ++port) {
      INFO(servers << " servers, port " << port);
      CHECK(f.loop.server(port).times("PUT", alive) >= 9 / servers);
    }
    asking_client c;
    const auto call = f.ask(c, "PUT");
    f.loop.run_for(milliseconds{100});
    CHECK(c.status == 500);
    CHECK(c.body == "No cluster leader");
  }
}

TEST_CASE("a read is retried at another server, a write never: it may have taken effect", "[relay]") {
  for (const auto* method : {"GET", "PUT", "DELETE"}) {
    INFO(method);
    fixture f({at(1), at(2)});
    for (const std::uint16_t port : {1, 2})
      f.loop.server(port).answer = [](const made_up_server::requested& a) {
        return a.target == alive ? std::optional(made_up_server::response{}) : std::nullopt;
      };
    asking_client c;
    const auto call = f.ask(c, method);
    f.loop.run_for(milliseconds{500});
    const std::uint16_t first = f.loop.server(1).times(method, "/v1/x") == 1 ? 1 : 2;
    const std::uint16_t other = first == 1 ? 2 : 1;
    REQUIRE(f.loop.server(first).times(method, "/v1/x") == 1);
    f.loop.server(first).accepts = made_up_server::way::refuses;
    f.loop.server(other).answer = [](const auto&) { return made_up_server::response{200, "other"}; };
    f.loop.cut(first);
    f.loop.run_for(milliseconds{5000});
    if (method == std::string("GET")) {
      CHECK(c.body == "other");
      CHECK(f.loop.server(other).times(method, "/v1/x") == 1);
    } else {
      CHECK(c.failure.find("EOF") != std::string::npos);
      CHECK_FALSE(c.nothing_sent);
      CHECK(f.loop.server(other).times(method, "/v1/x") == 0);
    }
  }
}

TEST_CASE("requests to a server that hangs fail within 6 s, or are retried at another one", "[relay]") {
  for (const auto* method : {"GET", "PUT"}) {
    INFO(method);
    fixture f({at(1), at(2)});
    bool stands = false;
    std::uint16_t which = 0;
    for (const std::uint16_t port : {1, 2})
      f.loop.server(port).answer =
          [&, port](const made_up_server::requested& a) -> std::optional<made_up_server::response> {
        if (a.target == "/v1/x" && which == 0) {
          stands = true;
          which = port;
        }
        return stands && port == which ? std::nullopt : std::optional(made_up_server::response{200, "true"});
      };
    asking_client c;
    const auto call = f.ask(c, method);
    f.loop.run_for(milliseconds{4500});
    CHECK_FALSE(c.ended);
    CHECK(c.failure.empty());
    f.loop.run_for(milliseconds{1500});
    CHECK(c.ended == (method == std::string("GET")));
    CHECK(c.failure == (c.ended ? "" : "rpc error making call: no response within 3 s"));
    CHECK_FALSE(c.nothing_sent);
  }
}

TEST_CASE("a server that answers any other request is waited for", "[relay]") {
  fixture f({at(1)});
  f.loop.server(1).answer = [](const made_up_server::requested& a) {
    return a.target == "/v1/status/leader" ? std::optional(made_up_server::response{200, "\"\""}) : std::nullopt;
  };
  asking_client c;
  const auto call = f.ask(c, "PUT");
  f.loop.run_for(milliseconds{60'000});
  CHECK_FALSE(c.ended);
  CHECK(c.failure.empty());
  CHECK(f.loop.server(1).times("GET", "/v1/status/leader") >= 25);
  CHECK(f.loop.server(1).times("GET", "/v1/status/leader") <= 31);
}

// A client reads slowly, so its agent stops reading from the server. The whole response has
// arrived. If the connection stays paused, the agent never reads the next one on it.
TEST_CASE("a delayed response does not delay the next one", "[relay]") {
  struct slow_client : asking_client {
    relayed_call* call = nullptr;
    void on_head(int s, header_list headers) override {
      asking_client::on_head(s, std::move(headers));
      call->let_come(false);
    }
  };
  fixture f({at(1)});
  f.loop.run_for(milliseconds(100));
  slow_client slow;
  const auto held_back = f.ask(slow, "GET", "/v1/kv/a");
  slow.call = held_back.get();
  f.loop.run_for(milliseconds(100));
  REQUIRE(slow.ended);
  asking_client next;
  const auto call = f.ask(next, "GET", "/v1/kv/b");
  f.loop.run_for(milliseconds(100));
  CHECK(next.ended);
  CHECK(next.body == "true");
}

TEST_CASE("a read is not retried without limit", "[relay]") {
  fixture f({at(1)});
  f.loop.server(1).answer = [&](const made_up_server::requested& a) -> std::optional<made_up_server::response> {
    if (a.target == "/v1/x")
      f.loop.post([&] { f.loop.cut(1); });
    return std::nullopt;
  };
  asking_client c;
  const auto call = f.ask(c, "GET");
  f.loop.run_for(milliseconds{20'000});
  CHECK_FALSE(c.failure.empty());
  CHECK(f.loop.server(1).times("GET", "/v1/x") == 3);
}

TEST_CASE("a request that reaches no server fails after a while, and nothing was sent", "[relay]") {
  fixture f({at(1)});
  f.loop.server(1).accepts = made_up_server::way::refuses;
  asking_client c;
  const auto call = f.ask(c, "PUT");
  f.loop.run_for(milliseconds{6900});
  CHECK(c.failure.empty());
  f.loop.run_for(milliseconds{300});
  CHECK(c.failure.find("connection refused") != std::string::npos);
  CHECK(c.nothing_sent);
}

TEST_CASE("the servers get a heartbeat of the agent every second", "[relay]") {
  fixture f({at(1)});
  f.loop.run_for(milliseconds{10'000});
  CHECK(f.loop.server(1).times("PUT", alive) >= 9);
  CHECK(f.loop.server(1).times("PUT", alive) <= 11);
  CHECK(f.answers == std::vector<bool>{true});
  f.loop.server(1).answer = [](const auto&) { return std::nullopt; };
  f.loop.run_for(milliseconds{5000});
  CHECK(f.answers == std::vector<bool>{true, false});
  f.loop.server(1).answer = [](const auto&) { return made_up_server::response{}; };
  f.loop.run_for(milliseconds{5000});
  CHECK(f.answers == std::vector<bool>{true, false, true});
  bool over = false;
  f.relay->stop(true, [&] { over = true; });
  f.loop.run_for(milliseconds{100});
  CHECK(over);
  CHECK(f.loop.server(1).times("DELETE", alive) == 1);
  const auto before = f.loop.server(1).times("PUT", alive);
  f.loop.run_for(milliseconds{5000});
  CHECK(f.loop.server(1).times("PUT", alive) == before);
}

// Servers close connections above limits.http_max_conns_per_client. If clients' requests had all of
// them, heartbeats would fail: after 5 s the node would be critical and would lose its locks.
TEST_CASE("the heartbeat and registrations reach the servers while clients' requests wait without end", "[relay]") {
  constexpr std::size_t accepted = 200, asked = accepted + 50, rounds = 10;
  const bool waits = GENERATE(true, false); // false: they are as slow, but the agent cannot know
  const std::size_t servers = GENERATE(1, 3);
  INFO(servers << " servers, " << (waits ? "blocking queries" : "slow requests"));
  fixture f(servers == 1 ? std::vector{at(1)} : std::vector{at(1), at(2), at(3)});
  for (const std::uint16_t port : {1, 2, 3}) {
    f.loop.server(port).connections_max = accepted;
    f.loop.server(port).answer = [](const made_up_server::requested& a) {
      return a.target == "/v1/x" ? std::nullopt : std::optional(made_up_server::response{200, "true"});
    };
  }
  const auto received = [&](const std::string& method, const std::string& target) {
    std::size_t n = 0;
    for (const std::uint16_t port : {1, 2, 3})
      n += f.loop.server(port).times(method, target);
    return n;
  };
  f.loop.run_for(milliseconds{1000});
  std::deque<asking_client> clients;
  std::vector<std::unique_ptr<relayed_call>> calls;
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < asked / rounds; ++i) {
      relayed_request r{"GET", "/v1/x", {}, {}, false};
      r.waits = waits;
      calls.push_back(f.relay->begin(std::move(r), clients.emplace_back()));
    }
    const auto beats = received("PUT", alive);
    f.loop.run_for(milliseconds{2000});
    CHECK(received("PUT", alive) >= beats + 2);
  }
  CHECK(f.answers == std::vector<bool>{true});
  for (const std::uint16_t port : {1, 2, 3})
    CHECK(f.loop.server(port).closed == 0);
  const auto rejected = std::count_if(clients.begin(), clients.end(), [](const asking_client& c) {
    return c.ended && c.status == 429 && c.body.find("too many requests wait at this client agent") == 0;
  });
  CHECK(received("GET", "/v1/x") == (waits ? 165 : 175));
  CHECK(static_cast<std::size_t>(rejected) == (waits ? asked - 165 : 0));

  asking_client registration, write;
  relayed_request r{"PUT", "/v1/catalog/register", {}, {}, false};
  r.lane = relay_lane::rows;
  const auto registers = f.relay->begin(std::move(r), registration);
  const auto writes = f.ask(write, "PUT", "/v1/kv/k");
  f.loop.run_for(milliseconds{200});
  CHECK(registration.ended);
  CHECK(write.ended == waits);
}

// The log of an agent without servers must say why before it counts as failed.
TEST_CASE("an agent that is not heard logs that in time, with the reason, and every 10 s", "[relay]") {
  const std::string line = "servers not reached; the node becomes critical after 5 s";
  SECTION("no server is named") {
    fixture f({});
    f.loop.run_for(milliseconds{2500});
    CHECK(f.logged(line) == 0);
    f.loop.run_for(milliseconds{1000});
    CHECK(f.logged("reason=\"no server is configured\"") == 1);
    f.loop.run_for(milliseconds{60'000});
    CHECK(f.logged(line) == 6);
  }
  SECTION("nobody listens") {
    fixture f({at(1)});
    f.loop.server(1).accepts = made_up_server::way::refuses;
    f.loop.run_for(milliseconds{3500});
    CHECK(f.logged("dial tcp 127.0.0.1:1: connect: connection refused") == 1);
    f.loop.run_for(milliseconds{60'000});
    CHECK(f.logged(line) == 6);
  }
  SECTION("nobody answers") {
    fixture f({at(1)});
    f.loop.server(1).answer = [](const auto&) { return std::nullopt; };
    f.loop.run_for(milliseconds{3500});
    CHECK(f.logged("reason=\"no response within 3 s\"") == 1);
  }
  SECTION("there is no leader") {
    fixture f({at(1)});
    f.loop.server(1).answer = [](const auto&) { return made_up_server::response{500, "No cluster leader"}; };
    f.loop.run_for(milliseconds{3500});
    CHECK(f.logged("No cluster leader") == 1);
  }
}

TEST_CASE("an agent whose name is in use logs an error, at once and then every 10 s", "[relay]") {
  fixture f({at(1)});
  f.loop.server(1).answer = [](const auto&) { return made_up_server::response{409, "node name 'a7' is taken"}; };
  f.loop.run_for(milliseconds{1000});
  CHECK(f.logged("[ERROR] relay: client agent rejected by the cluster reason=\"node name 'a7' is taken\"") == 1);
  f.loop.run_for(milliseconds{30'000});
  CHECK(f.logged("client agent rejected by the cluster") == 3);
  CHECK(f.answers == std::vector<bool>{false});
}

TEST_CASE("a join is answered when the servers have heard the agent, or with the reason why not", "[relay]") {
  fixture f({});
  std::vector<std::string> received;
  const auto join = [&](std::uint16_t port) {
    f.relay->join(at(port), [&](std::string why) { received.push_back(std::move(why)); });
  };
  f.loop.run_for(milliseconds{1000});
  f.loop.server(1).accepts = made_up_server::way::refuses;
  join(1);
  f.loop.run_for(milliseconds{100});
  REQUIRE(received.size() == 1);
  CHECK(received[0].find("connection refused") != std::string::npos);

  f.loop.server(2).answer = [](const auto&) { return std::nullopt; };
  join(2);
  f.loop.run_for(milliseconds{3000});
  CHECK(received.size() == 1);
  f.loop.run_for(milliseconds{2000});
  REQUIRE(received.size() == 2);
  CHECK(received[1].find("the servers were not reached: no response") == 0);

  f.loop.server(2).answer = [](const auto&) { return made_up_server::response{409, "taken"}; };
  join(2);
  f.loop.run_for(milliseconds{5000});
  REQUIRE(received.size() == 3);
  CHECK(received[2] == "taken");

  f.loop.server(3).answer = [](const auto&) { return made_up_server::response{}; };
  f.loop.server(2).accepts = made_up_server::way::refuses;
  f.loop.cut(2);
  join(3);
  f.loop.run_for(milliseconds{4000});
  REQUIRE(received.size() == 4);
  CHECK(received[3] == "");
  CHECK(f.relay->cluster_answers());
  REQUIRE_FALSE(f.servers.empty());
  CHECK(f.servers.back() == std::vector<std::string>{at(2), at(3)});
}

TEST_CASE("remembered servers are used until the servers name others; configured ones always", "[relay]") {
  fixture f({at(1)}, {at(2), at(1)});
  f.loop.server(1).accepts = made_up_server::way::refuses;
  const auto peers = [](const made_up_server::requested& a) {
    return made_up_server::response{200, a.target == "/v1/status/peers" ? "[\"127.0.0.1:3\",\"127.0.0.1:4\"]" : "true"};
  };
  for (const std::uint16_t port : {2, 3, 4})
    f.loop.server(port).answer = peers;
  f.loop.run_for(milliseconds{5000});
  CHECK(f.loop.server(2).times("GET", "/v1/status/peers") == 1);
  REQUIRE(f.servers.size() == 1);
  CHECK(f.servers[0] == std::vector<std::string>{at(3), at(4), at(1)});
  const auto before = f.loop.server(2).received.size();
  f.loop.run_for(milliseconds{200'000});
  CHECK(f.loop.server(2).received.size() <= before + 1);
  CHECK(f.relay->cluster_answers());
}

// The agent's client closes its side while a server lets its request wait. Without a report the
// server would keep the wait and one of the agent's connections for up to ten minutes.
TEST_CASE("the server is notified that a client may be gone, and its response goes to the client", "[relay]") {
  const bool before_it_was_sent = GENERATE(false, true);
  for (const auto* method : {"GET", "PUT"}) {
    INFO(method << (before_it_was_sent ? " before it was sent" : " while it waits"));
    fixture f({at(1)});
    auto& server = f.loop.server(1);
    server.answer = [](const made_up_server::requested& a) {
      return a.target == alive ? std::optional(made_up_server::response{}) : std::nullopt;
    };
    asking_client c;
    const auto call = f.ask(c, method);
    if (!before_it_was_sent)
      f.loop.run_for(milliseconds{500});
    call->end_wait();
    server.answer_at_end = [] { return std::optional(made_up_server::response{200, "as it is"}); };
    f.loop.run_for(milliseconds{500});
    CHECK(server.ends == 1);
    CHECK(c.ended);
    CHECK(c.body == "as it is");
    // The connection is not reused.
    server.answer = [](const auto&) { return made_up_server::response{200, "next"}; };
    asking_client next;
    const auto following = f.ask(next, method);
    f.loop.run_for(milliseconds{500});
    CHECK(next.body == "next");
    CHECK(server.times(method, "/v1/x") == 2);
  }
}

// The end of the connection alone says nothing: a killed agent looks the same.
TEST_CASE("the server is notified when the client of a request that waits for a lock is gone, and not when an agent is",
          "[relay]") {
  const auto last_words = [](const made_up_server& s) { return s.times("DELETE", "/v1/internal/agent/wait"); };
  for (const auto* how : {"input ends", "connection ends", "before it was sent", "agent gives up", "another request"}) {
    const std::string_view what = how;
    INFO(what);
    fixture f({at(1)});
    auto& server = f.loop.server(1);
    server.answer = [](const made_up_server::requested& a) {
      return a.target == alive ? std::optional(made_up_server::response{}) : std::nullopt;
    };
    server.answer_at_end = [] { return std::optional(made_up_server::response{500, "it still waits"}); };
    asking_client c;
    relayed_request r{"PUT", "/v1/kv/k?acquire=s&queue=10m", {}, {}, false};
    r.waits_for_lock = what != "another request";
    auto call = f.relay->begin(r, c);
    if (what != "before it was sent")
      f.loop.run_for(milliseconds{500});
    if (what != "agent gives up")
      call->end_wait();
    if (what == "connection ends" || what == "agent gives up")
      call.reset(); // the response is dropped
    f.loop.run_for(milliseconds{500});
    CHECK(server.times("PUT", "/v1/kv/k?acquire=s&queue=10m") == 1);
    CHECK(last_words(server) == (what == "agent gives up" || what == "another request" ? 0 : 1));
    CHECK(c.ended == (what != "connection ends" && what != "agent gives up"));
    asking_client next;
    server.answer = [](const auto&) { return made_up_server::response{200, "next"}; };
    const auto following = f.ask(next, "GET");
    f.loop.run_for(milliseconds{5000});
    CHECK(next.body == "next");
  }
}

TEST_CASE("a server of 0.2.0 closes the connection instead, and gets no further request", "[relay]") {
  fixture f({at(1), at(2)});
  for (const std::uint16_t port : {1, 2})
    f.loop.server(port).answer = [](const made_up_server::requested& a) {
      return a.target == alive ? std::optional(made_up_server::response{}) : std::nullopt;
    };
  asking_client c;
  const auto call = f.ask(c, "GET");
  f.loop.run_for(milliseconds{500});
  call->end_wait();
  f.loop.run_for(milliseconds{2000});
  CHECK(c.failure.find("EOF") != std::string::npos);
  CHECK(f.loop.server(1).times("GET", "/v1/x") + f.loop.server(2).times("GET", "/v1/x") == 1);
}

TEST_CASE("while no server responds, the request of a client that may be gone does not wait for one", "[relay]") {
  fixture f({at(1)});
  f.loop.server(1).accepts = made_up_server::way::refuses;
  f.loop.run_for(milliseconds{9000});
  REQUIRE_FALSE(f.answers.empty());
  REQUIRE_FALSE(f.answers.back());
  asking_client waits, may_be_gone;
  const auto call = f.ask(waits, "PUT"), other = f.ask(may_be_gone, "PUT");
  other->end_wait();
  f.loop.run_for(milliseconds{200});
  CHECK_FALSE(may_be_gone.failure.empty());
  CHECK(may_be_gone.nothing_sent);
  CHECK(waits.failure.empty());
}

// A server may be tricked into two responses: no other client must get the second one as its own.
TEST_CASE("a connection with more bytes than a response carries no other request", "[relay][B1]") {
  for (const auto* behind : {"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret", "\r\n", "x"}) {
    INFO(behind);
    fixture f({at(1)});
    f.loop.server(1).answer = [&](const made_up_server::requested& a) {
      return made_up_server::response{200, "of " + a.target, a.target == "/v1/first" ? behind : ""};
    };
    asking_client first, second;
    const auto call = f.ask(first, "GET", "/v1/first");
    const auto next = f.ask(second, "GET", "/v1/second");
    f.loop.run_for(milliseconds{4000});
    CHECK(first.body == "of /v1/first");
    CHECK(second.ended);
    CHECK(second.body == "of /v1/second");
    asking_client third;
    const auto last = f.ask(third, "GET", "/v1/third");
    f.loop.run_for(milliseconds{4000});
    CHECK(third.body == "of /v1/third");
  }
}

TEST_CASE("a request that cannot be written fails, and reaches no server", "[relay][B1]") {
  fixture f({at(1)});
  asking_client bad, good;
  const auto call = f.relay->begin({"GET", "/v1/x", {{"X-Consul-Token", "a\r\nb: c"}}, {}, false}, bad);
  CHECK(bad.failure.empty()); // not before begin() has returned
  const auto next = f.ask(good, "GET");
  f.loop.run_for(milliseconds{4000});
  CHECK(bad.failure == "malformed HTTP request");
  CHECK(bad.nothing_sent);
  CHECK(good.ended);
  CHECK(f.loop.server(1).times("GET", "/v1/x") == 1);
  { // and clients that no longer wait are not notified
    asking_client gone;
    auto ended = f.relay->begin({"GET", "/v1/x y", {}, {}, false}, gone);
    ended.reset();
    f.loop.run_for(milliseconds{4000});
    CHECK(gone.failure.empty());
  }
}
