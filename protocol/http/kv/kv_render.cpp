#include "protocol/go_compat/base64.hpp"
#include "protocol/http/record_json.hpp"
#include "protocol/http/render_parts.hpp"

namespace belay::http {

namespace {

constexpr auto entry_order =
    order_of<state::kv_entry>(std::to_array<moved>({{"Key", "LockIndex"}, {"Flags", "Key"}, {"Value", "Flags"}}));

/// Values are shown in base64, empty ones as null.
struct kv_view : record_view {
  bool with_value = true;

  template <class Field, class T>
  void append(std::string& out, Field f, const T& v) const {
    if constexpr (!std::is_same_v<T, payload_ref>)
      record_view::append(out, f, v);
    else if (with_value && !v->empty()) {
      out += '"';
      go_compat::append_base64(out, *v);
      out += '"';
    } else
      out += "null";
  }
};

} // namespace

void append_kv_entry(std::string& out, const state::kv_entry& e, bool with_value) {
  append_object<state::kv_entry, entry_order>(out, e, kv_view{{}, with_value});
}

} // namespace belay::http
