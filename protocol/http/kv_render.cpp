#include "protocol/http/base64.hpp"
#include "protocol/http/render_parts.hpp"

namespace belay::http {

void append_kv_entry(std::string& out, const state::kv_entry& e, bool with_value) {
  out += "{\"LockIndex\":";
  append_number(out, e.lock_index);
  out += ",\"Key\":";
  append_json_string(out, e.key);
  out += ",\"Flags\":";
  append_number(out, e.flags);
  if (with_value && !e.value->empty()) {
    out += ",\"Value\":\"";
    append_base64(out, *e.value);
    out += '"';
  } else
    out += ",\"Value\":null";
  if (!e.session.empty()) {
    out += ",\"Session\":";
    append_json_string(out, e.session);
  }
  out += ",\"CreateIndex\":";
  append_number(out, e.create_index);
  out += ",\"ModifyIndex\":";
  append_number(out, e.modify_index);
  out += '}';
}

} // namespace belay::http
