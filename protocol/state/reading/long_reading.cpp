#include "protocol/state/reading/long_reading.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/state/acl/acl_reading.hpp"
#include "protocol/state/acl/permissions.hpp"
#include "protocol/state/answer_size.hpp"
#include "protocol/state/catalog/selection.hpp"
#include "protocol/state/changes/change_reading.hpp"
#include "protocol/state/claims/claim_reading.hpp"
#include "protocol/state/keys/key_operations.hpp"
#include "protocol/state/reading.hpp"

#include <functional>
#include <map>
#include <set>

namespace belay::state {

namespace {

using authorizer_ptr = std::shared_ptr<const acl::authorizer>;
using nanoseconds = std::chrono::nanoseconds;
template <class Row>
using rows_of = typename undo_logged_map<Row>::view;

// Measured costs, in rows of a plain list: 0.1 to 0.2 us.
constexpr std::size_t joined_cost = 4; ///< a row whose node is looked up
constexpr std::size_t whole_cost = 8;  ///< an instance with its checks, a token with its links

void spend(std::size_t& rows_max, std::size_t cost) {
  rows_max -= std::min(rows_max, cost);
}

/// Whether the key is visible; `may` null: all keys are.
bool visible(const authorizer_ptr& may, std::string_view key) {
  return may == nullptr || may->key_read(key);
}

/// Whether the row is visible; `may` null: all rows are.
template <class Row>
bool may_list(const authorizer_ptr& may, const Row& row) {
  return may == nullptr || may_see(*may, row);
}

/// The rows of a result, added one by one, in the order of their keys. A list that is as long as
/// a read in slices is not sorted in one.
template <class Key, class Row>
class sorted_rows {
public:
  /// Rows with equal keys keep the order in which they were added.
  void add(Key key, Row row) { rows_.emplace(std::move(key), std::move(row)); }
  /// Moves up to `rows_max` rows to the end of `to`. @returns whether none is left
  bool move_to(std::vector<Row>& to, std::size_t& rows_max) {
    for (; rows_max > 0 && !rows_.empty(); --rows_max, rows_.erase(rows_.begin()))
      to.push_back(std::move(rows_.begin()->second));
    return rows_.empty();
  }

private:
  std::multimap<Key, Row> rows_;
};

/// Sorts by `?near`: see nearness.hpp.
class near_to {
public:
  near_to(const tables& t, const query& q)
      : known_(q.near.empty() ? nullptr : t.node_coordinates), distances_(known_.get(), q.near) {}

  bool sorts() const { return distances_.known(); }
  nanoseconds distance(const std::string& node) const { return distances_.to(node).value_or(nanoseconds::max()); }

private:
  coordinates::table_ptr known_;
  coordinates::distances distances_;
};

/// Nodes of one moment.
class nodes_then {
public:
  explicit nodes_then(const tables& t) : rows_(t.catalog.nodes().view_of({})) {}
  node_ptr named(std::string_view name) const {
    const auto* found = rows_.find(folded(name));
    return found == nullptr ? nullptr : found->row;
  }

private:
  rows_of<node_ptr> rows_;
};

/// Fills one kind of result.
template <class Found>
class long_read_into : public long_read {
public:
  query_result take() override { return {index_, std::move(found_)}; }

protected:
  explicit long_read_into(log_index index, Found empty = {}) : index_(index), found_(std::move(empty)) {}

  log_index index_;
  Found found_;
};

/// The rows of a table that are selected, in the order of their keys.
template <class Row, class Found, std::vector<Row> Found::*list>
class long_list final : public long_read_into<Found> {
public:
  /// @param about how many there will be; zero: unknown
  long_list(rows_of<Row> all, std::size_t about, log_index index, std::function<bool(const Row&)> wanted,
            std::size_t cost = 1)
      : long_read_into<Found>(index), rows_(std::move(all)), at_(rows_.begin()), wanted_(std::move(wanted)),
        cost_(cost) {
    (this->found_.*list).reserve(about); // growing would move all entries in one slice
  }

