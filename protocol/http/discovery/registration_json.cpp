#include "protocol/http/discovery/registration_json.hpp"

#include "protocol/http/discovery/catalog_input.hpp"
#include "protocol/http/render_parts.hpp"

namespace belay::http {

namespace {

/// What Consul shows for a service without mesh settings.
constexpr std::string_view shown_without_proxy = R"({"MeshGateway":{},"Expose":{}})";

template <class Record, class Decode>
std::shared_ptr<const Record> read_record(const boost::json::value& v, Decode decode) {
  go_compat::json_decoder d;
  auto record = std::make_shared<Record>();
  decode(d, v, *record);
  return d.ok() ? record : nullptr;
}

} // namespace

std::string json_of(const state::catalog_register& r) {
  std::string out = "{";
  go_compat::append_json_member(out, "Node", r.node.node);
  go_compat::append_json_member(out, "ID", r.node.id);
  go_compat::append_json_member(out, "Address", r.node.address);
  go_compat::append_json_member(out, "Datacenter", r.node.datacenter);
  go_compat::append_json_name(out, "TaggedAddresses");
  go_compat::append_json_map(out, r.node.tagged_addresses);
  go_compat::append_json_name(out, "NodeMeta");
  go_compat::append_json_map(out, r.node.meta);
  go_compat::append_json_name(out, "SkipNodeUpdate");
  go_compat::append_bool(out, r.skip_node_update);
  if (r.service) {
    go_compat::append_json_name(out, "Service");
    append_service(out, *r.service, absent_tags::empty);
  }
  out += ",\"Checks\":[";
  for (const auto& c : r.checks) {
    if (&c != &r.checks.front())
      out += ',';
    append_check(out, c, absent_tags::empty);
  }
  return out += "]}";
}

std::string json_of(const state::catalog_deregister& r) {
  std::string out = "{";
  go_compat::append_json_member(out, "Node", r.node);
  go_compat::append_json_member(out, "ServiceID", r.service_id);
  go_compat::append_json_member(out, "CheckID", r.check_id);
  return out += '}';
}

std::optional<state::node_services> read_node_services(std::string_view json) {
  const auto found = go_compat::read_json(json, go_compat::server_json);
  state::node_services out;
  if (found && found->is_null())
    return out;
  const auto* object = found ? found->if_object() : nullptr;
  const auto* node = object != nullptr ? object->if_contains("Node") : nullptr;
  const auto* services = object != nullptr ? object->if_contains("Services") : nullptr;
  if (node == nullptr || services == nullptr || !services->is_object())
    return std::nullopt;
  out.node =
      read_record<state::node_record>(*node, [](auto& d, const auto& v, auto& to) { decode_node(d, v, "Node", to); });
  if (out.node == nullptr)
    return std::nullopt;
  for (const auto& each : services->get_object()) {
    auto row = read_record<state::service_record>(
        each.value(), [](auto& d, const auto& v, auto& to) { decode_service(d, v, "Service", to); });
    if (row == nullptr)
      return std::nullopt;
    if (row->proxy_json == shown_without_proxy) {
      auto without = std::make_shared<state::service_record>(*row);
      without->proxy_json.clear();
      row = std::move(without);
    }
    out.services.push_back(std::move(row));
  }
  return out;
}

std::optional<state::checks> read_checks(std::string_view json) {
  const auto found = go_compat::read_json(json, go_compat::server_json);
  if (!found || !found->is_array())
    return std::nullopt;
  state::checks out;
  for (const auto& each : found->get_array()) {
    auto row = read_record<state::check_record>(
        each, [](auto& d, const auto& v, auto& to) { decode_check(d, v, "Check", to); });
    if (row == nullptr)
      return std::nullopt;
    out.list.push_back(std::move(row));
  }
  return out;
}

} // namespace belay::http
