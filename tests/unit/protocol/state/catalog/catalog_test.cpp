#include "tests/harness/cpu_time.hpp"
#include "tests/unit/protocol/state/driver.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace belay;
using namespace belay::state;

namespace {

std::uint64_t index_of(const driver& d, const query& q) {
  const auto full = d.m.evaluate(q).index;
  CHECK(d.m.index_of(q) == full);
  return full.value;
}

std::vector<check_ptr> checks_on(const driver& d, const std::string& node) {
  return std::get<checks>(d.m.evaluate(health_node{node}).data).list;
}

std::vector<service_instance> healthy(const driver& d, const std::string& service, bool passing_only = false) {
  return std::get<service_instances>(d.m.evaluate(health_service{service, {}, {}, passing_only}).data).list;
}

catalog_register node_with_id(const std::string& name, const std::string& id, const std::string& address = "10.0.0.1") {
  catalog_register r;
  r.node.node = name;
  r.node.id = id;
  r.node.address = address;
  return r;
}

} // namespace

TEST_CASE("identical registrations: node and service change nothing, a check changes only the checks table") {
  driver d;
  d.add_service("n", "w1", "web");  // 1
  d.add_check("n", "c", "passing"); // 2
  const auto before = d.m.digest();
  d.add_service("n", "w1", "web"); // 3
  CHECK(d.changed.empty());
  CHECK(d.m.digest() == before);
  CHECK(index_of(d, catalog_nodes{}) == 1);
  CHECK(index_of(d, catalog_services{}) == 1);
  d.add_check("n", "c", "passing"); // 4
  CHECK(index_of(d, health_node{"n"}) == 4);
  CHECK(checks_on(d, "n")[0]->modify_index == log_index{2});
  CHECK(index_of(d, health_service{"web", {}, {}, false}) == 2);
}

TEST_CASE("service index table: which writes move the index of a service") {
  driver d;
  const auto web = [&] { return index_of(d, catalog_service{"WEB", {}, {}}); };
  CHECK(web() == 1);
  d.add_service("n", "w1", "web"); // 1
  d.add_service("m", "w2", "web"); // 2
  CHECK(web() == 2);
  d.add_service("n", "db", "db"); // 3
  CHECK(web() == 2);
  d.add_check("n", "c", "passing", "w1"); // 4: check of the service
  CHECK(web() == 4);
  d.add_check("n", "node-level", "passing"); // 5
  CHECK(web() == 5);
  d.add_check("n", "dbc", "passing", "db"); // 6
  CHECK(web() == 5);
  catalog_register r;
  r.node.node = "m";
  r.node.address = "10.9.9.9";
  d.apply(r); // 7: a hosting node changed
  CHECK(web() == 7);
  d.drop("n", {}, "node-level"); // 8
  CHECK(web() == 8);
  CHECK(index_of(d, catalog_services{}) == 8);
  d.drop("n", "w1"); // 9: one instance remains
  CHECK(web() == 9);
  d.drop("m", "w2"); // 10: none
  CHECK(web() == 10);
  CHECK(index_of(d, catalog_service{"never", {}, {}}) == 10); // last extinction
  d.add_node("z");                                            // 11
  CHECK(web() == 10);
  CHECK(index_of(d, health_service{"db", {}, {}, false}) == 8); // node-level check removed
}

TEST_CASE("a service without instances before any extinction has the tables' index") {
  driver d;
  d.add_node("n");                  // 1
  d.add_service("n", "w1", "web");  // 2
  d.add_check("n", "c", "passing"); // 3
  CHECK(index_of(d, catalog_service{"none", {}, {}}) == 2);
  CHECK(index_of(d, health_service{"none", {}, {}, false}) == 3);
}

TEST_CASE("removing moves the tables it should") {
  driver d;
  d.add_service("n", "w1", "web"); // 1
  d.drop("n", "w1");               // 2: has no checks, and moves them nevertheless
  CHECK(index_of(d, catalog_services{}) == 2);
  CHECK(index_of(d, health_state{"any", {}}) == 2);
  CHECK(index_of(d, catalog_nodes{}) == 1);
  d.drop("n"); // 3
  CHECK(index_of(d, catalog_nodes{}) == 3);
  CHECK(index_of(d, catalog_services{}) == 3);
  CHECK(index_of(d, health_state{"any", {}}) == 3);
  CHECK(index_of(d, catalog_node{"n"}) == 1);
  d.drop("n"); // 4
  d.drop("n", "x");
  d.drop("n", {}, "x");
  CHECK(d.changed.empty());
  CHECK(index_of(d, catalog_nodes{}) == 3);
  CHECK(d.refused(d.drop("")) == "Must provide node");
}

