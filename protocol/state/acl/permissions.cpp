#include "protocol/state/acl/permissions.hpp"

#include "protocol/base/mutants.hpp"
#include "protocol/base/overloaded.hpp"
#include "protocol/state/acl/acl_reading.hpp"
#include "protocol/state/acl/writing_permissions.hpp"
#include "protocol/state/answer_size.hpp"
#include "protocol/state/claims/claim_reading.hpp"
#include "protocol/state/folded_name.hpp"
#include "protocol/state/reading.hpp"
#include "protocol/state/transactions.hpp"

#include <algorithm>

namespace belay::state {

namespace {

using authorizer_ptr = std::shared_ptr<const acl::authorizer>;
using complaint = std::optional<std::string>;

/// The permissions of an auth context, or why it has none.
struct decision {
  authorizer_ptr may;
  std::string_view why;
};

decision decision_on(const tables& t, const auth_context& by, cluster_time now) {
  if (is_reserved_secret(by.secret))
    return {nullptr, acl_reserved};
  if (auto may = t.acls.authorizer_of(by, now))
    return {std::move(may), {}};
  // Requests without a token are anonymous, even before the first entry about ACLs.
  if (by.secret == anonymous_secret && !t.acls.token(anonymous_accessor))
    return {std::make_shared<const acl::authorizer>(by.allowed_by_default ? acl::authorizer::allow_all()
                                                                          : acl::authorizer::deny_all()),
            {}};
  return {nullptr, acl_not_found};
}

/// Null: the token no longer exists.
authorizer_ptr authorizer_of(const tables& t, const requester& by, cluster_time now) {
  const auto token = t.acls.token(by.accessor);
  if (token == nullptr && by.accessor != anonymous_accessor)
    return nullptr;
  const auto secret = token ? token->secret : std::string(anonymous_secret);
  return decision_on(t, {secret, by.allowed_by_default, by.datacenter}, now).may;
}

// ---- queries

complaint denial(const acl::authorizer& may, const query& q, const kv_get& each) {
  (void)q;
  return denied_unless(may.key_read(each.key));
}
/// Listings of keys.
template <class Listing>
requires requires(const Listing& each) {
  each.prefix;
}
complaint denial(const acl::authorizer& may, const query& q, const Listing& each) {
  return denied_unless(!q.lists_need_permission || may.key_list(each.prefix));
}
complaint denial(const acl::authorizer& may, const query& q, const kv_changes& each) {
  return denied_unless(!q.lists_need_permission ||
                       std::all_of(each.prefixes.begin(), each.prefixes.end(),
                                   [&](const std::string& prefix) { return may.key_list(prefix); }));
}
complaint denial(const acl::authorizer& may, const query&, const kv_at& each) {
  return denied_unless(may.key_read(each.key));
}
complaint denial(const acl::authorizer& may, const query&, const kv_history& each) {
  return denied_unless(may.key_read(each.key));
}
complaint denial(const acl::authorizer& may, const query&, const claim_read& each) {
  return denied_unless(may.key_read(each.of.name));
}
complaint denial(const acl::authorizer& may, const query&, const claim_status& each) {
  return denied_unless(may.key_read(each.of.name));
}
template <class Settings>
complaint denial(const acl::authorizer& may, const query&, const settings_get<Settings>&) {
  return denied_unless(may.operator_read());
}
complaint denial(const acl::authorizer&, const query& q, const acl_token_self&) {
  return q.by->secret == anonymous_secret ? complaint(acl_not_found) : std::nullopt;
}
complaint denial(const acl::authorizer& may, const query&, const acl_legacy_list&) {
  return denied_unless(may.acl_write());
}
complaint denial(const acl::authorizer& may, const query&, const coordinate_node& each) {
  return denied_unless(may.node_read(each.node));
}
template <class Question>
complaint denial(const acl::authorizer& may, const query&, const Question&) {
  constexpr bool about_acls = std::is_same_v<Question, acl_policy_read> || std::is_same_v<Question, acl_policy_list> ||
                              std::is_same_v<Question, acl_role_read> || std::is_same_v<Question, acl_role_list> ||
                              std::is_same_v<Question, acl_token_read> || std::is_same_v<Question, acl_token_list>;
  return denied_unless(!about_acls || may.acl_read());
}

bool allows(const tables& t, const acl::authorizer& may, const permission_needed& n) {
  using of = permission_needed::of;
  if (n.level == acl::permission::deny)
    return false;
  const auto named = [&](acl::resource on) { return may.allows(on, n.level, n.name); };
  const bool writes = n.level == acl::permission::write;
  switch (n.what) {
  case of::agent:
    return named(acl::resource::agent);
  case of::key:
    return n.tree && writes ? may.key_write_prefix(n.name) : named(acl::resource::key);
  case of::node:
    return named(acl::resource::node);
  case of::service:
    return named(acl::resource::service);
  case of::session:
    return named(acl::resource::session);
  case of::session_owner: {
    const auto session = t.sessions.find(n.name);
    return !session || may.allows(acl::resource::session, n.level, session->node);
  }
  case of::event:
    return named(acl::resource::event);
  case of::query:
    return named(acl::resource::query);
  case of::operators:
    return writes ? may.operator_write() : may.operator_read();
  case of::keyring:
    return writes ? may.keyring_write() : may.keyring_read();
  case of::acl:
    return writes ? may.acl_write() : may.acl_read();
  }
  return false;
}

// ---- results

bool may_see_service(const acl::authorizer& may, const std::string& service) {
  return service.empty() || may.service_read(service);
}
} // namespace

bool may_see(const acl::authorizer& may, const kv_entry& row) {
  return may.key_read(row.key);
}
bool may_see(const acl::authorizer& may, const session_record& row) {
  return may.session_read(row.node);
}
bool may_see(const acl::authorizer& may, const node_record& row) {
  return may.node_read(row.node);
}
bool may_see(const acl::authorizer& may, const service_record& row) {
  return may.service_read(row.service);
}
bool may_see(const acl::authorizer& may, const check_record& row) {
  return may.node_read(row.node) && may_see_service(may, row.service_name);
}
bool may_see(const acl::authorizer& may, const service_instance& row) {
  return may_see(may, *row.node) && may_see(may, *row.service);
}

namespace {

/// A name cut at a separator represents all keys under it; one visible key suffices.
bool may_see_any_under(const tables& t, const acl::authorizer& may, const std::string& cut) {
  for (auto at = t.kv.rows().lower_bound(cut); at != t.kv.rows().end() && starts_with(at->key(), cut); ++at)
    if (may.key_read(at->key()))
      return true;
  return false;
}

bool may_see_session(const tables& t, const acl::authorizer& may, const std::string& id) {
  const auto session = t.sessions.find(id);
  return session && may.session_read(session->node);
}

/// Shows that there is a wait; hides for what, by which claim and whose (docs/reference/claims.md, rule 32).
void hide_names(const tables& t, const acl::authorizer& may, std::vector<wait_edge>& edges) {
  for (auto& each : edges) {
    if (!may.key_read(each.on.name)) {
      each.on.name.clear();
      each.id.clear();
      each.hidden = true;
    }
    for (auto* session : {&each.session, &each.blocker})
      if (!may_see_session(t, may, *session))
        session->clear();
  }
}

bool shows_result(const acl::authorizer& may, const check_record& row) {
  return row.service_name.empty() ? may.node_read(row.node) : may.service_read(row.service_name);
}

void keep_results(const acl::authorizer& may, txn_reply& answer) {
  std::erase_if(answer.results, [&](const txn_result& each) {
    return !std::visit(overloaded{
                           [&](const check_ptr& c) { return shows_result(may, *c); },
                           [&](const auto& row) { return may_see(may, *row); },
                       },
                       each.row);
  });
}

// Whether an operation gets a hidden row. Of a missing row only the operation's names are known.
bool gets_hidden(const tables&, const acl::authorizer& may, const kv_op& op) {
  return op.verb == kv_verb::get && !may.key_read(op.key);
}
bool gets_hidden(const tables& t, const acl::authorizer& may, const node_op& op) {
  const auto row = op.node.id.empty() ? t.catalog.find_node(op.node.node) : t.catalog.find_node_by_id(op.node.id);
  return op.verb == catalog_verb::get && !may.node_read(row ? row->node : op.node.node);
}
bool gets_hidden(const tables& t, const acl::authorizer& may, const service_op& op) {
  const auto& registered = op.service;
  const auto& id = registered.id.empty() ? registered.service : registered.id;
  const auto row = t.catalog.find_service(registered.node, id);
  const bool visible = row ? may_see(may, *row) : may.service_read(id) && may_see_service(may, registered.service);
  return op.verb == catalog_verb::get && !visible;
}
/// A missing check could belong to any service.
bool gets_hidden(const tables& t, const acl::authorizer& may, const check_op& op) {
  const auto row = t.catalog.find_check(op.check.node, op.check.check_id.empty() ? op.check.name : op.check.check_id);
  const bool visible = row ? shows_result(may, *row) : may.node_read(op.check.node) && may.service_read("");
  return op.verb == catalog_verb::get && !visible;
}
bool gets_hidden(const tables&, const acl::authorizer&, const fence_op&) {
  return false;
}

/// Evaluates a transaction that reads. Hidden rows are treated like existing ones, so that the
/// reply does not reveal whether they exist.
query_data read_visible(const tables& t, const acl::authorizer& may, const txn& all) {
  txn visible;
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < all.ops.size(); ++i)
    if (!std::visit([&](const auto& op) { return gets_hidden(t, may, op); }, all.ops[i])) {
      visible.ops.push_back(all.ops[i]);
      positions.push_back(i);
    }
  auto read = read_transaction(t, visible);
  auto* answer = std::get_if<txn_reply>(&read);
  if (answer == nullptr)
    return std::get<refusal>(std::move(read));
  for (auto& error : answer->errors)
    error.op_index = positions.at(error.op_index);
  return std::move(*answer);
}

/// `acl.enable_key_list_policy` also applies to listings in transactions, unlike in Consul.
txn_reply refused_listings(const acl::authorizer& may, const txn& all, bool lists_need_permission) {
  txn_reply answer;
  for (std::size_t i = 0; lists_need_permission && i < all.ops.size(); ++i)
    if (const auto* op = std::get_if<kv_op>(&all.ops[i]);
        op != nullptr && op->verb == kv_verb::get_tree && !may.key_list(op->key))
      answer.errors.push_back({i, std::string(permission_denied)});
  return answer;
}

/// The result of a transaction that only reads, before rows are
/// hidden.
/// @param found the result without regard to permissions
query_data permitted_reads(const tables& t, const acl::authorizer& may, const query& q, const txn& all,
                           query_data found) {
  if (auto refused = refused_operations(t, may, all, {}); !refused.errors.empty())
    return refused;
  if (auto refused = refused_listings(may, all, q.lists_need_permission); !refused.errors.empty())
    return refused;
  const auto* reply = std::get_if<txn_reply>(&found);
  return reply != nullptr && !reply->errors.empty() ? read_visible(t, may, all) : std::move(found);
}

/// Filters one result of one query.
struct filter {
  const tables& t;
  const query& q;
  const authorizer_ptr& by;
  cluster_time now;
  const acl::authorizer& may = *by;

