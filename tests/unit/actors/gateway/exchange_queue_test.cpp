// The order of requests and responses on one connection, with a scripted host.

#include "actors/gateway/exchange_queue.hpp"
#include "actors/relay/request_text.hpp"
#include "protocol/base/mutants.hpp"
#include "tests/unit/actors/gateway/scripted_host.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using namespace std::chrono_literals;

namespace {

struct nobody : requester {
  void progress() override {}
};

struct queue_fixture {
  /// Reads one request, as the connection does. It must be complete, except for an upload's body.
  void request(const std::string& line, const std::string& headers = {}, const std::string& body = {}) {
    http_reader reader(host.rules);
    std::size_t used = 0;
    const auto outcome = reader.read(line + " HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n" + body, used);
    REQUIRE((outcome == http_reader::outcome::complete || outcome == http_reader::outcome::head));
    queue.begin(reader, "127.0.0.1", nullptr, outcome == http_reader::outcome::head);
  }
  static void answer(exchange& e, const std::string& text) { e.answer = http::error_response(500, text); }
  std::string write() {
    queue.write(0);
    return host.written();
  }

  scripted_host host;
  connection_limits limits;
  std::shared_ptr<nobody> owner = std::make_shared<nobody>();
  exchange_queue queue{*owner, host, limits};
};

/// The bodies in a sequence of responses: what follows each empty line.
std::string bodies(const std::string& bytes) {
  std::string all;
  for (auto at = bytes.find("\r\n\r\n"); at != std::string::npos; at = bytes.find("\r\n\r\n", at + 4)) {
    const auto end = bytes.find("HTTP/1.1", at);
    all += (all.empty() ? "" : " ") + bytes.substr(at + 4, end == std::string::npos ? end : end - at - 4);
  }
  return all;
}

} // namespace

namespace {

/// Whether the client of the waiting request counts as gone.
bool client_is_gone(bool of_agent, std::string_view unread) {
  queue_fixture f;
  f.request("GET /wait");
  f.write();
  REQUIRE(f.host.dispatched.size() == 1);
  f.queue.note_end(of_agent, unread);
  f.queue.end_waits();
  CHECK(f.host.wait_ended.size() == 1);
  const bool gone = f.host.dispatched[0]->disconnected;
  f.request("GET /wait"); // was sent before the end
  queue_fixture::answer(*f.host.dispatched[0], "first");
  f.write();
  REQUIRE(f.host.dispatched.size() == 2);
  CHECK(f.host.dispatched[1]->disconnected == gone);
  return gone;
}

} // namespace

// If a restart of an agent gave up a position in a queue, its live clients would lose it.
TEST_CASE("exchange_queue: the end of a client's connection is its own, that of an agent's only if the agent says so") {
  CHECK(client_is_gone(false, ""));
  CHECK(client_is_gone(true, client_disconnected));
  CHECK_FALSE(client_is_gone(true, ""));
  CHECK_FALSE(client_is_gone(true, client_disconnected.substr(1)));
  CHECK_FALSE(client_is_gone(true, client_disconnected.substr(0, client_disconnected.size() - 1)));
  REQUIRE(activate_mutant("end_of_agent_disconnects"));
  CHECK(client_is_gone(true, ""));
  activate_mutant("");
}

// If responses came in another order, the client would mix them up.
TEST_CASE("exchange_queue: writes are decided together, their answers keep the order of the requests") {
  queue_fixture f;
  f.request("PUT /plain");
  f.request("PUT /plain");
  f.request("GET /known");
  REQUIRE(f.host.dispatched.size() == 2);
  f.answer(*f.host.dispatched[1], "second");
  CHECK(f.write().empty());
  f.answer(*f.host.dispatched[0], "first");
  CHECK(bodies(f.write()) == "first second /known");
  CHECK(f.queue.empty());
  CHECK(f.host.statuses == std::vector<int>{500, 500, 404});
}

TEST_CASE("exchange_queue: a read starts when all before it are answered, and nothing starts after it") {
  queue_fixture f;
  f.request("PUT /plain");
  CHECK(f.queue.may_begin(0));
  f.request("GET /read");
  CHECK_FALSE(f.queue.may_begin(0));
  f.write();
  CHECK(f.host.dispatched.size() == 1);
  f.answer(*f.host.dispatched[0], "written");
  CHECK(bodies(f.write()) == "written");
  REQUIRE(f.host.dispatched.size() == 2);
  f.answer(*f.host.dispatched[1], "read");
  CHECK(bodies(f.write()) == "read");
  CHECK(f.queue.may_begin(0));
}

