#include "protocol/http/record_json.hpp"
#include "protocol/http/render_parts.hpp"

namespace belay::http {

namespace {

constexpr auto session_order = order_of<state::session_record>(std::to_array<moved>({{"Checks", "ServiceChecks"}}));

struct session_view : record_view {
  template <class Field, class T>
  void append(std::string& out, Field f, const T& v) const {
    if constexpr (!Field::is(state::as::id_objects))
      record_view::append(out, f, v);
    else if (!v)
      out += "null";
    else {
      out += '[';
      for (std::size_t i = 0; i < v->size(); ++i) {
        out += i == 0 ? "{\"ID\":" : ",{\"ID\":";
        go_compat::append_json_string(out, (*v)[i]);
        out += ",\"Namespace\":\"\"}";
      }
      out += ']';
    }
  }
};

} // namespace

void append_session(std::string& out, const state::session_record& s) {
  const auto begin = out.size();
  append_members<state::session_record, session_order>(out, s, session_view{});
  // Consul's sessions have neither. Not every client that may see the session may see OnEnd.
  if (s.ttl_mode != state::session_ttl_mode::lower_bound) {
    out += ",\"TTLMode\":";
    go_compat::append_json_string(out, name_of(s.ttl_mode));
  }
  if (!s.on_end.empty()) {
    out += ",\"OnEndCount\":";
    go_compat::append_number(out, s.on_end.size());
  }
  close_object(out, begin);
}

} // namespace belay::http