  bool go_on(std::size_t rows_max) override {
    for (; rows_max > 0 && !rows_.at_end(at_); spend(rows_max, cost_), at_ = rows_.next(at_))
      if (const auto& row = rows_.at(at_).value.row; !wanted_ || wanted_(row))
        (this->found_.*list).push_back(row);
    return rows_.at_end(at_);
  }

private:
  rows_of<Row> rows_;
  typename rows_of<Row>::location at_;
  std::function<bool(const Row&)> wanted_; ///< empty: all
  std::size_t cost_;
};

/// The rows of a table that are selected, each shown in another form or sorted by another key.
template <class Row, class Shown, class Key, class Found>
class long_sorted_list final : public long_read_into<Found> {
public:
  /// @param add shows the row, if it is wanted; `cost` of each
  long_sorted_list(rows_of<Row> all, log_index index, Found empty, std::size_t cost,
                   std::function<void(const Row&, sorted_rows<Key, Shown>&)> add)
      : long_read_into<Found>(index, std::move(empty)), rows_(std::move(all)), at_(rows_.begin()), cost_(cost),
        add_(std::move(add)) {}

  bool go_on(std::size_t rows_max) override {
    for (; rows_max > 0 && !rows_.at_end(at_); spend(rows_max, cost_), at_ = rows_.next(at_))
      add_(rows_.at(at_).value.row, sorted_);
    return rows_.at_end(at_) && sorted_.move_to(this->found_.list, rows_max);
  }

private:
  rows_of<Row> rows_;
  typename rows_of<Row>::location at_;
  std::size_t cost_;
  std::function<void(const Row&, sorted_rows<Key, Shown>&)> add_;
  sorted_rows<Key, Shown> sorted_;
};

/// The names of services with their tags.
class long_service_names final : public long_read_into<service_names> {
public:
  long_service_names(const tables& t, const string_map& node_meta, log_index index, authorizer_ptr may)
      : long_read_into(index), rows_(t.catalog.services().view_of({})), at_(rows_.begin()), node_meta_(node_meta),
        may_(std::move(may)) {
    if (!node_meta_.empty())
      nodes_.emplace(t);
  }

  bool go_on(std::size_t rows_max) override {
    for (; rows_max > 0 && !rows_.at_end(at_); spend(rows_max, nodes_ ? joined_cost : 1), at_ = rows_.next(at_))
      add(*rows_.at(at_).value.row);
    while (rows_max > 0 && !tags_.empty()) {
      const auto at = tags_.begin();
      spend(rows_max, 1 + at->second.size());
      found_.tags_by_service.emplace_hint(found_.tags_by_service.end(), at->first,
                                          std::vector<std::string>(at->second.begin(), at->second.end()));
      tags_.erase(at);
    }
    return rows_.at_end(at_) && tags_.empty();
  }

private:
  void add(const service_record& s) {
    if (!may_list(may_, s) || (nodes_ && !has_meta(nodes_->named(s.node), node_meta_)))
      return;
    auto& tags = tags_[s.service];
    if (s.tags)
      tags.insert(s.tags->begin(), s.tags->end());
  }

  rows_of<service_ptr> rows_;
  rows_of<service_ptr>::location at_;
  string_map node_meta_;
  std::optional<nodes_then> nodes_; ///< only if their metadata select services
  authorizer_ptr may_;
  std::map<std::string, std::set<std::string>> tags_;
};

class long_names final : public long_read_into<key_names> {
public:
  long_names(rows_of<kv_entry_ptr> rows, std::size_t about, const kv_keys& q, log_index index, authorizer_ptr may)
      : long_read_into(index), rows_(std::move(rows)), at_(rows_.begin()), q_(q), may_(std::move(may)) {
    if (may_ == nullptr && q_.separator.empty())
      found_.keys.reserve(about);
  }

