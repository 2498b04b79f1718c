#include "protocol/state/acl/writing_permissions.hpp"

#include "protocol/base/mutants.hpp"
#include "protocol/base/overloaded.hpp"
#include "protocol/state/acl/permissions.hpp"
#include "protocol/state/catalog/catalog_rules.hpp"
#include "protocol/state/transactions.hpp"

#include <algorithm>

namespace belay::state {

// ---- keys

bool may_write_key(const acl::authorizer& may, const kv_op& op) {
  switch (op.verb) {
  case kv_verb::get:
  case kv_verb::get_tree:
    return true;
  // The outcome of the transaction reveals their result.
  case kv_verb::check_index:
  case kv_verb::check_session:
    return may.key_read(op.key);
  case kv_verb::remove_tree:
    return MUTANT(tree_deleted_by_right_to_its_name) ? may.key_write(op.key) : may.key_write_prefix(op.key);
  case kv_verb::set:
  case kv_verb::cas:
  case kv_verb::lock:
  case kv_verb::unlock:
  case kv_verb::remove:
  case kv_verb::remove_cas:
  case kv_verb::add:
  case kv_verb::check_not_exists:
    break;
  }
  return may.key_write(op.key);
}

namespace {

using complaint = std::optional<std::string>;
using acl::authorizer;

// ---- the catalog: checks names as in the request and as in the rows, which may differ in case

bool may_write_node(const tables& t, const authorizer& may, const std::string& name) {
  const auto known = t.catalog.find_node(name);
  return may.node_write(name) && (!known || known->node == name || may.node_write(known->node));
}

/// A node known by its ID under another name is removed, with all it had.
bool may_write_node(const tables& t, const authorizer& may, const node_record& node) {
  const auto renamed = node.id.empty() ? nullptr : t.catalog.find_node_by_id(node.id);
  return may_write_node(t, may, node.node) && (!renamed || may.node_write(renamed->node));
}

bool may_write_service(const tables& t, const authorizer& may, const std::string& node, const service_record& service) {
  const auto replaced = t.catalog.find_service(node, service.id.empty() ? service.service : service.id);
  return may.service_write(service.service) && (!replaced || may.service_write(replaced->service));
}

/// @param service name of the check's service; nullptr: it is the node's check
bool may_write_check(const tables& t, const authorizer& may, const std::string& node, const check_record& check,
                     const std::string* service) {
  const auto owner_allows = [&](const std::string* of) {
    return of != nullptr ? may.service_write(*of) : may_write_node(t, may, node);
  };
  const auto replaced = t.catalog.find_check(node, check.check_id.empty() ? check.name : check.check_id);
  return owner_allows(service) &&
         (!replaced || owner_allows(replaced->service_id.empty() ? nullptr : &replaced->service_name));
}

complaint registration_denied(const tables& t, const authorizer& may, const catalog_register& c) {
  const auto known = t.catalog.find_node(c.node.node);
  const bool writes_node = !known || (!c.skip_node_update && !same_but_for_indexes(*known, c.node));
  if (writes_node && !may_write_node(t, may, c.node))
    return complaint(permission_denied);
  if (c.service && !may_write_service(t, may, c.node.node, *c.service))
    return complaint(permission_denied);
  for (const auto& check : c.checks) {
    if (check.service_id.empty()) {
      if (!may_write_check(t, may, c.node.node, check, nullptr))
        return complaint(permission_denied);
      continue;
    }
    const auto own_id = c.service ? folded(c.service->id.empty() ? c.service->service : c.service->id) : std::string();
    const auto other = t.catalog.find_service(c.node.node, check.service_id);
    if (own_id != folded(check.service_id) && !other)
      return "Unknown service '" + check.service_id + "' for check '" +
             (check.check_id.empty() ? check.name : check.check_id) + "'";
    const auto& service = own_id == folded(check.service_id) ? c.service->service : other->service;
    if (!may_write_check(t, may, c.node.node, check, &service))
      return complaint(permission_denied);
  }
  return std::nullopt;
}

complaint deregistration_denied(const tables& t, const authorizer& may, const catalog_deregister& c) {
  if (may_write_node(t, may, c.node))
    return std::nullopt;
  if (!c.service_id.empty()) {
    const auto service = t.catalog.find_service(c.node, c.service_id);
    if (!service)
      return "Unknown service '" + c.service_id + "'";
    return denied_unless(may.service_write(service->service));
  }
  if (c.check_id.empty())
    return complaint(permission_denied);
  const auto check = t.catalog.find_check(c.node, c.check_id);
  if (!check)
    return "Unknown check '" + c.check_id + "'";
  return denied_unless(!check->service_id.empty() && may.service_write(check->service_name));
}

// ---- operations of transactions

bool may_run(const tables&, const authorizer& may, const kv_op& op) {
  return may_write_key(may, op);
}
bool may_run(const tables& t, const authorizer& may, const node_op& op) {
  return op.verb == catalog_verb::get || may_write_node(t, may, op.node);
}
bool may_run(const tables& t, const authorizer& may, const service_op& op) {
  return op.verb == catalog_verb::get || may_write_service(t, may, op.service.node, op.service);
}
/// The outcome of the transaction reveals whether it is valid.
bool may_run(const tables&, const authorizer& may, const fence_op& op) {
  return may.key_read(op.fence.of.name);
}
bool may_run(const tables& t, const authorizer& may, const check_op& op) {
  if (op.verb == catalog_verb::get)
    return true;
  const auto& check = op.check;
  const auto service = t.catalog.find_service(check.node, check.service_id);
  // Earlier operations may register a missing service: they need permission for its real name.
  const auto& name = service ? service->service : check.service_name;
  return may_write_check(t, may, check.node, check, check.service_id.empty() ? nullptr : &name);
}

// ---- commands

struct write_authorization {
  const tables& t;
  const authorizer& may;
  const auth_context& by;
  bool from_client; ///< command::client_address is set