  template <record_pointer Pointer>
  void keep(std::vector<Pointer>& rows) const {
    std::erase_if(rows, [&](const auto& each) { return !may_see(may, *each); });
  }

  void operator()(kv_entries& a) const { keep(a.entries); }
  void operator()(key_names& a) const {
    const auto* requested = std::get_if<kv_keys>(&q);
    std::erase_if(a.keys, [&](const std::string& name) {
      const bool cut = requested != nullptr && !requested->separator.empty() &&
                       name.find(requested->separator, requested->prefix.size()) != std::string::npos;
      return cut ? !may_see_any_under(t, may, name) : !may.key_read(name);
    });
  }
  void operator()(sessions& a) const { keep(a.list); }
  void operator()(nodes& a) const { keep(a.list); }
  void operator()(service_names& a) const {
    std::erase_if(a.tags_by_service, [&](const auto& each) { return !may.service_read(each.first); });
  }
  void operator()(service_instances& a) const {
    std::erase_if(a.list, [&](const service_instance& each) { return !may_see(may, each); });
  }
  void operator()(node_services& a) const {
    if (a.node && !may_see(may, *a.node))
      a = {};
    const auto all = a.services.size();
    keep(a.services);
    a.some_hidden = a.services.size() != all;
  }
  void operator()(checks& a) const { keep(a.list); }
  void operator()(coordinate_rows& a) const {
    std::erase_if(a.list, [&](const auto& each) { return !may.node_read(each->node); });
  }
  void operator()(txn_reply& a) const { keep_results(may, a); }
  void operator()(refusal&) const {}
  void operator()(acl_rows& a) const {
    if (std::holds_alternative<acl_token_self>(q)) {
      if (auto own = t.acls.token_with_secret(q.by->secret))
        a.list.push_back(shown_row(t.acls, std::move(own)));
      a.shows_secrets = true;
      return;
    }
    a.shows_secrets = may.acl_write();
    std::erase_if(a.list, [&](const acl_row& each) {
      const auto* token = std::get_if<acl_token_ptr>(&each.row);
      return token != nullptr && has_expired(**token, now);
    });
  }
  void operator()(permissions& a) const {
    a.may = by;
    if (const auto* requested = std::get_if<permissions_read>(&q)) {
      std::transform(requested->requested.begin(), requested->requested.end(), a.allowed.begin(),
                     [&](const permission_needed& each) { return allows(t, may, each); });
      if (requested->rules_too)
        a.rules = t.acls.rules_on_behalf_of(*q.by, now);
    }
    a.token = t.acls.token_with_secret(q.by->secret);
  }
  void operator()(claim_view&) const {}
  void operator()(claim_standing&) const {}
  void operator()(claim_rows& a) const {
    if (const auto* requested = std::get_if<claims_list>(&q))
      a = listed_claims(t, *requested, [&](const claim_record& c) { return may.key_read(c.of.name); });
  }
  void operator()(wait_graph& a) const {
    hide_names(t, may, a.edges);
    std::erase_if(a.edges, [](const wait_edge& each) {
      return each.hidden && each.session.empty() && each.blocker.empty(); // nothing of it remains
    });
  }
  void operator()(guard_rows& a) const {
    std::erase_if(a.list, [&](const guard_record& each) { return !may.key_read(each.prefix); });
  }
  void operator()(ended_session_rows& a) const {
    std::erase_if(a.list, [&](const ended_session_ptr& each) { return !may.session_read(each->node); });
    for (auto& each : a.list) {
      const auto hidden = [&](const resource_name& name) { return !may.key_read(name.name); };
      if (std::none_of(each->released.begin(), each->released.end(), hidden))
        continue;
      auto shown = std::make_shared<ended_session>(*each);
      std::erase_if(shown->released, hidden); // released_count shows that there were more
      each = std::move(shown);
    }
  }
  void operator()(change_rows& a) const {
    keep(a.rows);
    std::erase_if(a.list,
                  [&](const kv_change& each) { return !may_see(may, *each.row) && !MUTANT(changes_not_filtered); });
    a.viewer = by;
  }
  void operator()(outcome_view&) const {}
  /// Settings are visible as a whole or not at all.
  template <class Settings>
  void operator()(settings_ptr<Settings>&) const {}
};

const txn* transaction_in(const command& c) {
  const auto* fenced = std::get_if<fenced_txn>(&c);
  return fenced != nullptr ? &fenced->body : std::get_if<txn>(&c);
}

} // namespace

