#include "protocol/http/discovery/catalog_input.hpp"

#include "protocol/golang/json_output.hpp"
#include "protocol/golang/syntax.hpp"
#include "protocol/http/discovery/check_definition.hpp"

namespace belay::http {

namespace {

using boost::json::value;

void decode_tagged_addresses(golang::json_decoder& d, const value& v, std::string_view owner,
                             std::optional<std::map<std::string, state::service_address>>& out) {
  out.reset();
  if (v.is_null())
    return;
  const auto* object = v.if_object();
  if (!object) {
    d.wrong_type(v,
                 "struct field " + std::string(owner) + ".TaggedAddresses of type map[string]structs.ServiceAddress");
    return;
  }
  out.emplace();
  for (const auto& m : *object) {
    auto& address = (*out)[std::string(m.key().data(), m.key().size())];
    d.object(m.value(), "value of type structs.ServiceAddress", [&](const std::string& name, const value& each) {
      if (name == "address")
        d.text(each, {owner, "TaggedAddresses.Address"}, address.address);
      else if (name == "port")
        d.integer(each, {owner, "TaggedAddresses.Port"}, address.port);
      else
        return false;
      return true;
    });
  }
}

void decode_weights(golang::json_decoder& d, const value& v, std::string_view owner, state::service_record& out) {
  if (v.is_null())
    return;
  out.weight_passing = out.weight_warning = 0;
  d.object(v, "struct field " + std::string(owner) + ".Weights of type structs.Weights",
           [&](const std::string& name, const value& each) {
             if (name == "passing")
               d.integer(each, {owner, "Weights.Passing"}, out.weight_passing);
             else if (name == "warning")
               d.integer(each, {owner, "Weights.Warning"}, out.weight_warning);
             else
               return false;
             return true;
           });
}

bool has_member(const boost::json::object& o, std::string_view wanted) {
  for (const auto& m : o)
    if (golang::equal_ignoring_case({m.key().data(), m.key().size()}, wanted))
      return true;
  return false;
}

/// Mesh settings are kept and shown, not acted upon. `always`: members the reference shows even when nobody gave them.
void decode_mesh(golang::json_decoder& d, const value& v, golang::json_field at,
                 std::initializer_list<std::string_view> always, std::string& out) {
  out.clear();
  if (v.is_null())
    return;
  const auto* object = v.if_object();
  if (!object) {
    d.wrong_type(v, "struct field " + std::string(at.owner) + "." + std::string(at.name));
    return;
  }
  if (object->empty())
    return;
  golang::append_json_value(out, v);
  out.pop_back();
  for (const auto name : always)
    if (!has_member(*object, name))
      (out += ",\"").append(name).append("\":{}");
  out += '}';
}

void decode_definition(golang::json_decoder& d, const value& v, std::string_view owner, state::check_record& out) {
  auto definition = decode_check_definition(d, v, owner);
  out.definition_json = definition.json;
  if (out.type.empty())
    out.type = definition.type;
}

} // namespace

response decode_failure(std::string why) {
  // Contract 01 section 9.
  if (why == "json: unknown field \"Namespace\"")
    why += " - Namespaces are a Consul Enterprise feature";
  return error_response(400, "Request decode failed: " + why);
}

void decode_node(golang::json_decoder& d, const value& v, std::string_view owner, state::node_record& out) {
  d.object(v, "struct field " + std::string(owner) + " of type api.Node",
           [&](const std::string& name, const value& each) {
             if (name == "id")
               d.text(each, {owner, "ID"}, out.id);
             else if (name == "node")
               d.text(each, {owner, "Node"}, out.node);
             else if (name == "address")
               d.text(each, {owner, "Address"}, out.address);
             else if (name == "datacenter")
               d.text(each, {owner, "Datacenter"}, out.datacenter);
             else if (name == "taggedaddresses")
               d.map(each, {owner, "TaggedAddresses"}, out.tagged_addresses);
             else if (name == "meta")
               d.map(each, {owner, "Meta"}, out.meta);
             else if (name == "createindex")
               d.index(each, {owner, "CreateIndex"}, out.create_index);
             else if (name == "modifyindex")
               d.index(each, {owner, "ModifyIndex"}, out.modify_index);
             else
               return false;
             return true;
           });
}

bool decode_service_member(golang::json_decoder& d, const std::string& name, const value& each, std::string_view owner,
                           state::service_record& out) {
  if (name == "kind")
    d.text(each, {owner, "Kind"}, out.kind);
  else if (name == "id")
    d.text(each, {owner, "ID"}, out.id);
  else if (name == "service")
    d.text(each, {owner, "Service"}, out.service);
  else if (name == "tags")
    d.texts(each, {owner, "Tags"}, out.tags);
  else if (name == "address")
    d.text(each, {owner, "Address"}, out.address);
  else if (name == "taggedaddresses" || name == "tagged_addresses")
    decode_tagged_addresses(d, each, owner, out.tagged_addresses);
  else if (name == "meta")
    d.map(each, {owner, "Meta"}, out.meta);
  else if (name == "port")
    d.integer(each, {owner, "Port"}, out.port);
  else if (name == "weights")
    decode_weights(d, each, owner, out);
  else if (name == "enabletagoverride" || name == "enable_tag_override")
    d.boolean(each, {owner, "EnableTagOverride"}, out.enable_tag_override);
  else if (name == "proxy")
    decode_mesh(d, each, {owner, "Proxy"}, {"MeshGateway", "Expose"}, out.proxy_json);
  else if (name == "connect")
    decode_mesh(d, each, {owner, "Connect"}, {}, out.connect_json);
  else
    return false;
  return true;
}

void decode_service(golang::json_decoder& d, const value& v, std::string_view owner, state::service_record& out) {
  d.object(v, "struct field " + std::string(owner) + " of type structs.NodeService",
           [&](const std::string& name, const value& each) {
             if (name == "createindex")
               d.index(each, {owner, "CreateIndex"}, out.create_index);
             else if (name == "modifyindex")
               d.index(each, {owner, "ModifyIndex"}, out.modify_index);
             else
               return decode_service_member(d, name, each, owner, out);
             return true;
           });
}

void decode_check(golang::json_decoder& d, const value& v, std::string_view owner, state::check_record& out) {
  d.object(v, "struct field " + std::string(owner) + " of type structs.HealthCheck",
           [&](const std::string& name, const value& each) {
             if (name == "node")
               d.text(each, {owner, "Node"}, out.node);
             else if (name == "checkid")
               d.text(each, {owner, "CheckID"}, out.check_id);
             else if (name == "name")
               d.text(each, {owner, "Name"}, out.name);
             else if (name == "status")
               d.text(each, {owner, "Status"}, out.status);
             else if (name == "notes")
               d.text(each, {owner, "Notes"}, out.notes);
             else if (name == "output")
               d.text(each, {owner, "Output"}, out.output);
             else if (name == "serviceid")
               d.text(each, {owner, "ServiceID"}, out.service_id);
             else if (name == "servicename")
               d.text(each, {owner, "ServiceName"}, out.service_name);
             else if (name == "servicetags")
               d.texts(each, {owner, "ServiceTags"}, out.service_tags);
             else if (name == "type")
               d.text(each, {owner, "Type"}, out.type);
             else if (name == "definition")
               decode_definition(d, each, owner, out);
             else if (name == "createindex")
               d.index(each, {owner, "CreateIndex"}, out.create_index);
             else if (name == "modifyindex")
               d.index(each, {owner, "ModifyIndex"}, out.modify_index);
             else
               return false;
             return true;
           });
}

} // namespace belay::http