TEST_CASE("register errors leave nothing behind") {
  driver d;
  catalog_register r;
  r.node.address = "10.0.0.1";
  CHECK(d.refused(d.apply(r)) == "Must provide node");
  CHECK(d.refused(*d.m.refuse_early(r, d.now)) == "Must provide node");
  CHECK(d.refused(*d.m.refuse_early(catalog_deregister{}, d.now)) == "Must provide node");
  r.node.node = "n";
  r.node.address.clear();
  CHECK(d.refused(d.apply(r)) == "Must provide address if SkipNodeUpdate is not set");
  r.node.address = "10.0.0.1";
  r.node.id = "not-a-uuid";
  CHECK(d.refused(d.apply(r)) == "Bad node ID: uuid string is wrong length");
  r.node.id.clear();
  r.service.emplace();
  r.service->id = "only-id";
  CHECK(d.refused(d.apply(r)) == "Must provide service name with ID");
  r.service->service = "web";
  check_record c;
  c.name = "three";
  c.service_id = "nope";
  r.checks = {c};
  CHECK(d.refused(d.apply(r)) == "failed inserting check: Missing service registration on node \"n\"");
  r.checks[0] = {};
  CHECK(d.refused(d.apply(r)) ==
        "failed inserting check: failed inserting check: object missing primary index on node \"n\"");
  CHECK_FALSE(d.m.refuse_early(r, d.now)); // the log decides
  r.checks[0].node = "other";
  CHECK(d.refused(d.apply(r)) == "check node \"other\" does not match node \"n\"");
  CHECK(d.changed.empty());
  CHECK_FALSE(d.node_known("n"));
  CHECK(d.m.all_rows().empty());
  CHECK(d.m.digest() == 0);
}

TEST_CASE("defaults: check id from the name, status critical, service id from the name") {
  driver d;
  catalog_register r;
  r.node.node = "n";
  r.node.address = "10.0.0.1";
  r.service.emplace();
  r.service->service = "web";
  r.service->tags = std::vector<std::string>{"t"};
  check_record c;
  c.name = "alive";
  c.service_id = "WEB";
  r.checks = {c};
  REQUIRE(std::get<bool>(d.apply(r)));
  const auto got = checks_on(d, "N");
  REQUIRE(got.size() == 1);
  CHECK(got[0]->check_id == "alive");
  CHECK(got[0]->status == "critical");
  CHECK(got[0]->service_name == "web");
  CHECK(got[0]->service_tags == std::vector<std::string>{"t"});
}

TEST_CASE("SkipNodeUpdate leaves a known node unchanged and creates an unknown one") {
  driver d;
  d.add_node("n");
  catalog_register r;
  r.node.node = "n";
  r.node.address = "10.9.9.9";
  r.skip_node_update = true;
  d.apply(r);
  CHECK(std::get<node_services>(d.m.evaluate(catalog_node{"n"}).data).node->address == "10.0.0.1");
  r.node.node = "m";
  r.node.address.clear();
  CHECK(std::get<bool>(d.apply(r)));
  CHECK(d.node_known("m"));
}

TEST_CASE("node identity: a known id under another name renames, a name with a healthy owner is reserved") {
  driver d;
  REQUIRE(std::get<bool>(d.apply(node_with_id("a", uuid(1)))));
  const auto created = std::get<node_services>(d.m.evaluate(catalog_node{"a"}).data).node->create_index;
  REQUIRE(std::get<bool>(d.apply(node_with_id("b", uuid(1)))));
  CHECK_FALSE(d.node_known("a"));
  const auto b = std::get<node_services>(d.m.evaluate(catalog_node{"b"}).data).node;
  REQUIRE(b);
  CHECK(b->create_index == created);
  CHECK(b->modify_index == d.index());

  // No liveness check: the name can be taken over.
  REQUIRE(std::get<bool>(d.apply(node_with_id("b", uuid(2)))));
  auto alive = node_with_id("b", uuid(2));
  alive.checks.emplace_back();
  alive.checks[0].check_id = "serfHealth";
  alive.checks[0].status = "passing";
  REQUIRE(std::get<bool>(d.apply(alive)));
  CHECK(d.refused(d.apply(node_with_id("b", uuid(3)))) == "failed inserting node: Error while renaming Node ID: \"" +
                                                              uuid(3) + "\": Node name b is reserved by node " +
                                                              uuid(2) + " with name b (10.0.0.1)");
  alive.checks[0].status = "critical";
  REQUIRE(std::get<bool>(d.apply(alive)));
  CHECK(std::get<bool>(d.apply(node_with_id("b", uuid(3)))));
}