std::optional<reply> refused_to(const tables& t, const command& c, cluster_time now) {
  if (!c.by)
    return std::nullopt;
  const auto v = decision_on(t, *c.by, now);
  if (!v.may)
    return reply{refusal{std::string(v.why)}};
  if (const auto* transaction = transaction_in(c)) {
    auto refused = refused_operations(t, *v.may, *transaction, now);
    return refused.errors.empty() ? std::nullopt : std::optional(reply{std::move(refused)});
  }
  if (auto why = writing_denied(t, *v.may, c))
    return reply{refusal{std::move(*why)}};
  return std::nullopt;
}

bool may_still_write(const tables& t, const requester& by, cluster_time now, std::string_view name) {
  if (by.empty())
    return true;
  const auto may = authorizer_of(t, by, now);
  return may && may->key_write(name);
}

bool may_still_run(const tables& t, const requester& by, cluster_time now, const kv_op& op) {
  if (by.empty() || MUTANT(on_end_outlives_token))
    return true;
  const auto may = authorizer_of(t, by, now);
  return may && may_write_key(*may, op);
}

namespace {

/// A token without permissions writes no outcome, not even of commands that need no permission.
bool leaves_outcome_without_rights(const tables& t, const command& c, cluster_time now) {
  const bool needs_none =
      std::holds_alternative<outcome_seal>(c) || (c.once && std::holds_alternative<session_destroy>(c));
  if (!needs_none || c.by->allowed_by_default)
    return false;
  const auto rules = t.acls.rules_on_behalf_of(*c.by, now);
  return std::all_of(rules.begin(), rules.end(), [](const acl::rules& each) { return each == acl::rules(); });
}

} // namespace

