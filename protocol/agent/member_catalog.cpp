#include "protocol/agent/member_catalog.hpp"

#include "protocol/base/host_port.hpp"
#include "protocol/state/folded_name.hpp"

#include <algorithm>

namespace belay::agent {

namespace {

std::string_view status_of(const cluster_member& m) {
  return *m.alive ? "passing" : "critical";
}

const state::check_record* liveness_of(const state::service_instance& i) {
  for (std::size_t at = 0; at < i.checks.size(); ++at)
    if (i.checks[at]->check_id == liveness_check)
      return i.checks[at].get();
  return nullptr;
}

bool belongs_to(const state::node_record& n, const cluster_member& m) {
  return n.id.empty() ? state::folded(n.node) == state::folded(m.name) : n.id == m.uuid;
}

bool is_former_server(const state::service_instance& i, const std::vector<cluster_member>& members) {
  return is_server(i) &&
         std::none_of(members.begin(), members.end(), [&](const auto& m) { return belongs_to(*i.node, m); });
}

bool is_up_to_date(const state::service_instance& i, const cluster_member& m) {
  const auto* liveness = liveness_of(i);
  return i.service->id == server_service && i.service->port == m.port && i.node->id == m.uuid &&
         i.node->node == m.name && i.node->address == m.address && liveness != nullptr &&
         liveness->status == status_of(m);
}

/// Whether another server of that name is replacing it: both are members meanwhile.
bool superseded(const cluster_member& m, const std::vector<cluster_member>& members) {
  return !*m.alive && std::any_of(members.begin(), members.end(), [&](const cluster_member& other) {
    return other.uuid != m.uuid && state::folded(other.name) == state::folded(m.name);
  });
}

} // namespace

bool is_server(const state::service_instance& i) {
  return i.service->id == server_service && liveness_of(i) != nullptr;
}

std::optional<bool> shown_alive(const std::vector<state::service_instance>& servers, std::string_view uuid) {
  for (const auto& i : servers)
    if (i.node->id == uuid && is_server(i))
      return liveness_of(i)->status != "critical";
  return std::nullopt;
}

cluster_member member_of(std::string uuid, std::string name, const std::string& server_address,
                         std::optional<bool> alive) {
  auto where = split_host_port(server_address);
  const auto port = where.number();
  return {std::move(uuid), std::move(name), std::move(where.host), port, alive};
}

state::node_record node_of(const cluster_member& m, const std::string& datacenter) {
  state::node_record n;
  n.id = m.uuid;
  n.node = m.name;
  n.address = m.address;
  n.datacenter = datacenter;
  const std::string family = m.address.find(':') == std::string::npos ? "_ipv4" : "_ipv6";
  n.tagged_addresses = state::string_map{
      {"lan", m.address}, {"lan" + family, m.address}, {"wan", m.address}, {"wan" + family, m.address}};
  n.meta = state::string_map{{"consul-network-segment", ""}};
  return n;
}

state::catalog_register liveness_registration(const cluster_member& m, const std::string& datacenter) {
  state::catalog_register r;
  r.node = node_of(m, datacenter);
  state::check_record c;
  c.node = m.name;
  c.check_id = liveness_check;
  c.name = "Serf Health Status";
  c.status = status_of(m);
  c.output = *m.alive ? "Agent alive and reachable" : "Agent not live or unreachable";
  c.service_tags.emplace();
  r.checks.push_back(std::move(c));
  return r;
}

state::catalog_register registration_of(const cluster_member& m, const std::string& datacenter) {
  auto r = liveness_registration(m, datacenter);
  state::service_record s;
  s.node = m.name;
  s.id = s.service = server_service;
  s.tags.emplace();
  s.port = m.port;
  r.service = std::move(s);
  return r;
}

std::vector<state::command> member_changes(const std::vector<cluster_member>& members, const member_rows& found,
                                           const std::string& datacenter) {
  std::vector<state::command> changes;
  for (const auto& i : found.instances)
    if (is_former_server(i, members))
      changes.push_back(state::catalog_deregister{i.node->node, {}, {}});
  for (const auto& m : members) {
    const auto settled = [&](const state::service_instance& i) { return is_up_to_date(i, m); };
    if (!m.alive || superseded(m, members) || std::any_of(found.instances.begin(), found.instances.end(), settled))
      continue;
    auto r = registration_of(m, datacenter);
    r.skip_node_update = true; // if its agent is faster: it knows more
    for (const auto& n : found.nodes)
      if (state::folded(n->node) == state::folded(m.name)) {
        r.skip_node_update = n->id == m.uuid && n->node == m.name && n->address == m.address;
        if (n->id == m.uuid)
          r.node.meta = n->meta;
      }
    changes.push_back(std::move(r));
  }
  return changes;
}

} // namespace belay::agent
