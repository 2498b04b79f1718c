// Long reads: rows of one moment, whatever is written between their slices.

#include "protocol/base/overloaded.hpp"
#include "protocol/base/random.hpp"
#include "tests/unit/protocol/state/acl/acl_driver.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::state;

namespace {

constexpr std::size_t rows_written = 2 * long_read::rows_min_usual;

void write_many(driver& d) {
  txn t;
  for (std::size_t i = 0; i < rows_written; ++i) {
    t.ops.push_back(op_on(kv_verb::set, (i % 2 == 0 ? "a/" : "b/") + std::to_string(i % 7) + '/' + std::to_string(i)));
    if (t.ops.size() == 4096) {
      d.apply(t);
      t.ops.clear();
    }
  }
  if (!t.ops.empty())
    d.apply(t);
}

template <class Answer>
bool same_answers(const query_result& a, const query_result& b) {
  const auto& x = std::get<Answer>(a.data);
  const auto& y = std::get<Answer>(b.data);
  if constexpr (std::is_same_v<Answer, kv_entries>)
    return a.index == b.index && x.entries == y.entries;
  else
    return a.index == b.index && x.keys == y.keys;
}

/// Writes of all kinds during the read.
query_result read_beside_writes(driver& d, long_read& read) {
  seeded_random random(1);
  for (int step = 0; !read.go_on(1 + random.below(2000)); ++step) {
    const auto key = "a/" + std::to_string(random.below(7)) + '/' + std::to_string(random.below(rows_written));
    if (step == 9)
      d.remove_tree("a/3/");
    else if (step % 3 == 0)
      d.remove(key);
    else
      d.set(key, std::to_string(step));
    d.m.tear_down(100);
  }
  return read.take();
}

} // namespace

TEST_CASE("a long read returns what a read at once would have returned at its start") {
  for (const query& q : {query(kv_list{""}), query(kv_list{"a/"}), query(kv_keys{"", ""}), query(kv_keys{"a/", ""}),
                         query(kv_keys{"", "/"}), query(kv_keys{"a/", "/"}), query(kv_keys{"", "7"})}) {
    driver d;
    write_many(d);
    const auto at_once = d.m.evaluate(q);
    auto read = d.m.begin_long_read(q);
    if (read == nullptr)
      continue; // a part of the keys is not long
    const auto found = read_beside_writes(d, *read);
    if (std::holds_alternative<kv_list>(q))
      CHECK(same_answers<kv_entries>(found, at_once));
    else
      CHECK(same_answers<key_names>(found, at_once));
    CHECK_FALSE(d.m.recount());
    CHECK(d.m.digest() == d.m.recompute_digest());
  }
}

namespace {

/// The rows of an answer as text, for the kinds of queries that are read in slices.
std::vector<std::string> shown(const query_result& r) {
  std::vector<std::string> all{to_string(r.index)};
  std::visit(overloaded{[&](const kv_entries& a) {
                          for (const auto& e : a.entries)
                            all.emplace_back(e.key());
                        },
                        [&](const key_names& a) { all.insert(all.end(), a.keys.begin(), a.keys.end()); },
                        [&](const sessions& a) {
                          for (const auto& s : a.list)
                            all.push_back(s->id);
                        },
                        [&](const nodes& a) {
                          for (const auto& n : a.list)
                            all.push_back(n->node + n->address);
                        },
                        [&](const service_names& a) {
                          for (const auto& [name, tags] : a.tags_by_service) {
                            all.push_back(name);
                            all.insert(all.end(), tags.begin(), tags.end());
                          }
                        },
                        [&](const checks& a) {
                          for (const auto& c : a.list)
                            all.push_back(c->node + '/' + c->check_id + '/' + c->status);
                        },
                        [&](const service_instances& a) {
                          for (const auto& i : a.list) {
                            all.push_back(i.node->node + i.node->address + '/' + i.service->id + i.service->service);
                            for (std::size_t c = 0; c < i.checks.size(); ++c)
                              all.back() += ' ' + i.checks[c]->check_id + i.checks[c]->status;
                          }
                        },
                        [&](const acl_rows& a) {
                          all.push_back(a.shows_secrets ? "secrets" : "no secrets");
                          for (const auto& each : a.list) {
                            all.push_back(std::visit(overloaded{[](const acl_token_ptr& row) { return row->accessor; },
                                                                [](const auto& row) { return row->id + row->name; }},
                                                     each.row));
                            for (const auto* links : {&each.policies, &each.roles})
                              for (const auto& link : *links)
                                all.back() += ' ' + link.id + link.name;
                          }
                        },
                        [&](const claim_rows& a) {
                          all.push_back("next " + a.next);
                          for (const auto& each : a.list)
                            all.push_back(each.claim->key + ' ' + each.node);
                        },
                        [&](const refusal& no) { all.push_back(no.text); }, [](const auto&) { FAIL("another kind"); }},
             r.data);
  return all;
}

query near(const std::string& node, query q) {
  q.near = node;
  return q;
}

/// Coordinates of some nodes.
coordinates::table_ptr some_coordinates() {
  auto known = std::make_shared<coordinates::table>();
  for (int n : {5, 1, 3, 4, 0}) {
    auto row = std::make_shared<coordinates::row>();
    row->node = "n" + std::to_string(n);
    row->at.height = 0.001 * (n * 3 % 7);
    row->stamp = static_cast<std::uint64_t>(n) + 1;
    known->put(std::move(row));
  }
  return known;
}

} // namespace