std::optional<reply> refused_to_ask(const tables& t, const command& c, cluster_time now) {
  if (!c.by)
    return std::nullopt;
  if (auto no = refused_to(t, c, now))
    return no;
  const auto v = decision_on(t, *c.by, now);
  if (const auto* fenced = std::get_if<fenced_write>(&c); fenced != nullptr && !v.may->key_read(fenced->fence.of.name))
    return reply{refusal{std::string(permission_denied)}};
  if (leaves_outcome_without_rights(t, c, now))
    return reply{refusal{std::string(permission_denied)}};
  // Consul filters the reply of a transaction that also writes: a `get` in it is not rejected.
  if (const auto* ops = transaction_in(c))
    if (auto no = refused_listings(*v.may, *ops, c.lists_need_permission); !no.errors.empty())
      return reply{std::move(no)};
  return std::nullopt;
}

namespace {

std::optional<refusal> refused_by(const decision& v, const query& q) {
  if (!v.may)
    return refusal{std::string(v.why)};
  auto why = std::visit([&](const auto& each) { return denial(*v.may, q, each); }, static_cast<const plain_query&>(q));
  return why ? std::optional(refusal{std::move(*why)}) : std::nullopt;
}

} // namespace

std::shared_ptr<const acl::authorizer> authorizer_of(const tables& t, const auth_context& by, cluster_time now) {
  return decision_on(t, by, now).may;
}

