// A client agent's cache between simulated clients and servers.

#include "actors/relay/cached_answers.hpp"

#include <catch2/catch.hpp>

#include <deque>

using namespace belay;
using namespace belay::actors;

namespace {

using clock_type = std::chrono::steady_clock;
using std::chrono::seconds;

/// Servers that answer when the test lets them.
class made_up_servers final : public request_relay {
public:
  struct requested final : public relayed_call {
    requested(made_up_servers& s, relayed_request r, answer_listener& l)
        : request(std::move(r)), listener(l), servers(s) {}
    ~requested() override { std::erase(servers.calls, this); }
    void send_body(std::string_view, bool) override {}
    std::size_t unsent() const override { return 0; }
    void let_come(bool) override {}
    void end_wait() override { ended = true; }

    relayed_request request;
    bool ended = false; ///< its client may be gone
    answer_listener& listener;
    made_up_servers& servers;
  };

  std::unique_ptr<relayed_call> begin(relayed_request r, answer_listener& l) override {
    auto call = std::make_unique<requested>(*this, std::move(r), l);
    calls.push_back(call.get());
    ++begun;
    return call;
  }
  void later(std::function<void()> what) override { jobs.push_back(std::move(what)); }

  void run() {
    while (!jobs.empty()) {
      auto job = std::move(jobs.front());
      jobs.pop_front();
      job();
    }
  }
  /// Answers the call that has waited longest.
  void answer(std::string body, std::uint64_t index, int status = 200) {
    REQUIRE_FALSE(calls.empty());
    auto* c = calls.front();
    auto& l = c->listener;
    l.on_head(status, {{"Content-Type", "application/json"}, {"X-Consul-Index", std::to_string(index)}});
    if (gone(c))
      return;
    l.on_body(body);
    if (gone(c))
      return;
    std::erase(calls, c); // it has ended, whenever it is destroyed
    l.on_end();
  }
  void fail() {
    REQUIRE_FALSE(calls.empty());
    auto* c = calls.front();
    std::erase(calls, c);
    c->listener.on_failure("no servers", true);
  }

  std::vector<requested*> calls;
  std::deque<std::function<void()>> jobs;
  int begun = 0;

private:
  bool gone(const requested* c) const { return std::find(calls.begin(), calls.end(), c) == calls.end(); }
};

struct client final : public answer_listener {
  void on_head(int s, header_list h) override {
    status = s;
    headers = std::move(h);
  }
  void on_body(std::string_view b) override { body += b; }
  void on_end() override { ended = true; }
  void on_failure(std::string text, bool) override { failure = std::move(text); }
  std::string header(std::string_view name) const {
    for (const auto& [n, v] : headers)
      if (n == name)
        return v;
    return "";
  }

  int status = 0;
  header_list headers;
  std::string body, failure;
  bool ended = false;
  std::unique_ptr<relayed_call> call;
};

struct cache_fixture {
  explicit cache_fixture(std::function<void(cached_answers_settings&)> change = {}) {
    cached_answers_settings s;
    s.now = [this] { return now; };
    if (change)
      change(s);
    cache.emplace(servers, s);
  }

  std::unique_ptr<client> ask(const std::string& secret, http::cached_read wanted) {
    auto c = std::make_unique<client>();
    relayed_request r{"GET", wanted.target + "?cached", {}, {}, false};
    r.secret = secret;
    r.cached = std::move(wanted);
    c->call = cache->begin(std::move(r), *c);
    servers.run();
    return c;
  }
  void pass(clock_type::duration d) {
    now += d;
    cache->tick();
    servers.run();
  }

  clock_type::time_point now{seconds(1000)};
  made_up_servers servers;
  std::optional<cached_answers> cache;
};

http::cached_read service(std::string name) {
  http::cached_read r;
  r.target = "/v1/health/service/" + name;
  return r;
}

http::cached_read datacenters() {
  http::cached_read r;
  r.target = "/v1/catalog/datacenters";
  r.refreshed = false;
  return r;
}

} // namespace

TEST_CASE("cache: the first request waits for servers, the next does not", "[cached_answers]") {
  cache_fixture w;
  const auto first = w.ask("", service("web")), beside = w.ask("", service("web"));
  CHECK(w.servers.begun == 1); // one request for both
  CHECK(w.servers.calls.front()->request.target == "/v1/health/service/web");
  CHECK_FALSE(first->ended);
  w.now += seconds(1);
  w.servers.answer("[1]", 7);
  for (const auto* c : {first.get(), beside.get()}) {
    CHECK(c->ended);
    CHECK(c->body == "[1]");
    CHECK(c->header("X-Cache") == "MISS");
    CHECK(c->header("Age").empty());
    CHECK(c->header("X-Consul-Index") == "7");
  }
  // A blocking query waits for the next change.
  REQUIRE(w.servers.calls.size() == 1);
  CHECK(w.servers.calls.front()->request.target == "/v1/health/service/web?index=7&wait=60s");
  CHECK(w.servers.calls.front()->request.waits);
  auto hit = w.ask("", service("web"));
  CHECK(hit->body == "[1]");
  CHECK(hit->header("X-Cache") == "HIT");
  CHECK(hit->header("Age") == "0");
  w.now += seconds(1);
  w.servers.answer("[2]", 9);
  hit = w.ask("", service("web"));
  CHECK(hit->body == "[2]");
  CHECK(hit->header("X-Cache") == "HIT");
}

