#include "protocol/state/reading.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/state/acl/acl_reading.hpp"
#include "protocol/state/catalog/selection.hpp"
#include "protocol/state/changes/change_reading.hpp"
#include "protocol/state/claims/claim_reading.hpp"
#include "protocol/state/keys/key_operations.hpp"
#include "protocol/state/nearness.hpp"
#include "protocol/state/outcomes/exactly_once.hpp"
#include "protocol/state/transactions.hpp"

#include <functional>
#include <map>
#include <set>

namespace belay::state {

namespace {

/// docs/contract/02, section 2: index 0 would make clients busy-loop (docs/internals/pitfalls.md C6).
log_index shown(log_index i) {
  return i.is_zero() ? log_index{1} : i;
}

log_index prefix_index(const tables& t, std::string_view prefix, log_index newest_key) {
  if (prefix.empty())
    return t.newest_key_change();
  const auto own = MUTANT(index_back_after_delete) ? newest_key : std::max(newest_key, t.graves.newest_under(prefix));
  if (own.is_zero())
    return t.newest_key_change();
  // Where the reference falls back to an older tombstone (docs/contract/02, section 3,
  // regression 2), a recursive delete of a wider prefix counts, too. Existing keys are
  // newer than any such delete, so this only raises the index of emptied prefixes.
  return std::max({own, t.graves.newest_tree_around(prefix), t.indexes.at(index_kind::all_keys_removed)});
}

log_index service_index(const tables& t, std::string_view service, bool with_checks) {
  if (auto own = t.indexes.of_service(service); !own.is_zero())
    return own;
  if (auto extinction = t.indexes.at(index_kind::last_extinction); !extinction.is_zero())
    return extinction;
  auto newest = std::max(t.indexes.at(index_kind::nodes), t.indexes.at(index_kind::services));
  return with_checks ? std::max(newest, t.indexes.at(index_kind::checks)) : newest;
}

node_ptr node_named(const tables& t, std::string_view name_or_id) {
  auto node = t.catalog.find_node(name_or_id);
  return node ? node : t.catalog.find_node_by_id_prefix(name_or_id);
}

// ---- indexes

log_index index_for(const tables& t, const kv_get& q) {
  const auto entry = t.kv.find(q.key);
  return entry ? entry->modify_index : t.newest_key_change();
}
/// Queries on the keys under a prefix.
template <class Query>
requires requires(const Query& q) {
  q.prefix;
}
log_index index_for(const tables& t, const Query& q) {
  return prefix_index(t, q.prefix, q.prefix.empty() ? log_index{} : t.kv.newest_under(q.prefix));
}
log_index index_for(const tables& t, const session_info&) {
  return t.indexes.at(index_kind::sessions);
}
log_index index_for(const tables& t, const session_list&) {
  return t.indexes.at(index_kind::sessions);
}
log_index index_for(const tables& t, const session_node&) {
  return t.indexes.at(index_kind::sessions);
}
log_index index_for(const tables& t, const catalog_nodes&) {
  return t.indexes.at(index_kind::nodes);
}
log_index index_for(const tables& t, const catalog_services& q) {
  const auto services = t.indexes.at(index_kind::services);
  return q.node_meta.empty() ? services : std::max(services, t.indexes.at(index_kind::nodes));
}
log_index index_for(const tables& t, const catalog_service& q) {
  return service_index(t, q.service, false);
}
log_index index_for(const tables& t, const catalog_node& q) {
  if (!node_named(t, q.node))
    return {};
  return std::max(t.indexes.at(index_kind::nodes), t.indexes.at(index_kind::services));
}
log_index index_for(const tables& t, const health_node&) {
  return t.indexes.at(index_kind::checks);
}
log_index index_for(const tables& t, const health_checks& q) {
  return q.node_meta.empty() ? t.indexes.at(index_kind::checks) : service_index(t, q.service, true);
}
log_index index_for(const tables& t, const health_state&) {
  return t.indexes.at(index_kind::checks);
}
log_index index_for(const tables& t, const health_service& q) {
  return service_index(t, q.service, true);
}
/// Stamps replace indexes: equal on all servers with the same coordinates.
template <class Query>
requires requires(const Query& q) {
  q.segment;
}
log_index index_for(const tables& t, const Query&) {
  return log_index{t.node_coordinates == nullptr ? 0 : t.node_coordinates->newest()};
}
template <class Settings>
log_index index_for(const tables& t, const settings_get<Settings>&) {
  return t.settings.of<Settings>().modify_index();
}
log_index index_for(const tables& t, const txn_read&) {
  return t.newest_key_change();
}
/// Queries about policies, roles and tokens.
template <class Query>
requires requires(const tables& t, const Query& q) {
  access_index(t.indexes, q);
}
log_index index_for(const tables& t, const Query& q) {
  return access_index(t.indexes, q);
}
/// Queries about claims, write guards and ended sessions.
template <class Query>
requires requires(const tables& t, const Query& q) {
  claims_index(t, q);
}
log_index index_for(const tables& t, const Query& q) {
  return claims_index(t, q);
}
/// Changes: the result itself says whether there is something new.
template <class Query>
requires requires(const tables& t, const Query& q) {
  changes_answer(t, q);
}
log_index index_for(const tables& t, const Query&) {
  return t.changes.applied();
}
log_index index_for(const tables& t, const permissions_read&) {
  return std::max({t.indexes.at(index_kind::acl_policies), t.indexes.at(index_kind::acl_roles),
                   t.indexes.at(index_kind::acl_tokens)});
}

// ---- selections

template <class Row>
void keep_nodes_with_meta(const tables& t, std::vector<Row>& list, const string_map& wanted) {
  if (!wanted.empty())
    std::erase_if(list, [&](const Row& row) { return !has_meta(t.catalog.find_node(row->node), wanted); });
}

std::vector<service_instance> instances(const tables& t, const std::string& service,
                                        const std::vector<std::string>& tags, const string_map& node_meta) {
  std::vector<service_instance> list;
  const auto wanted_tags = folded_set(tags);
  for (auto& s : t.catalog.instances(service)) {
    auto node = t.catalog.find_node(s->node);
    INVARIANT(node != nullptr);
    if (has_tags(*s, wanted_tags) && has_meta(node, node_meta))
      list.push_back({std::move(node), std::move(s), {}});
  }
  return list;
}

/// The checks of nodes, looked up once for all instances of a result.
class checks_of_nodes {
public:
  struct found {
    std::shared_ptr<const std::vector<check_ptr>> list;
    bool passing = true;
  };

