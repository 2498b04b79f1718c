#include "protocol/state/reading.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/state/acl/acl_reading.hpp"
#include "protocol/state/acl/permissions.hpp"
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
  return std::max({own, t.graves.newest_tree_around(prefix), t.marks.at(mark::all_keys_removed)});
}

log_index service_index(const tables& t, std::string_view service, bool with_checks) {
  if (auto own = t.marks.of_service(service); !own.is_zero())
    return own;
  if (auto extinction = t.marks.at(mark::last_extinction); !extinction.is_zero())
    return extinction;
  auto newest = std::max(t.marks.at(mark::nodes), t.marks.at(mark::services));
  return with_checks ? std::max(newest, t.marks.at(mark::checks)) : newest;
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
  return t.marks.at(mark::sessions);
}
log_index index_for(const tables& t, const session_list&) {
  return t.marks.at(mark::sessions);
}
log_index index_for(const tables& t, const session_node&) {
  return t.marks.at(mark::sessions);
}
log_index index_for(const tables& t, const catalog_nodes&) {
  return t.marks.at(mark::nodes);
}
log_index index_for(const tables& t, const catalog_services& q) {
  const auto services = t.marks.at(mark::services);
  return q.node_meta.empty() ? services : std::max(services, t.marks.at(mark::nodes));
}
log_index index_for(const tables& t, const catalog_service& q) {
  return service_index(t, q.service, false);
}
log_index index_for(const tables& t, const catalog_node& q) {
  if (!node_named(t, q.node))
    return {};
  return std::max(t.marks.at(mark::nodes), t.marks.at(mark::services));
}
log_index index_for(const tables& t, const health_node&) {
  return t.marks.at(mark::checks);
}
log_index index_for(const tables& t, const health_checks& q) {
  return q.node_meta.empty() ? t.marks.at(mark::checks) : service_index(t, q.service, true);
}
log_index index_for(const tables& t, const health_state&) {
  return t.marks.at(mark::checks);
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
  return log_index{t.places == nullptr ? 0 : t.places->newest()};
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
  access_index(t.marks, q);
}
log_index index_for(const tables& t, const Query& q) {
  return access_index(t.marks, q);
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
  return std::max({t.marks.at(mark::acl_policies), t.marks.at(mark::acl_roles), t.marks.at(mark::acl_tokens)});
}

// ---- selections

bool has_meta(const node_record& node, const string_map& wanted) {
  if (wanted.empty())
    return true;
  return node.meta && std::all_of(wanted.begin(), wanted.end(), [&](const auto& pair) {
           auto at = node.meta->find(pair.first);
           return at != node.meta->end() && at->second == pair.second;
         });
}
bool has_meta(const node_ptr& node, const string_map& wanted) {
  return wanted.empty() || (node != nullptr && has_meta(*node, wanted));
}

/// @param wanted folded
bool has_tags(const service_record& service, const std::set<std::string>& wanted) {
  if (wanted.empty())
    return true;
  std::set<std::string> present;
  if (service.tags)
    for (const auto& tag : *service.tags)
      present.insert(folded(tag));
  return std::includes(present.begin(), present.end(), wanted.begin(), wanted.end());
}

template <class Row>
void keep_nodes_with_meta(const tables& t, std::vector<Row>& list, const string_map& wanted) {
  if (!wanted.empty())
    std::erase_if(list, [&](const Row& row) { return !has_meta(t.catalog.find_node(row->node), wanted); });
}

std::vector<service_instance> instances(const tables& t, const std::string& service,
                                        const std::vector<std::string>& tags, const string_map& node_meta) {
  std::vector<service_instance> list;
  std::set<std::string> wanted_tags;
  for (const auto& tag : tags)
    wanted_tags.insert(folded(tag));
  for (auto& s : t.catalog.instances(service)) {
    auto node = t.catalog.find_node(s->node);
    INVARIANT(node != nullptr);
    if (has_tags(*s, wanted_tags) && has_meta(node, node_meta))
      list.push_back({std::move(node), std::move(s), {}});
  }
  return list;
}

