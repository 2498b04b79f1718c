#include "cli/output/json_text.hpp"

#include "protocol/base/renamed_names.hpp"
#include "protocol/go_compat/json_output.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>

namespace belay::cli {

namespace json = boost::json;

std::string compact(const json::value& v) {
  std::string out;
  go_compat::append_json_value(out, v);
  return out;
}

std::string pretty(const json::value& v) {
  return go_compat::prettify_json(compact(v));
}

const json::value* member(const json::value& v, std::string_view name) {
  const auto* o = v.if_object();
  if (o == nullptr)
    return nullptr;
  const auto* found = o->if_contains(name);
  const auto* row = found == nullptr ? find_new_name(name_kind::member, name) : nullptr;
  return row == nullptr ? found : o->if_contains(row->old_name);
}

std::string text_of(const json::value* v) {
  if (v == nullptr)
    return {};
  if (v->is_string())
    return std::string(v->get_string());
  if (v->is_bool())
    return v->get_bool() ? "true" : "false";
  return v->is_number() ? compact(*v) : std::string();
}

std::string member_text(const json::value& v, std::string_view name) {
  return text_of(member(v, name));
}

std::uint64_t member_number(const json::value& v, std::string_view name) {
  boost::system::error_code ec;
  const auto* m = member(v, name);
  return m != nullptr && m->is_number() ? m->to_number<std::uint64_t>(ec) : 0;
}

bool member_is_true(const json::value& v, std::string_view name) {
  const auto* m = member(v, name);
  return m != nullptr && m->is_bool() && m->get_bool();
}

const json::array& elements(const json::value* v) {
  static const json::array none;
  return v != nullptr && v->is_array() ? v->get_array() : none;
}

std::vector<std::string> pairs_of(const json::value* v) {
  std::vector<std::string> out;
  if (v != nullptr && v->is_object())
    for (const auto& one : v->get_object())
      out.push_back(std::string(one.key()) + "=" + text_of(&one.value()));
  std::sort(out.begin(), out.end());
  return out;
}

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string out;
  for (const auto& part : parts) {
    if (&part != &parts.front())
      out += between;
    out += part;
  }
  return out;
}

} // namespace belay::cli
