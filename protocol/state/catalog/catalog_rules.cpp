#include "protocol/state/catalog/catalog_rules.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/uuid.hpp"
#include "protocol/state/sessions/session_rules.hpp"

namespace belay::state {

namespace {

constexpr std::string_view critical = "critical";
constexpr std::string_view serf_check = "serfHealth";

void touch_service(applying& a, std::string_view node, const std::string& service) {
  a.t.indexes.set_service(service, a.index);
  a.changed.push_back(catalog_changed{std::string(node), service});
}

/// Health reads of a service show its nodes' checks: a change of a node touches all its services.
/// An entry may have many checks of a node with many services: the first check does it for all.
void touch_services_of_node(applying& a, std::string_view node) {
  if (!a.touched_nodes.insert(folded(node)).second)
    return;
  for (const auto& s : a.t.catalog.services_of_node(node))
    touch_service(a, node, s->service);
}

/// An instance of `service` was removed: moves its index or drops it (docs/contract/02, section 5).
void instance_lost(applying& a, std::string_view node, const std::string& service) {
  if (a.t.catalog.has_instances(service)) {
    touch_service(a, node, service);
    return;
  }
  a.t.indexes.drop_service(service);
  a.t.indexes.set(index_kind::last_extinction, a.index);
  a.changed.push_back(catalog_changed{std::string(node), service});
}

/// docs/contract/07: a name belongs to its node unless that node's liveness check is failing.
std::optional<std::string> name_conflict(const applying& a, const node_record& node, bool may_take_over_nameless) {
  const auto holder = a.t.catalog.find_node(node.node);
  if (!holder || holder->id == node.id)
    return std::nullopt;
  const auto alive = a.t.catalog.find_check(holder->node, serf_check);
  if (!alive || alive->status == critical)
    return std::nullopt;
  if (holder->id.empty() && may_take_over_nameless)
    return std::nullopt;
  return "Node name " + node.node + " is reserved by node " + holder->id + " with name " + holder->node + " (" +
         holder->address + ")";
}

/// @pre the node may be known under another name: then that node is removed, with all it had.
std::optional<std::string> settle_identity(applying& a, const node_record& node, node_ptr& known) {
  if (!node.id.empty()) {
    known = a.t.catalog.find_node_by_id(node.id);
    if (!known) {
      if (auto conflict = name_conflict(a, node, true))
        return "Error while renaming Node ID: \"" + node.id + "\": " + *conflict;
    } else if (known->node != node.node) {
      if (auto conflict = name_conflict(a, node, false))
        return "Error while renaming Node ID: \"" + node.id + "\" (" + node.address + "): " + *conflict;
      remove_node(a, known->node);
    }
  }
  if (!known)
    known = a.t.catalog.find_node(node.node);
  return std::nullopt;
}

} // namespace

std::optional<std::string> ensure_node(applying& a, node_record node) {
  node_ptr known;
  if (auto why = settle_identity(a, node, known))
    return why;
  node.create_index = known ? known->create_index : a.index;
  node.modify_index = a.index;
  if (known && same_but_for_indexes(*known, node))
    return std::nullopt;
  auto row = std::make_shared<const node_record>(std::move(node));
  a.t.catalog.put(row);
  a.t.indexes.set(index_kind::nodes, a.index);
  a.changed.push_back(catalog_changed{row->node, {}});
  touch_services_of_node(a, row->node);
  return std::nullopt;
}

std::optional<std::string> ensure_service(applying& a, service_record service) {
  const auto node = a.t.catalog.find_node(service.node);
  if (!node)
    return std::string(missing_node_registration);
  service.node = node->node;
  if (service.id.empty())
    service.id = service.service;
  const auto known = a.t.catalog.find_service(service.node, service.id);
  service.create_index = known ? known->create_index : a.index;
  service.modify_index = a.index;
  if (known && same_but_for_indexes(*known, service))
    return std::nullopt;
  auto row = std::make_shared<const service_record>(std::move(service));
  a.t.catalog.put(row);
  a.t.indexes.set(index_kind::services, a.index);
  touch_service(a, row->node, row->service);
  if (known && folded(known->service) != folded(row->service))
    instance_lost(a, row->node, known->service);
  return std::nullopt;
}

namespace {

/// A check moved to another service, or its service was renamed: notifies readers
/// of the old ones. Changes no index but that of all checks, as in Consul.
void lost_check(applying& a, const check_record& before, const check_record& now) {
  if (folded(before.service_name) != folded(now.service_name))
    a.changed.push_back(catalog_changed{now.node, before.service_name});
  if (folded(before.service_id) == folded(now.service_id))
    return;
  if (before.service_id.empty()) // it was the node's check, and so of all its services
    for (const auto& s : a.t.catalog.services_of_node(before.node))
      a.changed.push_back(catalog_changed{now.node, s->service});
  else if (const auto service = a.t.catalog.find_service(before.node, before.service_id))
    a.changed.push_back(catalog_changed{now.node, service->service});
}

} // namespace

std::optional<std::string> ensure_check(applying& a, check_record check) {
  const auto node = a.t.catalog.find_node(check.node);
  if (!node)
    return std::string(missing_node_registration);
  check.node = node->node;
  if (check.check_id.empty())
    check.check_id = check.name;
  if (check.check_id.empty())
    return "failed inserting check: object missing primary index";
  if (check.status.empty())
    check.status = critical;
  if (!check.service_id.empty()) {
    const auto service = a.t.catalog.find_service(check.node, check.service_id);
    if (!service)
      return "Missing service registration";
    check.service_name = service->service;
    check.service_tags = service->tags;
  }
  const auto known = a.t.catalog.find_check(check.node, check.check_id);
  check.create_index = known ? known->create_index : a.index;
  const bool modified = !known || !same_but_for_indexes(*known, check);
  check.modify_index = modified ? a.index : known->modify_index;
  const auto row = std::make_shared<const check_record>(std::move(check));
  // docs/contract/02, section 5: an identical check changes T(checks) and nothing else.
  a.t.indexes.set(index_kind::checks, a.index);
  a.changed.push_back(catalog_changed{row->node, row->service_name});
  if (known && modified)
    lost_check(a, *known, *row);
  if (modified) {
    a.t.catalog.put(row);
    if (row->service_id.empty())
      touch_services_of_node(a, row->node);
    else
      touch_service(a, row->node, row->service_name);
  }
  if (row->status == critical && !MUTANT(critical_check_ignored))
    for (const auto& s : a.t.sessions.relying_on(row->node, row->check_id))
      end_session(a, s->id, "check " + row->check_id + " critical");
  return std::nullopt;
}

void remove_check(applying& a, std::string_view node, std::string_view check_id) {
  const auto known = a.t.catalog.find_check(node, check_id);
  if (!known)
    return;
  const auto checks_before = a.t.catalog.checks().size();
  a.t.catalog.erase_check(row_key(known->node, known->check_id));
  INVARIANT(a.t.catalog.checks().size() + 1 == checks_before);
  a.t.indexes.set(index_kind::checks, a.index);
  a.changed.push_back(catalog_changed{known->node, known->service_name});
  if (known->service_id.empty()) {
    a.t.indexes.set(index_kind::services, a.index);
    touch_services_of_node(a, known->node);
  } else if (const auto service = a.t.catalog.find_service(known->node, known->service_id))
    touch_service(a, known->node, service->service);
  for (const auto& s : a.t.sessions.relying_on(known->node, known->check_id))
    end_session(a, s->id, "check " + known->check_id + " deregistered");
}

void remove_service(applying& a, std::string_view node, std::string_view id) {
  const auto known = a.t.catalog.find_service(node, id);
  if (!known)
    return;
  for (const auto& check : a.t.catalog.checks_of_instance(known->node, known->id))
    remove_check(a, check->node, check->check_id);
  INVARIANT(a.t.catalog.count_of_checks(known->node, known->id) == 0);
  const auto services_before = a.t.catalog.services().size();
  a.t.catalog.erase_service(row_key(known->node, known->id));
  INVARIANT(a.t.catalog.services().size() + 1 == services_before);
  a.t.indexes.set(index_kind::services, a.index);
  a.t.indexes.set(index_kind::checks, a.index);
  instance_lost(a, known->node, known->service);
}

void remove_node(applying& a, std::string_view name) {
  const auto known = a.t.catalog.find_node(name);
  if (!known)
    return;
  // Sessions first: else each removed check would search them for those that rely on it.
  for (const auto& s : a.t.sessions.of_node(known->node))
    end_session(a, s->id, "node deregistered");
  for (const auto& s : a.t.catalog.services_of_node(known->node))
    remove_service(a, known->node, s->id);
  for (const auto& c : a.t.catalog.checks_of_node(known->node))
    remove_check(a, known->node, c->check_id);
  INVARIANT(a.t.sessions.count_of_node(known->node) == 0);
  INVARIANT(a.t.catalog.count_of_checks(known->node, "") == 0);
  const auto nodes_before = a.t.catalog.nodes().size();
  a.t.catalog.erase_node(folded(known->node));
  INVARIANT(a.t.catalog.nodes().size() + 1 == nodes_before);
  for (const auto m : {index_kind::nodes, index_kind::services, index_kind::checks})
    a.t.indexes.set(m, a.index);
  a.changed.push_back(catalog_changed{known->node, {}});
}

std::optional<std::string> node_error(const node_record& node) {
  if (node.node.empty())
    return "Must provide node";
  if (!node.id.empty() && node.id.size() != uuid_characters)
    return "Bad node ID: uuid string is wrong length";
  return std::nullopt;
}

std::optional<std::string> service_error(const service_record& service) {
  if (service.service.empty())
    return "Must provide service name with ID";
  if (service.address == "0.0.0.0" || service.address == "::" || service.address == "[::]")
    return "Invalid service address";
  return std::nullopt;
}

std::optional<std::string> register_error(const catalog_register& request) {
  if (auto why = node_error(request.node))
    return why;
  if (request.node.address.empty() && !request.skip_node_update)
    return "Must provide address if SkipNodeUpdate is not set";
  return request.service ? service_error(*request.service) : std::nullopt;
}

std::optional<std::string> deregister_error(const catalog_deregister& request) {
  if (request.node.empty())
    return "Must provide node";
  return std::nullopt;
}

reply register_all(applying& a, const catalog_register& request) {
  if (auto why = register_error(request))
    return refusal{*why};
  if (!request.skip_node_update || !a.t.catalog.find_node(request.node.node))
    if (auto why = ensure_node(a, request.node))
      return refusal{"failed inserting node: " + *why};
  if (request.service) {
    auto service = *request.service;
    service.node = request.node.node;
    if (auto why = ensure_service(a, std::move(service)))
      return refusal{"failed inserting service: " + *why};
  }
  for (auto check : request.checks) {
    if (check.node.empty())
      check.node = request.node.node;
    if (check.node != request.node.node)
      return refusal{"check node \"" + check.node + "\" does not match node \"" + request.node.node + "\""};
    if (auto why = ensure_check(a, check))
      return refusal{"failed inserting check: " + *why + " on node \"" + check.node + "\""};
  }
  return true;
}

reply deregister(applying& a, const catalog_deregister& request) {
  if (auto why = deregister_error(request))
    return refusal{*why};
  if (!request.service_id.empty())
    remove_service(a, request.node, request.service_id);
  else if (!request.check_id.empty())
    remove_check(a, request.node, request.check_id);
  else
    remove_node(a, request.node);
  return true;
}

} // namespace belay::state