TEST_CASE("exchange_queue: the pending requests of one client are limited") {
  queue_fixture f;
  f.limits.in_flight_max = 2;
  f.limits.unsent_bytes_max = 100;
  f.request("PUT /plain");
  CHECK(f.queue.may_begin(99));
  CHECK_FALSE(f.queue.may_begin(100));
  f.request("PUT /plain");
  CHECK_FALSE(f.queue.may_begin(0));
  for (auto* e : f.host.dispatched)
    f.answer(*e, "");
  f.write();
  f.limits.in_flight_bytes_max = 20;
  CHECK(f.queue.may_begin(0));
  f.request("PUT /plain", "Content-Length: 20\r\n", std::string(20, 'v')); // alone, whatever its size
  CHECK_FALSE(f.queue.may_begin(0));
  f.answer(*f.host.dispatched.back(), "");
  f.write();
  CHECK(f.queue.may_begin(0));
}

TEST_CASE("exchange_queue: after the last response nothing is written") {
  queue_fixture f;
  SECTION("the client sent Connection: close") {
    f.request("GET /one", "Connection: close\r\n");
    CHECK(f.queue.ended());
    CHECK_FALSE(f.queue.may_begin(0));
    CHECK(f.write().find("Connection: close") != std::string::npos);
  }
  SECTION("the input is not HTTP; requests before it are answered") {
    f.request("PUT /plain");
    http_reader reader(f.host.rules);
    std::size_t used = 0;
    const auto outcome = reader.read("nonsense\r\n\r\n", used);
    f.queue.refuse(outcome, reader);
    CHECK(f.queue.ended());
    f.answer(*f.host.dispatched[0], "first");
    const auto bytes = f.write();
    CHECK(bodies(bytes) == "first 400 Bad Request");
    CHECK(bytes.find("Connection: close") == bytes.rfind("Connection: close"));
  }
  CHECK(f.queue.closing());
  CHECK(f.queue.empty());
}

TEST_CASE("exchange_queue: an upload is forwarded as it arrives, and not too far ahead") {
  queue_fixture f;
  f.request("PUT /upload", "Content-Length: 3000000\r\n");
  CHECK(f.queue.uploading());
  CHECK(f.queue.needs_body());
  f.write();
  REQUIRE(f.host.dispatched.size() == 1);
  auto& e = *f.host.dispatched[0];
  f.queue.body_arrived(std::string(1u << 20, 'x'), false);
  CHECK(f.host.bodies == 1);
  CHECK_FALSE(f.queue.may_begin(0)); // until the write has been sent
  e.transfer->body.clear();
  CHECK(f.queue.may_begin(0));
  CHECK_FALSE(f.queue.starved());
  e.transfer->starved = true;
  CHECK(f.queue.starved());
  SECTION("to its end") {
    f.queue.body_arrived("the end", true);
    CHECK(e.transfer->body_complete);
    CHECK_FALSE(f.queue.uploading());
    f.answer(e, "restored");
    CHECK(bodies(f.write()) == "restored");
    CHECK_FALSE(f.queue.closing());
  }
  SECTION("it is answered before its end: the rest is not read, so the connection ends") {
    f.answer(e, "no archive");
    CHECK(f.write().find("Connection: close") != std::string::npos);
    CHECK(f.queue.closing());
  }
  SECTION("its rest cannot be read") {
    http_reader reader(f.host.rules);
    f.queue.refuse(http_reader::outcome::bad_request, reader);
    CHECK(f.host.forgotten == 1);
    CHECK(bodies(f.write()) == "400 Bad Request");
    CHECK(f.queue.closing());
  }
}

TEST_CASE("exchange_queue: pieces of a download are requested as the client reads them") {
  queue_fixture f;
  f.request("GET /read");
  f.write();
  auto& e = *f.host.dispatched.at(0);
  e.transfer = std::make_unique<snapshot_transfer>();
  e.transfer->streaming = true;
  e.transfer->piece = "abc";
  e.answer.emplace();
  f.queue.write(f.limits.unsent_bytes_max / 2);
  CHECK(f.host.written().find("3\r\nabc\r\n") != std::string::npos);
  CHECK(f.host.pieces == 0); // the client is slow
  CHECK(f.write().empty());
  CHECK(f.host.pieces == 1);
  CHECK(f.write().empty());
  CHECK(f.host.pieces == 1); // one at a time
  e.transfer->ended = true;
  CHECK(f.write() == "0\r\n\r\n");
  CHECK(f.queue.empty());
}

// A request that is never answered is an error.
TEST_CASE("exchange_queue: a request past its deadline gets 500") {
  queue_fixture f;
  f.request("PUT /plain");
  CHECK_FALSE(f.queue.sweep(f.host.time + 10s - 1ns));
  CHECK(f.queue.sweep(f.host.time + 10s));
  CHECK(f.host.forgotten == 1);
  CHECK(bodies(f.write()) == "rpc error making call: i/o timeout");
  CHECK_FALSE(f.queue.sweep(f.host.time + 20s));
}

