#include "actors/audit/audit_targets.hpp"

#include "protocol/base/overloaded.hpp"
#include "protocol/http/tokens.hpp"

#include <type_traits>
#include <utility>
#include <variant>

namespace belay::actors {

namespace {

using targets = std::vector<audit_target>;

// ---- writes of the replicated state. All kinds of commands are listed: a new one fails to compile

std::string within(const std::string& node, const std::string& id) {
  return node + "/" + id;
}

template <class Enum>
std::string_view verb_of(Enum verb) {
  return state::names_of<Enum>[static_cast<std::size_t>(verb)];
}

void add(targets& out, const state::txn_op& op) {
  std::visit(
      overloaded{
          [&out](const state::kv_op& o) {
            if (state::writes_keys(o.verb))
              out.push_back({verb_of(o.verb), "key", o.key});
          },
          [&out](const state::node_op& o) {
            if (o.verb != state::catalog_verb::get)
              out.push_back({verb_of(o.verb), "node", o.node.node});
          },
          [&out](const state::service_op& o) {
            if (o.verb != state::catalog_verb::get)
              out.push_back({verb_of(o.verb), "service", o.service.service, within(o.service.node, o.service.id)});
          },
          [&out](const state::check_op& o) {
            if (o.verb != state::catalog_verb::get)
              out.push_back({verb_of(o.verb), "check", o.check.name, within(o.check.node, o.check.check_id)});
          },
          [](const state::fence_op&) {},
      },
      op);
}

targets ends_of(const std::vector<std::string>& sessions, std::string_view verb) {
  targets out;
  for (const auto& id : sessions)
    out.push_back({verb, "session", {}, id});
  return out;
}

std::string_view made_or_changed(bool fresh) {
  return fresh ? "create" : "update";
}

struct of_command {
  targets operator()(const state::kv_write& w) const { return {{verb_of(w.op.verb), "key", w.op.key}}; }
  targets operator()(const state::txn& t) const {
    targets out;
    for (const auto& op : t.ops)
      add(out, op);
    return out;
  }
  targets operator()(const state::session_create& c) const {
    return {{"create", "session", c.session.name, c.session.id}};
  }
  targets operator()(const state::fenced_txn& t) const { return (*this)(t.body); }
  targets operator()(const state::fenced_write& w) const { return {{verb_of(w.op.verb), "key", w.op.key}}; }
  targets operator()(const state::kv_acquire& a) const { return {{verb_of(a.op.verb), "key", a.op.key}}; }
  targets operator()(const state::session_begin& c) const {
    return {{"create", "session", c.session.name, c.session.id}};
  }
  targets operator()(const state::claim_ask& c) const { return {{"ask", "claim", c.name, c.id}}; }
  targets operator()(const state::claim_release& c) const { return {{"release", "claim", c.name, c.id}}; }
  targets operator()(const state::claim_transfer& c) const { return {{"transfer", "claim", c.name, c.id}}; }
  targets operator()(const state::claim_mode_set& c) const { return {{"set-mode", "claim", c.name, c.id}}; }
  targets operator()(const state::claim_limit_set& c) const { return {{"set-limit", "claim", c.name}}; }
  targets operator()(const state::claim_limit_unset& c) const { return {{"unset-limit", "claim", c.name}}; }
  targets operator()(const state::guard_set& g) const { return {{"set", "guard", g.prefix}}; }
  targets operator()(const state::guard_remove& g) const { return {{"remove", "guard", g.prefix}}; }
  targets operator()(const state::outcome_seal& s) const { return {{"cancel", "outcome", s.key}}; }
  targets operator()(const state::claims_alarm&) const { return {{"look-at", "claims"}}; }
  targets operator()(const state::waits_withdraw& w) const {
    targets out;
    for (const auto& wait : w.waits)
      out.push_back({"withdraw", "wait", wait.key, wait.session});
    return out;
  }
  targets operator()(const state::session_destroy& d) const { return ends_of(d.ids, "destroy"); }
  targets operator()(const state::session_expire& d) const { return ends_of(d.ids, "expire"); }
  targets operator()(const state::catalog_register& r) const {
    targets out{{"register", "node", r.node.node, r.node.id}};
    if (r.service)
      out.push_back({"register", "service", r.service->service, within(r.node.node, r.service->id)});
    for (const auto& c : r.checks)
      out.push_back({"register", "check", c.name, within(r.node.node, c.check_id)});
    return out;
  }
  targets operator()(const state::catalog_deregister& d) const {
    if (!d.service_id.empty())
      return {{"deregister", "service", {}, within(d.node, d.service_id)}};
    if (!d.check_id.empty())
      return {{"deregister", "check", {}, within(d.node, d.check_id)}};
    return {{"deregister", "node", d.node}};
  }
  targets operator()(const state::tombstone_reap&) const { return {{"reap", "tombstones"}}; }
  targets operator()(const state::restore_begin&) const { return {{"restore", "snapshot"}}; }
  targets operator()(const state::restore_rows&) const { return {{"restore", "snapshot"}}; }
  targets operator()(const state::restore_commit&) const { return {{"restore", "snapshot"}}; }
  targets operator()(const state::restore_abort&) const { return {{"abort", "snapshot"}}; }
  targets operator()(const state::acl_initialize&) const { return {{"initialize", "acl"}}; }
  targets operator()(const state::acl_bootstrap& b) const { return {{"bootstrap", "token", {}, b.accessor}}; }
  targets operator()(const state::acl_policy_set& s) const {
    return {{made_or_changed(s.fresh), "policy", s.policy.name, s.policy.id}};
  }
  targets operator()(const state::acl_policy_delete& d) const { return {{"delete", "policy", {}, d.id}}; }
  targets operator()(const state::acl_role_set& s) const {
    return {{made_or_changed(s.fresh), "role", s.role.name, s.role.id}};
  }
  targets operator()(const state::acl_role_delete& d) const { return {{"delete", "role", {}, d.id}}; }
  targets operator()(const state::acl_token_set& s) const {
    return {{made_or_changed(s.fresh), "token", {}, s.token.accessor}};
  }
  targets operator()(const state::acl_token_clone& c) const {
    return {{"clone", "token", {}, c.of}, {"create", "token", {}, c.accessor}};
  }
  targets operator()(const state::acl_token_delete& d) const { return {{"delete", "token", {}, d.accessor}}; }
  template <class Settings>
  targets operator()(const state::settings_set<Settings>&) const {
    return {{"set", "settings"}};
  }
};

// ---- requests to this server itself

struct of_agent_request {
  targets operator()(const agent::register_service& r) const {
    const auto& s = r.definition.service;
    return {{"register", "service", s.service, s.id}};
  }
  targets operator()(const agent::deregister_service& d) const { return {{"deregister", "service", {}, d.id}}; }
  targets operator()(const agent::service_maintenance& m) const {
    return {{m.enable ? "begin-maintenance" : "end-maintenance", "service", {}, m.id}};
  }
  targets operator()(const agent::node_maintenance& m) const {
    return {{m.enable ? "begin-maintenance" : "end-maintenance", "node"}};
  }
  targets operator()(const agent::register_check& r) const {
    return {{"register", "check", r.definition.name, r.definition.id}};
  }
  targets operator()(const agent::deregister_check& d) const { return {{"deregister", "check", {}, d.id}}; }
  targets operator()(const agent::update_check& u) const { return {{"update", "check", {}, u.id}}; }
  targets operator()(const agent::fire_event& f) const { return {{"fire", "event", f.event.name, f.event.id}}; }
  targets operator()(const agent::list_services&) const { return {}; }
  targets operator()(const agent::list_checks&) const { return {}; }
  targets operator()(const agent::read_service&) const { return {}; }
  targets operator()(const agent::service_health&) const { return {}; }
  targets operator()(const agent::list_events&) const { return {}; }
};

targets of_local(const http::local_request& r) {
  switch (r.kind) {
  case http::local_kind::agent_reload:
    return {{"reload", "agent"}};
  case http::local_kind::agent_leave:
    return {{"leave", "agent"}};
  case http::local_kind::agent_join:
    return {{"join", "server", r.text}};
  case http::local_kind::force_leave:
    return {{"force-leave", "server", r.forced.name}};
  case http::local_kind::remove_peer:
    return {{"remove", "server", r.removed.name}};
  case http::local_kind::add_peer:
    return {{"add", "server", r.added.address, r.added.id}};
  case http::local_kind::coordinate_update:
    return {{"update", "coordinate", r.coordinate.node}};
  case http::local_kind::keyring: // the key itself is a secret
    if (r.keys.verb == forward::keyring_verb::list)
      return {};
    return {{forward::name_of(r.keys.verb), "keyring"}};
  case http::local_kind::agent_token:
    return {{"set", "agent-token", std::string(http::name_of(r.token.kind))}};
  default:
    return {};
  }
}

} // namespace

std::vector<audit_target> audit_targets_of(const http::action& a) {
  return std::visit(overloaded{
                        [](const http::write_request& w) { return std::visit(of_command{}, w.command); },
                        [](const http::session_renew& r) -> targets {
                          return {{"renew", "session", {}, r.id}};
                        },
                        [](const http::session_renew_list& r) {
                          targets out;
                          for (const auto& id : r.ids)
                            out.push_back({"renew", "session", {}, id});
                          return out;
                        },
                        [](const http::snapshot_restore&) -> targets {
                          return {{"restore", "snapshot"}};
                        },
                        [](const http::agent_request& r) { return std::visit(of_agent_request{}, r.what); },
                        [](const http::local_request& r) { return of_local(r); },
                        [](const http::response&) -> targets { return {}; },
                        [](const http::read_request&) -> targets { return {}; },
                        [](const http::change_stream&) -> targets { return {}; },
                        [](const http::snapshot_save&) -> targets { return {}; },
                    },
                    a);
}

} // namespace belay::actors