  explicit checks_of_nodes(const tables& t) : t_(t) {}

  /// Valid while this object is.
  const found& of(const node_record& node) {
    auto [at, fresh] = by_node_.try_emplace(node.node);
    if (fresh) {
      auto list = t_.catalog.checks_of_instance(node.node, "");
      at->second = {nullptr, all_passing(list)};
      at->second.list = std::make_shared<const std::vector<check_ptr>>(std::move(list));
    }
    return at->second;
  }

private:
  const tables& t_;
  std::map<std::string, found> by_node_;
};

using answer_data = decltype(query_result::data);

// ---- results

answer_data data_for(const tables& t, const kv_keys& q) {
  key_names found;
  t.kv.names(q.prefix, q.separator, found.keys);
  return found;
}
answer_data data_for(const tables& t, const session_info& q) {
  if (auto wrong = session_id_error(q.id))
    return refusal{std::move(*wrong)};
  sessions found;
  if (auto s = t.sessions.find(q.id))
    found.list.push_back(std::move(s));
  return found;
}
answer_data data_for(const tables& t, const session_list&) {
  sessions found;
  t.sessions.rows().for_each_under("", [&](const session_ptr& s) { found.list.push_back(s); });
  return found;
}
answer_data data_for(const tables& t, const session_node& q) {
  return sessions{t.sessions.of_node(q.node)};
}
answer_data data_for(const tables& t, const catalog_nodes& q) {
  nodes found;
  t.catalog.nodes().for_each_under("", [&](const node_ptr& n) {
    if (has_meta(n, q.node_meta))
      found.list.push_back(n);
  });
  return found;
}
answer_data data_for(const tables& t, const catalog_services& q) {
  std::map<std::string, std::set<std::string>> tags;
  t.catalog.services().for_each_under("", [&](const service_ptr& s) {
    if (!q.node_meta.empty() && !has_meta(t.catalog.find_node(s->node), q.node_meta))
      return;
    auto& of_service = tags[s->service];
    if (s->tags)
      of_service.insert(s->tags->begin(), s->tags->end());
  });
  service_names found;
  for (const auto& [name, set] : tags)
    found.tags_by_service[name].assign(set.begin(), set.end());
  return found;
}
answer_data data_for(const tables& t, const catalog_service& q) {
  return q.of_mesh ? service_instances{} : service_instances{instances(t, q.service, q.tags, q.node_meta)};
}
answer_data data_for(const tables& t, const catalog_node& q) {
  node_services found;
  found.node = node_named(t, q.node);
  if (found.node)
    found.services = t.catalog.services_of_node(found.node->node);
  return found;
}
answer_data data_for(const tables& t, const health_node& q) {
  return checks{t.catalog.checks_of_node(q.node)};
}
answer_data data_for(const tables& t, const health_checks& q) {
  checks found{t.catalog.checks_of_service(q.service)};
  keep_nodes_with_meta(t, found.list, q.node_meta);
  return found;
}
answer_data data_for(const tables& t, const health_state& q) {
  checks found;
  t.catalog.checks().for_each_under("", [&](const check_ptr& c) {
    if (q.state == "any" || c->status == q.state)
      found.list.push_back(c);
  });
  keep_nodes_with_meta(t, found.list, q.node_meta);
  return found;
}
answer_data data_for(const tables& t, const health_service& q) {
  service_instances found;
  checks_of_nodes node_checks(t);
  if (q.of_mesh)
    return found;
  for (auto& i : instances(t, q.service, q.tags, q.node_meta)) {
    const auto& of_node = node_checks.of(*i.node);
    auto own = t.catalog.checks_of_instance(i.service->node, i.service->id);
    if (q.passing_only && !(of_node.passing && all_passing(own)))
      continue;
    i.checks = {of_node.list, std::move(own)};
    found.list.push_back(std::move(i));
  }
  return found;
}
/// Skips nodes that are not in the catalog: they may have been removed.
answer_data data_for(const tables& t, const coordinate_nodes& q) {
  coordinate_rows found;
  if (t.node_coordinates == nullptr)
    return found;
  for (const auto& [key, row] : t.node_coordinates->rows())
    if ((!q.segment || row->segment == *q.segment) && t.catalog.find_node(row->node))
      found.list.push_back(row);
  return found;
}
answer_data data_for(const tables& t, const coordinate_node& q) {
  coordinate_rows found;
  if (t.node_coordinates == nullptr || !t.catalog.find_node(q.node))
    return found;
  found.list = t.node_coordinates->of_node(q.node);
  std::erase_if(found.list, [&](const auto& row) { return q.segment && row->segment != *q.segment; });
  return found;
}
answer_data data_for(const tables& t, const txn_read& q) {
  return std::visit([]<class Found>(Found&& found) { return answer_data(std::forward<Found>(found)); },
                    read_transaction(t, q.ops));
}

template <class Query>
requires requires(const tables& t, const Query& q) {
  access_rows(t.acls, q);
}
answer_data data_for(const tables& t, const Query& q) {
  if (auto wrong = id_refused(q))
    return std::move(*wrong);
  return access_rows(t.acls, q);
}
template <class Query>
requires requires(const tables& t, const Query& q) {
  claims_answer(t, q);
}
answer_data data_for(const tables& t, const Query& q) {
  return claims_answer(t, q);
}
/// The server itself may do everything (permissions.hpp decides for tokens).
answer_data data_for(const tables&, const permissions_read& q) {
  return permissions{std::vector<bool>(q.requested.size(), true)};
}

/// Not reachable: it needs a scope, see outcome_of().
answer_data data_for(const tables&, const outcome_read&) {
  return outcome_view{};
}

template <class Settings>
answer_data data_for(const tables& t, const settings_get<Settings>&) {
  return t.settings.of<Settings>().now();
}

log_index index_for(const tables&, const outcome_read&) {
  return {};
}

/// The outcome of a write in the requester's scope.
query_result outcome_of(const tables& t, const query& q, const outcome_read& requested) {
  const auto scope = scope_of(t, q.by, {});
  outcome_view found{scope ? t.outcomes.find(*scope, requested.key) : nullptr};
  const auto index = shown(found.row != nullptr ? found.row->index : log_index{});
  return {index, std::move(found)};
}

template <class Query>
query_result answer_one(const tables& t, const Query& q) {
  return {shown(index_for(t, q)), data_for(t, q)};
}
/// The two most common reads look up their rows once.
query_result answer_one(const tables& t, const kv_get& q) {
  kv_entries found;
  auto entry = t.kv.find(q.key);
  const auto index = entry ? entry->modify_index : t.newest_key_change();
  if (entry)
    found.entries.push_back(std::move(entry));
  return {shown(index), std::move(found)};
}
query_result answer_one(const tables& t, const kv_list& q) {
  kv_entries found;
  const auto newest = t.kv.list(q.prefix, found.entries);
  return {shown(prefix_index(t, q.prefix, newest)), std::move(found)};
}
/// Queries about changes.
template <class Query>
requires requires(const tables& t, const Query& q) {
  changes_answer(t, q);
}
query_result answer_one(const tables& t, const Query& q) {
  auto found = changes_answer(t, q);
  found.index = shown(found.index);
  return found;
}

} // namespace

query_result answer(const tables& t, const query& q) {
  if (const auto* requested = std::get_if<outcome_read>(&q))
    return outcome_of(t, q, *requested);
  auto found = std::visit([&](const auto& each) { return answer_one(t, each); }, static_cast<const plain_query&>(q));
  if (!q.near.empty())
    sort_by_nearness(found, t.node_coordinates.get(), q.near);
  return found;
}

log_index answer_index(const tables& t, const query& q) {
  return shown(std::visit([&](const auto& each) { return index_for(t, each); }, static_cast<const plain_query&>(q)));
}

} // namespace belay::state
