// The audit log of a gateway on a real socket: its lines, and requests while it is not writable.

#include "actors/audit/audit_log.hpp"
#include "sim/environment/stub_of.hpp"
#include "tests/actors/gateway/http_gateway_fixture.hpp"
#include "tests/harness/scratch.hpp"

#include <boost/json/parse.hpp>

#include <caf/send.hpp>

#include <catch2/catch.hpp>

#include <algorithm>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using namespace std::chrono_literals;
using harness::scratch_folder;

namespace {

namespace json = boost::json;

constexpr std::int64_t now_ns = 1'700'000'000'000'000'000;
const std::string writer_secret = "5f2c4a4e-9d1c-4f0b-8c46-0d4c2f6a7b11";
const std::string writer_accessor = "08f05787-3609-8001-65b4-922e5d52e84c";

std::string ask_for(const std::string& method, const std::string& target, const std::string& headers = {},
                    const std::string& body = {}) {
  return method + " " + target + " HTTP/1.1\r\nHost: x\r\nUser-Agent: test\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string with_token(const std::string& token) {
  return "X-Consul-Token: " + token + "\r\n";
}

gateway_settings audited(bool enforced, bool acl = false) {
  gateway_settings s;
  s.audit = audit_rules{enforced};
  s.routes.acl_enabled = acl;
  s.routes.acl_allowed_by_default = false;
  return s;
}

gateway_fixture::spawn_audit into(const std::string& path) {
  return [path](caf::actor_system& system, const node_actors_ptr& node_actors) {
    auto file = rotated_file::open({.path = path}, now_ns);
    REQUIRE(file);
    return audit_log_actor(
        system.spawn<audit_log, caf::detached>(node_actors, std::move(*file), [] { return now_ns; }));
  };
}

/// Knows one token.
state::query_result owners(const state::query& q) {
  if (!std::holds_alternative<state::permissions_read>(q))
    return entry_result("app/key", "v");
  REQUIRE(q.by);
  if (q.by->secret != writer_secret && q.by->secret != state::anonymous_secret)
    return {log_index{5}, state::refusal{"ACL not found"}};
  auto t = std::make_shared<state::acl_token>();
  t->accessor = q.by->secret == writer_secret ? writer_accessor : std::string(state::anonymous_accessor);
  t->secret = q.by->secret;
  t->description = "of the test";
  t->create_time_ns = now_ns;
  return {log_index{5}, state::permissions{{}, nullptr, t}};
}

json::object event_in(std::string_view line) {
  return json::parse(line).as_object().at("payload").as_object();
}

std::vector<json::object> events_in(const std::string& text) {
  std::vector<json::object> out;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = text.find('\n', begin);
    REQUIRE(end != std::string::npos);
    out.push_back(event_in(std::string_view(text).substr(begin, end - begin)));
    begin = end + 1;
  }
  return out;
}

std::string text_at(const json::object& event, const char* section, const char* member) {
  return event.at(section).at(member).as_string().c_str();
}

/// The request, its client, and its outcome.
std::string summary(const json::object& event) {
  return text_at(event, "request", "operation") + " " + text_at(event, "request", "endpoint") + " by '" +
         text_at(event, "auth", "accessor_id") + "': " + text_at(event, "belay", "outcome");
}

std::vector<std::string> summaries(const std::string& text) {
  std::vector<std::string> out;
  for (const auto& e : events_in(text))
    out.push_back(summary(e));
  return out;
}

/// An audit log that fails as the test requires, and keeps what it receives.
struct sent_log {
  std::mutex mutex;
  std::vector<std::string> batches; ///< as they arrived
  std::string written;              ///< what is "in the file"
  std::string error;                ///< not empty: nothing is written

  gateway_fixture::spawn_audit spawn() {
    return [this](caf::actor_system& system, const node_actors_ptr& node_actors) {
      return sim::stub_of<audit_log_actor>(system, [this, node_actors](const write_audit& w) {
        std::lock_guard lock(mutex);
        batches.push_back(*w.lines);
        audit_written answer;
        answer.error = error;
        if (error.empty()) {
          written += *w.lines;
          answer.bytes = w.lines->size();
          answer.lines = static_cast<std::size_t>(std::count(w.lines->begin(), w.lines->end(), '\n'));
        }
        caf::anon_send(node_actors->gateways[w.gateway], std::move(answer));
      });
    };
  }
  void set_error(std::string text) {
    std::lock_guard lock(mutex);
    error = std::move(text);
  }
  std::string text() {
    std::lock_guard lock(mutex);
    return written;
  }
};

