#include "protocol/http/render_parts.hpp"

namespace belay::http {

namespace {

void append_member(std::string& out, std::string_view lead, std::string_view text) {
  out += lead;
  golang::append_json_string(out, text);
}

void append_indexes(std::string& out, log_index create, log_index modify) {
  out += ",\"CreateIndex\":";
  golang::append_number(out, create);
  out += ",\"ModifyIndex\":";
  golang::append_number(out, modify);
  out += '}';
}

void append_tags(std::string& out, const std::optional<std::vector<std::string>>& tags, absent_tags absent) {
  if (tags || absent == absent_tags::null)
    golang::append_json_strings(out, tags);
  else
    out += "[]";
}

void append_tagged_addresses(std::string& out, const std::map<std::string, state::service_address>& addresses) {
  char lead = '{';
  for (const auto& [name, a] : addresses) {
    out += lead;
    lead = ',';
    golang::append_json_string(out, name);
    append_member(out, ":{\"Address\":", a.address);
    out += ",\"Port\":";
    golang::append_number(out, a.port);
    out += '}';
  }
  out += '}';
}

void append_weights(std::string& out, const state::service_record& s) {
  out += "{\"Passing\":";
  golang::append_number(out, s.weight_passing);
  out += ",\"Warning\":";
  golang::append_number(out, s.weight_warning);
  out += '}';
}

void append_proxy(std::string& out, const state::service_record& s) {
  out += s.proxy_json.empty() ? "{\"MeshGateway\":{},\"Expose\":{}}" : s.proxy_json;
}

void append_connect(std::string& out, const state::service_record& s) {
  out += s.connect_json.empty() ? "{}" : s.connect_json;
}

/// What both forms of a service begin with.
void begin_service(std::string& out, const state::service_record& s, absent_tags tags) {
  out += '{';
  if (!s.kind.empty()) {
    append_member(out, "\"Kind\":", s.kind);
    out += ',';
  }
  append_member(out, "\"ID\":", s.id);
  append_member(out, ",\"Service\":", s.service);
  out += ",\"Tags\":";
  append_tags(out, s.tags, tags);
}

void append_any_tagged_addresses(std::string& out, const state::service_record& s) {
  if (s.tagged_addresses && !s.tagged_addresses->empty()) {
    out += ",\"TaggedAddresses\":";
    append_tagged_addresses(out, *s.tagged_addresses);
  }
}

void append_weights_and_override(std::string& out, const state::service_record& s) {
  out += ",\"Weights\":";
  append_weights(out, s);
  out += ",\"EnableTagOverride\":";
  golang::append_bool(out, s.enable_tag_override);
}

} // namespace

void append_node(std::string& out, const state::node_record& n) {
  append_member(out, "{\"ID\":", n.id);
  append_member(out, ",\"Node\":", n.node);
  append_member(out, ",\"Address\":", n.address);
  append_member(out, ",\"Datacenter\":", n.datacenter);
  out += ",\"TaggedAddresses\":";
  golang::append_json_map(out, n.tagged_addresses);
  out += ",\"Meta\":";
  golang::append_json_map(out, n.meta);
  append_indexes(out, n.create_index, n.modify_index);
}

void append_service(std::string& out, const state::service_record& s, absent_tags tags) {
  begin_service(out, s, tags);
  append_member(out, ",\"Address\":", s.address);
  append_any_tagged_addresses(out, s);
  out += ",\"Meta\":";
  golang::append_json_map(out, s.meta);
  out += ",\"Port\":";
  golang::append_number(out, s.port);
  append_weights_and_override(out, s);
  out += ",\"Proxy\":";
  append_proxy(out, s);
  out += ",\"Connect\":";
  append_connect(out, s);
  append_indexes(out, s.create_index, s.modify_index);
}

void append_agent_service(std::string& out, const state::service_record& s, std::string_view hash) {
  begin_service(out, s, absent_tags::empty);
  out += ",\"Meta\":";
  golang::append_json_map(out, s.meta ? s.meta : std::optional<state::string_map>(std::in_place));
  out += ",\"Port\":";
  golang::append_number(out, s.port);
  append_member(out, ",\"Address\":", s.address);
  append_any_tagged_addresses(out, s);
  append_weights_and_override(out, s);
  if (!hash.empty())
    append_member(out, ",\"ContentHash\":", hash);
  if (!s.proxy_json.empty())
    (out += ",\"Proxy\":") += s.proxy_json;
  if (!s.connect_json.empty())
    (out += ",\"Connect\":") += s.connect_json;
  out += '}';
}

void append_service_node(std::string& out, const state::node_record& n, const state::service_record& s) {
  append_member(out, "{\"ID\":", n.id);
  append_member(out, ",\"Node\":", n.node);
  append_member(out, ",\"Address\":", n.address);
  append_member(out, ",\"Datacenter\":", n.datacenter);
  out += ",\"TaggedAddresses\":";
  golang::append_json_map(out, n.tagged_addresses);
  out += ",\"NodeMeta\":";
  golang::append_json_map(out, n.meta);
  append_member(out, ",\"ServiceKind\":", s.kind);
  append_member(out, ",\"ServiceID\":", s.id);
  append_member(out, ",\"ServiceName\":", s.service);
  out += ",\"ServiceTags\":";
  append_tags(out, s.tags, absent_tags::empty);
  append_member(out, ",\"ServiceAddress\":", s.address);
  if (s.tagged_addresses && !s.tagged_addresses->empty()) {
    out += ",\"ServiceTaggedAddresses\":";
    append_tagged_addresses(out, *s.tagged_addresses);
  }
  out += ",\"ServiceWeights\":";
  append_weights(out, s);
  out += ",\"ServiceMeta\":";
  golang::append_json_map(out, s.meta ? s.meta : std::optional<state::string_map>(std::in_place));
  out += ",\"ServicePort\":";
  golang::append_number(out, s.port);
  out += ",\"ServiceEnableTagOverride\":";
  golang::append_bool(out, s.enable_tag_override);
  out += ",\"ServiceProxy\":";
  append_proxy(out, s);
  out += ",\"ServiceConnect\":";
  append_connect(out, s);
  append_indexes(out, s.create_index, s.modify_index);
}

void append_check(std::string& out, const state::check_record& c, absent_tags tags) {
  append_member(out, "{\"Node\":", c.node);
  append_member(out, ",\"CheckID\":", c.check_id);
  append_member(out, ",\"Name\":", c.name);
  append_member(out, ",\"Status\":", c.status);
  append_member(out, ",\"Notes\":", c.notes);
  append_member(out, ",\"Output\":", c.output);
  append_member(out, ",\"ServiceID\":", c.service_id);
  append_member(out, ",\"ServiceName\":", c.service_name);
  out += ",\"ServiceTags\":";
  append_tags(out, c.service_tags, tags);
  append_member(out, ",\"Type\":", c.type);
  out += ",\"Definition\":";
  out += c.definition_json.empty() ? "{}" : c.definition_json;
  append_indexes(out, c.create_index, c.modify_index);
}

} // namespace belay::http
