// sim/clients/http_messages: requests that servers parse, and responses that clients parse.
#include "sim/clients/http_messages.hpp"

#include "protocol/http/render.hpp"
#include "protocol/wire/command_codec.hpp"
#include "sim/clients/acl_client.hpp"
#include "sim/clients/catalog_client.hpp"
#include "sim/environment/swarm.hpp"

#include <catch2/catch.hpp>

#include <set>

namespace belay::sim {

namespace {

constexpr auto id = "11111111-2222-3333-4444-555555555555";

/// The router's result for the request of an operation.
http::action routed(const operation& o) {
  const auto text = request_of(o);
  const auto line = text.substr(0, text.find("\r\n"));
  const auto first = line.find(' '), second = line.rfind(' ');
  const auto target = line.substr(first + 1, second - first - 1);
  http::raw_request raw;
  raw.method = std::string_view(line).substr(0, first);
  raw.target = target;
  raw.headers = {{"Host", "127.0.0.1:8500"}};
  constexpr std::string_view token = "X-Consul-Token: ";
  if (const auto at = text.find(token); at != std::string::npos) {
    const auto begin = at + token.size();
    raw.headers.push_back(
        {token.substr(0, token.size() - 2), std::string_view(text).substr(begin, text.find('\r', begin) - begin)});
  }
  raw.body = std::string_view(text).substr(text.find("\r\n\r\n") + 4);
  http::route_settings settings;
  settings.session_ttl_min = settings.token_ttl_min = std::chrono::seconds(1);
  settings.acl_enabled = asker_of(o).has_value();
  settings.acl_allowed_by_default = false;
  return http::parse(raw, settings, [&o] { return wished_id(o); }).action;
}

operation requested(state::command c) {
  operation o;
  o.id = 1;
  as_requested(c);
  o.write = std::move(c);
  return o;
}

state::kv_op op_of(state::kv_verb verb) {
  state::kv_op op;
  op.verb = verb;
  op.key = "k/0/1";
  op.value = make_payload("1 of 2");
  op.flags = 7;
  if (verb == state::kv_verb::cas || verb == state::kv_verb::remove_cas)
    op.index = log_index{9};
  op.session = id;
  return op;
}

http_answer rendered(const http::response& r) {
  std::string bytes;
  http::serialize(r, "now", true, false, {}, bytes);
  const auto whole = whole_answer(bytes, false);
  REQUIRE(whole);
  CHECK_FALSE(whole_answer(std::string_view(bytes).substr(0, bytes.size() - 1), false));
  return *whole;
}

} // namespace

TEST_CASE("http_messages: commands about ACLs, with their tokens", "[sim]") {
  known_access known;
  std::set<std::size_t> kinds;
  for (std::uint64_t n = 1; n < 400; ++n) {
    auto o = requested(known.next(n * 0x9e3779b97f4a7c15 % (std::uint64_t{1} << 40), n));
    o.write->by =
        state::auth_context{n % 3 == 0 ? std::string(state::anonymous_secret) : "s" + std::to_string(n), false, "dc1"};
    INFO(request_of(o));
    auto action = routed(o);
    auto* write = std::get_if<http::write_request>(&action);
    REQUIRE(write != nullptr);
    if (auto* t = std::get_if<state::acl_token_set>(&write->command)) // from the clock of the server
      t->token.create_time_ns = t->token.expiration_time_ns = 0;
    write->command.client_address.reset(); // the route adds it
    CHECK(wire::encode_command(write->command) == wire::encode_command(*o.write));
    kinds.insert(write->command.index());
    o.result = outcome::done;
    o.reply = true;
    known.learn(o);
  }
  CHECK(kinds.size() == 6);
}

TEST_CASE("http_messages: a forbidden request is parsed as rejected", "[sim]") {
  http_answer no;
  no.status = 403;
  no.body = "Permission denied";
  auto write = requested(state::kv_write{op_of(state::kv_verb::set)});
  const write_decision decided{forward::call_outcome::done, log_index{5}};
  CHECK(understand(no, decided, write).has_value()); // ACLs are not in force
  write.write->by.emplace();
  CHECK_FALSE(understand(no, decided, write).has_value());
  CHECK(write.result == outcome::done);
  REQUIRE(std::holds_alternative<state::refusal>(write.reply));
  operation read;
  read.read.emplace();
  read.read->query = state::kv_get{"k"};
  CHECK(understand(no, {}, read).has_value());
  read.read->query.by.emplace();
  CHECK_FALSE(understand(no, {}, read).has_value());
  REQUIRE(read.answer.has_value());
  CHECK(std::holds_alternative<state::refusal>(read.answer->data));
  operation renewal;
  renewal.renewal = session_renewal{id, state::auth_context{}};
  CHECK_FALSE(understand(no, {}, renewal).has_value());
  CHECK(renewal.result == outcome::refused);
  CHECK(renewal.text == no.body);
}

TEST_CASE("http_messages: the router makes the same command of a request", "[sim]") {
  std::vector<state::command> all;
  using verb = state::kv_verb;
  for (const auto v :
       {verb::set, verb::cas, verb::lock, verb::unlock, verb::remove, verb::remove_cas, verb::remove_tree})
    all.push_back(state::kv_write{op_of(v)});
  state::txn t;
  for (const auto v : {verb::set, verb::cas, verb::lock, verb::unlock, verb::check_session}) {
    t.ops.push_back(op_of(v));
    std::get<state::kv_op>(t.ops.back()).index = {};
  }
  all.push_back(t);
  const catalog_client catalog;
  for (std::uint64_t n = 0; n < 50; ++n) {
    auto mixed = catalog.next(n * 977, n);
    mixed.ops.push_back(t.ops.front());
    all.push_back(mixed);
  }
  state::session_create s;
  s.session.id = id;
  s.session.node = "m0";
  s.session.ttl = "2s";
  s.session.ttl_ns = 2'000'000'000;
  s.session.lock_delay_ns = 500'000'000;
  s.session.behavior = state::session_behavior::remove;
  s.session.node_checks = std::vector<std::string>{"serfHealth"};
  all.push_back(s);
  s.session.ttl = "0s";
  s.session.ttl_ns = s.session.lock_delay_ns = 0;
  all.push_back(s);
  all.push_back(state::session_destroy{{id}, "destroyed"});
  state::catalog_register r;
  r.node.node = "m0";
  r.node.address = "10.0.0.1";
  r.checks.emplace_back();
  r.checks.back().node = "m0";
  r.checks.back().check_id = r.checks.back().name = "serfHealth";
  r.checks.back().status = "passing";
  all.push_back(r);
  all.push_back(state::catalog_deregister{"m0", {}, "serfHealth"});
  all.push_back(state::catalog_deregister{"m0", {}, {}});
  for (const auto& c : all) {
    const auto o = requested(c);
    INFO(request_of(o));
    const auto action = routed(o);
    const auto* write = std::get_if<http::write_request>(&action);
    REQUIRE(write != nullptr);
    CHECK(wire::encode_command(write->command) == wire::encode_command(*o.write));
    CHECK(write->lock_wait == std::chrono::nanoseconds::zero());
  }
}

TEST_CASE("http_messages: an acquire that may wait has its deadline", "[sim]") {
  auto o = requested(state::kv_write{op_of(state::kv_verb::lock)});
  o.lock_wait = std::chrono::milliseconds(1500);
  const auto action = routed(o);
  CHECK(std::get<http::write_request>(action).lock_wait == std::chrono::milliseconds(1500));
}

TEST_CASE("http_messages: reads and renewals", "[sim]") {
  operation o;
  o.read.emplace();
  o.read->query = state::kv_list{"k/1"};
  o.read->mode = http::consistency::stale;
  o.read->min_index = 5;
  o.read->wait = std::chrono::seconds(3);
  auto action = routed(o);
  const auto& list = std::get<http::read_request>(action);
  CHECK(std::get<state::kv_list>(list.query).prefix == "k/1");
  CHECK(list.mode == http::consistency::stale);
  CHECK(list.min_index == 5);
  CHECK(list.wait == std::chrono::seconds(3));

  o.read->query = state::session_info{id};
  o.read->mode = http::consistency::consistent;
  o.read->min_index = 0;
  action = routed(o);
  const auto& info = std::get<http::read_request>(action);
  CHECK(std::get<state::session_info>(info.query).id == id);
  CHECK(info.mode == http::consistency::consistent);
  CHECK(info.min_index == 0);

  operation renewal;
  renewal.renewal = session_renewal{id};
  action = routed(renewal);
  CHECK(std::get<http::session_renew>(action).id == id);
}

TEST_CASE("http_messages: rendered writes are parsed", "[sim]") {
  const write_decision done{forward::call_outcome::done, log_index{12}};
  auto lock = requested(state::kv_write{op_of(state::kv_verb::lock)});
  state::reply refused = false;
  refused.note = {state::refused_for::lock_delay, "", 250, 0};
  CHECK_FALSE(understand(rendered(http::render_write(*lock.write, refused, {}, log_index{12})), done, lock));
  CHECK(lock.result == outcome::done);
  CHECK(lock.index == log_index{12});
  CHECK(same_reply(lock.reply, refused));
  CHECK(lock.reply.note == refused.note);

  auto t = requested(state::txn{{op_of(state::kv_verb::set)}});
  state::txn_reply rows;
  state::kv_draft entry;
  entry.key = "k/0/1";
  entry.value = make_payload("x");
  entry.flags = 7;
  entry.session = id;
  entry.create_index = entry.modify_index = log_index{12};
  rows.results.push_back({entry, false});
  CHECK_FALSE(understand(rendered(http::render_write(*t.write, state::reply(rows), {}, log_index{12})), done, t));
  CHECK(same_reply(t.reply, state::reply(rows)));

  auto fails = requested(state::txn{{op_of(state::kv_verb::set)}});
  state::txn_reply errors;
  errors.errors.push_back({0, "no"});
  CHECK_FALSE(
      understand(rendered(http::render_write(*fails.write, state::reply(errors), {}, log_index{12})), done, fails));
  CHECK(same_reply(fails.reply, state::reply(errors)));

  auto unknown = requested(state::kv_write{op_of(state::kv_verb::set)});
  const write_decision lost{forward::call_outcome::unknown, {}};
  CHECK_FALSE(understand(rendered(http::error_response(500, "leadership lost")), lost, unknown));
  CHECK(unknown.result == outcome::unknown);
}

TEST_CASE("http_messages: responses that do not match are reported", "[sim]") {
  const write_decision done{forward::call_outcome::done, log_index{12}};
  const write_decision lost{forward::call_outcome::unknown, {}};
  auto put = requested(state::kv_write{op_of(state::kv_verb::set)});
  CHECK(understand(rendered(http::render_write(*put.write, true, {}, log_index{12})), lost, put));
  CHECK(understand(rendered(http::render_write(*put.write, true, {}, log_index{13})), done, put));
  CHECK(understand(rendered(http::error_response(400, "Missing key name")), std::nullopt, put));
  CHECK(understand(rendered(http::error_response(404, "")), done, put));

  operation get;
  get.read.emplace();
  get.read->query = state::kv_get{"k/0/1"};
  http::response bare;
  bare.status = 404;
  CHECK(understand(rendered(bare), std::nullopt, get));
  const state::query_result none{log_index{4}, state::kv_entries{}};
  CHECK_FALSE(understand(rendered(http::render_read(*get.read, none, {}, {})), std::nullopt, get));
  CHECK(get.answer->index == log_index{4});
  bare.status = 200;
  bare.headers = {{"X-Consul-Index", "4"}, {"X-Consul-Knownleader", "true"}, {"X-Consul-Lastcontact", "0"}};
  bare.body = "[{";
  CHECK(understand(rendered(bare), std::nullopt, get));
}

// A server's decision whose response is lost on the way through the agent is unknown to the client.
TEST_CASE("http_messages: a client agent's own errors are not the servers' decision", "[sim]") {
  const auto received = [](int status, const char* body) {
    return as_received_from_agent({status, {}, body}, write_decision{forward::call_outcome::done, log_index{7}})
        ->outcome;
  };
  CHECK(received(200, "true") == forward::call_outcome::done);
  CHECK(received(500, "invalid session \"x\"") == forward::call_outcome::done);
  CHECK(received(500, "rpc error making call: EOF") == forward::call_outcome::unknown);
  CHECK(received(500, "rpc error getting client: failed to get conn: dial tcp 10.0.0.1:8300: i/o timeout") ==
        forward::call_outcome::refused);
  CHECK(received(500, "No known Consul servers") == forward::call_outcome::refused);
}

TEST_CASE("http_messages: chunked responses are complete with the last chunk", "[sim]") {
  const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  CHECK_FALSE(whole_answer(head + "3\r\nabc\r\n", false));
  const auto whole = whole_answer(head + "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", false);
  REQUIRE(whole);
  CHECK(whole->body == "abcde");
}

} // namespace belay::sim