std::string audit_numbers(const metrics& m) {
  std::string out;
  const auto text = m.prometheus("t");
  for (const std::string name : {"lines", "lost_lines", "refused_requests", "broken"}) {
    const auto at = text.find("\nt_audit_" + name + " ");
    REQUIRE(at != std::string::npos);
    const auto begin = at + name.size() + 10;
    out += name + "=" + text.substr(begin, text.find('\n', begin) - begin) + " ";
  }
  return out;
}

} // namespace

TEST_CASE("audit log: a line for each request, without values and without frequent probes", "[gateway]") {
  scratch_folder in;
  const auto path = in / "audit.json";
  {
    gateway_fixture f(audited(false), nullptr, false, into(path));
    auto c = f.client();
    CHECK(c.ask(ask_for("PUT", "/v1/kv/app/key?flags=7", {}, "the value")).status == 200);
    CHECK(c.ask(ask_for("GET", "/v1/kv/app/key?raw")).status == 200);
    CHECK(c.ask(ask_for("GET", "/v1/status/leader")).status == 200);
    CHECK(c.ask(ask_for("GET", "/v1/agent/live")).status != 404);
    CHECK(c.ask(ask_for("GET", "/nothing")).status == 404);
    CHECK(c.ask(ask_for("POST", "/v1/txn")).status == 405);
    CHECK(c.ask(ask_for("PUT", "/v1/kv/app/key?cas=3", {}, "the value")).status == 200);
  }
  // stop() has written the last lines to the file.
  const auto text = harness::file_text(path);
  CHECK(text.find("the value") == std::string::npos);
  CHECK(summaries(text) == std::vector<std::string>{"PUT /v1/kv/app/key by '': done", "GET /v1/kv/app/key by '': done",
                                                    "POST /v1/txn by '': refused", "PUT /v1/kv/app/key by '': done"});
  const auto put = events_in(text).front();
  CHECK(text_at(put, "request", "remote_addr") == "127.0.0.1");
  CHECK(text_at(put, "request", "user_agent") == "test");
  CHECK(text_at(put, "request", "host") == "x");
  CHECK(text_at(put, "response", "status") == "200");
  CHECK(put.at("belay").at("index").as_int64() == 7);
  CHECK(put.at("belay").at("targets") == json::parse(R"([{"verb":"set","kind":"key","name":"app/key"}])"));
  CHECK(events_in(text).at(3).at("belay").at("targets").at(0).at("verb").as_string() == "cas");
}

TEST_CASE("audit log: the token is identified, and no secret appears anywhere", "[gateway]") {
  scratch_folder in;
  const auto path = in / "audit.json";
  {
    gateway_fixture f(audited(false, true), nullptr, false, into(path));
    f.behind().answer = owners;
    f.behind().check_replies = {state::refusal{"Permission denied"}, state::refusal{"ACL not found"}, true, true};
    auto c = f.client();
    CHECK(c.ask(ask_for("PUT", "/v1/kv/app/key", with_token(writer_secret), "1")).status == 200);
    // In each place where a token may be, and in some where it should not be.
    CHECK(c.ask(ask_for("PUT", "/v1/kv/app/" + writer_secret + "?token=" + writer_secret,
                        "X-Request: " + writer_secret + "\r\n", "1"))
              .status == 200);
    const std::string unknown = "00000000-1111-2222-3333-444444444444";
    CHECK(c.ask(ask_for("PUT", "/v1/kv/app/key", "Authorization: Bearer " + unknown + "\r\n", "1")).status == 403);
    CHECK(c.ask(ask_for("PUT", "/v1/kv/app/key", {}, "1")).status == 403);
    CHECK(c.ask("GET /v1/kv/app/key HTTP/1.1\r\nHost: " + writer_secret + "\r\nUser-Agent: " + writer_secret + "\r\n" +
                with_token(writer_secret) + "\r\n")
              .status == 200);
    CHECK(c.ask(ask_for("GET", "/v1/kv/app/key%3ftoken=" + writer_secret)).status == 200);
    CHECK(c.ask(ask_for("PUT", "/v1/acl/clone/" + writer_secret)).status != 200);
  }
  const auto text = harness::file_text(path);
  CHECK(text.find(writer_secret) == std::string::npos);
  CHECK(text.find("00000000-1111-2222-3333-444444444444") == std::string::npos);
  const auto lines = summaries(text);
  const std::string anonymous(state::anonymous_accessor);
  REQUIRE(lines.size() >= 6);
  CHECK(lines[0] == "PUT /v1/kv/app/key by '" + writer_accessor + "': done");
  CHECK(lines[1] == "PUT /v1/kv/app/<hidden> by '" + writer_accessor + "': done");
  CHECK(lines[2] == "PUT /v1/kv/app/key by '': denied");
  CHECK(lines[3] == "PUT /v1/kv/app/key by '" + anonymous + "': denied");
  CHECK(lines[4] == "GET /v1/kv/app/key by '" + writer_accessor + "': done");
  CHECK(lines[5] == "GET /v1/kv/app/key?token=<hidden> by '" + anonymous + "': done");
  const auto events = events_in(text);
  CHECK(text_at(events[0], "auth", "description") == "of the test");
  CHECK(text_at(events[0], "auth", "create_time") == "2023-11-14T22:13:20Z");
  CHECK(text_at(events[2], "response", "error") == "ACL not found");
  CHECK(text_at(events[3], "response", "error") == "Permission denied");
}

