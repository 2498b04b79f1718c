#include "protocol/state/acl/acl_table.hpp"

#include "protocol/acl/identities.hpp"
#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/secrets.hpp"
#include "protocol/state/folded_name.hpp"

#include <algorithm>
#include <list>

namespace belay::state {

namespace {

/// Finds the ID as given, else in lower case.
template <class Row>
Row row_by_id(const undo_logged_map<Row>& rows, std::string_view id) {
  if (auto row = row_or_null(rows, id))
    return row;
  return row_or_null(rows, folded(id));
}

template <class Row, class Names>
Row row_named(const undo_logged_map<Row>& rows, const Names& names, std::string_view name) {
  const auto at = names.find(folded(name));
  return at == names.end() ? nullptr : row_by_id(rows, at->second);
}

template <class Names>
void forget_name(Names& names, std::string_view name, std::string_view id) {
  if (const auto at = names.find(folded(name)); at != names.end() && at->second == id)
    names.erase(at);
}

std::shared_ptr<const acl::rules> meaning_of(std::string_view rules) {
  auto read = acl::read_rules(rules);
  if (read)
    return std::make_shared<const acl::rules>(std::move(read).value());
  auto nothing = acl::management_rules();
  for (auto& each : nothing.named)
    each.policy = acl::permission::deny;
  nothing.on_acl = nothing.on_keyring = nothing.on_operator = acl::permission::deny;
  return std::make_shared<const acl::rules>(std::move(nothing));
}

bool counts_in(const std::optional<std::vector<std::string>>& datacenters, std::string_view datacenter) {
  return !datacenters || datacenters->empty() ||
         std::find(datacenters->begin(), datacenters->end(), datacenter) != datacenters->end();
}

} // namespace

std::uint64_t hash_of_secret(std::string_view secret) {
  row_hasher h(table::acl_tokens);
  h.text(secret);
  return h.value();
}

bool is_reserved_secret(std::string_view secret) {
  return secret == "allow" || secret == "deny" || secret == "manage";
}

// ---- look-ups

acl_policy_ptr acl_table::policy(std::string_view id) const {
  return row_by_id(policies_, id);
}
acl_policy_ptr acl_table::policy_named(std::string_view name) const {
  return row_named(policies_, policies_by_name_, name);
}
acl_role_ptr acl_table::role(std::string_view id) const {
  return row_by_id(roles_, id);
}
acl_role_ptr acl_table::role_named(std::string_view name) const {
  return row_named(roles_, roles_by_name_, name);
}
acl_token_ptr acl_table::token(std::string_view accessor) const {
  return row_by_id(tokens_, accessor);
}

const acl_table::token_of_secret* acl_table::find_secret(std::string_view secret) const {
  const auto [first, last] = tokens_by_secret_.equal_range(hash_of_secret(secret));
  for (auto at = first; at != last; ++at)
    if (is_secret(at->second.row->secret, secret))
      return &at->second;
  return nullptr;
}

acl_token_ptr acl_table::token_with_secret(std::string_view secret) const {
  const auto* found = find_secret(secret);
  return found == nullptr ? nullptr : found->row;
}

bool acl_table::taken(const acl_policy& row) const {
  const auto other = policy_named(row.name);
  return other && other->id != row.id;
}
bool acl_table::taken(const acl_role& row) const {
  const auto other = role_named(row.name);
  return other && other->id != row.id;
}
bool acl_table::taken(const acl_token& row) const {
  const auto other = token_with_secret(row.secret);
  return other && folded(other->accessor) != folded(row.accessor);
}

// ---- changes

void acl_table::put(acl_policy_ptr row) {
  if (row->meaning == nullptr) {
    auto read = std::make_shared<acl_policy>(*row);
    read->meaning = meaning_of(row->rules);
    row = std::move(read);
  }
  auto p = policies_.locate(row->id);
  if (p.row() != nullptr)
    forget_name(policies_by_name_, (*p.row())->name, row->id);
  policies_by_name_.insert_or_assign(folded(row->name), row->id);
  const std::string id = row->id;
  policies_.put(p, id, std::move(row));
  INVARIANT(policies_by_name_.size() <= policies_.size());
  ++changes_;
  meaning_changed();
}

void acl_table::put(acl_role_ptr row) {
  auto p = roles_.locate(row->id);
  if (p.row() != nullptr)
    forget_name(roles_by_name_, (*p.row())->name, row->id);
  roles_by_name_.insert_or_assign(folded(row->name), row->id);
  const std::string id = row->id;
  roles_.put(p, id, std::move(row));
  INVARIANT(roles_by_name_.size() <= roles_.size());
  ++changes_;
  meaning_changed();
}

void acl_table::put(acl_token_ptr row) {
  erase_token(row->accessor);
  tokens_by_secret_.emplace(hash_of_secret(row->secret), token_of_secret{row, {}});
  if (!row->expires.is_zero())
    tokens_by_end_.emplace(row->expires, row->accessor);
  const auto key = folded(row->accessor);
  tokens_.put(key, std::move(row));
  INVARIANT(tokens_by_secret_.size() == tokens_.size());
  INVARIANT(tokens_by_end_.size() <= tokens_.size());
  ++changes_;
}

void acl_table::erase_policy(std::string_view id) {
  auto p = policies_.locate(id);
  if (p.row() == nullptr)
    return;
  forget_name(policies_by_name_, (*p.row())->name, id);
  policies_.erase(p, id);
  INVARIANT(policies_by_name_.size() <= policies_.size());
  ++changes_;
  meaning_changed();
}

void acl_table::erase_role(std::string_view id) {
  auto p = roles_.locate(id);
  if (p.row() == nullptr)
    return;
  forget_name(roles_by_name_, (*p.row())->name, id);
  roles_.erase(p, id);
  INVARIANT(roles_by_name_.size() <= roles_.size());
  ++changes_;
  meaning_changed();
}

void acl_table::erase_token(std::string_view accessor) {
  const auto key = folded(accessor);
  auto p = tokens_.locate(key);
  if (p.row() == nullptr)
    return;
  const acl_token_ptr old = *p.row();
  const auto [first, last] = tokens_by_secret_.equal_range(hash_of_secret(old->secret));
  const auto at = std::find_if(first, last, [&](const auto& each) { return each.second.row == old; });
  INVARIANT(at != last); // else the secret of a deleted token would stay valid
  tokens_by_secret_.erase(at);
  const auto ends = tokens_by_end_.erase({old->expires, old->accessor});
  INVARIANT(ends == (old->expires.is_zero() ? 0U : 1U));
  tokens_.erase(p, key);
  INVARIANT(tokens_by_secret_.size() == tokens_.size());
  ++changes_;
}

bool acl_table::expire(cluster_time now) {
  bool any = false;
  for (; !tokens_by_end_.empty() && tokens_by_end_.begin()->first <= now; any = true)
    erase_token(std::string(tokens_by_end_.begin()->second));
  return any;
}

// ---- permissions of a token

/// Rules of stored policies, and of those generated for identities.
struct acl_table::rules_in_force {
  std::vector<const acl::rules*> all;
  std::list<acl::rules> of_identities;
  std::size_t bytes = 0; ///< approximate

