// Every old public name of the HTTP API is accepted like the present one, and responses carry both
// (protocol/base/renamed_names.hpp).

#include "protocol/base/renamed_names.hpp"
#include "protocol/http/claims/claim_render.hpp"
#include "protocol/http/kv/change_render.hpp"
#include "protocol/http/outcomes/outcome_render.hpp"
#include "protocol/wire/command_codec.hpp"
#include "tests/unit/protocol/http/requested.hpp"

#include <boost/json/parse.hpp>

#include <fstream>
#include <iterator>
#include <map>
#include <set>

using namespace belay;
using namespace belay::http;

namespace {

/// A request of a route in the table.
parsed_request request_of_route(std::string_view route) {
  auto target = std::string(route.substr(route.find(' ') + 1));
  for (const std::string name : {"NAME", "KEY"})
    if (const auto at = target.find(name); at != target.npos)
      target.replace(at, name.size(), "some");
  if (target.starts_with("/v1/claim/"))
    target += "?id=i&to=j";
  return ask(route.substr(0, route.find(' ')), target);
}

std::string decided_by(const parsed_request& p) {
  REQUIRE(std::holds_alternative<write_request>(p.action));
  return wire::encode_command(std::get<write_request>(p.action).command);
}

state::claim_row some_row(state::claim_state s) {
  auto c = std::make_shared<state::claim_record>();
  c->of = {"n", state::claim_space::claims};
  c->id = c->session = "s";
  c->state = s;
  c->requested = cluster_time{1000};
  c->granted = s == state::claim_state::held ? cluster_time{1200} : cluster_time{};
  return {c, "n1", s == state::claim_state::held ? std::uint64_t{0} : 3};
}

/// The bodies of responses that have renamed members.
std::vector<std::string> bodies_with_members() {
  state::claim_view view;
  view.known = view.pinned = true;
  view.kind = state::claim_kind::semaphore;
  view.holders = {some_row(state::claim_state::held)};
  view.queue = {some_row(state::claim_state::waiting)};
  view.delays = {
      {"", {"n", state::claim_space::claims}, "g", "t", state::claim_mode::exclusive, 2, 6, cluster_time{1600}}};
  view.now = cluster_time{1500};
  state::claim_rows page;
  page.list = {some_row(state::claim_state::held), some_row(state::claim_state::waiting)};
  page.now = cluster_time{1500};
  state::claim_answer waits;
  waits.state = state::claim_state::waiting;
  waits.position = 2;
  state::wait_graph graph;
  graph.edges = {{"a", "i", {}, true, "b", true}};
  graph.cut = true;
  auto ended = std::make_shared<state::ended_session>();
  ended->at = cluster_time{1000};
  return {render_claims(view, {}).body, render_claims(page, {}).body, render_claim(waits, {}, 0).body,
          render_claims(graph, {}).body,
          render_claims(state::ended_session_rows{{ended}, cluster_time{1500}}, {}).body};
}

/// Counts objects with that member. Each must have its old name, too, with the same value.
std::size_t count_members(const boost::json::value& v, const renamed_name& row) {
  std::size_t n = 0;
  if (const auto* list = v.if_array())
    for (const auto& each : *list)
      n += count_members(each, row);
  if (const auto* o = v.if_object()) {
    for (const auto& member : *o)
      n += count_members(member.value(), row);
    const auto* now = o->if_contains(row.name);
    const auto* old = o->if_contains(row.old_name);
    CHECK((now == nullptr) == (old == nullptr));
    if (now != nullptr && old != nullptr)
      CHECK(*now == *old);
    n += now != nullptr ? 1 : 0;
  }
  return n;
}

/// The response that has a renamed value, by its old name.
std::string response_with_value(std::string_view old_value) {
  if (old_value == "handed-over") {
    state::claim_refusal no;
    no.why = state::claim_error::ended;
    no.ended = state::claim_end::handed_over;
    return header(render_claim_refusal(no), "X-Belay-Reason");
  }
  if (old_value == "sealed")
    return header(render_once_refusal({state::once_error::sealed, {}}), "X-Belay-Reason");
  REQUIRE(old_value == "void");
  return std::string(boost::json::parse(render_outcome({}, {}).body).at("State").as_string());
}

std::string page_of(const std::string& path) {
  std::ifstream in(std::string(BELAY_SOURCE_DIR "/") + path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

TEST_CASE("an old route does what the present one does, and is reported", "[renamed]") {
  std::size_t rows = 0;
  for (const auto& row : renamed_names) {
    if (row.kind != name_kind::route)
      continue;
    ++rows;
    INFO(row.old_name);
    const auto now = request_of_route(row.name), old = request_of_route(row.old_name);
    CHECK(decided_by(old) == decided_by(now));
    CHECK(old.route == now.route);
    CHECK(old.needs == now.needs);
    CHECK(now.old_name == nullptr);
    CHECK(old.old_name == &row);
    CHECK_FALSE(now.options.old_values);
  }
  CHECK(rows > 0);
}

// The client library of 0.2.0 reads this value.
TEST_CASE("what is sent to an old route has old values", "[renamed]") {
  const auto state_for = [](std::string_view route) {
    auto p = request_of_route(route);
    const auto& command = std::get<write_request>(p.action).command;
    state::reply none;
    none.decided_at = log_index{9};
    return std::string(
        boost::json::parse(render_write(command, none, p.options, log_index{9}).body).at("State").as_string());
  };
  CHECK(state_for("PUT /v1/outcome/KEY/cancel") == "cancelled");
  CHECK(state_for("DELETE /v1/outcome/KEY") == "void");
}

TEST_CASE("responses have both names of members and headers", "[renamed]") {
  std::size_t members = 0, headers = 0;
  for (const auto& row : renamed_names) {
    INFO(row.name);
    if (row.kind == name_kind::member) {
      ++members;
      std::size_t n = 0;
      for (const auto& body : bodies_with_members())
        n += count_members(boost::json::parse(body), row);
      CHECK(n > 0);
    } else if (row.kind == name_kind::header) {
      ++headers;
      REQUIRE(row.name == "X-Belay-Oldest-Index");
      state::change_rows gone;
      gone.gone = true;
      gone.floor = log_index{33};
      CHECK(header(gone_response(gone), row.name) == "33");
      CHECK(header(gone_response(gone), row.old_name) == "33");
    }
  }
  CHECK(members > 0);
  CHECK(headers > 0);
}

TEST_CASE("responses have the present values", "[renamed]") {
  for (const auto& row : renamed_names)
    if (row.kind == name_kind::value && row.old_name != "floor") { // change_streams_test.cpp
      INFO(row.old_name);
      CHECK(response_with_value(row.old_name) == row.name);
    }
}

TEST_CASE("users find every renamed name in the table of upgrading.md and in the changelog", "[renamed]") {
  const auto page = page_of("docs/operate/upgrading.md"), changes = page_of("CHANGELOG.md");
  std::set<std::pair<name_kind, std::string_view>> old_names;
  for (const auto& row : renamed_names) {
    INFO(row.old_name);
    CHECK(old_names.emplace(row.kind, row.old_name).second);
    CHECK(row.name != row.old_name);
    const std::string dash = row.kind == name_kind::option ? "-" : "";
    const auto cell = [&](std::string_view name) { return "`" + dash + std::string(name) + "`"; };
    CHECK(page.find("\n| " + cell(row.old_name) + " | " + cell(row.name) + " | " + std::string(row.where) + " |\n") !=
          std::string::npos);
    CHECK(changes.find("**" + cell(row.old_name) + " is now " + cell(row.name) + "** (" + std::string(row.where) +
                       ").\n") != std::string::npos);
  }
}