TEST_CASE("cache: the response for one token is returned for no other token", "[cached_answers]") {
  cache_fixture w;
  const auto one = w.ask("token-1", service("web"));
  REQUIRE(w.servers.calls.front()->request.headers == header_list{{"X-Consul-Token", "token-1"}});
  w.now += seconds(1);
  w.servers.answer("[secret]", 7);
  CHECK(one->body == "[secret]");
  const auto two = w.ask("token-2", service("web")), nobody = w.ask("", service("web"));
  CHECK_FALSE(two->ended);
  CHECK_FALSE(nobody->ended);
  REQUIRE(w.servers.calls.size() == 3);
  CHECK(w.servers.calls[1]->request.headers == header_list{{"X-Consul-Token", "token-2"}});
  CHECK(w.servers.calls[2]->request.headers.empty());
  // The token was deleted: the cached rows are gone with the next response.
  w.servers.answer("ACL not found", 0, 403);
  CHECK(w.cache->size() == 2);
  const auto again = w.ask("token-1", service("web"));
  CHECK_FALSE(again->ended);
}

TEST_CASE("cache: a query that waits for a change gets it, or the present value at the end of the wait",
          "[cached_answers]") {
  cache_fixture w;
  w.ask("", service("web"));
  w.pass(seconds(1));
  w.servers.answer("[1]", 7);
  auto wanted = service("web");
  wanted.min_index = 7;
  wanted.wait = seconds(5);
  auto waits = w.ask("", wanted), gives_up = w.ask("", wanted);
  gives_up->call.reset();
  CHECK_FALSE(waits->ended);
  w.pass(seconds(2));
  w.servers.answer("[2]", 8);
  CHECK(waits->body == "[2]");
  CHECK(waits->header("X-Cache") == "MISS");
  CHECK_FALSE(gives_up->ended);
  wanted.min_index = 8;
  waits = w.ask("", wanted);
  w.pass(seconds(4));
  CHECK_FALSE(waits->ended);
  w.pass(seconds(2));
  CHECK(waits->ended);
  CHECK(waits->body == "[2]");
  wanted.min_index = 7; // that one has ended
  CHECK(w.ask("", wanted)->header("X-Cache") == "HIT");
  // A snapshot was restored: indexes are smaller now.
  wanted.min_index = 8;
  waits = w.ask("", wanted);
  w.servers.answer("[0]", 3);
  CHECK(waits->body == "[0]");
}

// Its client may be gone: its connection does not wait any longer; others of the same entry do.
TEST_CASE("cache: a request of a client that may be gone gets the present value", "[cached_answers]") {
  cache_fixture w;
  w.ask("", service("web"));
  w.pass(seconds(1));
  w.servers.answer("[1]", 7);
  auto wanted = service("web");
  wanted.min_index = 7;
  wanted.wait = seconds(500);
  auto stays = w.ask("", wanted), may_be_gone = w.ask("", wanted);
  may_be_gone->call->end_wait();
  w.pass(seconds(1));
  CHECK(may_be_gone->body == "[1]");
  CHECK(may_be_gone->ended);
  CHECK_FALSE(stays->ended);
  auto passed_on = service("web");
  auto c = std::make_unique<client>();
  c->call = w.cache->begin({"GET", "/v1/kv/a?index=7&wait=500s", {}, {}, false}, *c);
  c->call->end_wait();
  CHECK(w.servers.calls.back()->ended);
}

TEST_CASE("cache: without servers the last response stays, with its age", "[cached_answers]") {
  cache_fixture w;
  w.ask("", service("web"));
  w.pass(seconds(1));
  w.servers.answer("[1]", 7);
  w.servers.fail();
  w.now += seconds(3);
  auto hit = w.ask("", service("web"));
  CHECK(hit->body == "[1]");
  CHECK(hit->header("Age") == "3");
  w.pass(seconds(1));
  REQUIRE(w.servers.calls.size() == 1); // without waiting, so that the response shows that the server can be reached
  CHECK(w.servers.calls.front()->request.target == "/v1/health/service/web");
  w.servers.answer("[1]", 7);
  CHECK(w.ask("", service("web"))->header("Age") == "0");
  // A request that no server has answered fails, and nothing is cached.
  const auto lost = w.ask("", service("api"));
  w.servers.calls.erase(w.servers.calls.begin(), w.servers.calls.end() - 1);
  w.servers.fail();
  CHECK(lost->failure == "no servers");
  CHECK(w.cache->size() == 1);
}