  void add(const acl::rules& rules) {
    all.push_back(&rules);
    for (const auto& each : rules.named)
      bytes += sizeof each + each.name.size();
  }
  template <class Holder>
  void add_identities(const Holder& holder, std::string_view datacenter) {
    for (const auto& each : holder.service_identities)
      if (counts_in(each.datacenters, datacenter))
        add(of_identities.emplace_back(acl::rules_of_service_identity(each.service_name)));
    for (const auto& each : holder.node_identities)
      if (each.datacenter == datacenter)
        add(of_identities.emplace_back(acl::rules_of_node_identity(each.node_name)));
  }
};

acl_table::rules_in_force acl_table::rules_of(const acl_token& token, std::string_view datacenter) const {
  rules_in_force found;
  std::set<std::string_view> seen;
  const auto add_policies = [&](const std::vector<std::string>& ids) {
    for (const auto& id : ids)
      if (const auto* row = policies_.find(id);
          row != nullptr && counts_in((*row)->datacenters, datacenter) && seen.insert((*row)->id).second)
        found.add(*(*row)->meaning);
  };
  add_policies(token.policies);
  found.add_identities(token, datacenter);
  for (const auto& id : token.roles)
    if (const auto* row = roles_.find(id)) {
      add_policies((*row)->policies);
      found.add_identities(**row, datacenter);
    }
  return found;
}

std::vector<acl::rules> acl_table::rules_on_behalf_of(const auth_context& by, cluster_time now) const {
  std::vector<acl::rules> copies;
  const auto token = token_with_secret(by.secret);
  if (token == nullptr || has_expired(*token, now))
    return copies;
  const auto found = rules_of(*token, by.datacenter);
  for (const auto* each : found.all)
    copies.push_back(*each);
  return copies;
}

void acl_table::forget_compiled() const {
  compiled_.clear();
  compiled_bytes_ = 0;
  ++round_;
}

std::shared_ptr<const acl::authorizer> acl_table::authorizer_of(const auth_context& by, cluster_time now) const {
  const auto* found = find_secret(by.secret);
  if (found == nullptr && MUTANT(deleted_token_lives_on))
    for (const auto& [whose, says] : compiled_)
      if (whose.token->secret == by.secret)
        return says;
  if (found == nullptr || has_expired(*found->row, now))
    return nullptr;
  auto& last = found->last;
  if (last.round == round_ && last.allowed_by_default == by.allowed_by_default && last.datacenter == by.datacenter)
    return *last.says;
  auto known = compiled_.find(requested_for(*found->row, by));
  if (known == compiled_.end()) {
    const auto rules = rules_of(*found->row, by.datacenter);
    if (compiled_.size() >= compiled_max || compiled_bytes_ + rules.bytes > compiled_bytes_max)
      forget_compiled();
    compiled_bytes_ += rules.bytes;
    const auto otherwise = by.allowed_by_default ? acl::default_policy::allow : acl::default_policy::deny;
    known = compiled_
                .emplace(meant_for{found->row, by.allowed_by_default, by.datacenter},
                         std::make_shared<const acl::authorizer>(rules.all, otherwise))
                .first;
  }
  last = {&known->second, round_, by.allowed_by_default, by.datacenter};
  return known->second;
}

} // namespace belay::state