TEST_CASE("lists of every table that are read in slices are of the moment when they began, with and without a token") {
  for (const query& requested : {query(session_list{}),
                                 query(session_node{"N3"}),
                                 query(catalog_nodes{}),
                                 query(catalog_nodes{{{"a", "1"}}}),
                                 near("n3", query(catalog_nodes{})),
                                 query(catalog_services{}),
                                 query(catalog_services{{{"a", "1"}}}),
                                 query(catalog_service{"s1", {}, {}, false}),
                                 query(catalog_service{"S1", {"T"}, {{"a", "0"}}, false}),
                                 near("n3", query(catalog_service{"s1", {}, {}, false})),
                                 query(health_service{"s1", {}, {}, false, false}),
                                 query(health_service{"s1", {"t"}, {{"a", "0"}}, false, false}),
                                 query(health_service{"s0", {}, {}, true, false}),
                                 near("n4", query(health_service{"s1", {}, {}, false, false})),
                                 query(health_checks{"s1", {}}),
                                 query(health_checks{"s1", {{"a", "1"}}}),
                                 query(health_node{"n3"}),
                                 query(health_state{"any", {}}),
                                 query(health_state{"passing", {}}),
                                 query(health_state{"any", {{"a", "1"}}}),
                                 near("n2", query(health_state{"any", {}})),
                                 query(acl_policy_list{}),
                                 query(acl_role_list{}),
                                 query(acl_token_list{}),
                                 query(acl_token_list{std::string(management_policy_id), ""}),
                                 query(acl_legacy_list{}),
                                 query(claims_list{}),
                                 query(claims_list{{}, {}, {}, {}, 3}),
                                 query(claims_list{"k1", {}, {}, {}, 1000}),
                                 query(claims_list{{}, {}, "N3", {}, 1000}),
                                 query(claims_list{{}, uuid(1010), {}, {}, 1000}),
                                 query(claims_list{{}, {}, {}, "ck3", 2}),
                                 query(kv_list{""}),
                                 query(kv_keys{"", ""}),
                                 query(kv_keys{"", "/"}),
                                 query(kv_keys{"k", "/"}),
                                 query(kv_keys{"none", "/"})}) {
    for (const std::string who : {"everybody", "a reader", "management", "nobody"}) {
      acl_driver d;
      const auto reader = d.token(R"(key_prefix "k1" { policy = "read" } key "k2/b7" { policy = "read" }
        node_prefix "n1" { policy = "read" } node "n3" { policy = "read" } session_prefix "n3" { policy = "read" }
        service_prefix "s1" { policy = "read" })");
      const auto change = [&](int i) {
        const auto n = std::to_string(i % 7);
        catalog_register r;
        r.node.node = "n" + n;
        r.node.address = std::to_string(i);
        r.node.meta = string_map{{"a", std::to_string(i % 2)}};
        service_record s;
        s.id = std::to_string(i % 11);
        s.service = "s" + std::to_string(i % 5);
        s.tags = std::vector<std::string>{std::to_string(i), "t"};
        r.service = s;
        check_record c;
        c.node = r.node.node;
        c.check_id = c.name = std::to_string(i % 13);
        c.status = i % 5 != 0 ? "passing" : "warning";
        if (i % 2 == 0)
          c.service_id = s.id;
        r.checks.push_back(c);
        d.apply(r);
        if (i % 3 == 0) {
          acl_policy_set renamed;
          const auto found = std::get<acl_rows>(d.m.evaluate(acl_policy_read{{"", "p" + n}}).data).list;
          if (!found.empty()) {
            renamed.policy = *std::get<acl_policy_ptr>(found.front().row);
            renamed.policy.name = "q" + n;
            d.apply(renamed);
          }
          d.set_policy("p" + n, R"(key_prefix "" { policy = "read" })");
          d.set_role("r" + n, {{"", "p" + n}});
          auto token = d.new_token({{"", "p" + n}}, i % 2 == 0 ? 0 : 5);
          token.roles = {{"", "r" + n}};
          d.apply(token);
        }
        session_create made;
        made.session.id = uuid(1000 + i);
        made.session.node = "n" + n;
        d.apply(made);
        claim_ask claim;
        claim.name = "k" + n + "/c";
        claim.session = uuid(1000 + i);
        claim.id = std::to_string(i);
        claim.kind = claim_kind::rw;
        claim.mode = claim_mode::shared;
        d.apply(claim);
        if (i % 4 == 3)
          d.apply(session_destroy{{uuid(1000 + i - 2)}, ""});
        d.set("k" + n + "/" + std::to_string(i % 5));
        d.set("k2/b" + std::to_string(i));
      };
      d.m.set_coordinates(some_coordinates());
      for (int i = 0; i < 60; ++i)
        change(i);
      auto q = requested;
      if (who != "everybody")
        q.by = d.by(who == "a reader" ? reader : who == "management" ? management_secret : "unknown");
      INFO(requested.index() << " by " << who);
      const auto at_once = shown(d.m.evaluate(q, d.now));
      const auto read = d.m.begin_long_read(q, d.now, 1);
      if (read == nullptr) { // no row, or refused
        CHECK((at_once.size() <= 2 || who == "nobody"));
        continue;
      }
      int slices = 1;
      for (; !read->go_on(slices < 20 ? 1 : 7); ++slices) {
        change(100 + slices);
        REQUIRE(slices < 1000);
      }
      CHECK((slices > 1 || at_once.size() <= 2));
      CHECK(shown(read->take()) == at_once);
    }
  }
}

