#pragma once
// The reads and their results. Each result has the index of docs/contract/02, section 2 (never 0).

#include "protocol/base/compiled_once.hpp"
#include "protocol/coordinates/table.hpp"
#include "protocol/state/changes/change_queries.hpp"
#include "protocol/state/claims/claim_queries.hpp"
#include "protocol/state/commands.hpp"

#include <concepts>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <variant>

namespace belay::state {

struct kv_get {
  std::string key;

  bool operator==(const kv_get&) const = default;
};
struct kv_list {
  std::string prefix;

  bool operator==(const kv_list&) const = default;
};
/// `separator` empty: none (docs/contract/03, section 2).
struct kv_keys {
  std::string prefix, separator;

  bool operator==(const kv_keys&) const = default;
};
struct session_info {
  std::string id;

  bool operator==(const session_info&) const = default;
};
struct session_list {
  bool operator==(const session_list&) const = default;
};
struct session_node {
  std::string node;

  bool operator==(const session_node&) const = default;
};
struct catalog_nodes {
  string_map node_meta;

  bool operator==(const catalog_nodes&) const = default;
};
struct catalog_services {
  string_map node_meta;

  bool operator==(const catalog_services&) const = default;
};
struct catalog_service {
  std::string service;
  std::vector<std::string> tags;
  string_map node_meta;
  bool of_mesh = false; ///< only mesh proxies and gateways, which Belay does not have

  bool operator==(const catalog_service&) const = default;
};
struct catalog_node {
  std::string node;
  bool as_list = false; ///< rendering: services as a list, an unknown node as an object

  bool operator==(const catalog_node&) const = default;
};
struct health_node {
  std::string node;

  bool operator==(const health_node&) const = default;
};
struct health_checks {
  std::string service;
  string_map node_meta;

  bool operator==(const health_checks&) const = default;
};
struct health_state {
  std::string state;
  string_map node_meta;

  bool operator==(const health_state&) const = default;
};
struct health_service {
  std::string service;
  std::vector<std::string> tags;
  string_map node_meta;
  bool passing_only = false;
  bool of_mesh = false; ///< only mesh proxies and gateways, which Belay does not have

  bool operator==(const health_service&) const = default;
};
/// Coordinates of catalog nodes (docs/contract/17). Not replicated: a server returns its own.
struct coordinate_nodes {
  std::optional<std::string> segment; ///< nullopt: all segments

  bool operator==(const coordinate_nodes&) const = default;
};
struct coordinate_node {
  std::string node;
  std::optional<std::string> segment; ///< nullopt: all segments

  bool operator==(const coordinate_node&) const = default;
};
/// A transaction that only reads (get, get-tree, checks).
struct txn_read {
  txn ops;
};

using plain_query = compiled_once<with_settings<
    std::variant<kv_get, kv_list, kv_keys, session_info, session_list, session_node, catalog_nodes, catalog_services,
                 catalog_service, catalog_node, health_node, health_checks, health_state, health_service,
                 coordinate_nodes, coordinate_node, txn_read, acl_policy_read, acl_policy_list, acl_role_read,
                 acl_role_list, acl_token_read, acl_token_self, acl_token_list, acl_legacy_list, permissions_read,
                 claim_read, claim_status, claims_list, claims_graph, guards_list, session_ended, outcome_read,
                 kv_changes, kv_at, kv_history>,
    settings_get>>;

/// A read and the token it is made on behalf of.
struct query : plain_query {
  using plain_query::plain_query;
  /// nullopt: the server itself, which may read everything. Without ACLs everything is permitted.
  std::optional<auth_context> by;
  /// Listings of keys need permission `list` (the server's `acl.enable_key_list_policy`).
  bool lists_need_permission = false;
  /// Sort nodes by distance from this one (docs/contract/17); empty or no coordinate: do not sort.
  std::string near = {};
};

/// Whether both read the same rows on behalf of the same token. Always false for transactions and
/// settings.
inline bool same_question(const query& a, const query& b) {
  const auto same = [&b](const auto& each) {
    using requested = std::decay_t<decltype(each)>;
    if constexpr (std::equality_comparable<requested>)
      return each == std::get<requested>(b);
    else
      return false;
  };
  return a.index() == b.index() && a.by == b.by && a.lists_need_permission == b.lists_need_permission &&
         a.near == b.near && std::visit(same, a);
}

struct kv_entries {
  std::vector<kv_entry_ptr> entries; ///< empty: 404
};
struct key_names {
  std::vector<std::string> keys;
};
struct sessions {
  std::vector<session_ptr> list;
};
struct nodes {
  std::vector<node_ptr> list;
};
struct service_names {
  std::map<std::string, std::vector<std::string>> tags_by_service;
};
/// The node's checks, a list that its instances share, then the instance's own (docs/contract/08).
class instance_checks {
public:
  using list = std::vector<check_ptr>;