// A client that tries tokens, or sends garbage, must be identifiable by its address.
TEST_CASE("audit log: a request that is rejected at once has its client, address and reason", "[gateway]") {
  scratch_folder in;
  const auto path = in / "audit.json";
  const std::string unknown = "00000000-1111-2222-3333-444444444444";
  {
    gateway_fixture f(audited(false, true), nullptr, false, into(path));
    f.behind().answer = owners;
    auto c = f.client();
    const auto requested = [&](const std::string& method, const std::string& target, const std::string& token) {
      return c.ask(ask_for(method, target, with_token(token))).status;
    };
    CHECK(requested("PUT", "/v1/kv/app/" + writer_secret + "?cas=x", writer_secret) >= 400);
    CHECK(requested("POST", "/v1/txn", writer_secret) == 405);
    CHECK(requested("POST", "/v1/txn", unknown) == 405);
    CHECK(requested("GET", "/v1/agent/self", unknown) == 403);
    CHECK(c.ask("GET /v1/kv/a?x=% HTTP/1.1\r\nHost: x\r\n\r\n").status == 500);
    // Lines about tokens that need a query come a moment later.
    CHECK(eventually([&] { return summaries(harness::file_text(path)).size() == 5; }));
  }
  const auto text = harness::file_text(path);
  CHECK(text.find(writer_secret) == std::string::npos);
  CHECK(text.find(unknown) == std::string::npos);
  auto lines = summaries(text);
  std::sort(lines.begin(), lines.end());
  CHECK(lines == std::vector<std::string>{"GET /v1/agent/self by '': denied", "GET /v1/kv/a by '': refused",
                                          "POST /v1/txn by '': refused",
                                          "POST /v1/txn by '" + writer_accessor + "': refused",
                                          "PUT /v1/kv/app/<hidden> by '" + writer_accessor + "': refused"});
  for (const auto& e : events_in(text)) {
    CHECK(text_at(e, "request", "remote_addr") == "127.0.0.1");
    CHECK(e.contains("response"));
  }
}

// A write that finds nothing to change was not done. A read that finds nothing was done.
TEST_CASE("audit log: a read that returns 404 counts as done", "[gateway]") {
  scratch_folder in;
  const auto path = in / "audit.json";
  {
    gateway_fixture f(audited(false, true), nullptr, false, into(path));
    f.behind().answer = [](const state::query& q) {
      if (!std::holds_alternative<state::permissions_read>(q))
        return state::query_result{log_index{5}, state::kv_entries{}};
      auto found = owners(q);
      if (auto* p = std::get_if<state::permissions>(&found.data)) {
        p->may = std::make_shared<const acl::authorizer>(acl::authorizer::allow_all());
        p->allowed.assign(std::get<state::permissions_read>(q).requested.size(), true);
      }
      return found;
    };
    auto c = f.client();
    CHECK(c.ask(ask_for("GET", "/v1/kv/none", with_token(writer_secret))).status == 404);
    CHECK(c.ask(ask_for("PUT", "/v1/agent/token/nosuch", with_token(writer_secret), "{}")).status == 404);
  }
  const auto lines = summaries(harness::file_text(path));
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == "GET /v1/kv/none by '" + writer_accessor + "': done");
  CHECK(lines[1] == "PUT /v1/agent/token/<hidden> by '" + writer_accessor + "': refused");
}