  bool go_on(std::size_t rows_max) override {
    for (; rows_max > 0 && !rows_.at_end(at_); --rows_max)
      at_ = add_name();
    return rows_.at_end(at_);
  }

private:
  /// A name cut at a separator is listed if any key under it is visible.
  rows_of<kv_entry_ptr>::location add_name() {
    const auto key = rows_.at(at_).key();
    if (!visible(may_, key))
      return rows_.next(at_);
    const auto cut = cut_name(key, q_.prefix, q_.separator);
    found_.keys.emplace_back(cut.value_or(key));
    if (!cut)
      return rows_.next(at_);
    const auto next = after_all_under(std::string(*cut));
    return next.empty() ? rows_.end() : rows_.lower_bound(next);
  }

  rows_of<kv_entry_ptr> rows_;
  rows_of<kv_entry_ptr>::location at_;
  kv_keys q_;
  authorizer_ptr may_;
};

/// The keys below some prefixes, for a follower of changes.
class long_snapshot final : public long_read_into<change_rows> {
public:
  /// @param parts the keys of each prefix; no prefix begins with another one
  long_snapshot(change_rows without_rows, std::vector<rows_of<kv_entry_ptr>> parts, std::size_t about,
                authorizer_ptr may)
      : long_read_into(without_rows.reached.index, without_rows), parts_(std::move(parts)), at_(parts_.front().begin()),
        may_(std::move(may)) {
    found_.viewer = may_;
    if (may_ == nullptr)
      found_.rows.reserve(about);
  }

  bool go_on(std::size_t rows_max) override {
    while (part_ < parts_.size()) {
      const auto& rows = parts_[part_];
      for (; rows_max > 0 && !rows.at_end(at_); --rows_max, at_ = rows.next(at_))
        if (const auto& row = rows.at(at_).value.row; visible(may_, row.key()))
          found_.rows.push_back(row);
      if (!rows.at_end(at_))
        return false;
      if (++part_ < parts_.size())
        at_ = parts_[part_].begin();
    }
    return true;
  }

private:
  std::vector<rows_of<kv_entry_ptr>> parts_;
  std::size_t part_ = 0; ///< the one that is being read
  rows_of<kv_entry_ptr>::location at_;
  authorizer_ptr may_;
};

/// Instances of one service, with their checks or without. Services and checks are both in the
/// order of their nodes: the checks of a node are read once, when its first instance comes.
class long_instances final : public long_read_into<service_instances> {
public:
  struct wanted {
    std::string service; ///< folded
    std::set<std::string> tags;
    string_map node_meta;
    bool with_checks, passing_only;
  };

  /// @param keys row keys of all instances of the service
  long_instances(const tables& t, const query& q, wanted w, const std::set<std::string>& keys, authorizer_ptr may)
      : long_read_into(answer_index(t, q)), wanted_(std::move(w)), may_(std::move(may)),
        services_(t.catalog.services().view_of({})), at_(services_.begin()), nodes_(t), near_(t, q) {
    if (keys.size() <= keys_copied_max) {
      keys_.emplace(keys.begin(), keys.end());
      next_key_ = keys_->begin();
    }
    if (wanted_.with_checks) {
      checks_.emplace(t.catalog.checks().view_of({}));
      check_ = checks_->end();
    }
  }

  bool go_on(std::size_t rows_max) override {
    for (const service_ptr* service = nullptr; rows_max > 0 && (service = next()) != nullptr;) {
      if (folded((*service)->service) != wanted_.service) {
        pass();
        --rows_max;
        continue;
      }
      enter_node_of(**service);
      if (!read_checks(rows_max))
        break;
      add(*service);
      spend(rows_max, wanted_.with_checks ? whole_cost : joined_cost);
      pass();
    }
    return next() == nullptr && sorted_.move_to(found_.list, rows_max);
  }
  query_result take() override {
    if (auto why = size_.refusal())
      return {index_, refusal{std::move(*why)}};
    return long_read_into::take();
  }

private:
  /// Copying the keys takes 0.1 us each. Beyond this all services are examined instead.
  static constexpr std::size_t keys_copied_max = 16'384;

  /// Null: none is left.
  const service_ptr* next() const {
    if (!keys_)
      return services_.at_end(at_) ? nullptr : &services_.at(at_).value.row;
    return next_key_ == keys_->end() ? nullptr : &services_.find(*next_key_)->row;
  }
  void pass() {
    if (keys_)
      ++next_key_;
    else
      at_ = services_.next(at_);
  }

