#include "protocol/golang/base64.hpp"
#include "protocol/http/render_parts.hpp"

namespace belay::http {

void append_kv_entry(std::string& out, const state::kv_entry& e, bool with_value) {
  out += "{\"LockIndex\":";
  golang::append_number(out, e.lock_index);
  out += ",\"Key\":";
  golang::append_json_string(out, e.key);
  out += ",\"Flags\":";
  golang::append_number(out, e.flags);
  if (with_value && !e.value->empty()) {
    out += ",\"Value\":\"";
    golang::append_base64(out, *e.value);
    out += '"';
  } else
    out += ",\"Value\":null";
  if (!e.session.empty()) {
    out += ",\"Session\":";
    golang::append_json_string(out, e.session);
  }
  out += ",\"CreateIndex\":";
  golang::append_number(out, e.create_index);
  out += ",\"ModifyIndex\":";
  golang::append_number(out, e.modify_index);
  out += '}';
}

} // namespace belay::http