  complaint operator()(const kv_write& c) const {
    // Without a key it is rejected for that.
    return denied_unless((c.op.key.empty() && c.op.verb != kv_verb::remove_tree) || may_write_key(may, c.op));
  }
  complaint operator()(const txn&) const { return std::nullopt; }
  complaint operator()(const fenced_txn&) const { return std::nullopt; }
  complaint operator()(const fenced_write& c) const { return (*this)(kv_write{c.op}); }
  complaint operator()(const kv_acquire& c) const { return (*this)(kv_write{c.op}); }
  complaint operator()(const session_create& c) const { return denied_unless(may.session_write(c.session.node)); }
  /// OnEnd is authorized again when the session ends (docs/reference/claims.md, rule 19).
  complaint operator()(const session_begin& c) const {
    return denied_unless(
        may.session_write(c.session.node) &&
        std::all_of(c.on_end.begin(), c.on_end.end(), [this](const kv_op& op) { return may_write_key(may, op); }));
  }
  // Claims (docs/reference/claims.md): a waiter is authorized again before it is granted (rule 33).
  complaint operator()(const claim_ask& c) const { return denied_unless(may.key_write(c.name)); }
  complaint operator()(const claim_release& c) const { return denied_unless(may.key_write(c.name)); }
  complaint operator()(const claim_transfer& c) const { return denied_unless(may.key_write(c.name)); }
  complaint operator()(const claim_mode_set& c) const { return denied_unless(may.key_write(c.name)); }
  complaint operator()(const claim_limit_set& c) const { return denied_unless(may.key_write(c.name)); }
  complaint operator()(const claim_limit_unset& c) const { return denied_unless(may.key_write(c.name)); }
  /// Rule 34. From client_address_level on a guard also needs permission to hold the guarding
  /// resource. Otherwise a client could guard with a key of another client, which could then not
  /// set a guard above it.
  complaint operator()(const guard_set& c) const {
    const bool may_take = !from_client || may.key_write(c.by.name) || MUTANT(guard_by_keys_of_others);
    return denied_unless(may.key_write_prefix(c.prefix) && may_take);
  }
  complaint operator()(const guard_remove& c) const {
    return denied_unless(may.key_write_prefix(c.prefix) && (c.fence != 0 || may.operator_write()));
  }
  complaint operator()(const session_destroy& c) const {
    return denied_unless(std::all_of(c.ids.begin(), c.ids.end(), [&](const std::string& id) {
      const auto session = t.sessions.find(id);
      return !session || may.session_write(session->node);
    }));
  }
  complaint operator()(const catalog_register& c) const {
    return register_error(c) ? std::nullopt : registration_denied(t, may, c);
  }
  complaint operator()(const catalog_deregister& c) const {
    return deregister_error(c) ? std::nullopt : deregistration_denied(t, may, c);
  }
  /// Concerns the requester's own writes, so it needs no permission.
  complaint operator()(const outcome_seal&) const { return std::nullopt; }
  // Only servers propose these.
  complaint operator()(const tombstone_reap&) const { return denied_unless(false); }
  complaint operator()(const claims_alarm&) const { return denied_unless(false); }
  complaint operator()(const session_expire&) const { return denied_unless(false); }
  complaint operator()(const waits_withdraw&) const { return denied_unless(false); }
  complaint operator()(const acl_initialize&) const { return denied_unless(false); }
  // An archive contains the tokens.
  complaint operator()(const restore_begin&) const { return denied_unless(may.snapshot()); }
  complaint operator()(const restore_rows&) const { return denied_unless(may.snapshot()); }
  complaint operator()(const restore_commit&) const { return denied_unless(may.snapshot()); }
  complaint operator()(const restore_abort&) const { return denied_unless(may.snapshot()); }
  template <class Settings>
  complaint operator()(const settings_set<Settings>&) const {
    return denied_unless(may.operator_write());
  }
  /// There may be no token yet to permit it.
  complaint operator()(const acl_bootstrap&) const { return std::nullopt; }
  complaint operator()(const acl_token_delete& c) const {
    const auto token = t.acls.token(c.accessor);
    if (may.acl_write() && token && token->secret == by.secret && token->accessor != anonymous_accessor)
      return complaint("Deletion of the request's authorization token is not permitted");
    return denied_unless(may.acl_write());
  }
  complaint operator()(const acl_policy_set&) const { return denied_unless(may.acl_write()); }
  complaint operator()(const acl_policy_delete&) const { return denied_unless(may.acl_write()); }
  complaint operator()(const acl_role_set&) const { return denied_unless(may.acl_write()); }
  complaint operator()(const acl_role_delete&) const { return denied_unless(may.acl_write()); }
  complaint operator()(const acl_token_set&) const { return denied_unless(may.acl_write()); }
  complaint operator()(const acl_token_clone&) const { return denied_unless(may.acl_write()); }
};

} // namespace

std::optional<std::string> writing_denied(const tables& t, const acl::authorizer& may, const command& c) {
  return std::visit(write_authorization{t, may, *c.by, c.client_address.has_value()},
                    static_cast<const plain_command&>(c));
}

txn_reply refused_operations(const tables& t, const acl::authorizer& may, const txn& c, cluster_time now) {
  txn_reply answer;
  auto wrong = early_errors(t, c, now);
  auto next = wrong.begin();
  bool denied = false;
  for (std::size_t i = 0; i < c.ops.size(); ++i) {
    const bool is_wrong = next != wrong.end() && next->op_index == i;
    const auto* key = std::get_if<kv_op>(&c.ops[i]);
    // A lock-delay is revealed only to tokens that may write the key.
    const bool by_delay = is_wrong && key != nullptr && !key->key.empty();
    if ((!is_wrong || by_delay) && !std::visit([&](const auto& op) { return may_run(t, may, op); }, c.ops[i])) {
      answer.errors.push_back({i, std::string(permission_denied)});
      denied = true;
    } else if (is_wrong)
      answer.errors.push_back(*next);
    if (is_wrong)
      ++next;
  }
  if (!denied)
    answer.errors.clear();
  return answer;
}

} // namespace belay::state
