#include "tests/harness/cpu_time.hpp"
#include "tests/unit/protocol/agent/agent_driver.hpp"

using namespace belay::agent;
namespace state = belay::state;

namespace {

user_event event(std::string id, std::string name = "deploy") {
  user_event e;
  e.id = std::move(id);
  e.name = std::move(name);
  return e;
}

const std::string one = "11111111-2222-4333-8444-555555555555", two = "11111111-2222-4333-8444-555555555556";

} // namespace

TEST_CASE("the index of an event is the XOR of both halves of its ID") {
  CHECK(index_of("00000000-0000-0001-0000-000000000002") == 3);
  CHECK(index_of("ffffffff-ffff-ffff-ffff-ffffffffffff") == 0);
  CHECK(index_of("12345678-9ABC-def0-0000-000000000000") == 0x123456789abcdef0ULL);
  for (const char* none : {"", "123", "x2345678-9abc-def0-0000-000000000000", "12345678-9abc-def0-0000-0000000000001"})
    CHECK(index_of(none) == 1);
}

TEST_CASE("an event is listed once, wherever it came from, and has the time of its sender") {
  agent_driver d;
  const auto fired = d.ask<event_fired>(fire_event{event(one)});
  CHECK(fired.event.time == 0); // as in Consul's response
  const auto out = d.agent.take_fired();
  REQUIRE(out.size() == 1);
  CHECK(out[0].time == 1);
  CHECK_FALSE(d.agent.received(out[0])); // it came back
  auto theirs = event(two);
  theirs.time = 41;
  CHECK(d.agent.received(theirs));
  const auto all = d.ask<event_rows>(list_events{"", 0, 0s}).events;
  REQUIRE(all.list.size() == 2);
  CHECK(all.list[0].id == one);
  CHECK(all.index == index_of(two));
  d.ask<event_fired>(fire_event{event("11111111-2222-4333-8444-555555555557")});
  CHECK(d.agent.take_fired().at(0).time == 42); // after what was received
}

TEST_CASE("a reader of the list waits while it has the newest index") {
  agent_driver d;
  CHECK(d.ask<event_rows>(list_events{"", 0, 0s}).events.index == 1);
  CHECK_FALSE(d.agent.handle(list_events{"", 1, 1min}, d.now));
  d.ask<event_fired>(fire_event{event(one)});
  CHECK(d.ask<event_rows>(list_events{"", 1, 1min}).events.list.size() == 1);
  CHECK_FALSE(d.agent.handle(list_events{"other", 1, 1min}, d.now));
  CHECK_FALSE(d.agent.handle(list_events{"", index_of(one), 1min}, d.now));
  CHECK(d.agent.handle(list_events{"", index_of(one), 1min}, d.now, true));
}

TEST_CASE("at most 256 events are kept, the newest") {
  agent_driver d;
  for (int i = 0; i < 300; ++i) {
    auto e = event("00000000-0000-0000-0000-" + std::to_string(100000000000 + i));
    e.time = 1;
    d.agent.received(e);
  }
  const auto all = d.ask<event_rows>(list_events{"", 0, 0s}).events.list;
  REQUIRE(all.size() == 256);
  CHECK(all.front().id == "00000000-0000-0000-0000-100000000044");
}

TEST_CASE("an event concerns nodes, services and tags that match") {
  state::service_record api;
  api.service = "api";
  api.tags = std::vector<std::string>{"v1", "blue"};
  const std::vector<state::service_ptr> services{std::make_shared<const state::service_record>(api)};
  const auto matches = [&](std::string node, std::string service, std::string tag) {
    auto e = event(one);
    e.node_filter = std::move(node);
    e.service_filter = std::move(service);
    e.tag_filter = std::move(tag);
    return concerns(e, "web-1", services);
  };
  CHECK(matches("", "", ""));
  CHECK(matches("web.*", "", ""));
  CHECK(matches("eb", "", "")); // anywhere in the name
  CHECK_FALSE(matches("^eb", "", ""));
  CHECK(matches("", "^api$", ""));
  CHECK(matches("web", "ap", "v[0-9]"));
  CHECK_FALSE(matches("web", "db", ""));
  CHECK_FALSE(matches("web", "api", "v2"));
  CHECK_FALSE(matches("db", "api", ""));
  CHECK_FALSE(matches("[", "", "")); // from a peer: an invalid pattern matches nothing
}

TEST_CASE("no expression takes more than time linear in its input") {
  // Eight tags of 2,000 characters stopped a backtracking matcher for 21.8 s.
  state::service_record api;
  api.service = "api";
  api.tags = std::vector<std::string>(8, std::string(2000, 'a'));
  const std::vector<state::service_ptr> services{std::make_shared<const state::service_record>(api)};
  const auto took = [&](const std::string& expression) {
    auto e = event(one);
    e.service_filter = "api";
    e.tag_filter = expression;
    return belay::harness::least_cpu_time([&] { CHECK_FALSE(concerns(e, "web-1", services)); });
  };
  for (const char* nested : {"(a*)*(a*)*(a*)*b", "(x+x+)+y|(a|aa)+$b"})
    CHECK(belay::harness::holds_once([&] { return took(nested) < 200 * took("a*b"); }));
}

TEST_CASE("expressions have limits, and a peer's beyond them match nothing") {
  auto e = event(one);
  e.node_filter = std::string(513, 'a');
  CHECK(complaint_of(e) == "Invalid node filter: error parsing regexp: expression is longer than 512 bytes");
  CHECK_FALSE(concerns(e, std::string(600, 'a'), {}));
  e.node_filter.pop_back();
  CHECK_FALSE(complaint_of(e));
  CHECK(concerns(e, std::string(600, 'a'), {}));
  e.node_filter = "(((a{100}){100}){100})";
  REQUIRE(complaint_of(e));
  CHECK(complaint_of(e)->rfind("Invalid node filter: error parsing regexp: ", 0) == 0);
  CHECK_FALSE(concerns(e, "a", {}));
}

TEST_CASE("events that are refused") {
  agent_driver d;
  const auto why = [&](auto spoil) {
    auto e = event(one);
    spoil(e);
    const auto no = d.ask<refused>(fire_event{e});
    CHECK(no.status == 500);
    return no.text;
  };
  CHECK(why([](auto& e) { e.tag_filter = "v1"; }) == "Cannot provide tag filter without service filter");
  CHECK(why([](auto& e) { e.node_filter = "["; }) ==
        "Invalid node filter: error parsing regexp: missing closing ]: `[`");
  CHECK(why([](auto& e) { e.service_filter = "(x"; }) ==
        "Invalid service filter: error parsing regexp: missing closing ): `(x`");
  CHECK(why([](auto& e) { e.payload = std::string(507, 'x'); }) ==
        "1 error occurred:\n\t* error broadcasting event to segment \"\": user event exceeds configured limit of 512 "
        "bytes before encoding\n\n");
  CHECK(d.agent.take_fired().empty());
}