  /// Does nothing if the last instance was of the same node.
  void enter_node_of(const service_record& s) {
    auto prefix = row_key(s.node, "");
    if (prefix == prefix_)
      return;
    prefix_ = std::move(prefix);
    node_ = nodes_.named(s.node);
    INVARIANT(node_ != nullptr);
    if (checks_) {
      check_ = checks_->lower_bound(prefix_);
      of_node_ = std::make_shared<instance_checks::list>();
      of_instances_.clear();
    }
  }

  /// Reads on in the checks of the node. @returns whether all are read
  bool read_checks(std::size_t& rows_max) {
    const auto is_left = [&] {
      return checks_ && !checks_->at_end(check_) && starts_with(checks_->at(check_).key(), prefix_);
    };
    for (; rows_max > 0 && is_left(); --rows_max, check_ = checks_->next(check_)) {
      const auto& row = checks_->at(check_).value.row;
      if (row->service_id.empty())
        of_node_->push_back(row);
      else
        of_instances_[folded(row->service_id)].push_back(row);
    }
    if (is_left())
      return false;
    if (checks_ && of_node_ != nullptr) {
      node_passes_ = all_passing(*of_node_);
      node_bytes_ = shown_bytes(*of_node_);
      node_checks_ = std::move(of_node_);
    }
    return true;
  }

  void add(const service_ptr& service) {
    if (!has_tags(*service, wanted_.tags) || !has_meta(node_, wanted_.node_meta))
      return;
    service_instance found{node_, service, {}};
    if (wanted_.with_checks) {
      const auto own = of_instances_.find(folded(service->id));
      auto list = own == of_instances_.end() ? instance_checks::list() : own->second;
      if (wanted_.passing_only && !(node_passes_ && all_passing(list)))
        return;
      found.checks = {node_checks_, std::move(list)};
    }
    if (!may_list(may_, found))
      return;
    if (wanted_.with_checks)
      size_.add_instance(node_bytes_, shown_bytes(found.checks.own()));
    if (near_.sorts())
      sorted_.add(near_.distance(node_->node), std::move(found));
    else
      found_.list.push_back(std::move(found));
  }

  wanted wanted_;
  authorizer_ptr may_;
  rows_of<service_ptr> services_;
  std::optional<std::vector<std::string>> keys_; ///< row keys of the instances; nullopt: too many to copy
  std::vector<std::string>::const_iterator next_key_;
  rows_of<service_ptr>::location at_;
  nodes_then nodes_;
  near_to near_;

  // The node of the last instance.
  std::string prefix_; ///< prefix of the keys of its rows; empty: none yet
  node_ptr node_;
  std::optional<rows_of<check_ptr>> checks_;
  rows_of<check_ptr>::location check_;
  std::shared_ptr<instance_checks::list> of_node_;           ///< null: all are read
  std::shared_ptr<const instance_checks::list> node_checks_; ///< the same, complete
  std::map<std::string, instance_checks::list> of_instances_;
  bool node_passes_ = true;
  std::size_t node_bytes_ = 0;

  health_answer_size size_; ///< zero without checks
  sorted_rows<nanoseconds, service_instance> sorted_;
};

/// A page of the list of claims. Claims that the token may not see are passed over: a page may
/// have to examine all.
class long_claims final : public long_read_into<claim_rows> {
public:
  /// @param of sessions whose claims are listed; nullopt: all
  long_claims(const tables& t, const query& q, const claims_list& wanted, std::optional<std::set<std::string>> of,
              cluster_time now, authorizer_ptr may)
      : long_read_into(answer_index(t, q), {{}, {}, now}), rows_(t.claims.claims.rows().view_of({})),
        sessions_(t.sessions.rows().view_of({})), wanted_(wanted), of_(std::move(of)), may_(std::move(may)) {
    if (of_)
      prefixes_ = {""};
    else // claims of names, then locks of keys
      prefixes_ = {'k' + wanted_.under.value_or(""), 'c' + wanted_.under.value_or("")};
    begin_prefix();
  }