TEST_CASE("catalog/node finds a node by name in any case, or by the beginning of its id") {
  driver d;
  const auto found = [&](const std::string& text) {
    auto n = std::get<node_services>(d.m.evaluate(catalog_node{text}).data).node;
    return n ? n->node : std::string();
  };
  d.apply(node_with_id("One", "ab000000-0000-4000-8000-000000000001"));
  d.apply(node_with_id("two", "abcd0000-0000-4000-8000-000000000002"));
  CHECK(found("ONE") == "One");
  CHECK(found("ab000") == "One");
  CHECK(found("abcd0000-00") == "two");
  CHECK(found("ab") == "");
  CHECK(found("a") == "");
  CHECK(found("abx") == "");
  CHECK(found("abcd0000-0000-4000-8000-000000000002") == "two");
}

TEST_CASE("reads of services: order, tags, metadata, checks of an instance") {
  driver d;
  d.add_service("b", "w1", "web", {"v1", "blue"});
  d.add_service("a", "w2", "web", {"v2", "Blue"});
  d.add_service("a", "w1", "web");
  d.add_check("a", "own", "passing", "w2");
  d.add_check("a", "z-node", "passing");
  d.add_check("b", "own", "critical", "w1");
  const auto all = healthy(d, "web");
  REQUIRE(all.size() == 3);
  CHECK(all[0].service->id == "w1");
  CHECK(all[1].service->id == "w2");
  CHECK(all[2].node->node == "b");
  REQUIRE(all[1].checks.size() == 2);
  CHECK(all[1].checks[0]->check_id == "z-node"); // node-level ones first
  CHECK(all[1].checks[1]->check_id == "own");
  CHECK(healthy(d, "web", true).size() == 2);
  d.add_check("a", "z-node", "warning");
  CHECK(healthy(d, "web", true).empty());
  const auto tagged = [&](std::vector<std::string> tags) {
    return std::get<service_instances>(d.m.evaluate(catalog_service{"web", std::move(tags), {}}).data).list.size();
  };
  CHECK(tagged({"BLUE"}) == 2);
  CHECK(tagged({"blue", "v1"}) == 1);
  CHECK(tagged({"none"}) == 0);
  const auto names = std::get<service_names>(d.m.evaluate(catalog_services{}).data).tags_by_service;
  CHECK(names.at("web").size() == 4);

  auto meta = node_with_id("c", {});
  meta.node.meta = string_map{{"rack", "1"}};
  d.apply(meta);
  CHECK(std::get<nodes>(d.m.evaluate(catalog_nodes{{{"rack", "1"}}}).data).list.size() == 1);
  CHECK(std::get<nodes>(d.m.evaluate(catalog_nodes{{{"rack", "2"}}}).data).list.empty());
  CHECK(std::get<checks>(d.m.evaluate(health_state{"warning", {}}).data).list.size() == 1);
  CHECK(std::get<checks>(d.m.evaluate(health_state{"any", {}}).data).list.size() == 3);
  CHECK(std::get<checks>(d.m.evaluate(health_state{"any", {{"rack", "1"}}}).data).list.empty());
  CHECK(std::get<checks>(d.m.evaluate(health_checks{"WEB", {}}).data).list.size() == 2);
}

TEST_CASE("a service id registered under another name leaves the old name") {
  driver d;
  d.add_service("n", "w1", "web"); // 1
  d.add_service("n", "w1", "api"); // 2
  CHECK(healthy(d, "web").empty());
  CHECK(healthy(d, "api").size() == 1);
  CHECK(index_of(d, catalog_service{"web", {}, {}}) == 2);
  CHECK(index_of(d, catalog_service{"api", {}, {}}) == 2);
}

