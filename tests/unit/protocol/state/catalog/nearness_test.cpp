// `?near` and /v1/coordinate on the state machine (docs/contract/17). Nearest nodes come first, and
// only those that the catalog has and that may be read. None of it is in the replicated state.

#include "protocol/coordinates/exchange.hpp"
#include "protocol/state/nearness.hpp"
#include "tests/unit/protocol/state/driver.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::state;

namespace {

using texts = std::vector<std::string>;

coordinates::table_ptr coordinates_of(std::vector<std::pair<std::string, double>> list,
                                      const std::string& segment = {}) {
  coordinates::table t;
  std::uint64_t stamp = 100;
  for (const auto& [node, x] : list) {
    coordinates::row r{node, segment, {}, ++stamp};
    r.at.vec[0] = x;
    t.put(std::make_shared<const coordinates::row>(std::move(r)));
  }
  return std::make_shared<const coordinates::table>(std::move(t));
}

template <class Answer, class Question>
Answer near(const driver& d, Question q, const std::string& node) {
  query requested{std::move(q)};
  requested.near = node;
  return std::get<Answer>(d.m.evaluate(requested).data);
}

template <class List, class Name>
texts names(const List& list, Name name) {
  texts out;
  for (const auto& each : list)
    out.push_back(name(each));
  return out;
}

const auto of_row = [](const auto& row) { return row->node; };
const auto of_instance = [](const auto& row) { return row.node->node; };

} // namespace

TEST_CASE("lists begin with the nearest rows, and end with those not measured, in their order") {
  driver d;
  for (const auto* node : {"a", "b", "c", "d", "e"}) {
    d.add_service(node, "w1", "web");
    d.add_check(node, "alive", "passing");
    d.add_check(node, "of web", "passing", "w1");
  }
  d.m.set_coordinates(coordinates_of({{"d", 0}, {"b", 0.003}, {"E", 0.001}}));
  const texts as_they_are{"a", "b", "c", "d", "e"}, from_d{"d", "e", "b", "a", "c"}, from_b{"b", "e", "d", "a", "c"};
  const auto of = [&](const std::string& node) { return names(near<nodes>(d, catalog_nodes{}, node).list, of_row); };
  CHECK(of("d") == from_d);
  CHECK(of("D") == from_d);
  CHECK(of("b") == from_b);
  CHECK(of("a") == as_they_are); // its coordinate is unknown
  CHECK(of("nobody") == as_they_are);
  CHECK(of("") == as_they_are);
  CHECK(names(near<service_instances>(d, catalog_service{"web", {}, {}}, "d").list, of_instance) == from_d);
  CHECK(names(near<service_instances>(d, health_service{"web", {}, {}}, "b").list, of_instance) == from_b);
  CHECK(names(near<checks>(d, health_checks{"web", {}}, "d").list, of_row) == from_d);
  const auto all = near<checks>(d, health_state{"any", {}}, "d").list;
  CHECK(names(all, of_row) == texts{"d", "d", "e", "e", "b", "b", "a", "a", "c", "c"});
  CHECK(all[0]->check_id == "alive");
  CHECK(all[1]->check_id == "of web");
  d.m.set_coordinates(nullptr);
  CHECK(of("d") == as_they_are);
}

TEST_CASE("queries with another near are different queries") {
  query a{catalog_nodes{}}, b{catalog_nodes{}};
  CHECK(same_question(a, b));
  b.near = "n";
  CHECK_FALSE(same_question(a, b));
}

TEST_CASE("coordinates of registered nodes are shown, and have an index of their own") {
  driver d;
  d.add_service("n", "w1", "web");
  const auto digest = d.m.digest();
  const query all = coordinate_nodes{}, one = coordinate_node{"N", {}};
  CHECK(d.m.evaluate(all).index == log_index{1});
  CHECK(std::get<coordinate_rows>(d.m.evaluate(all).data).list.empty());
  CHECK(std::get<coordinate_rows>(d.m.evaluate(one).data).list.empty());

  d.m.set_coordinates(coordinates_of({{"n", 1}, {"gone", 2}}));
  CHECK(d.m.evaluate(all).index == log_index{102});
  CHECK(d.m.index_of(all) == log_index{102});
  CHECK(d.m.index_of(one) == log_index{102});
  CHECK(names(std::get<coordinate_rows>(d.m.evaluate(all).data).list, of_row) == texts{"n"});
  CHECK(names(std::get<coordinate_rows>(d.m.evaluate(one).data).list, of_row) == texts{"n"});
  CHECK(std::get<coordinate_rows>(d.m.evaluate(coordinate_node{"gone", {}}).data).list.empty());
  CHECK(d.m.digest() == digest);
  CHECK(d.m.recompute_digest() == digest);
}

TEST_CASE("?segment leaves the others out") {
  driver d;
  d.add_service("n", "w1", "web");
  d.m.set_coordinates(coordinates_of({{"n", 1}}, "alpha"));
  const auto count = [&](const query& q) { return std::get<coordinate_rows>(d.m.evaluate(q).data).list.size(); };
  CHECK(count(coordinate_nodes{}) == 1);
  CHECK(count(coordinate_nodes{"alpha"}) == 1);
  CHECK(count(coordinate_nodes{""}) == 0);
  CHECK(count(coordinate_node{"n", "alpha"}) == 1);
  CHECK(count(coordinate_node{"n", "beta"}) == 0);
}