  bool go_on(std::size_t rows_max) override {
    for (; rows_max > 0 && !prefixes_.empty(); --rows_max)
      if (rows_.at_end(at_) || !starts_with(rows_.at(at_).key(), prefixes_.back())) {
        prefixes_.pop_back();
        begin_prefix();
      } else if (add(rows_.at(at_).value.row)) {
        at_ = rows_.next(at_);
      } else {
        prefixes_.clear();
      }
    return prefixes_.empty();
  }

private:
  void begin_prefix() {
    if (!prefixes_.empty())
      at_ = rows_.lower_bound(std::max(prefixes_.back(), wanted_.after));
  }
  /// @returns false: the page is full
  bool add(const claim_ptr& c) {
    if ((of_ && !of_->contains(c->session)) || !visible(may_, c->of.name))
      return true;
    return add_to_page(found_, wanted_, c, [this](const std::string& session) {
      const auto* row = sessions_.find(session);
      return row == nullptr ? std::string() : row->row->node;
    });
  }

  rows_of<claim_ptr> rows_;
  rows_of<session_ptr> sessions_;
  claims_list wanted_;
  std::optional<std::set<std::string>> of_;
  authorizer_ptr may_;
  std::vector<std::string> prefixes_; ///< of the keys that are left to list; the last one is being listed
  rows_of<claim_ptr>::location at_;
};

/// Policies and roles of one moment.
struct access_then {
  explicit access_then(const acl_table& t) : policies(t.policies().view_of({})), roles(t.roles().view_of({})) {}

  rows_of<acl_policy_ptr> policies;
  rows_of<acl_role_ptr> roles;

  acl_policy_ptr policy(std::string_view id) const {
    const auto* found = policies.find(folded(id));
    return found == nullptr ? nullptr : found->row;
  }
  acl_role_ptr role(std::string_view id) const {
    const auto* found = roles.find(folded(id));
    return found == nullptr ? nullptr : found->row;
  }
};

/// Begins a read in slices; null: it is short, or refused.
struct long_read_of {
  const tables& t;
  const query& q;
  cluster_time now;
  std::size_t rows_min;

  using read = std::unique_ptr<long_read>;

  bool is_refused() const { return refused_to(t, q, now).has_value(); }
  /// @param cost of a row
  bool is_long(std::size_t rows, std::size_t cost = 1) const {
    return rows > 0 && rows >= rows_min / cost && !is_refused();
  }
  template <class Row>
  bool is_long(const undo_logged_map<Row>& rows, std::string_view prefix = {}) const {
    return is_long(rows.about_under(prefix, rows_min));
  }
  authorizer_ptr authorizer_of_query() const { return q.by ? authorizer_of(t, *q.by, now) : nullptr; }

