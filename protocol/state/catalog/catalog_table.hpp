#pragma once
// Nodes, services and checks: rows and look-ups only; the rules are in catalog_rules.

#include "protocol/state/undo_logged_map.hpp"

#include <map>
#include <set>

namespace belay::state {

class catalog_table {
public:
  explicit catalog_table(undo_log& log)
      : nodes_(log, table::nodes), services_(log, table::services), checks_(log, table::checks) {}

  // Look-ups ignore case and return null if there is none; lists are in order of node, then id.

  node_ptr find_node(std::string_view name) const;
  node_ptr find_node_by_id(std::string_view id) const;
  /// The only node whose id starts with these hex digits (dashes
  /// are ignored, at least two digits); null: none or several.
  node_ptr find_node_by_id_prefix(std::string_view digits) const;
  service_ptr find_service(std::string_view node, std::string_view id) const;
  check_ptr find_check(std::string_view node, std::string_view check_id) const;

  std::vector<service_ptr> services_of_node(std::string_view node) const;
  std::vector<service_ptr> instances(std::string_view service) const;
  std::vector<check_ptr> checks_of_node(std::string_view node) const;
  std::vector<check_ptr> checks_of_service(std::string_view service) const;
  /// `service_id` empty: the checks of the node itself.
  std::vector<check_ptr> checks_of_instance(std::string_view node, std::string_view service_id) const;
  bool has_instances(std::string_view service) const;
  /// Row keys of the services with that name; null: there is none.
  const std::set<std::string>* keys_of_instances(std::string_view service) const;
  std::size_t count_of_checks(std::string_view service) const;
  /// The number of checks of one instance; `service_id` empty: of the node itself.
  std::size_t count_of_checks(std::string_view node, std::string_view service_id) const;

  void put(node_ptr row);
  void put(service_ptr row);
  void put(check_ptr row);
  void erase_node(std::string_view key);
  void erase_service(std::string_view key);
  void erase_check(std::string_view key);

  const undo_logged_map<node_ptr>& nodes() const { return nodes_; }
  const undo_logged_map<service_ptr>& services() const { return services_; }
  const undo_logged_map<check_ptr>& checks() const { return checks_; }
  auto maps() const { return std::tie(nodes_, services_, checks_); }
  /// recount() recomputes each of them from the rows (protocol/state/recount).
  auto beside() const {
    return std::tuple{kept_member{"nodes_by_id", nodes_by_id_}, kept_member{"nodes_by_digits", nodes_by_digits_},
                      kept_member{"services_by_name", services_by_name_},
                      kept_member{"checks_by_service", checks_by_service_},
                      kept_member{"checks_by_instance", checks_by_instance_}};
  }

private:
  using name_index = std::map<std::string, std::set<std::string>, std::less<>>;

  undo_logged_map<node_ptr> nodes_;
  undo_logged_map<service_ptr> services_;
  undo_logged_map<check_ptr> checks_;
  name_index nodes_by_id_;       // folded id -> row keys
  name_index nodes_by_digits_;   // the same without dashes, for find_node_by_id_prefix()
  name_index services_by_name_;  // folded name -> row keys
  name_index checks_by_service_; // folded service name -> row keys
  // row_key() of node and service id -> row keys: a node may have thousands of services to look up.
  name_index checks_by_instance_;
};

} // namespace belay::state