// Secret and accessor of a token look alike, and clients mix them up: the log has accessors.
TEST_CASE("audit log: a token's name is shown if the token exists", "[gateway]") {
  scratch_folder in;
  const auto path = in / "audit.json";
  const std::string others = "99999999-1111-4222-8333-444444444444"; // the secret of another client
  {
    gateway_fixture f(audited(false, true), nullptr, false, into(path));
    f.behind().answer = [&](const state::query& q) -> state::query_result {
      const auto* read = std::get_if<state::acl_token_read>(&q);
      if (read == nullptr)
        return owners(q);
      state::acl_rows rows{{}, true};
      if (read->accessor == writer_accessor)
        rows.list.push_back({std::make_shared<state::acl_token>(), {}, {}});
      return {log_index{5}, rows};
    };
    auto c = f.client();
    const auto requested = [&](const std::string& method, const std::string& target, const std::string& body = "") {
      return c
          .ask(method + " " + target + " HTTP/1.1\r\nHost: x\r\nUser-Agent: prog " + others + "\r\n" +
               with_token(writer_secret) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body)
          .status;
    };
    CHECK(requested("GET", "/v1/acl/token/" + writer_accessor) == 200);
    CHECK(requested("GET", "/v1/acl/token/" + others) == 403);
    f.behind().check_replies = {state::refusal{"ACL not found"}, true, true};
    CHECK(requested("DELETE", "/v1/acl/token/" + writer_accessor) == 200);
    CHECK(requested("DELETE", "/v1/acl/token/" + others) == 200); // there was none
    CHECK(requested("PUT", "/v1/acl/token/" + others + "/clone", "{}") == 403);
    CHECK(requested("PUT", "/v1/agent/token/" + others, "{}") >= 400);
    CHECK(requested("PUT", "/v1/agent/token/default", "{}") >= 400);
    CHECK(eventually([&] { return summaries(harness::file_text(path)).size() == 7; }));
  }
  const auto text = harness::file_text(path);
  CHECK(text.find(others) == std::string::npos);
  CHECK(text.find(writer_secret) == std::string::npos);
  auto lines = summaries(text);
  const auto by = " by '" + writer_accessor + "': ";
  std::sort(lines.begin(), lines.end());
  REQUIRE(lines.size() == 7);
  CHECK(lines[0] == "DELETE /v1/acl/token/" + writer_accessor + by + "done");
  CHECK(lines[1] == "DELETE /v1/acl/token/<hidden>" + by + "done");
  CHECK(lines[2] == "GET /v1/acl/token/" + writer_accessor + by + "done");
  CHECK(lines[3] == "GET /v1/acl/token/<hidden>" + by + "denied");
  CHECK(lines[4] == "PUT /v1/acl/token/<hidden>/clone" + by + "denied");
  CHECK(lines[5] == "PUT /v1/agent/token/<hidden>" + by + "denied");
  CHECK(lines[6] == "PUT /v1/agent/token/default" + by + "denied");
}

// The client that disconnects may have changed something.
TEST_CASE("audit log: a client that does not wait for the answer does not go unseen", "[gateway]") {
  scratch_folder in;
  const auto path = in / "audit.json";
  {
    gateway_fixture f(audited(false), nullptr, false, into(path));
    f.behind().hold_writes = true;
    auto c = f.client();
    c.send(ask_for("PUT", "/v1/kv/app/key", {}, "1"));
    REQUIRE(eventually([&] { return f.behind().write_count() == 1; }));
    c.reset();
    CHECK(eventually([&] { return !harness::file_text(path).empty(); }));
  }
  const auto events = events_in(harness::file_text(path));
  REQUIRE(events.size() == 1);
  CHECK(summary(events[0]) == "PUT /v1/kv/app/key by '': unknown");
  CHECK_FALSE(events[0].contains("response"));
}

TEST_CASE("audit log: enforced, the line is in the file before the answer is out", "[gateway]") {
  scratch_folder in;
  const auto path = in / "audit.json";
  gateway_fixture f(audited(true, true), nullptr, false, into(path));
  f.behind().answer = owners;
  auto c = f.client();
  for (std::size_t i = 1; i <= 5; ++i) {
    CHECK(c.ask(ask_for("GET", "/v1/kv/app/key", with_token(writer_secret))).status == 200);
    CHECK(summaries(harness::file_text(path)).size() == i);
  }
}

