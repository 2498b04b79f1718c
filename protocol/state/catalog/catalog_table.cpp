#include "protocol/state/catalog/catalog_table.hpp"

#include "protocol/base/check.hpp"

#include <algorithm>

namespace belay::state {

namespace {

template <class Index>
void unlink(Index& index, const std::string& name, const std::string& key) {
  auto at = index.find(name);
  INVARIANT(at != index.end());
  const auto unlinked = at->second.erase(key);
  INVARIANT(unlinked == 1);
  if (at->second.empty())
    index.erase(at);
}

template <class Row>
std::vector<Row> rows_under(const undo_logged_map<Row>& rows, std::string_view node) {
  std::vector<Row> list;
  rows.for_each_under(row_key(node, ""), [&](const Row& row) { list.push_back(row); });
  return list;
}

template <class Index>
const std::set<std::string>* keys_named(const Index& index, std::string_view name) {
  const auto at = index.find(name);
  return at == index.end() ? nullptr : &at->second;
}

template <class Row, class Index>
std::vector<Row> rows_named(const undo_logged_map<Row>& rows, const Index& index, std::string_view name) {
  std::vector<Row> list;
  if (const auto* keys = keys_named(index, name))
    for (const auto& key : *keys)
      list.push_back(*rows.find(key));
  return list;
}

std::string hex_digits(std::string_view id) {
  auto digits = folded(id);
  std::erase(digits, '-');
  return digits;
}

} // namespace

node_ptr catalog_table::find_node(std::string_view name) const {
  return row_or_null(nodes_, folded(name));
}

node_ptr catalog_table::find_node_by_id(std::string_view id) const {
  auto at = nodes_by_id_.find(folded(id));
  return at == nodes_by_id_.end() ? nullptr : row_or_null(nodes_, *at->second.begin());
}

node_ptr catalog_table::find_node_by_id_prefix(std::string_view digits) const {
  const auto wanted = hex_digits(digits);
  if (wanted.size() < 2 || wanted.find_first_not_of("0123456789abcdef") != std::string::npos)
    return nullptr;
  const auto at = nodes_by_digits_.lower_bound(wanted);
  if (at == nodes_by_digits_.end() || !starts_with(at->first, wanted) || at->second.size() > 1)
    return nullptr;
  const auto next = std::next(at);
  const bool ambiguous = next != nodes_by_digits_.end() && starts_with(next->first, wanted);
  return ambiguous ? nullptr : row_or_null(nodes_, *at->second.begin());
}

service_ptr catalog_table::find_service(std::string_view node, std::string_view id) const {
  return row_or_null(services_, row_key(node, id));
}

check_ptr catalog_table::find_check(std::string_view node, std::string_view check_id) const {
  return row_or_null(checks_, row_key(node, check_id));
}

std::vector<service_ptr> catalog_table::services_of_node(std::string_view node) const {
  return rows_under(services_, node);
}

std::vector<service_ptr> catalog_table::instances(std::string_view service) const {
  return rows_named(services_, services_by_name_, folded(service));
}

std::vector<check_ptr> catalog_table::checks_of_node(std::string_view node) const {
  return rows_under(checks_, node);
}

std::vector<check_ptr> catalog_table::checks_of_service(std::string_view service) const {
  return rows_named(checks_, checks_by_service_, folded(service));
}

std::vector<check_ptr> catalog_table::checks_of_instance(std::string_view node, std::string_view service_id) const {
  return rows_named(checks_, checks_by_instance_, row_key(node, service_id));
}

bool catalog_table::has_instances(std::string_view service) const {
  return keys_of_instances(service) != nullptr;
}

const std::set<std::string>* catalog_table::keys_of_instances(std::string_view service) const {
  return keys_named(services_by_name_, folded(service));
}

std::size_t catalog_table::count_of_checks(std::string_view service) const {
  const auto* keys = keys_named(checks_by_service_, folded(service));
  return keys == nullptr ? 0 : keys->size();
}

std::size_t catalog_table::count_of_checks(std::string_view node, std::string_view service_id) const {
  const auto* keys = keys_named(checks_by_instance_, row_key(node, service_id));
  return keys == nullptr ? 0 : keys->size();
}

void catalog_table::put(node_ptr row) {
  const auto key = folded(row->node);
  erase_node(key);
  if (!row->id.empty()) {
    nodes_by_id_[folded(row->id)].insert(key);
    nodes_by_digits_[hex_digits(row->id)].insert(key);
  }
  nodes_.put(key, std::move(row));
}

void catalog_table::put(service_ptr row) {
  const auto key = row_key(row->node, row->id);
  erase_service(key);
  const bool fresh = services_by_name_[folded(row->service)].insert(key).second;
  INVARIANT(fresh);
  services_.put(key, std::move(row));
  INVARIANT(services_by_name_.size() <= services_.size());
}

void catalog_table::put(check_ptr row) {
  const auto key = row_key(row->node, row->check_id);
  erase_check(key);
  if (!row->service_name.empty())
    checks_by_service_[folded(row->service_name)].insert(key);
  const bool fresh = checks_by_instance_[row_key(row->node, row->service_id)].insert(key).second;
  INVARIANT(fresh);
  checks_.put(key, std::move(row));
  INVARIANT(checks_by_instance_.size() <= checks_.size());
}

void catalog_table::erase_node(std::string_view key) {
  auto p = nodes_.locate(key);
  if (!p.row())
    return;
  if (const auto& id = (*p.row())->id; !id.empty()) {
    unlink(nodes_by_id_, folded(id), std::string(key));
    unlink(nodes_by_digits_, hex_digits(id), std::string(key));
  }
  nodes_.erase(p, key);
  INVARIANT(nodes_by_id_.size() <= nodes_.size());
  INVARIANT(nodes_by_digits_.size() <= nodes_by_id_.size());
}

void catalog_table::erase_service(std::string_view key) {
  auto p = services_.locate(key);
  if (!p.row())
    return;
  unlink(services_by_name_, folded((*p.row())->service), std::string(key));
  services_.erase(p, key);
  INVARIANT(services_by_name_.empty() == (services_.size() == 0));
}

void catalog_table::erase_check(std::string_view key) {
  auto p = checks_.locate(key);
  if (!p.row())
    return;
  if (const auto& service = (*p.row())->service_name; !service.empty())
    unlink(checks_by_service_, folded(service), std::string(key));
  unlink(checks_by_instance_, row_key((*p.row())->node, (*p.row())->service_id), std::string(key));
  checks_.erase(p, key);
  INVARIANT(checks_by_instance_.empty() == (checks_.size() == 0));
}

} // namespace belay::state