// An unknown node was searched for in all rows, by each waiting query, at each change.
TEST_CASE("a node is found by the first digits of its ID, at a cost that hardly grows with the nodes") {
  const auto id_of = [](int i) {
    char id[40];
    std::snprintf(id, sizeof id, "%08x-1111-2222-3333-4444%08x", static_cast<unsigned>(i), static_cast<unsigned>(i));
    return std::string(id);
  };
  const auto filled = [&](int nodes) {
    auto d = std::make_unique<driver>();
    for (int i = 0; i < nodes; ++i)
      d->apply(node_with_id("n" + std::to_string(i), id_of(i)));
    return d;
  };
  const auto found = [](const driver& d, const std::string& wanted) {
    return std::get<node_services>(d.m.evaluate(catalog_node{wanted}).data).node;
  };
  const auto small = filled(100), large = filled(20'000);
  REQUIRE(found(*large, "00001234-11") != nullptr);
  CHECK(found(*large, "00001234-11")->node == "n" + std::to_string(0x1234));
  CHECK(found(*large, "0000123411")->node == "n" + std::to_string(0x1234)); // dashes do not count
  CHECK(found(*large, "0000123") == nullptr);                               // several
  CHECK(found(*large, "abcdef") == nullptr);
  large->apply(catalog_deregister{"n" + std::to_string(0x1234), {}, {}});
  CHECK(found(*large, "00001234") == nullptr);
  CHECK(harness::holds_once([&] {
    const auto cost = [&](const driver& d) {
      return harness::least_cpu_time([&] {
        for (int i = 0; i < 1000; ++i)
          if (found(d, "abcdef") != nullptr)
            std::abort();
      });
    };
    return cost(*large) < 20 * cost(*small); // 200 times the nodes
  }));
}

// 12,000 services on a node took 3.6 s for a health read, 8.4 s for its deregistration.
TEST_CASE("many services on one node: reads and the end of the node cost linear time, not quadratic") {
  using harness::thread_cpu_time;
  using std::chrono::nanoseconds;
  struct cost {
    nanoseconds fill = nanoseconds::max(), read = nanoseconds::max(), check = nanoseconds::max(),
                remove = nanoseconds::max();
  };
  const auto measured = [](int services) {
    const auto since = [](nanoseconds begun) { return thread_cpu_time() - begun; };
    cost least;
    for (int round = 0; round < 3; ++round) {
      driver d;
      auto begun = thread_cpu_time();
      d.add_check("n", "serfHealth", "passing");
      for (int i = 0; i < services; ++i) {
        const auto id = "web-" + std::to_string(i);
        d.add_service("n", id, "web");
        d.add_check("n", "service:" + id, "passing", id);
      }
      least.fill = std::min(least.fill, since(begun));
      begun = thread_cpu_time();
      const auto found = healthy(d, "web", true);
      least.read = std::min(least.read, since(begun));
      REQUIRE(found.size() == static_cast<std::size_t>(services));
      REQUIRE(found.front().checks.size() == 2);
      begun = thread_cpu_time();
      d.add_check("n", "serfHealth", "critical"); // affects each of them
      least.check = std::min(least.check, since(begun));
      begun = thread_cpu_time();
      d.apply(catalog_deregister{"n", {}, {}});
      least.remove = std::min(least.remove, since(begun));
      REQUIRE(healthy(d, "web").empty());
      REQUIRE(checks_on(d, "n").empty());
    }
    return least;
  };
  const auto us = [](nanoseconds d) { return std::chrono::duration_cast<std::chrono::microseconds>(d).count(); };
  if (std::getenv("BELAY_COSTS") != nullptr) // the table of docs/internals/performance.md
    for (const int n : {100, 1000, 10'000}) {
      const auto c = measured(n);
      std::printf("| %d | %ld | %ld | %ld | %ld |\n", n, us(c.fill), us(c.read), us(c.check), us(c.remove));
    }
  // 100 times the services, with a logarithm 200; the square of that is 10,000.
  CHECK(harness::holds_once([&] {
    const auto few = measured(100), many = measured(10'000);
    return many.fill < 1500 * few.fill && many.read < 1500 * few.read && many.check < 1500 * few.check &&
           many.remove < 1500 * few.remove;
  }));
}

namespace {

check_record check_of_node(int i, const std::string& status) {
  check_record c;
  c.node = "n";
  c.check_id = "c" + std::to_string(i);
  c.name = c.check_id;
  c.status = status;
  return c;
}

/// A node with services of different names.
driver node_with_services(int count, const std::string& name = {}) {
  driver d;
  for (int i = 0; i < count; ++i) {
    const auto id = "s" + std::to_string(i);
    d.add_service("n", id, name.empty() ? id : name);
  }
  return d;
}

catalog_register checks_of_node(int count, const std::string& status) {
  catalog_register r;
  r.node.node = "n";
  r.node.address = "10.0.0.1";
  for (int i = 0; i < count; ++i)
    r.checks.push_back(check_of_node(i, status));
  return r;
}

} // namespace

// A body of 4 MiB has room for 200,000 checks of a node. Each affected every service again: with
// 10,000 services all servers ran out of memory when they applied it, and at every start.
TEST_CASE("many checks of a node in one entry concern each of its services once") {
  constexpr int services = 300, checks = 200;
  auto d = node_with_services(services);
  const auto all_moved = [&] {
    for (const auto* id : {"s0", "s150", "s299"})
      CHECK(index_of(d, health_service{id, {}, {}, false}) == d.index().value);
  };
  d.apply(checks_of_node(checks, "passing"));
  CHECK(d.changed.size() == services + checks);
  all_moved();

  txn set, removed;
  for (int i = 0; i < 60; ++i) {
    set.ops.push_back(check_op{catalog_verb::set, check_of_node(i, "critical")});
    removed.ops.push_back(check_op{catalog_verb::remove, check_of_node(i, {})});
  }
  d.apply(set);
  CHECK(d.changed.size() == services + 60);
  all_moved();
  d.apply(removed);
  CHECK(d.changed.size() == services + 60);
  all_moved();

  d.apply(catalog_deregister{"n", {}, {}});
  CHECK(d.changed.size() <= services + checks + 1);
  CHECK(d.m.digest() == d.m.recompute_digest());
}

TEST_CASE(
    "a service that is added, removed or renamed between two checks of one transaction has the index of a change") {
  auto d = node_with_services(2);
  const auto service = [](const std::string& id, const std::string& name) {
    service_record s;
    s.node = "n";
    s.id = id;
    s.service = name;
    return s;
  };
  txn t;
  t.ops.push_back(check_op{catalog_verb::set, check_of_node(1, "passing")});
  t.ops.push_back(service_op{catalog_verb::set, service("s9", "new")});
  t.ops.push_back(service_op{catalog_verb::remove, service("s0", "s0")});
  t.ops.push_back(service_op{catalog_verb::set, service("s1", "renamed")});
  t.ops.push_back(check_op{catalog_verb::set, check_of_node(2, "passing")});
  REQUIRE(std::get<txn_reply>(d.apply(t)).errors.empty());
  for (const auto* name : {"new", "renamed", "s0", "s1"})
    CHECK(index_of(d, health_service{name, {}, {}, false}) == d.index().value);
  CHECK(healthy(d, "new").front().checks.size() == 2);
  const auto then = d.index().value;
  d.set("k");
  CHECK(index_of(d, health_service{"s0", {}, {}, false}) == then); // by the removal, not by a leftover marker
}

TEST_CASE("the instances of an answer share the checks of their node") {
  auto d = node_with_services(300, "web");
  d.apply(checks_of_node(300, "passing"));
  d.add_check("n", "own", "passing", "s7");
  const auto found = healthy(d, "web", true);
  REQUIRE(found.size() == 300);
  for (const auto& i : found) {
    CHECK(i.checks.size() == (i.service->id == "s7" ? 301 : 300));
    CHECK(&i.checks[0] == &found[0].checks[0]);
  }
}

TEST_CASE("an answer about health that would be too large is rejected before it is built") {
  auto d = node_with_services(600, "web");
  d.apply(checks_of_node(800, "passing"));
  const auto answer = d.m.evaluate(health_service{"web", {}, {}, true});
  const auto* no = std::get_if<refusal>(&answer.data);
  REQUIRE(no != nullptr);
  CHECK(no->text.find("Answer too large: every instance is shown with all checks of its node, about ") == 0);
  CHECK(answer.index == d.index());
  // Reads that do not show the product are answered, and so is what is left of it.
  CHECK(checks_on(d, "n").size() == 800);
  CHECK(std::get<service_instances>(d.m.evaluate(catalog_service{"web", {}, {}}).data).list.size() == 600);
  d.add_check("n", "c0", "critical");
  CHECK(healthy(d, "web", true).empty());
}
