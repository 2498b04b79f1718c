// /v1/catalog/ (docs/contract/07).

#include "protocol/http/discovery/catalog_input.hpp"
#include "protocol/http/discovery/discovery.hpp"
#include "protocol/http/reading/filtering.hpp"
#include "protocol/http/record_input.hpp"
#include "protocol/http/routes.hpp"

#include <boost/json/array.hpp>

namespace belay::http {

namespace {

using boost::json::value;

void decode_checks(go_compat::json_decoder& d, const value& v, std::vector<state::check_record>& out) {
  if (v.is_null())
    return;
  const auto* list = v.if_array();
  if (!list) {
    d.wrong_type(v, "struct field RegisterRequest.Checks of type structs.HealthChecks");
    return;
  }
  // A body may contain the member in several spellings.
  if (!d.fits(out.size() + list->size(), {"RegisterRequest", "Checks"}, go_compat::client_json.elements_max))
    return;
  for (const auto& each : *list)
    decode_check(d, each, "RegisterRequest.Checks", out.emplace_back());
}

void decode_registration(go_compat::json_decoder& d, const value& v, state::catalog_register& out) {
  constexpr std::string_view owner = "RegisterRequest";
  std::optional<state::check_record> single;
  std::string ignored;
  log_index ignored_index;
  d.object(v, "value of type structs.RegisterRequest", [&](const std::string& name, const value& each) {
    if (name == "nodemeta")
      d.map(each, {owner, "NodeMeta"}, out.node.meta);
    else if (name == "skipnodeupdate")
      d.boolean(each, {owner, "SkipNodeUpdate"}, out.skip_node_update);
    else if (name == "token")
      d.text(each, {owner, "Token"}, ignored);
    else if (name == "createindex" || name == "modifyindex")
      d.index(each, {owner, "CreateIndex"}, ignored_index);
    else if (name == "service") {
      out.service.reset();
      if (!each.is_null())
        decode_service(d, each, "RegisterRequest.Service", out.service.emplace());
    } else if (name == "check") {
      single.reset();
      if (!each.is_null())
        decode_check(d, each, "RegisterRequest.Check", single.emplace());
    } else if (name == "checks")
      decode_checks(d, each, out.checks);
    else // the node's members are beside the others
      return name != "meta" && decode_member(name, out.node, member_input{d, each, owner});
    return true;
  });
  if (single)
    out.checks.push_back(std::move(*single));
  if (out.service)
    bound_tags(d, *out.service, out.checks.size());
}

void decode_deregistration(go_compat::json_decoder& d, const value& v, std::string& datacenter,
                           state::catalog_deregister& out) {
  constexpr std::string_view owner; // Consul decodes it into an unnamed structure
  std::string ignored;
  d.object(v, "value of type structs.DeregisterRequest", [&](const std::string& name, const value& each) {
    if (name == "datacenter")
      d.text(each, {owner, "Datacenter"}, datacenter);
    else if (name == "address") // obsolete
      d.text(each, {owner, "Address"}, ignored);
    else if (name == "token")
      d.text(each, {owner, "Token"}, ignored);
    else
      return decode_member(name, out, member_input{d, each, owner});
    return true;
  });
}

action service_read(request_context& c, std::string_view argument_missing, bool of_mesh) {
  discovery_read r;
  if (auto no = read_discovery(c, {.argument_missing = argument_missing}, r))
    return std::move(*no);
  return filtered_read(
      c, r.sorted(state::catalog_service{std::string(c.argument), c.query.all("tag"), std::move(r.node_meta), of_mesh}),
      r.options);
}

action node_read(request_context& c, bool as_list) {
  discovery_read r;
  if (auto no = read_discovery(c, {.argument_missing = "Missing node name"}, r))
    return std::move(*no);
  return filtered_read(c, state::catalog_node{std::string(c.argument), as_list}, r.options);
}

} // namespace

action catalog_register_route(request_context& c) {
  state::catalog_register command;
  if (auto r = decode_body(c, [&](auto& d, const auto& v) { decode_registration(d, v, command); }))
    return std::move(*r);
  auto& datacenter = command.node.datacenter;
  if (datacenter.empty())
    datacenter = c.settings.datacenter;
  if (datacenter != c.settings.datacenter)
    return no_path_to_datacenter();
  if (command.service)
    command.service->node = command.node.node;
  return write_request{std::move(command)};
}

action catalog_deregister_route(request_context& c) {
  state::catalog_deregister command;
  std::string datacenter;
  if (auto r = decode_body(c, [&](auto& d, const auto& v) { decode_deregistration(d, v, datacenter, command); }))
    return std::move(*r);
  if (!datacenter.empty() && datacenter != c.settings.datacenter)
    return no_path_to_datacenter();
  if (command.node.empty())
    return error_response(500, "Must provide node");
  return write_request{std::move(command)};
}

action catalog_nodes_route(request_context& c) {
  discovery_read r;
  if (auto no = read_discovery(c, {.namespaces_refused = false}, r))
    return std::move(*no);
  return filtered_read(c, r.sorted(state::catalog_nodes{std::move(r.node_meta)}), r.options);
}

action catalog_services_route(request_context& c) {
  discovery_read r;
  if (auto no = read_discovery(c, {}, r))
    return std::move(*no);
  return make_read(state::catalog_services{std::move(r.node_meta)}, r.options);
}

action catalog_service_route(request_context& c) {
  return service_read(c, "Missing service name", false);
}

action catalog_mesh_route(request_context& c) {
  return service_read(c, "Missing service name", true);
}

/// There are no gateways: the list is empty. Ignores `?filter`, as Consul does.
action catalog_gateway_route(request_context& c) {
  discovery_read r;
  if (auto no = read_discovery(c, {.argument_missing = "Missing gateway name"}, r))
    return std::move(*no);
  return make_read(
      r.sorted(state::catalog_service{std::string(c.argument), c.query.all("tag"), std::move(r.node_meta), true}),
      r.options);
}

action catalog_node_route(request_context& c) {
  return node_read(c, false);
}

action catalog_node_services_route(request_context& c) {
  return node_read(c, true);
}

} // namespace belay::http
