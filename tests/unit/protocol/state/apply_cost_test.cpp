// Every server applies the entries of the log on one thread, and again at its start. Situation:
// clients filled the tables up to their bounds. Event: one request. If its cost were proportional
// to the tables, it would stop all servers (audit of November 2026, B5: 32 s for one claim).
//
// Applies each kind of command to the largest state. A kind without entries does not compile.

#include "protocol/state/answer_size.hpp"
#include "tests/harness/cpu_time.hpp"
#include "tests/unit/protocol/state/claims/claims_driver.hpp"

#include <catch2/catch.hpp>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

using namespace belay;
using namespace belay::state;

namespace {

// For tables without a bound: scanning this many rows costs several times what an entry may.
constexpr int many = 50'000;
constexpr int operations_max = 64; // limit of a transaction (protocol/http/kv/txn_routes.cpp)
constexpr int list_max = 8'192;    // limit of a list in a request (protocol/go_compat/json_input.hpp)
constexpr int checks_max = 512;    // limit of a registration (protocol/http/agent)

std::string text(std::string_view prefix, int n) {
  return std::string(prefix) + std::to_string(n);
}

/// Entries go to the machine itself: a driver recounts all rows after some of them.
struct prepared_state {
  machine m;
  cluster_time now{1'000};
  int newest_id = 1'000'000;

  reply apply(command c) {
    effects changed;
    return m.apply(m.applied_index().next(), now, c, changed);
  }
  reply from(const std::string& client, command c) {
    c.client_address = client;
    return apply(std::move(c));
  }
  void set(const std::string& key, const std::string& value = "v") { apply(kv_write{op_on(kv_verb::set, key, value)}); }
  void lock(const std::string& key, const std::string& session) {
    apply(kv_write{op_on(kv_verb::lock, key, "v", 0, session)});
  }
  std::string fresh() { return uuid(++newest_id); }
  session_record session_row(const std::string& node = "n") {
    session_record s;
    s.id = fresh();
    s.node = node;
    s.node_checks = std::vector<std::string>{};
    return s;
  }
  std::string open(const std::string& node = "n", std::int64_t delay_ms = 0) {
    session_create c{session_row(node)};
    c.session.lock_delay_ns = delay_ms * 1'000'000;
    return std::get<std::string>(apply(c));
  }
  void node(const std::string& name) {
    catalog_register r;
    r.node.node = name;
    r.node.address = "10.0.0.1";
    apply(r);
  }
  static check_record check_row(const std::string& node, const std::string& id, const std::string& status = "passing") {
    check_record c;
    c.node = node;
    c.check_id = c.name = id;
    c.status = status;
    return c;
  }
  static service_record service_row(const std::string& node, const std::string& id, const std::string& name = "web") {
    service_record s;
    s.node = node;
    s.id = id;
    s.service = name;
    s.port = 80;
    return s;
  }
  claim_ask claim(
      const std::string& name, const std::string& session, const std::string& id = {},
      const claims_driver::change& more = [](claim_ask&) {}) {
    claim_ask c;
    c.name = name;
    c.session = session;
    c.id = id;
    more(c);
    return c;
  }
  std::string asks(
      const std::string& name, const std::string& session, const std::string& id = {},
      const claims_driver::change& more = [](claim_ask&) {}) {
    return claims_driver::response(from("192.0.2.1", claim(name, session, id, more)));
  }
  std::uint64_t fence(const std::string& name, const std::string& id) const {
    const auto found = std::get<claim_standing>(m.evaluate(claim_status{{name, claim_space::claims}, id}).data);
    return found.live ? found.live->fence : 0;
  }
};

/// One entry to measure.
struct entry {
  const char* name;
  /// Creates the state, and returns the command to measure.
  std::function<command(prepared_state&)> prepare;
  bool refused = false; ///< after a search, or because of a bound
};
using entries = std::vector<entry>;

command from_client(command c) {
  c.client_address = "192.0.2.1";
  return c;
}

// ---- states

void many_keys(prepared_state& w, const std::string& prefix, int n = many) {
  for (int i = 0; i < n; ++i)
    w.set(text(prefix, i));
}

/// As many as permitted, with many lengths, each of which must be looked up for a key.
void all_guards(prepared_state& w, int holders = 1) {
  w.node("n");
  for (int i = 0; i < holders; ++i)
    REQUIRE(w.asks("guarding", w.open(), {}, permits(1, claim_permits_max)) == "held");
  for (std::uint64_t i = 0; i < client_guards_max; ++i) {
    const auto client = "10.0.0." + std::to_string(i / guards_share);
    auto prefix = "g" + std::to_string(i);
    prefix.append(i % 400, 'x');
    REQUIRE(claims_driver::response(w.from(client, guard_set{prefix + "/", {"guarding"}})) == "true");
  }
}

/// A holder, and as many waiters as permitted.
void full_queue(prepared_state& w, const std::string& name, const claims_driver::change& holder,
                const claims_driver::change& waiter, std::uint64_t left = 0) {
  w.node("n");
  REQUIRE(w.asks(name, w.open(), "holder", holder) == "held");
  for (std::uint64_t i = 0; i + left < waiters_max; ++i)
    REQUIRE(w.asks(name, w.open(), text("w", static_cast<int>(i)), waiter).starts_with("waiting"));
}

/// @returns the holder's session
std::string full_lock_queue(prepared_state& w, const std::string& key, std::uint64_t left = 0) {
  w.node("n");
  const auto s = w.open();
  w.lock(key, s);
  for (std::uint64_t i = 0; i + left < waiters_max; ++i) {
    kv_acquire a;
    a.op = op_on(kv_verb::lock, key, "v", 0, w.open());
    a.wait_ms = 100'000;
    w.apply(a);
  }
  return s;
}

/// Holders of one semaphore wait for those of another, as many as fit into a queue (B5).
void two_semaphores(prepared_state& w) {
  w.node("n");
  constexpr int n = 4'900;
  std::vector<std::string> first;
  for (int i = 0; i < n; ++i)
    REQUIRE(w.asks("a", first.emplace_back(w.open()), {}, permits(1, n)) == "held");
  for (int i = 0; i < n; ++i)
    REQUIRE(w.asks("b", w.open(), {}, permits(1, n)) == "held");
  for (const auto& s : first)
    REQUIRE(w.asks("b", s, "w" + s, permits(1)).starts_with("waiting"));
}

/// @returns a session with many locks and claims
std::string rich_session(prepared_state& w, int n = 20'000) {
  w.node("n");
  const auto s = w.open();
  for (int i = 0; i < n; ++i) {
    w.lock(text("held/", i), s);
    w.asks(text("held", i), s);
  }
  return s;
}

/// `n` services on one node.
void large_node(prepared_state& w, int n = 20'000) {
  w.node("big");
  for (int i = 0; i < n; ++i) {
    catalog_register r;
    r.node.node = "big";
    r.node.address = "10.0.0.1";
    r.service = prepared_state::service_row("big", text("s", i), text("name", i % 100));
    r.checks.push_back(prepared_state::check_row("big", text("c", i)));
    r.checks.back().service_id = r.service->id;
    w.apply(r);
  }
}

// ---- ACLs

constexpr int linked_max = 64;
const std::string master = uuid(901), tenant = uuid(902);

/// A token with many policies of many rules each, beside many other tokens.
void many_rules(prepared_state& w) {
  w.apply(acl_initialize{master, uuid(1), 1'000});
  acl_token_set token;
  for (int p = 0; p < linked_max; ++p) {
    acl_policy_set c;
    c.policy.id = uuid(100 + p);
    c.policy.name = text("p", p);
    for (int r = 0; r < 100; ++r)
      c.policy.rules += "key_prefix \"k" + std::to_string(p) + "/" + std::to_string(r) + "\" { policy = \"write\" }\n";
    c.fresh = true;
    w.apply(c);
    token.policies.push_back({c.policy.id, {}});
  }
  token.token.accessor = uuid(2);
  token.token.secret = tenant;
  token.fresh = true;
  w.apply(token);
  for (int i = 0; i < 10'000; ++i) {
    acl_token_set other;
    other.token.accessor = uuid(10'000 + i);
    other.token.secret = uuid(30'000 + i);
    other.policies.push_back({uuid(100), {}});
    other.fresh = true;
    w.apply(other);
  }
}
command as(const std::string& secret, command c) {
  c.by = auth_context{secret, false, "dc1"};
  return c;
}

// ---- the kinds of commands

entries of(std::type_identity<kv_write>) {
  return {
      {"a key among many, below guards",
       [](prepared_state& w) {
         many_keys(w, "k/");
         all_guards(w);
         return kv_write{op_on(kv_verb::set, "g1" + std::string(500, 'y'))};
       }},
      {"a recursive delete above all guards",
       [](prepared_state& w) {
         all_guards(w);
         return kv_write{op_on(kv_verb::remove_tree, "")};
       },
       true},
      {"a recursive delete of many keys",
       [](prepared_state& w) {
         many_keys(w, "k/");
         return kv_write{op_on(kv_verb::remove_tree, "k/")};
       }},
      {"a recursive delete of many locked keys",
       [](prepared_state& w) {
         rich_session(w);
         return kv_write{op_on(kv_verb::remove_tree, "held/")};
       }},
      {"the release of a lock with a full queue",
       [](prepared_state& w) {
         const auto s = full_lock_queue(w, "k");
         return kv_write{op_on(kv_verb::unlock, "k", "v", 0, s)};
       }},
      {"the delete of a key with a full queue",
       [](prepared_state& w) {
         full_lock_queue(w, "k");
         return kv_write{op_on(kv_verb::remove, "k")};
       }},
      {"a write with the rights of many rules",
       [](prepared_state& w) {
         many_rules(w);
         return as(tenant, kv_write{op_on(kv_verb::set, "k63/99")});
       }},
  };
}
command trees_above_guards(prepared_state& w, int fences) {
  all_guards(w);
  fenced_txn t;
  w.set("other");
  for (int i = 0; i + 1 < fences; ++i) {
    const auto s = w.open();
    w.asks(text("f", i), s);
    t.body.ops.emplace_back(fence_op{{{text("f", i)}, w.fence(text("f", i), s)}});
  }
  const auto view = std::get<claim_view>(w.m.evaluate(claim_read{{"guarding", claim_space::claims}}).data);
  t.body.ops.emplace_back(fence_op{{{"guarding"}, view.holders.front().claim->fence}});
  while (t.body.ops.size() < operations_max)
    t.body.ops.emplace_back(op_on(kv_verb::remove_tree, "g"));
  return t;
}
entries of(std::type_identity<txn>) {
  return {
      {"trees as large as an answer may be",
       [](prepared_state& w) {
         many_keys(w, "k/");
         const int rows = static_cast<int>(txn_answer_rows_max) / (operations_max - 1);
         many_keys(w, "read/", rows);
         txn t;
         for (int i = 0; i + 1 < operations_max; ++i)
           t.ops.emplace_back(op_on(kv_verb::get_tree, "read/"));
         t.ops.emplace_back(op_on(kv_verb::set, "x"));
         return t;
       }},
      {"trees that are too large for a reply that is kept",
       [](prepared_state& w) {
         many_keys(w, "k/");
         txn t;
         for (int i = 0; i + 1 < operations_max; ++i)
           t.ops.emplace_back(op_on(kv_verb::get_tree, "k/"));
         t.ops.emplace_back(op_on(kv_verb::set, "x"));
         auto c = from_client(t);
         c.once = once_request{"key", {1, 1}, w.now};
         return c;
       }},
      {"operations on a large node",
       [](prepared_state& w) {
         large_node(w);
         txn t;
         while (t.ops.size() < operations_max)
           t.ops.emplace_back(service_op{
               catalog_verb::set, prepared_state::service_row("big", text("s", static_cast<int>(t.ops.size())))});
         return t;
       }},
      {"operations with the rights of many rules",
       [](prepared_state& w) {
         many_rules(w);
         txn t;
         while (t.ops.size() < operations_max)
           t.ops.emplace_back(op_on(kv_verb::set, "k63/99"));
         return as(tenant, t);
       }},
  };
}
entries of(std::type_identity<fenced_txn>) {
  return {{"recursive deletes above all guards, with many fences",
           [](prepared_state& w) { return trees_above_guards(w, operations_max / 2); }}};
}
entries of(std::type_identity<fenced_write>) {
  return {{"a recursive delete above all guards", [](prepared_state& w) {
             all_guards(w);
             const auto view = std::get<claim_view>(w.m.evaluate(claim_read{{"guarding", claim_space::claims}}).data);
             return fenced_write{op_on(kv_verb::remove_tree, "g"), {{"guarding"}, view.holders.front().claim->fence}};
           }}};
}
session_record checked_session(prepared_state& w) {
  large_node(w);
  auto s = w.session_row("big");
  s.node_checks->clear();
  for (int i = 0; i < list_max; ++i)
    s.node_checks->push_back(text("c", i));
  return s;
}
entries of(std::type_identity<session_create>) {
  return {
      {"with as many checks as a list may have", [](prepared_state& w) { return session_create{checked_session(w)}; }}};
}
entries of(std::type_identity<session_begin>) {
  return {{"with as many checks, and operations at its end", [](prepared_state& w) {
             session_begin b{checked_session(w), session_ttl_mode::lower_bound, {}};
             for (std::size_t i = 0; i < on_end_ops_max; ++i)
               b.on_end.push_back(op_on(kv_verb::remove_tree, ""));
             return b;
           }}};
}
entries of(std::type_identity<session_destroy>) {
  return {
      {"of one that holds many locks and claims",
       [](prepared_state& w) {
         return session_destroy{{rich_session(w)}, "destroyed"};
       }},
      {"of one for which a full queue waits, and operations above all guards",
       [](prepared_state& w) {
         all_guards(w);
         session_begin b{w.session_row(), session_ttl_mode::lower_bound, {}};
         for (std::size_t i = 0; i < on_end_ops_max; ++i)
           b.on_end.push_back(op_on(kv_verb::remove_tree, "g"));
         const auto s = std::get<std::string>(w.apply(b));
         w.asks("q", s);
         for (std::uint64_t i = 0; i < waiters_max; ++i)
           w.asks("q", w.open());
         return session_destroy{{s}, "destroyed"};
       }},
      {"with operations above all guards, by a semaphore that many others hold",
       [](prepared_state& w) {
         all_guards(w, 20'000);
         session_begin b{w.session_row(), session_ttl_mode::lower_bound, {}};
         for (std::size_t i = 0; i < on_end_ops_max; ++i)
           b.on_end.push_back(op_on(kv_verb::remove_tree, "g"));
         return session_destroy{{std::get<std::string>(w.apply(b))}, "destroyed"};
       }},
      {"of as many as a restart may end",
       [](prepared_state& w) {
         w.node("n");
         session_destroy c{{}, "ttl"};
         for (int i = 0; i < 10'000; ++i)
           c.ids.push_back(w.open());
         return c;
       }},
  };
}
entries of(std::type_identity<session_expire>) {
  return {{"of one that holds many locks and claims", [](prepared_state& w) {
             return session_expire{{rich_session(w)}, {}};
           }}};
}
entries of(std::type_identity<catalog_register>) {
  return {
      {"with as many checks and tags as there may be",
       [](prepared_state& w) {
         large_node(w, 2'000); // each service of the node costs half a microsecond (docs/operate/security.md)
         catalog_register r;
         r.node.node = "big";
         r.node.address = "10.0.0.2";
         r.service = prepared_state::service_row("big", "new");
         r.service->tags.emplace();
         for (int i = 0; i < list_max; ++i)
           r.service->tags->push_back(text("tag", i));
         for (int i = 0; i < checks_max; ++i)
           r.checks.push_back(prepared_state::check_row("big", text("new", i), "critical"));
         return r;
       }},
      {"of a critical check of a node with many sessions",
       [](prepared_state& w) {
         w.node("n");
         catalog_register r;
         r.node.node = "n";
         r.node.address = "10.0.0.1";
         r.checks = {prepared_state::check_row("n", "serfHealth")};
         w.apply(r);
         for (int i = 0; i < 10'000; ++i) {
           session_create c{w.session_row()};
           c.session.node_checks = std::vector<std::string>{"serfHealth"};
           w.apply(c);
         }
         r.checks = {prepared_state::check_row("n", "serfHealth", "critical")};
         return r;
       }},
  };
}
entries of(std::type_identity<catalog_deregister>) {
  return {
      {"of a large node",
       [](prepared_state& w) {
         large_node(w);
         return catalog_deregister{"big", "", ""};
       }},
      {"of a service of a large node",
       [](prepared_state& w) {
         large_node(w);
         return catalog_deregister{"big", "s7", ""};
       }},
      {"of a check of a large node",
       [](prepared_state& w) {
         large_node(w);
         return catalog_deregister{"big", "", "c7"};
       }},
  };
}
entries of(std::type_identity<tombstone_reap>) {
  return {{"of many", [](prepared_state& w) {
             many_keys(w, "k/");
             w.apply(kv_write{op_on(kv_verb::remove_tree, "k/")});
             return tombstone_reap{w.m.applied_index()};
           }}};
}

constexpr int rows_of_a_batch = 1'000;
row_batch some_rows() {
  prepared_state w;
  many_keys(w, "k/", rows_of_a_batch);
  return std::make_shared<const std::vector<dirty_row>>(save(w.m).rows);
}
/// `many` rows of them.
void gathered(prepared_state& w) {
  w.apply(restore_begin{"id", log_index{5}});
  for (int i = 0; i < many / rows_of_a_batch; ++i) {
    prepared_state part;
    for (int k = 0; k < rows_of_a_batch; ++k)
      part.set(text("k/", i * rows_of_a_batch + k));
    auto rows = save(part.m).rows;
    std::erase_if(rows, [](const dirty_row& r) { return r.table != table::kv; });
    w.apply(restore_rows{"id", static_cast<std::uint64_t>(i), std::make_shared<const std::vector<dirty_row>>(rows)});
  }
}
entries of(std::type_identity<restore_begin>) {
  return {{"beside many keys", [](prepared_state& w) {
             many_keys(w, "k/");
             return restore_begin{"id", log_index{5}};
           }}};
}
entries of(std::type_identity<restore_rows>) {
  return {{"one batch beside many", [](prepared_state& w) {
             gathered(w);
             return restore_rows{"id", many / rows_of_a_batch, some_rows()};
           }}};
}
entries of(std::type_identity<restore_commit>) {
  return {{"of many keys", [](prepared_state& w) {
             gathered(w);
             return restore_commit{"id", many / rows_of_a_batch};
           }}};
}
entries of(std::type_identity<restore_abort>) {
  return {{"of many keys", [](prepared_state& w) {
             gathered(w);
             return restore_abort{"id"};
           }}};
}

entries of(std::type_identity<acl_initialize>) {
  return {{"beside many keys", [](prepared_state& w) {
             many_keys(w, "k/");
             return acl_initialize{master, uuid(1), 1'000};
           }}};
}
entries of(std::type_identity<acl_bootstrap>) {
  return {{"beside many tokens",
           [](prepared_state& w) {
             many_rules(w);
             return acl_bootstrap{uuid(98), uuid(97), 1, {}};
           },
           true}};
}
entries of(std::type_identity<acl_policy_set>) {
  return {{"of one that many tokens have", [](prepared_state& w) {
             many_rules(w);
             acl_policy_set c;
             c.policy.id = uuid(100);
             c.policy.name = "p0";
             for (int r = 0; r < 1'000; ++r)
               c.policy.rules += "key \"" + std::to_string(r) + "\" { policy = \"read\" }\n";
             return c;
           }}};
}
entries of(std::type_identity<acl_policy_delete>) {
  return {{"of one that many tokens have", [](prepared_state& w) {
             many_rules(w);
             return acl_policy_delete{uuid(100)};
           }}};
}
entries of(std::type_identity<acl_role_set>) {
  return {{"with many policies", [](prepared_state& w) {
             many_rules(w);
             acl_role_set c;
             c.role.id = uuid(5);
             c.role.name = "r";
             c.fresh = true;
             for (int i = 0; i < linked_max; ++i)
               c.policies.push_back({uuid(100 + i), {}});
             return c;
           }}};
}
entries of(std::type_identity<acl_role_delete>) {
  return {{"of one that many tokens have", [](prepared_state& w) {
             many_rules(w);
             acl_role_set c;
             c.role.id = uuid(5);
             c.role.name = "r";
             c.fresh = true;
             w.apply(c);
             for (int i = 0; i < 10'000; ++i) {
               acl_token_set t;
               t.token.accessor = uuid(50'000 + i);
               t.token.secret = uuid(70'000 + i);
               t.roles.push_back({c.role.id, {}});
               t.fresh = true;
               w.apply(t);
             }
             return acl_role_delete{c.role.id};
           }}};
}
entries of(std::type_identity<acl_token_set>) {
  return {{"with many policies", [](prepared_state& w) {
             many_rules(w);
             acl_token_set c;
             c.token.accessor = uuid(3);
             c.token.secret = uuid(4);
             c.fresh = true;
             for (int i = 0; i < linked_max; ++i)
               c.policies.push_back({"", text("p", i)});
             return c;
           }}};
}
entries of(std::type_identity<acl_token_clone>) {
  return {{"beside many tokens", [](prepared_state& w) {
             many_rules(w);
             return acl_token_clone{uuid(2), uuid(3), uuid(4), std::nullopt, 1};
           }}};
}
entries of(std::type_identity<acl_token_delete>) {
  return {{"beside many tokens", [](prepared_state& w) {
             many_rules(w);
             return acl_token_delete{uuid(2)};
           }}};
}

entries of(std::type_identity<claim_ask>) {
  return {
      {"that searches for a deadlock among holders that wait",
       [](prepared_state& w) {
         two_semaphores(w);
         return from_client(w.claim("a", w.open(), {}, [](claim_ask& c) {
           permits(1)(c);
           c.refuse_deadlock = true;
         }));
       }},
      {"that searches in a queue that is full then",
       [](prepared_state& w) {
         full_queue(w, "q", of_kind(claim_kind::lock), of_kind(claim_kind::lock), 1);
         return from_client(w.claim("q", w.open(), {}, refusing()));
       }},
      {"of a session with many claims of it",
       [](prepared_state& w) {
         w.node("n");
         const auto s = w.open();
         for (int i = 0; i < many; ++i)
           REQUIRE(w.asks("s", s, text("c", i), permits(1, claim_permits_max)) == "held");
         return from_client(w.claim("s", s, "more", permits(1)));
       }},
      {"of a resource with many holders in their lock delay",
       [](prepared_state& w) {
         w.node("n");
         const auto s = w.open("n", 60'000);
         for (int i = 0; i < many; ++i)
           REQUIRE(w.asks("s", s, text("c", i), permits(1, claim_permits_max)) == "held");
         w.apply(session_destroy{{s}, "destroyed"});
         return from_client(w.claim("s", w.open(), "more", permits(1)));
       }},
  };
}
entries of(std::type_identity<claim_release>) {
  return {
      {"of a writer for whom a full queue of readers waits",
       [](prepared_state& w) {
         full_queue(w, "q", writer(), shared());
         return from_client(claim_release{"q", "holder"});
       }},
      {"of a lock with a full queue",
       [](prepared_state& w) {
         full_queue(w, "q", of_kind(claim_kind::lock), of_kind(claim_kind::lock));
         return from_client(claim_release{"q", "holder"});
       }},
      {"of an id that is not known, beside many ends",
       [](prepared_state& w) {
         for (int i = 0; i < many; ++i)
           w.from(text("client", i % 100), claim_release{"q", text("id", i)});
         return from_client(claim_release{"q", "late"});
       }},
  };
}
entries of(std::type_identity<claim_transfer>) {
  return {{"to the last of a full queue, which refuses a deadlock", [](prepared_state& w) {
             full_queue(w, "q", of_kind(claim_kind::lock), of_kind(claim_kind::lock), 1);
             REQUIRE(w.asks("q", w.open(), "last", refusing()).starts_with("waiting"));
             return from_client(claim_transfer{"q", "holder", "last"});
           }}};
}
entries of(std::type_identity<claim_mode_set>) {
  return {{"of a writer for whom a full queue of readers waits", [](prepared_state& w) {
             full_queue(w, "q", writer(), shared());
             return claim_mode_set{"q", "holder", claim_mode::shared};
           }}};
}
entries of(std::type_identity<claim_limit_set>) {
  return {
      {"so small that a full queue ends",
       [](prepared_state& w) {
         full_queue(w, "q", permits(9, 9), permits(9));
         return claim_limit_set{"q", 1};
       }},
      {"so large that a full queue is granted",
       [](prepared_state& w) {
         full_queue(w, "q", permits(9, 9), permits(9));
         return claim_limit_set{"q", claim_permits_max};
       }},
  };
}
entries of(std::type_identity<claim_limit_unset>) {
  return {{"of a full queue", [](prepared_state& w) {
             full_queue(w, "q", permits(9, 9), permits(9));
             w.apply(claim_limit_set{"q", 9});
             return from_client(claim_limit_unset{"q"});
           }}};
}
entries of(std::type_identity<guard_set>) {
  return {
      {"by a key, beside as many as there may be",
       [](prepared_state& w) {
         all_guards(w);
         command removed = guard_remove{"g0/", 0};
         w.apply(removed);
         return from_client(guard_set{"new/", {"lock", claim_space::keys}});
       }},
      {"above all others",
       [](prepared_state& w) {
         all_guards(w);
         return from_client(guard_set{"g", {"guarding"}});
       },
       true},
  };
}
entries of(std::type_identity<guard_remove>) {
  return {{"beside as many as there may be", [](prepared_state& w) {
             all_guards(w);
             return guard_remove{"g0/", 0};
           }}};
}
entries of(std::type_identity<claims_alarm>) {
  return {{"when a full queue is due", [](prepared_state& w) {
             full_queue(w, "q", of_kind(claim_kind::lock), until(100));
             w.now.value += 1'000;
             return claims_alarm{w.now};
           }}};
}
entries of(std::type_identity<kv_acquire>) {
  return {{"that searches in a queue of a lock that is full then", [](prepared_state& w) {
             full_lock_queue(w, "k", 1);
             kv_acquire a;
             a.op = op_on(kv_verb::lock, "k", "v", 0, w.open());
             a.wait_ms = 1'000;
             a.refuse_deadlock = true;
             return from_client(a);
           }}};
}
entries of(std::type_identity<waits_withdraw>) {
  return {{"of as many waits as one entry names, in a full queue", [](prepared_state& w) {
             full_lock_queue(w, "k", 1);
             waits_withdraw c;
             const auto found = w.m.evaluate(claims_list{"k", {}, {}, {}});
             for (const auto& row : std::get<claim_rows>(found.data).list)
               if (row.claim->state == claim_state::waiting)
                 c.waits.push_back({row.claim->of.name, row.claim->session, row.claim->modify_index});
             c.waits.resize(std::min(c.waits.size(), withdrawn_at_once_max));
             return c;
           }}};
}
entries of(std::type_identity<outcome_seal>) {
  return {{"beside many outcomes", [](prepared_state& w) {
             for (int i = 0; i < 20'000; ++i)
               w.apply(outcome_seal{text("key", i), w.now});
             return outcome_seal{"late", w.now};
           }}};
}
template <class Settings>
entries of(std::type_identity<settings_set<Settings>>) {
  return {{"beside many keys", [](prepared_state& w) {
             many_keys(w, "k/");
             return settings_set<Settings>{};
           }}};
}

// ---- the bounds on time

// What an entry may cost (docs/operate/security.md): searches and checks, and more for each row.
constexpr double entry_us = 10'000, row_us = 5;
// Time of one pass of loop() in a build of preset release on the machine of docs/internals/performance.md.
constexpr double loop_us = 5'400;

/// Does the same kind of work as an entry, so it slows down alike: names, rows, trees.
void loop() {
  std::map<std::string, std::shared_ptr<const std::string>, std::less<>> rows;
  for (int i = 0; i < 10'000; ++i)
    rows[text("some/key/", i * 7919 % 10'007)] = std::make_shared<const std::string>("value");
  for (int i = 0; i < 10'000; ++i)
    if (const auto at = rows.find(text("some/key/", i)); at != rows.end() && at->second->size() != 5)
      std::abort();
}

/// In microseconds of that machine.
struct cost {
  double us = 0;
  std::size_t rows = 0; ///< changed or removed
  std::string response;
  bool allowed() const { return us <= entry_us + row_us * static_cast<double>(rows); }
};

/// Empty: it was carried out.
std::string refused_with(const reply& r) {
  if (const auto* no = std::get_if<refusal>(&r))
    return no->text;
  if (const auto* no = std::get_if<claim_refusal>(&r))
    return no->text;
  const auto* t = std::get_if<txn_reply>(&r);
  return t != nullptr && !t->errors.empty() ? t->errors.front().what : std::string();
}

cost cost_of(const entry& e, double us_per_ns) {
  prepared_state w;
  const auto c = e.prepare(w);
  w.m.take_dirty();
  effects changed;
  const auto begun = harness::thread_cpu_time();
  const auto r = w.m.apply(w.m.applied_index().next(), w.now, c, changed);
  const auto spent = harness::thread_cpu_time() - begun;
  // A restore replaces all rows, which are then not listed as changed.
  const auto rows = w.m.replaced() ? w.m.freeze_rows()->rows().size() : w.m.take_dirty().size();
  return {static_cast<double>(spent.count()) * us_per_ns, rows, refused_with(r)};
}

template <class... Command>
std::vector<std::pair<std::string, entry>> all_entries(std::type_identity<std::variant<Command...>>) {
  std::vector<std::pair<std::string, entry>> all;
  const auto add = [&]<class Each>(std::type_identity<Each> kind) {
    for (auto& e : of(kind))
      all.emplace_back("command " + std::to_string(static_cast<int>(Each::tag)), std::move(e));
  };
  (add(std::type_identity<Command>()), ...);
  return all;
}

} // namespace

TEST_CASE("no entry costs more than its share of the log, whatever the state", "[apply_cost]") {
  const auto us_per_ns = loop_us / static_cast<double>(harness::least_cpu_time(loop).count());
  const bool shown = std::getenv("BELAY_SHOW_COSTS") != nullptr;
  for (const auto& [kind, e] : all_entries(std::type_identity<plain_command::plain>()))
    DYNAMIC_SECTION(kind << ", " << e.name) {
      cost least;
      const bool allowed = harness::holds_once([&] {
        least = cost_of(e, us_per_ns);
        return least.allowed();
      });
      if (shown) {
        std::printf("%s | %s | %.2f ms | %zu rows | %s\n", kind.c_str(), e.name, least.us / 1000, least.rows,
                    least.response.c_str());
        std::fflush(stdout);
      }
      INFO(least.us << " us, " << least.rows << " rows; " << least.response);
      CHECK(allowed);
      CHECK(least.response.empty() != e.refused);
    }
}