bool all_passing(const std::vector<check_ptr>& checks) {
  return std::all_of(checks.begin(), checks.end(), [](const check_ptr& c) { return c->status == "passing"; });
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
  if (t.places == nullptr)
    return found;
  for (const auto& [key, row] : t.places->rows())
    if ((!q.segment || row->segment == *q.segment) && t.catalog.find_node(row->node))
      found.list.push_back(row);
  return found;
}
answer_data data_for(const tables& t, const coordinate_node& q) {
  coordinate_rows found;
  if (t.places == nullptr || !t.catalog.find_node(q.node))
    return found;
  found.list = t.places->of_node(q.node);
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
  return permissions{std::vector<bool>(q.asked.size(), true)};
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
query_result outcome_of(const tables& t, const query& q, const outcome_read& asked) {
  const auto scope = scope_of(t, q.by, {});
  outcome_view found{scope ? t.outcomes.find(*scope, asked.key) : nullptr};
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
  if (const auto* asked = std::get_if<outcome_read>(&q))
    return outcome_of(t, q, *asked);
  auto found = std::visit([&](const auto& each) { return answer_one(t, each); }, static_cast<const plain_query&>(q));
  if (!q.near.empty())
    sort_by_nearness(found, t.places.get(), q.near);
  return found;
}

log_index answer_index(const tables& t, const query& q) {
  return shown(std::visit([&](const auto& each) { return index_for(t, each); }, static_cast<const plain_query&>(q)));
}

// ---- long reads

namespace {

using authorizer_ptr = std::shared_ptr<const acl::authorizer>;
using rows_of_keys = journaled_map<kv_entry_ptr>::view;

/// Whether the key is visible; `may` null: all keys are.
bool visible(const authorizer_ptr& may, std::string_view key) {
  return may == nullptr || may->key_read(key);
}

/// The visible rows of a table that match, in the order of their keys.
template <class Row, class Found, std::vector<Row> Found::*list>
class long_list final : public long_read {
public:
  using rows = typename journaled_map<Row>::view;

  /// @param about how many there will be; zero: unknown
  long_list(rows all, std::size_t about, log_index index, std::function<bool(const Row&)> wanted)
      : rows_(std::move(all)), at_(rows_.begin()), wanted_(std::move(wanted)) {
    result_.index = index;
    (found_.*list).reserve(about); // growing would move all entries in one slice
  }

  bool go_on(std::size_t rows_max) override {
    for (; rows_max > 0 && !rows_.at_end(at_); --rows_max, at_ = rows_.next(at_))
      if (const auto& row = rows_.at(at_).value.row; !wanted_ || wanted_(row))
        (found_.*list).push_back(row);
    return rows_.at_end(at_);
  }
  query_result take() override {
    result_.data = std::move(found_);
    return std::move(result_);
  }

private:
  rows rows_;
  typename rows::place at_;
  std::function<bool(const Row&)> wanted_; ///< empty: all
  Found found_;
  query_result result_;
};

/// The names of services with their tags.
class long_service_names final : public long_read {
public:
  using rows = journaled_map<service_ptr>::view;

  long_service_names(rows all, log_index index, authorizer_ptr may)
      : rows_(std::move(all)), at_(rows_.begin()), may_(std::move(may)) {
    result_.index = index;
  }

  bool go_on(std::size_t rows_max) override {
    for (; rows_max > 0 && !rows_.at_end(at_); --rows_max, at_ = rows_.next(at_))
      add(*rows_.at(at_).value.row);
    while (rows_max > 0 && !tags_.empty()) {
      const auto at = tags_.begin();
      rows_max -= std::min(rows_max, 1 + at->second.size());
      found_.tags_by_service.emplace_hint(found_.tags_by_service.end(), at->first,
                                          std::vector<std::string>(at->second.begin(), at->second.end()));
      tags_.erase(at);
    }
    return rows_.at_end(at_) && tags_.empty();
  }
  query_result take() override {
    result_.data = std::move(found_);
    return std::move(result_);
  }

private:
  void add(const service_record& s) {
    if (may_ != nullptr && !may_->service_read(s.service))
      return;
    auto& tags = tags_[s.service];
    if (s.tags)
      tags.insert(s.tags->begin(), s.tags->end());
  }

  rows rows_;
  rows::place at_;
  authorizer_ptr may_;
  std::map<std::string, std::set<std::string>> tags_;
  service_names found_;
  query_result result_;
};

class long_names final : public long_read {
public:
  long_names(rows_of_keys rows, std::size_t about, const kv_keys& q, log_index index, authorizer_ptr may)
      : rows_(std::move(rows)), at_(rows_.begin()), q_(q), may_(std::move(may)) {
    found_.index = index;
    if (may_ == nullptr && q_.separator.empty())
      names_.keys.reserve(about);
  }

  bool go_on(std::size_t rows_max) override {
    for (; rows_max > 0 && !rows_.at_end(at_); --rows_max)
      at_ = add_name();
    return rows_.at_end(at_);
  }
  query_result take() override {
    found_.data = std::move(names_);
    return std::move(found_);
  }

private:
  /// A name cut at a separator is listed if any key under it is visible.
  rows_of_keys::place add_name() {
    const auto key = rows_.at(at_).key();
    if (!visible(may_, key))
      return rows_.next(at_);
    const auto cut = cut_name(key, q_.prefix, q_.separator);
    names_.keys.emplace_back(cut.value_or(key));
    if (!cut)
      return rows_.next(at_);
    const auto next = after_all_under(std::string(*cut));
    return next.empty() ? rows_.end() : rows_.lower_bound(next);
  }

  rows_of_keys rows_;
  rows_of_keys::place at_;
  kv_keys q_;
  authorizer_ptr may_;
  key_names names_;
  query_result found_;
};

/// Begins a read in slices; null: it is short, or refused.
struct long_read_of {
  const tables& t;
  const query& q;
  cluster_time now;
  std::size_t rows_min;

  using read = std::unique_ptr<long_read>;

  bool is_long(std::size_t rows) const { return rows >= rows_min && !refused_to(t, q, now); }
  template <class Row>
  bool is_long(const journaled_map<Row>& rows, std::string_view prefix = {}) const {
    return is_long(rows.about_under(prefix, rows_min));
  }
  authorizer_ptr judge() const { return q.by ? authorizer_of(t, *q.by, now) : nullptr; }
  template <class Found, class Row, class Wanted>
  read list_of(const journaled_map<Row>& rows, Wanted wanted) const {
    const auto may = judge();
    return std::make_unique<long_list<Row, Found, &Found::list>>(
        rows.view_of({}), 0, answer_index(t, q),
        [may, wanted](const Row& row) { return wanted(*row) && (may == nullptr || may_see(*may, *row)); });
  }

  read operator()(const kv_list& asked) const {
    const auto& rows = t.kv.rows();
    if (!is_long(rows, asked.prefix))
      return nullptr;
    const auto may = judge();
    std::function<bool(const kv_entry_ptr&)> wanted;
    if (may != nullptr)
      wanted = [may](const kv_entry_ptr& row) { return may->key_read(row.key()); };
    return std::make_unique<long_list<kv_entry_ptr, kv_entries, &kv_entries::entries>>(
        rows.view_of(asked.prefix), may == nullptr ? rows.about_under(asked.prefix, SIZE_MAX) : 0, answer_index(t, q),
        std::move(wanted));
  }
  read operator()(const kv_keys& asked) const {
    const auto& rows = t.kv.rows();
    if (!is_long(rows, asked.prefix))
      return nullptr;
    return std::make_unique<long_names>(rows.view_of(asked.prefix), rows.about_under(asked.prefix, SIZE_MAX), asked,
                                        answer_index(t, q), judge());
  }
  read operator()(const session_list&) const {
    const auto& rows = t.sessions.rows();
    return is_long(rows) ? list_of<sessions>(rows, [](const session_record&) { return true; }) : nullptr;
  }
  read operator()(const session_node& asked) const {
    const auto& rows = t.sessions.rows();
    const auto of_node = [node = folded(asked.node)](const session_record& s) { return folded(s.node) == node; };
    return is_long(t.sessions.count_of_node(asked.node)) ? list_of<sessions>(rows, of_node) : nullptr;
  }
  // Nodes cannot be looked up as of that moment: a read that selects other rows by the metadata of
  // their nodes, or sorts by coordinates, is done at once.
  read operator()(const catalog_nodes& asked) const {
    const auto& rows = t.catalog.nodes();
    if (!q.near.empty() || !is_long(rows))
      return nullptr;
    return list_of<nodes>(rows, [meta = asked.node_meta](const node_record& n) { return has_meta(n, meta); });
  }
  read operator()(const catalog_services& asked) const {
    const auto& rows = t.catalog.services();
    if (!asked.node_meta.empty() || !is_long(rows))
      return nullptr;
    return std::make_unique<long_service_names>(rows.view_of({}), answer_index(t, q), judge());
  }
  read operator()(const health_state& asked) const {
    const auto& rows = t.catalog.checks();
    if (!asked.node_meta.empty() || !q.near.empty() || !is_long(rows))
      return nullptr;
    return list_of<checks>(
        rows, [status = asked.state](const check_record& c) { return status == "any" || c.status == status; });
  }
  template <class Other>
  read operator()(const Other&) const {
    return nullptr;
  }
};

} // namespace

std::unique_ptr<long_read> begin_long_read(const tables& t, const query& q, cluster_time now, std::size_t rows_min) {
  auto read = std::visit(long_read_of{t, q, now, rows_min}, static_cast<const plain_query&>(q));
  if (read != nullptr)
    PROBE("state: a read in slices");
  return read;
}

} // namespace belay::state