TEST_CASE("exchange_queue: a question is repeated on request") {
  queue_fixture f;
  f.request("GET /read");
  f.write();
  f.host.dispatched.at(0)->ask_again = true;
  CHECK_FALSE(f.queue.sweep(f.host.time));
  CHECK(f.host.dispatched.size() == 2);
  CHECK_FALSE(f.queue.sweep(f.host.time));
  CHECK(f.host.dispatched.size() == 2);
}

TEST_CASE("exchange_queue: at shutdown pending requests are finished, except those that may take minutes") {
  queue_fixture f;
  SECTION("a write") {
    f.request("PUT /plain");
    CHECK_FALSE(f.queue.blocking());
    f.queue.finish("shutting down");
    CHECK(f.write().empty());
    f.answer(*f.host.dispatched[0], "written");
    const auto bytes = f.write();
    CHECK(bodies(bytes) == "written");
    CHECK(bytes.find("Connection: close") != std::string::npos);
    CHECK(f.host.forgotten == 0);
  }
  SECTION("a blocking query") {
    f.request("GET /wait");
    f.write();
    CHECK(f.queue.blocking());
    f.queue.finish("shutting down");
    CHECK(f.host.forgotten == 1);
    CHECK(bodies(f.write()) == "shutting down");
  }
  SECTION("a read that has not begun") {
    f.request("PUT /plain");
    f.request("GET /read");
    f.queue.finish("shutting down");
    f.answer(*f.host.dispatched[0], "written");
    CHECK(bodies(f.write()) == "written shutting down");
    CHECK(f.host.dispatched.size() == 1);
  }
  SECTION("nothing") {
    f.queue.finish("shutting down");
  }
  CHECK(f.queue.ended());
  CHECK(f.queue.closing());
}

TEST_CASE("exchange_queue: when the client disconnects, the workers for it are notified") {
  queue_fixture f;
  f.request("PUT /plain");
  f.request("PUT /plain");
  f.request("GET /read"); // has not begun
  f.answer(*f.host.dispatched[0], "written");
  f.queue.drop();
  CHECK(f.host.forgotten == 1);
  CHECK(f.queue.empty());
}

// A response that may not be sent until the audit log has it.
TEST_CASE("exchange_queue: a response that must wait delays those after it") {
  queue_fixture f;
  f.host.may = false;
  f.request("PUT /plain");
  f.request("PUT /plain");
  f.answer(*f.host.dispatched[0], "first");
  f.answer(*f.host.dispatched[1], "second");
  CHECK(f.write().empty());
  CHECK_FALSE(f.queue.sweep(f.host.time + 20s)); // it is answered, though not sent
  f.host.may = true;
  CHECK(bodies(f.write()) == "first second");
  CHECK(f.host.gone == 0);
}

TEST_CASE("exchange_queue: it learns of all requests whose response was not sent") {
  queue_fixture f;
  f.host.may = false;
  f.request("PUT /plain");
  f.request("PUT /plain");
  f.answer(*f.host.dispatched[0], "written");
  CHECK(f.write().empty());
  f.queue.drop();
  CHECK(f.host.gone == 2);
}

// A client that has closed its side may read on. Only the handlers know which requests wait.
TEST_CASE("exchange_queue: after the end of the input nothing waits") {
  queue_fixture f;
  f.request("PUT /plain");
  f.request("GET /wait");
  REQUIRE(f.host.dispatched.size() == 1);
  f.queue.end_waits();
  CHECK(f.host.wait_ended == std::vector<exchange*>{f.host.dispatched[0]});
  f.answer(*f.host.dispatched[0], "written");
  CHECK(bodies(f.write()) == "written");
  REQUIRE(f.host.dispatched.size() == 2); // it begins now, and its handler sees that it must not wait
  CHECK(f.host.dispatched[1]->input_ended);
  f.queue.end_waits();
  CHECK(f.host.wait_ended.size() == 1);
  f.answer(*f.host.dispatched[1], "read");
  CHECK(bodies(f.write()) == "read");
  f.request("GET /wait"); // was sent, and not read yet
  f.write();
  CHECK(f.host.dispatched.at(2)->input_ended);
}

TEST_CASE("exchange_queue: a stream ends with the input, an answer that is written does not change") {
  queue_fixture f;
  f.request("GET /read");
  f.write();
  auto& e = *f.host.dispatched.at(0);
  e.answer.emplace();
  e.transfer = std::make_unique<snapshot_transfer>();
  e.transfer->streaming = true;
  f.write();
  f.queue.end_waits();
  CHECK(f.host.wait_ended == std::vector<exchange*>{&e});
  queue_fixture other;
  other.host.may = false; // answered, and not sent yet
  other.request("PUT /plain");
  other.answer(*other.host.dispatched.at(0), "written");
  other.queue.end_waits();
  CHECK(other.host.wait_ended.empty());
}
