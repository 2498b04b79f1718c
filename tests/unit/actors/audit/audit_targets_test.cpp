// What requests intend to change, as the audit log shows it: names, never values or secrets.

#include "actors/audit/audit_targets.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;

namespace {

using targets = std::vector<audit_target>;

targets of_write(state::command c) {
  return audit_targets_of(http::write_request{std::move(c)});
}

state::kv_op op(state::kv_verb verb, const std::string& key) {
  state::kv_op o;
  o.verb = verb;
  o.key = key;
  o.value = make_payload("the value");
  return o;
}

targets of_local(http::local_request r) {
  return audit_targets_of(std::move(r));
}

} // namespace

TEST_CASE("audit targets: keys") {
  CHECK(of_write(state::kv_write{op(state::kv_verb::remove_tree, "app/")}) == targets{{"delete-tree", "key", "app/"}});
  state::txn t;
  t.ops = {op(state::kv_verb::set, "a"), op(state::kv_verb::get, "b"), op(state::kv_verb::check_index, "c"),
           op(state::kv_verb::remove_cas, "d")};
  CHECK(of_write(t) == targets{{"set", "key", "a"}, {"delete-cas", "key", "d"}});
}

TEST_CASE("audit targets: the catalog") {
  state::catalog_register r;
  r.node.node = "n1";
  r.service.emplace();
  r.service->id = "web-1";
  r.service->service = "web";
  r.checks.resize(1);
  r.checks[0].check_id = "c1";
  r.checks[0].name = "alive";
  CHECK(of_write(r) == targets{{"register", "node", "n1"},
                               {"register", "service", "web", "n1/web-1"},
                               {"register", "check", "alive", "n1/c1"}});
  CHECK(of_write(state::catalog_deregister{"n1", "", ""}) == targets{{"deregister", "node", "n1"}});
  CHECK(of_write(state::catalog_deregister{"n1", "s", ""}) == targets{{"deregister", "service", "", "n1/s"}});
}

TEST_CASE("audit targets: tokens by their accessors") {
  state::acl_token_set s;
  s.token.accessor = "accessor";
  s.token.secret = "secret";
  s.fresh = true;
  CHECK(of_write(s) == targets{{"create", "token", "", "accessor"}});
  state::acl_token_clone c;
  c.of = "old";
  c.accessor = "new";
  c.secret = "secret";
  CHECK(of_write(c) == targets{{"clone", "token", "", "old"}, {"create", "token", "", "new"}});
  http::local_request r;
  r.kind = http::local_kind::agent_token;
  r.token = {http::agent_token_kind::replication, "secret"};
  CHECK(of_local(r) == targets{{"set", "agent-token", "replication"}});
}

TEST_CASE("audit targets: keys of encrypt are not shown") {
  http::local_request r;
  r.kind = http::local_kind::keyring;
  r.keys = {forward::keyring_verb::install, "c2VjcmV0"};
  CHECK(of_local(r) == targets{{"install", "keyring"}});
  r.keys.verb = forward::keyring_verb::list;
  CHECK(of_local(r).empty());
}

TEST_CASE("audit targets: sessions, agents, servers, snapshots") {
  http::local_request update{.kind = http::local_kind::coordinate_update};
  update.coordinate.node = "far";
  CHECK(audit_targets_of(update) == targets{{"update", "coordinate", "far"}});
  CHECK(audit_targets_of(http::session_renew{"s1"}) == targets{{"renew", "session", "", "s1"}});
  CHECK(of_write(state::session_expire{{"s1"}, {}}) == targets{{"expire", "session", "", "s1"}});
  CHECK(of_write(state::waits_withdraw{{{"k", "s1", log_index{7}}}}) == targets{{"withdraw", "wait", "k", "s1"}});
  CHECK(of_write(state::session_destroy{{"s1"}, "destroyed"}) == targets{{"destroy", "session", "", "s1"}});
  CHECK(audit_targets_of(http::agent_request{agent::service_maintenance{"web", true, "why"}}) ==
        targets{{"begin-maintenance", "service", "", "web"}});
  http::local_request r;
  r.kind = http::local_kind::remove_peer;
  r.removed.name = "10.0.0.1:8300";
  CHECK(of_local(r) == targets{{"remove", "server", "10.0.0.1:8300"}});
  CHECK(audit_targets_of(http::snapshot_restore{}) == targets{{"restore", "snapshot"}});
}

TEST_CASE("audit targets: reads change nothing") {
  CHECK(audit_targets_of(http::read_request{}).empty());
  CHECK(audit_targets_of(http::snapshot_save{}).empty());
  CHECK(audit_targets_of(http::response{}).empty());
  CHECK(of_local({.kind = http::local_kind::agent_self}).empty());
  CHECK(audit_targets_of(http::agent_request{agent::list_services{}}).empty());
}
