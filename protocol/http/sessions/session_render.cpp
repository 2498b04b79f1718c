#include "protocol/http/render_parts.hpp"

namespace belay::http {

namespace {

void append_service_checks(std::string& out, const std::optional<std::vector<std::string>>& ids) {
  if (!ids) {
    out += "null";
    return;
  }
  out += '[';
  for (std::size_t i = 0; i < ids->size(); ++i) {
    out += i == 0 ? "{\"ID\":" : ",{\"ID\":";
    golang::append_json_string(out, (*ids)[i]);
    out += ",\"Namespace\":\"\"}";
  }
  out += ']';
}

} // namespace

void append_session(std::string& out, const state::session_record& s) {
  out += "{\"ID\":";
  golang::append_json_string(out, s.id);
  out += ",\"Name\":";
  golang::append_json_string(out, s.name);
  out += ",\"Node\":";
  golang::append_json_string(out, s.node);
  out += ",\"LockDelay\":";
  golang::append_number(out, s.lock_delay_ns);
  out += s.behavior == state::session_behavior::remove ? ",\"Behavior\":\"delete\"" : ",\"Behavior\":\"release\"";
  out += ",\"TTL\":";
  golang::append_json_string(out, s.ttl);
  out += ",\"NodeChecks\":";
  golang::append_json_strings(out, s.node_checks);
  out += ",\"ServiceChecks\":";
  append_service_checks(out, s.service_checks);
  if (s.checks && !s.checks->empty()) {
    out += ",\"Checks\":";
    golang::append_json_strings(out, *s.checks);
  }
  out += ",\"CreateIndex\":";
  golang::append_number(out, s.create_index);
  out += ",\"ModifyIndex\":";
  golang::append_number(out, s.modify_index);
  out += '}';
}

} // namespace belay::http