TEST_CASE("audit log: enforced, no request starts while lines cannot be written", "[gateway]") {
  gateway_fixture f(audited(true), nullptr, false, into("/dev/full"));
  auto c = f.client();
  // It is not known yet that the disk is full.
  const auto first = c.ask(ask_for("PUT", "/v1/kv/a", {}, "1"));
  CHECK(first.status == 500);
  CHECK(first.body == "the audit log cannot be written (cannot write /dev/full: No space left on device), and "
                      "audit.sink.delivery_guarantee is enforced");
  CHECK(f.behind().write_count() == 1);
  const auto reads = f.behind().read_count();
  for (const auto& again :
       {ask_for("PUT", "/v1/kv/a", {}, "1"), ask_for("GET", "/v1/kv/a"), ask_for("POST", "/v1/txn")}) {
    const auto r = c.ask(again);
    CHECK(r.status == 500);
    CHECK(r.body == first.body);
  }
  CHECK(f.behind().write_count() == 1);
  CHECK(f.behind().read_count() == reads);
  CHECK(c.ask(ask_for("GET", "/v1/status/leader")).status == 200);
  CHECK(audit_numbers(f.numbers()) == "lines=0 lost_lines=0 refused_requests=4 broken=1 ");
}

TEST_CASE("audit log: enforced, requests during a full disk are written afterwards", "[gateway]") {
  sent_log log;
  log.error = "no room";
  gateway_fixture f(audited(true), nullptr, false, log.spawn());
  auto c = f.client();
  CHECK(c.ask(ask_for("PUT", "/v1/kv/done", {}, "1")).status == 500);
  CHECK(c.ask(ask_for("PUT", "/v1/kv/not-begun", {}, "1")).status == 500);
  CHECK(f.behind().write_count() == 1);
  log.set_error("");
  CHECK(eventually([&] { return c.ask(ask_for("PUT", "/v1/kv/later", {}, "1")).status == 200; }));
  const auto lines = summaries(log.text());
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == "PUT /v1/kv/done by '': done");
  CHECK(lines[1] == "PUT /v1/kv/later by '': done");
}

TEST_CASE("audit log: best effort, lost lines are counted and reported", "[gateway]") {
  sent_log log;
  log.error = "no room";
  {
    gateway_fixture f(audited(false), nullptr, false, log.spawn());
    auto c = f.client();
    for (int i = 0; i < 3; ++i) {
      CHECK(c.ask(ask_for("PUT", "/v1/kv/a", {}, "1")).status == 200);
      const auto lost = "lost_lines=" + std::to_string(i + 1) + " ";
      CHECK(eventually([&] { return audit_numbers(f.numbers()).find(lost) != std::string::npos; }));
    }
    log.set_error("");
    CHECK(c.ask(ask_for("PUT", "/v1/kv/b", {}, "1")).status == 200);
    CHECK(
        eventually([&] { return audit_numbers(f.numbers()) == "lines=1 lost_lines=3 refused_requests=0 broken=0 "; }));
    CHECK(c.ask(ask_for("PUT", "/v1/kv/c", {}, "1")).status == 200);
  }
  const auto events = events_in(log.text());
  REQUIRE(events.size() == 3);
  CHECK(events[0].at("type").as_string() == "LostEvents");
  CHECK(events[0].at("belay").at("lost").as_int64() == 3);
  CHECK(summary(events[1]) == "PUT /v1/kv/b by '': done");
  CHECK(summary(events[2]) == "PUT /v1/kv/c by '': done");
}

TEST_CASE("audit log: best effort, a disk that does not answer costs neither memory nor answers", "[gateway]") {
  auto settings = audited(false);
  settings.audit->waiting_bytes_max = 2000;
  std::atomic<int> batches{0};
  gateway_fixture f(settings, nullptr, false, [&](caf::actor_system& system, const node_actors_ptr&) {
    return sim::stub_of<audit_log_actor>(system, [&](const write_audit&) { ++batches; });
  });
  auto c = f.client();
  for (int i = 0; i < 50; ++i)
    CHECK(c.ask(ask_for("PUT", "/v1/kv/a", {}, "1")).status == 200);
  CHECK(batches == 1);
  const auto numbers = audit_numbers(f.numbers());
  INFO(numbers);
  CHECK(numbers.find("lost_lines=4") != std::string::npos); // 40 and some: each line has about 500 bytes
}
