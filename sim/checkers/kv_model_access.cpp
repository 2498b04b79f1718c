// The part of kv_model that rejects what a token may not do (docs/contract/10, sections 3 and 4).

#include "protocol/base/overloaded.hpp"
#include "sim/checkers/kv_model.hpp"

#include <algorithm>

namespace belay::sim {

namespace {

using level = acl_rule::level;
using state::kv_verb;

constexpr auto denied_text = "Permission denied";
constexpr auto not_found_text = "ACL not found";

bool may_run(const acl_rights& may, const state::kv_op& op) {
  switch (op.verb) {
  case kv_verb::get:
  case kv_verb::get_tree:
    return true;
  case kv_verb::check_index:
  case kv_verb::check_session:
    return may.reads_key(op.key);
  case kv_verb::remove_tree:
    return may.removes_tree(op.key);
  default:
    return may.writes_key(op.key);
  }
}

} // namespace

/// One error for each operation that is not allowed, besides other errors of operations.
std::optional<state::reply> kv_model::refused_to(const acl_rights& may, const state::txn& c,
                                                 std::optional<cluster_time> now) const {
  state::txn_reply answer;
  bool denied = false;
  for (std::size_t i = 0; i < c.ops.size(); ++i) {
    const auto* op = std::get_if<state::kv_op>(&c.ops[i]);
    if (op == nullptr) // only tokens that may do everything write rows of the catalog here
      continue;
    if (op->key.empty() && op->verb != kv_verb::remove_tree) {
      answer.errors.push_back({i, "Must provide key"});
    } else if (!may_run(may, *op)) {
      answer.errors.push_back({i, denied_text});
      denied = true;
    } else if (op->verb == kv_verb::lock && now && delayed_until(op->key) > now->value) {
      answer.errors.push_back({i, "failed to lock key \"" + op->key + "\" due to lock delay"});
    }
  }
  return denied ? std::optional<state::reply>(std::move(answer)) : std::nullopt;
}

std::optional<state::reply> kv_model::refused_to(const acl_rights_ptr& may, const state::command& c, log_index s,
                                                 std::optional<cluster_time> now) const {
  using answer = std::optional<state::reply>;
  if (!may)
    return state::reply{state::refusal{not_found_text}};
  const auto unless = [](bool allowed) { return allowed ? std::nullopt : answer(state::refusal{denied_text}); };
  return std::visit(
      overloaded{
          [&](const state::kv_write& w) {
            return unless((w.op.key.empty() && w.op.verb != kv_verb::remove_tree) || may_run(*may, w.op));
          },
          [&](const state::txn& t) { return refused_to(*may, t, now); },
          [&](const state::kv_acquire& w) { return unless(may->writes_key(w.op.key)); },
          [&](const state::claim_ask& w) { return unless(may->writes_key(w.name)); },
          [&](const state::session_begin& x) {
            return unless(may->allows("session", x.session.node, level::write) &&
                          std::all_of(x.on_end.begin(), x.on_end.end(),
                                      [&](const state::kv_op& op) { return may_run(*may, op); }));
          },
          [&](const state::session_create& x) { return unless(may->allows("session", x.session.node, level::write)); },
          [&](const state::session_destroy& x) {
            return unless(std::all_of(x.ids.begin(), x.ids.end(), [&](const std::string& id) {
              return !sessions_.lived_at(id, s) || may->allows("session", sessions_.past(id)->node, level::write);
            }));
          },
          // The clients here register a node with a check of the node.
          [&](const state::catalog_register& x) { return unless(may->allows("node", x.node.node, level::write)); },
          [&](const state::catalog_deregister& x) {
            if (!may->allows("node", x.node, level::write) && !x.check_id.empty() &&
                !sessions_.has_check(x.node, x.check_id, s))
              return answer(state::refusal{"Unknown check '" + x.check_id + "'"});
            return unless(may->allows("node", x.node, level::write));
          },
          [&](const auto&) { return unless(may->writes_acls()); }, // ACLs, archives
      },
      static_cast<const state::plain_command&>(c));
}

/// More is rejected before an entry than by it (docs/operate/security.md, B16).
std::optional<state::reply> kv_model::refuses(const state::command& c, log_index s) const {
  if (!c.by)
    return std::nullopt;
  const auto may = access_.rights_of(*c.by, s);
  if (auto no = refused_to(may, c, s, {}))
    return no;
  if (const auto* t = std::get_if<state::txn>(&c)) { // its success shows which rows exist (B20)
    state::txn_reply hidden;
    for (std::size_t i = 0; i < t->ops.size(); ++i)
      if (const auto* op = std::get_if<state::kv_op>(&t->ops[i]);
          op != nullptr && op->verb == kv_verb::get && !may->reads_key(op->key))
        hidden.errors.push_back({i, denied_text});
    return hidden.errors.empty() ? std::nullopt : std::optional<state::reply>(std::move(hidden));
  }
  const bool needs_none =
      std::holds_alternative<state::outcome_seal>(c) || (c.once && std::holds_alternative<state::session_destroy>(c));
  return needs_none && may->permits_nothing() ? std::optional<state::reply>(state::refusal{denied_text}) : std::nullopt;
}

std::optional<std::string> kv_model::refuses(const state::query& q, log_index s) const {
  if (!q.by)
    return std::nullopt;
  const auto may = access_.rights_of(*q.by, s);
  if (!may)
    return not_found_text;
  const auto* g = std::get_if<state::kv_get>(&q);
  return g == nullptr || may->reads_key(g->key) ? std::nullopt : std::optional<std::string>(denied_text);
}

bool kv_model::shows_key(const state::query& q, std::string_view key, log_index s) const {
  return !q.by || access_.rights_of(*q.by, s)->reads_key(key);
}

bool kv_model::may_use_session(const std::optional<state::auth_context>& who, const std::string& id,
                               std::string_view wanted, log_index s) const {
  if (!who || !sessions_.lived_at(id, s))
    return true;
  const auto may = access_.rights_of(*who, s);
  return may && may->allows("session", sessions_.past(id)->node, wanted == "write" ? level::write : level::read);
}

} // namespace belay::sim