  /// The visible rows that match.
  template <class Found, class Row, class Wanted>
  read list_of(rows_of<Row> rows, Wanted wanted, std::size_t cost = 1) const {
    const auto may = authorizer_of_query();
    return std::make_unique<long_list<Row, Found, &Found::list>>(
        std::move(rows), 0, answer_index(t, q),
        [may, wanted](const Row& row) { return wanted(*row) && may_list(may, *row); }, cost);
  }
  /// The same, in the order of `?near`.
  template <class Found, class Row, class Wanted>
  read list_near(rows_of<Row> rows, Wanted wanted, std::size_t cost = 1) const {
    near_to near(t, q);
    if (!near.sorts())
      return list_of<Found, Row>(std::move(rows), std::move(wanted), cost);
    const auto may = authorizer_of_query();
    const auto add = [may, wanted, near = std::make_shared<const near_to>(std::move(near))](
                         const Row& row, sorted_rows<nanoseconds, Row>& to) {
      if (wanted(*row) && may_list(may, *row))
        to.add(near->distance(row->node), row);
    };
    return std::make_unique<long_sorted_list<Row, Row, nanoseconds, Found>>(std::move(rows), answer_index(t, q),
                                                                            Found(), joined_cost, add);
  }
  /// Checks, of nodes with that metadata.
  template <class Wanted>
  read checks_of(const string_map& node_meta, Wanted wanted) const {
    auto rows = t.catalog.checks().view_of({});
    if (node_meta.empty())
      return list_near<checks, check_ptr>(std::move(rows), std::move(wanted));
    const auto with_meta = [wanted, node_meta, nodes = std::make_shared<const nodes_then>(t)](const check_record& c) {
      return wanted(c) && has_meta(nodes->named(c.node), node_meta);
    };
    return list_near<checks, check_ptr>(std::move(rows), with_meta, joined_cost);
  }
  /// Tokens in the order of their secrets, roles and policies in that of their IDs.
  template <class Row, class Query>
  read access_list(const undo_logged_map<Row>& rows, const Query& requested) const {
    if (!is_long(rows.size(), whole_cost))
      return nullptr;
    const auto may = authorizer_of_query();
    const acl_rows none{{}, may == nullptr || may->acl_write()};
    const auto add = [requested, now = may == nullptr ? cluster_time{} : now,
                      then = std::make_shared<const access_then>(t.acls)](const Row& row,
                                                                          sorted_rows<std::string, acl_row>& to) {
      if (!is_listed(requested, *row))
        return;
      if constexpr (std::is_same_v<Row, acl_token_ptr>) {
        if (!has_expired(*row, now))
          to.add(row->secret, shown_row(*then, row));
      } else {
        to.add({}, shown_row(*then, row));
      }
    };
    return std::make_unique<long_sorted_list<Row, acl_row, std::string, acl_rows>>(rows.view_of({}), answer_index(t, q),
                                                                                   none, whole_cost, add);
  }
  /// Whether the checks of the instances and of their nodes are many.
  bool has_many_checks(const std::set<std::string>& instances) const {
    if (t.catalog.checks().size() < rows_min)
      return false;
    std::size_t rows = 0;
    for (auto at = instances.begin(); at != instances.end() && rows < rows_min; ++at)
      rows += t.catalog.count_of_checks(at->substr(0, at->find('\0')), "");
    return rows >= rows_min;
  }
  read instances_of(long_instances::wanted w) const {
    w.service = folded(w.service);
    const auto* instances = t.catalog.keys_of_instances(w.service);
    if (instances == nullptr)
      return nullptr;
    const bool many = is_long(instances->size(), w.with_checks ? whole_cost * 2 : joined_cost) ||
                      (w.with_checks && has_many_checks(*instances) && !is_refused());
    return many ? std::make_unique<long_instances>(t, q, std::move(w), *instances, authorizer_of_query()) : nullptr;
  }

