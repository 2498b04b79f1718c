#pragma once
// What can be read, and what a read answers. Every answer has the index of docs/contract/02, section 2 (never 0).

#include "protocol/state/commands.hpp"

namespace belay::state {

struct kv_get {
  std::string key;
};
struct kv_list {
  std::string prefix;
};
/// `separator` empty: none (docs/contract/03, section 2).
struct kv_keys {
  std::string prefix, separator;
};
struct session_info {
  std::string id;
};
struct session_list {};
struct session_node {
  std::string node;
};
struct catalog_nodes {
  string_map node_meta;
};
struct catalog_services {
  string_map node_meta;
};
struct catalog_service {
  std::string service;
  std::vector<std::string> tags;
  string_map node_meta;
};
struct catalog_node {
  std::string node;
};
struct health_node {
  std::string node;
};
struct health_checks {
  std::string service;
  string_map node_meta;
};
struct health_state {
  std::string state;
  string_map node_meta;
};
struct health_service {
  std::string service;
  std::vector<std::string> tags;
  string_map node_meta;
  bool passing_only = false;
};
/// A transaction that only reads (get, get-tree, checks).
struct txn_read {
  txn ops;
};

using query = with_settings<
    std::variant<kv_get, kv_list, kv_keys, session_info, session_list, session_node, catalog_nodes, catalog_services,
                 catalog_service, catalog_node, health_node, health_checks, health_state, health_service, txn_read>,
    settings_get>;

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
struct service_instance {
  node_ptr node;
  service_ptr service;
  std::vector<check_ptr> checks; ///< health_service only
};
struct service_instances {
  std::vector<service_instance> list;
};
struct node_services {
  node_ptr node; ///< null: unknown node
  std::vector<service_ptr> services;
};
struct checks {
  std::vector<check_ptr> list;
};

struct query_result {
  log_index index; ///< never zero
  with_settings<std::variant<kv_entries, key_names, sessions, nodes, service_names, service_instances, node_services,
                             checks, txn_reply, refusal>,
                settings_ptr>
      data;
};

} // namespace belay::state