std::optional<refusal> refused_to(const tables& t, const query& q, cluster_time now) {
  return q.by ? refused_by(decision_on(t, *q.by, now), q) : std::nullopt;
}

namespace {

/// After filtering: neither rejects for the size of hidden rows nor reveals it.
query_result unless_too_large(const query& q, query_result found) {
  if (const auto* txn = std::get_if<txn_reply>(&found.data)) {
    if (auto why = refused_for_size(*txn))
      found.data = refusal{std::move(*why)};
    return found;
  }
  if (!std::holds_alternative<health_service>(q))
    return found;
  const auto* rows = std::get_if<service_instances>(&found.data);
  if (auto why = rows == nullptr ? std::nullopt : refused_for_size(*rows))
    found.data = refusal{std::move(*why)};
  return found;
}

} // namespace

query_result visible_answer(const tables& t, const query& q, cluster_time now) {
  if (!q.by)
    return unless_too_large(q, answer(t, q));
  const auto v = decision_on(t, *q.by, now);
  if (auto refused = refused_by(v, q))
    return {answer_index(t, q), std::move(*refused)};
  auto found = answer(t, q);
  const bool all_visible = std::holds_alternative<kv_get>(q); // else it would have been rejected
  if (!all_visible && !MUTANT(reads_not_filtered)) {
    if (const auto* read = std::get_if<txn_read>(&q))
      found.data = permitted_reads(t, *v.may, q, read->ops, std::move(found.data));
    std::visit(filter{t, q, v.may, now}, found.data);
  }
  return unless_too_large(q, std::move(found));
}

void keep_visible(const tables& t, const auth_context& by, cluster_time now, txn_reply& answer) {
  if (const auto v = decision_on(t, by, now); v.may)
    keep_results(*v.may, answer);
}

void keep_visible(const tables& t, const auth_context& by, cluster_time now, claim_refusal& answer) {
  if (const auto v = decision_on(t, by, now); v.may)
    hide_names(t, *v.may, answer.cycle);
}

} // namespace belay::state