  read operator()(const kv_list& requested) const {
    const auto& rows = t.kv.rows();
    if (!is_long(rows, requested.prefix))
      return nullptr;
    const auto may = authorizer_of_query();
    std::function<bool(const kv_entry_ptr&)> wanted;
    if (may != nullptr)
      wanted = [may](const kv_entry_ptr& row) { return may->key_read(row.key()); };
    return std::make_unique<long_list<kv_entry_ptr, kv_entries, &kv_entries::entries>>(
        rows.view_of(requested.prefix), may == nullptr ? rows.about_under(requested.prefix, SIZE_MAX) : 0,
        answer_index(t, q), std::move(wanted));
  }
  read operator()(const kv_keys& requested) const {
    const auto& rows = t.kv.rows();
    if (!is_long(rows, requested.prefix))
      return nullptr;
    return std::make_unique<long_names>(rows.view_of(requested.prefix), rows.about_under(requested.prefix, SIZE_MAX),
                                        requested, answer_index(t, q), authorizer_of_query());
  }
  read operator()(const kv_changes& requested) const {
    auto without_rows = snapshot_without_rows(t, requested);
    const auto& rows = t.kv.rows();
    std::vector<rows_of<kv_entry_ptr>> parts;
    std::size_t about = 0;
    if (without_rows)
      for (const auto& prefix : without_nested(requested.prefixes)) {
        about += rows.about_under(prefix, SIZE_MAX);
        parts.push_back(rows.view_of(prefix));
      }
    if (!is_long(about))
      return nullptr;
    return std::make_unique<long_snapshot>(std::move(*without_rows), std::move(parts), about, authorizer_of_query());
  }
  read operator()(const session_list&) const {
    const auto& rows = t.sessions.rows();
    if (!is_long(rows))
      return nullptr;
    return list_of<sessions, session_ptr>(rows.view_of({}), [](const session_record&) { return true; });
  }
  read operator()(const session_node& requested) const {
    if (!is_long(t.sessions.count_of_node(requested.node)))
      return nullptr;
    return list_of<sessions, session_ptr>(
        t.sessions.rows().view_of({}),
        [node = folded(requested.node)](const session_record& s) { return folded(s.node) == node; });
  }
  read operator()(const catalog_nodes& requested) const {
    const auto& rows = t.catalog.nodes();
    if (!is_long(rows))
      return nullptr;
    return list_near<nodes, node_ptr>(rows.view_of({}),
                                      [meta = requested.node_meta](const node_record& n) { return has_meta(n, meta); });
  }
  read operator()(const catalog_services& requested) const {
    if (!is_long(t.catalog.services().size(), requested.node_meta.empty() ? 1 : joined_cost))
      return nullptr;
    return std::make_unique<long_service_names>(t, requested.node_meta, answer_index(t, q), authorizer_of_query());
  }
  read operator()(const catalog_service& requested) const {
    return requested.of_mesh
               ? nullptr
               : instances_of({requested.service, folded_set(requested.tags), requested.node_meta, false, false});
  }
  read operator()(const health_service& requested) const {
    return requested.of_mesh ? nullptr
                             : instances_of({requested.service, folded_set(requested.tags), requested.node_meta, true,
                                             requested.passing_only});
  }
  read operator()(const health_state& requested) const {
    if (!is_long(t.catalog.checks().size(), requested.node_meta.empty() ? 1 : joined_cost))
      return nullptr;
    return checks_of(requested.node_meta, [status = requested.state](const check_record& c) {
      return status == "any" || c.status == status;
    });
  }
  read operator()(const health_checks& requested) const {
    if (!is_long(t.catalog.count_of_checks(requested.service), requested.node_meta.empty() ? 1 : joined_cost))
      return nullptr;
    return checks_of(requested.node_meta, [service = folded(requested.service)](const check_record& c) {
      return folded(c.service_name) == service;
    });
  }
  read operator()(const health_node& requested) const {
    const auto& rows = t.catalog.checks();
    const auto prefix = row_key(requested.node, "");
    if (!is_long(rows, prefix))
      return nullptr;
    return list_near<checks, check_ptr>(rows.view_of(prefix), [](const check_record&) { return true; });
  }
  read operator()(const claims_list& requested) const {
    const auto& claims = t.claims.claims;
    std::optional<std::set<std::string>> of;
    auto rows = claims.rows().size();
    if (requested.session || requested.node) {
      of.emplace();
      rows = 0;
      const auto add = [&](const session_ptr& s) {
        of->insert(s->id);
        claims.for_each_of_session(s->id, [&](const claim_ptr&) { return ++rows < rows_min; });
      };
      if (requested.node)
        for (const auto& s : t.sessions.of_node(*requested.node))
          add(s);
      else if (const auto s = t.sessions.find(*requested.session))
        add(s);
    }
    if (!is_long(rows, of ? whole_cost : 1))
      return nullptr;
    return std::make_unique<long_claims>(t, q, requested, std::move(of), now, authorizer_of_query());
  }
  read operator()(const acl_policy_list& requested) const { return access_list(t.acls.policies(), requested); }
  read operator()(const acl_role_list& requested) const { return access_list(t.acls.roles(), requested); }
  read operator()(const acl_token_list& requested) const { return access_list(t.acls.tokens(), requested); }
  read operator()(const acl_legacy_list& requested) const { return access_list(t.acls.tokens(), requested); }
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