// A snapshot was read at once: 200 ms for a million keys.
TEST_CASE("a long snapshot for a follower of changes is of the moment when it began") {
  acl_driver d;
  const auto secret = d.token(R"(key_prefix "a/1" { policy = "read" } key_prefix "b/" { policy = "read" })");
  write_many(d);
  const bool with_token = GENERATE(true, false);
  query q = kv_changes{{"b/", "a/", "a/2/"}, {}, kv_changes::what::snapshot};
  if (with_token)
    q.by = d.by(secret);
  const auto at_once = d.m.evaluate(q, d.now);
  auto read = d.m.begin_long_read(q, d.now);
  REQUIRE(read != nullptr);
  const auto found = read_beside_writes(d, *read);
  const auto& x = std::get<change_rows>(found.data);
  const auto& y = std::get<change_rows>(at_once.data);
  CHECK(found.index == at_once.index);
  CHECK(x.rows == y.rows);
  CHECK(x.rows.size() > (with_token ? rows_written / 2 : rows_written - 1));
  CHECK(x.reached == y.reached);
  CHECK(x.applied == y.applied);
  CHECK(x.floor == y.floor);
  CHECK(x.history == y.history);
  CHECK((x.viewer != nullptr) == with_token);

  auto changes = std::get<kv_changes>(q);
  changes.after.index = d.index().next(); // not applied yet
  CHECK(d.m.begin_long_read(changes, d.now) == nullptr);
  changes.after = {};
  changes.requested = kv_changes::what::position;
  CHECK(d.m.begin_long_read(changes, d.now) == nullptr);
}

TEST_CASE("short reads are not read in slices") {
  driver d;
  d.set("a");
  CHECK(d.m.begin_long_read(kv_list{""}) == nullptr);
  CHECK(d.m.begin_long_read(kv_get{"a"}) == nullptr);
  CHECK(d.m.begin_long_read(kv_keys{"", ""}) == nullptr);
}