  instance_checks() = default;
  instance_checks(std::initializer_list<check_ptr> own) : own_(own) {}
  instance_checks(std::shared_ptr<const list> of_node, list own) : of_node_(std::move(of_node)), own_(std::move(own)) {}

  std::size_t size() const { return of_node_count() + own_.size(); }
  const check_ptr& operator[](std::size_t i) const {
    return i < of_node_count() ? (*of_node_)[i] : own_[i - of_node_count()];
  }
  /// Null: none. Instances of one result that are on the same node share it.
  const std::shared_ptr<const list>& of_node() const { return of_node_; }
  const list& own() const { return own_; }
  /// Whether both have the same rows. Compares the node's lists row by row if they are not shared.
  bool operator==(const instance_checks& other) const {
    if (of_node_ == other.of_node_)
      return own_ == other.own_;
    if (size() != other.size())
      return false;
    for (std::size_t i = 0; i < size(); ++i)
      if ((*this)[i] != other[i])
        return false;
    return true;
  }

private:
  std::size_t of_node_count() const { return of_node_ ? of_node_->size() : 0; }

  std::shared_ptr<const list> of_node_; ///< null: none
  list own_;
};

struct service_instance {
  node_ptr node;
  service_ptr service;
  instance_checks checks; ///< health_service only
};
struct service_instances {
  std::vector<service_instance> list;
};
struct node_services {
  node_ptr node; ///< null: unknown node
  std::vector<service_ptr> services;
  bool some_hidden = false; ///< services that the token may not see are left out
};
struct checks {
  std::vector<check_ptr> list;
};

struct coordinate_rows {
  std::vector<coordinates::row_ptr> list;
};

using query_data = compiled_once<with_settings<
    std::variant<kv_entries, key_names, sessions, nodes, service_names, service_instances, node_services, checks,
                 coordinate_rows, txn_reply, refusal, acl_rows, permissions, claim_view, claim_standing, claim_rows,
                 wait_graph, guard_rows, ended_session_rows, change_rows, outcome_view>,
    settings_ptr>>;
struct query_result {
  log_index index; ///< never zero
  query_data data;
};

/// Rows of a list; 1 for other results.
inline std::size_t row_count(const query_result& r) {
  return std::visit(
      [](const auto& each) -> std::size_t {
        if constexpr (requires { each.entries.size(); })
          return each.entries.size();
        else if constexpr (requires { each.keys.size(); })
          return each.keys.size();
        else if constexpr (requires { each.list.size() + each.rows.size(); })
          return each.list.size() + each.rows.size();
        else if constexpr (requires { each.list.size(); })
          return each.list.size();
        else if constexpr (requires { each.services.size(); })
          return each.services.size();
        else if constexpr (requires { each.tags_by_service.size(); })
          return each.tags_by_service.size();
        else if constexpr (requires { each.holders.size() + each.queue.size(); })
          return each.holders.size() + each.queue.size();
        else if constexpr (requires { each.edges.size(); })
          return each.edges.size();
        else
          return 1;
      },
      r.data);
}

} // namespace belay::state
