#pragma once
// What can be read, and what a read answers. Every answer has the index of docs/contract/02, section 2 (never 0).

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
  bool of_mesh = false; ///< only proxies and gateways of a mesh, of which there is none here

  bool operator==(const catalog_service&) const = default;
};
struct catalog_node {
  std::string node;
  bool as_list = false; ///< of the rendering: services as a list, an unknown node as an object

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
  bool of_mesh = false; ///< only proxies and gateways of a mesh, of which there is none here

  bool operator==(const health_service&) const = default;
};
/// Where nodes of the catalog are (docs/contract/17). Not replicated: each server answers what it knows.
struct coordinate_nodes {
  std::optional<std::string> segment; ///< nullopt: of all of them

  bool operator==(const coordinate_nodes&) const = default;
};
struct coordinate_node {
  std::string node;
  std::optional<std::string> segment; ///< nullopt: of all of them

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

/// What is to be read, and in whose name.
struct query : plain_query {
  using plain_query::plain_query;
  /// nullopt: in the server's own name, which may read everything. So is everything where ACLs are not in force.
  std::optional<authority> by;
  /// Listings of keys need the permission `list` for their prefix (`acl.enable_key_list_policy` of the server that is asked).
  bool lists_need_permission = false;
  /// Lists with nodes begin with what is nearest to this one (docs/contract/17); empty, or unknown where it is: they stay as they are.
  std::string near = {};
};

/// Both ask for the same rows in the same name. Of transactions and settings that is never said.
inline bool same_question(const query& a, const query& b) {
  const auto same = [&b](const auto& each) {
    using asked = std::decay_t<decltype(each)>;
    if constexpr (std::equality_comparable<asked>)
      return each == std::get<asked>(b);
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
/// Those of the node, a list that all its instances share, then those of the instance itself (docs/contract/08).
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
  /// Null: none. Instances of an answer that are on the same node share it.
  const std::shared_ptr<const list>& of_node() const { return of_node_; }
  const list& own() const { return own_; }
  /// The very same rows. (Of lists that were made apart, the one of the node is looked through.)
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
  bool some_hidden = false; ///< services that whoever asks may not see are left out
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

/// Of a list; other answers have one.
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