TEST_CASE("cache: max-age, must-revalidate and stale-if-error count where nothing is refreshed", "[cached_answers]") {
  cache_fixture w;
  w.ask("", datacenters());
  w.servers.answer("[\"dc1\"]", 0);
  CHECK(w.servers.calls.empty());
  w.pass(seconds(10));
  CHECK(w.servers.calls.empty());
  auto r = datacenters();
  r.max_age = seconds(10);
  auto c = w.ask("", r);
  CHECK(c->header("X-Cache") == "HIT");
  CHECK(c->header("Age") == "10");
  r.max_age = seconds(9);
  r.stale_if_error = seconds(20);
  c = w.ask("", r);
  CHECK_FALSE(c->ended);
  w.servers.fail();
  CHECK(c->header("X-Cache") == "HIT");
  CHECK(c->body == "[\"dc1\"]");
  r.stale_if_error = seconds(10);
  c = w.ask("", r);
  w.servers.fail();
  CHECK(c->failure == "no servers");
  r = datacenters();
  r.must_revalidate = true;
  c = w.ask("", r);
  CHECK_FALSE(c->ended);
  w.servers.answer("[\"dc2\"]", 0);
  CHECK(c->body == "[\"dc2\"]");
  CHECK(c->header("X-Cache") == "MISS");
}

TEST_CASE("cache: entries, bytes and time are bounded", "[cached_answers]") {
  cache_fixture w([](cached_answers_settings& s) {
    s.entries_max = 3;
    s.bytes_max = 4000;
    s.answer_bytes_max = 2000;
    s.unused_limit = seconds(100);
  });
  const auto fill = [&](const std::string& name, std::size_t size) {
    auto c = w.ask("", service(name));
    w.now += seconds(1);
    // The youngest call is that of this entry.
    std::rotate(w.servers.calls.begin(), w.servers.calls.end() - 1, w.servers.calls.end());
    w.servers.answer(std::string(size, 'x'), 7);
    std::rotate(w.servers.calls.begin(), w.servers.calls.begin(), w.servers.calls.end());
    return c;
  };
  for (const auto* name : {"a", "b", "c", "d"})
    CHECK(fill(name, 10)->ended);
  CHECK(w.cache->size() == 3);
  CHECK(w.servers.calls.size() == 3); // and no call waits for changes of the fourth
  CHECK(w.ask("", service("d"))->header("X-Cache") == "HIT");
  CHECK(w.cache->bytes() > 0);

  for (const auto* name : {"a", "b", "c", "d"})
    fill(name, 1500);
  CHECK(w.cache->bytes() <= 4000);
  CHECK(w.cache->size() < 3);

  // Too large to be cached: it is requested as if it were not cached.
  auto large = w.ask("", service("large"));
  std::rotate(w.servers.calls.begin(), w.servers.calls.end() - 1, w.servers.calls.end());
  w.servers.answer(std::string(3000, 'x'), 7);
  CHECK_FALSE(large->ended);
  REQUIRE(w.servers.calls.back()->request.target == "/v1/health/service/large?cached");
  std::rotate(w.servers.calls.begin(), w.servers.calls.end() - 1, w.servers.calls.end());
  w.servers.answer(std::string(3000, 'x'), 7);
  CHECK(large->body.size() == 3000);

  w.pass(seconds(101));
  CHECK(w.cache->size() == 0);
  CHECK(w.cache->bytes() == 0);
  CHECK(w.servers.calls.empty());

  // All three have waiting clients: the fourth is requested without the cache.
  const auto a = w.ask("", service("a")), b = w.ask("", service("b")), c = w.ask("", service("c"));
  const auto d = w.ask("", service("d"));
  CHECK(w.cache->size() == 3);
  CHECK(w.servers.calls.back()->request.target == "/v1/health/service/d?cached");
}

TEST_CASE("cache: changes in quick succession are fetched ten times a second", "[cached_answers]") {
  cache_fixture w;
  w.ask("", service("web"));
  w.servers.answer("[1]", 1);
  for (int i = 2; i < 20; ++i) {
    w.pass(std::chrono::milliseconds(50));
    if (!w.servers.calls.empty())
      w.servers.answer("[n]", static_cast<std::uint64_t>(i));
  }
  CHECK(w.servers.begun <= 11);
  CHECK(w.servers.begun >= 8);
}
