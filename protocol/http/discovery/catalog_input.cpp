#include "protocol/http/discovery/catalog_input.hpp"

#include "protocol/go_compat/json_output.hpp"
#include "protocol/go_compat/syntax.hpp"
#include "protocol/http/discovery/check_definition.hpp"
#include "protocol/http/record_input.hpp"

namespace belay::http {

namespace {

using boost::json::value;

/// Members of a nested object, such as "TaggedAddresses.Port" of a service.
template <class Record>
void decode_part(go_compat::json_decoder& d, const value& v, std::string_view what, std::string_view owner,
                 std::string_view part, Record& out) {
  d.object(v, what, [&](const std::string& name, const value& each) {
    return decode_member(name, out, [&]<class Field, class T>(Field, T& member) {
      const auto shown = std::string(part) + "." + std::string(Field::name);
      if constexpr (std::is_same_v<T, std::string>)
        d.text(each, {owner, shown}, member);
      else
        d.integer(each, {owner, shown}, member);
      return true;
    });
  });
}

void decode_tagged_addresses(go_compat::json_decoder& d, const value& v, std::string_view owner,
                             std::optional<state::service_addresses>& out) {
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
  for (const auto& m : *object)
    decode_part(d, m.value(), "value of type structs.ServiceAddress", owner, "TaggedAddresses",
                (*out)[std::string(m.key().data(), m.key().size())]);
}

void decode_weights(go_compat::json_decoder& d, const value& v, std::string_view owner, state::service_weights& out) {
  if (v.is_null())
    return;
  out = {0, 0};
  decode_part(d, v, "struct field " + std::string(owner) + ".Weights of type structs.Weights", owner, "Weights", out);
}

bool has_member(const boost::json::object& o, std::string_view wanted) {
  for (const auto& m : o)
    if (go_compat::equal_ignoring_case({m.key().data(), m.key().size()}, wanted))
      return true;
  return false;
}

/// Mesh settings are stored and shown, without effect. `always`: members shown even if not given.
void decode_mesh(go_compat::json_decoder& d, const value& v, go_compat::json_field at,
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
  go_compat::append_json_value(out, v);
  out.pop_back();
  for (const auto name : always)
    if (!has_member(*object, name))
      (out += ",\"").append(name).append("\":{}");
  out += '}';
}

struct service_input : member_input {
  bool indexes = true; ///< CreateIndex and ModifyIndex are members

  template <class Field, class T>
  bool operator()(Field f, T& out) const {
    const go_compat::json_field at{owner, Field::name};
    if constexpr (std::is_same_v<T, log_index>)
      return indexes && member_input::operator()(f, out);
    else if constexpr (std::is_same_v<T, std::optional<state::service_addresses>>)
      decode_tagged_addresses(d, value, owner, out);
    else if constexpr (std::is_same_v<T, state::service_weights>)
      decode_weights(d, value, owner, out);
    else if constexpr (Field::name == "Proxy")
      decode_mesh(d, value, at, {"MeshGateway", "Expose"}, out);
    else if constexpr (Field::name == "Connect")
      decode_mesh(d, value, at, {}, out);
    else
      return member_input::operator()(f, out);
    return true;
  }
};

bool decode_service_member(const std::string& name, state::service_record& out, const service_input& input) {
  // Names in the agent's files.
  if (name == "tagged_addresses")
    return decode_member("taggedaddresses", out, input);
  if (name == "enable_tag_override")
    return decode_member("enabletagoverride", out, input);
  return decode_member(name, out, input);
}

struct check_input : member_input {
  state::check_record& check;
  bool of_transaction = false;

  template <class Field, class T>
  bool operator()(Field f, T& out) const {
    if constexpr (Field::is(state::as::json)) {
      auto definition = decode_check_definition(d, value, owner, of_transaction);
      out = std::move(definition.json);
      if (check.type.empty())
        check.type = std::move(definition.type);
      return true;
    } else
      return member_input::operator()(f, out);
  }
};

/// A known member without effect here.
bool ignore_text(go_compat::json_decoder& d, const value& v, std::string_view owner, std::string_view name) {
  std::string ignored;
  d.text(v, {owner, name}, ignored);
  return true;
}

} // namespace

response decode_failure(std::string why) {
  // docs/contract/01, section 9.
  if (why == "json: unknown field \"Namespace\"")
    why += " - Namespaces are a Consul Enterprise feature";
  return error_response(400, "Request decode failed: " + why);
}

void decode_node(go_compat::json_decoder& d, const value& v, std::string_view owner, state::node_record& out) {
  d.object(v, "struct field " + std::string(owner) + " of type api.Node",
           [&](const std::string& name, const value& each) {
             return decode_member(name, out, member_input{d, each, owner});
           });
}

bool decode_service_member(go_compat::json_decoder& d, const std::string& name, const value& each,
                           std::string_view owner, state::service_record& out) {
  return decode_service_member(name, out, {{d, each, owner}, false});
}

void bound_tags(go_compat::json_decoder& d, const state::service_record& s, std::size_t checks) {
  constexpr std::size_t tag_bytes = 32; // of its object
  std::size_t bytes = 0;
  if (s.tags)
    for (const auto& each : *s.tags)
      bytes += each.size() + tag_bytes;
  if (bytes > tag_bytes_max)
    d.fail("Service.Tags has more than " + std::to_string(tag_bytes_max) + " bytes");
  else if (bytes * checks > copied_tag_bytes_max)
    d.fail("Service.Tags has more than " + std::to_string(copied_tag_bytes_max) + " bytes in all checks");
}

void decode_service(go_compat::json_decoder& d, const value& v, std::string_view owner, state::service_record& out,
                    catalog_source source) {
  d.object(v, "struct field " + std::string(owner) + " of type structs.NodeService",
           [&](const std::string& name, const value& each) {
             if (source == catalog_source::transaction && (name == "namespace" || name == "contenthash"))
               return ignore_text(d, each, owner, name == "namespace" ? "Namespace" : "ContentHash");
             return decode_service_member(name, out, {{d, each, owner}});
           });
  // Consul's catalog shows 1 and 1 instead of weights that ValidateWeights rejects
  // (NodeService.ToServiceNode). Go's client sends 0 and 0 with each service.
  constexpr std::int64_t weight_max = 65535;
  const auto& w = out.weights;
  if (w.passing < 1 || w.warning < 0 || w.passing > weight_max || w.warning > weight_max)
    out.weights = {};
}

void decode_check(go_compat::json_decoder& d, const value& v, std::string_view owner, state::check_record& out,
                  catalog_source source) {
  const bool of_transaction = source == catalog_source::transaction;
  d.object(v, "struct field " + std::string(owner) + " of type structs.HealthCheck",
           [&](const std::string& name, const value& each) {
             if (of_transaction && name == "namespace")
               return ignore_text(d, each, owner, "Namespace");
             return decode_member(name, out, check_input{{d, each, owner}, out, of_transaction});
           });
}

} // namespace belay::http
