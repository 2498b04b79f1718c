#include "tests/unit/protocol/state/driver.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::state;

namespace {

reply create(driver& d, int n, const std::string& node, std::optional<std::vector<std::string>> node_checks,
             std::optional<std::vector<std::string>> service_checks = {},
             std::optional<std::vector<std::string>> checks = {}) {
  session_create c;
  c.session.id = uuid(n);
  c.session.node = node;
  c.session.node_checks = std::move(node_checks);
  c.session.service_checks = std::move(service_checks);
  c.session.checks = std::move(checks);
  return d.apply(c);
}

using list = std::vector<std::string>;

} // namespace

TEST_CASE("session_create: refusals are decided by the catalog at the moment of the entry") {
  driver d;
  CHECK(d.refused(create(d, 1, "n", list{})) == "Missing node registration");
  d.add_node("n");
  CHECK(d.refused(create(d, 1, "n", list{"nope"})) == "Missing check 'nope' registration");
  d.add_check("n", "mem", "critical");
  CHECK(d.refused(create(d, 1, "n", list{"mem"})) == "Check 'mem' is in critical state");
  CHECK(d.refused(create(d, 1, "n", list{"x"}, {}, list{"y"})) == "Missing check 'y' registration");
  CHECK(d.m.evaluate(session_list{}).index == log_index{1});
  d.add_check("n", "mem", "warning");
  CHECK(std::get<std::string>(create(d, 1, "N", list{"mem"})) == uuid(1));
  const auto s = d.session(uuid(1));
  REQUIRE(s);
  CHECK(s->node == "N"); // as the client spelled it
  CHECK(s->create_index == d.index());
  CHECK(s->modify_index == d.index());
}

TEST_CASE("session reads: list and node go by id, info of a malformed id is an error") {
  driver d;
  d.add_node("n");
  d.add_node("other");
  create(d, 3, "n", list{});
  create(d, 1, "N", list{});
  create(d, 2, "other", list{});
  const auto all = std::get<sessions>(d.m.evaluate(session_list{}).data).list;
  REQUIRE(all.size() == 3);
  CHECK(all[0]->id == uuid(1));
  CHECK(all[2]->id == uuid(3));
  const auto on_n = std::get<sessions>(d.m.evaluate(session_node{"N"}).data).list;
  REQUIRE(on_n.size() == 2);
  CHECK(on_n[0]->id == uuid(1));
  CHECK(std::get<sessions>(d.m.evaluate(session_info{uuid(2)}).data).list.size() == 1);
  CHECK(std::get<sessions>(d.m.evaluate(session_info{uuid(9)}).data).list.empty());
  CHECK(std::get<refusal>(d.m.evaluate(session_info{"abc"}).data).text ==
        "failed session lookup: index error: UUID must be 36 characters");
}

TEST_CASE("session_destroy: unknown ids are skipped and move nothing") {
  driver d;
  const auto s = d.open(1);
  const auto created = d.m.evaluate(session_list{}).index;
  CHECK(std::get<bool>(d.apply(session_destroy{{uuid(9)}, "destroyed"})));
  CHECK(d.changed.empty());
  CHECK(d.m.evaluate(session_list{}).index == created);
  CHECK(std::get<bool>(d.apply(session_destroy{{uuid(9), s}, "ttl"})));
  CHECK(d.m.evaluate(session_list{}).index == d.index());
}

TEST_CASE("causes of invalidation: a session ends in the same entry as what it relies on") {
  struct row {
    const char* name;
    void (*cause)(driver&);
    bool ends;
  };
  const row rows[] = {
      {"node removed", [](driver& d) { d.drop("n"); }, true},
      {"node check removed", [](driver& d) { d.drop("n", {}, "mem"); }, true},
      {"node check critical", [](driver& d) { d.add_check("n", "mem", "critical"); }, true},
      {"check registered without a status", [](driver& d) { d.add_check("n", "MEM", ""); }, true},
      {"node check warning", [](driver& d) { d.add_check("n", "mem", "warning"); }, false},
      {"service check critical", [](driver& d) { d.add_check("n", "db-ok", "critical", "db"); }, true},
      {"service removed with its check", [](driver& d) { d.drop("n", "db"); }, true},
      {"another check critical", [](driver& d) { d.add_check("n", "unrelated", "critical"); }, false},
      {"another node removed", [](driver& d) { d.drop("m"); }, false},
      {"node renamed",
       [](driver& d) {
         catalog_register r;
         r.node.node = "n2";
         r.node.id = uuid(500);
         r.node.address = "10.0.0.1";
         d.apply(r);
       },
       true},
  };
  for (const auto& r : rows) {
    INFO(r.name);
    driver d;
    catalog_register reg;
    reg.node.node = "n";
    reg.node.id = uuid(500);
    reg.node.address = "10.0.0.1";
    d.apply(reg);
    // From here on registrations of "n" carry no id: they must leave the node unchanged.
    const auto quiet = [&d](catalog_register c) {
      c.node.node = "n";
      c.skip_node_update = true;
      d.apply(c);
    };
    catalog_register with_service;
    with_service.service.emplace();
    with_service.service->id = "db";
    with_service.service->service = "db";
    quiet(with_service);
    for (const auto& [id, service] : {std::pair{"mem", ""}, std::pair{"db-ok", "db"}}) {
      catalog_register with_check;
      check_record c;
      c.check_id = id;
      c.name = id;
      c.status = "passing";
      c.service_id = service;
      with_check.checks.push_back(c);
      quiet(with_check);
    }
    d.add_node("m");
    REQUIRE(std::get<std::string>(create(d, 1, "n", list{"mem"}, list{"db-ok"})) == uuid(1));
    REQUIRE(d.acquire("k", uuid(1)));
    r.cause(d);
    CHECK((d.session(uuid(1)) == nullptr) == r.ends);
    CHECK(d.get("k")->session.empty() == r.ends);
    if (r.ends) {
      CHECK(d.get("k")->modify_index == d.index());
      CHECK(d.m.evaluate(session_list{}).index == d.index());
    }
    CHECK(d.m.digest() == d.m.recompute_digest());
  }
}

TEST_CASE("a session without checks lives until its node is removed") {
  driver d;
  d.add_check("n", "mem", "passing");
  create(d, 1, "n", list{});
  d.add_check("n", "mem", "critical");
  CHECK(d.session(uuid(1)));
  d.drop("n");
  CHECK_FALSE(d.session(uuid(1)));
}
