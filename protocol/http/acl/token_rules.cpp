#include "protocol/http/acl/token_rules.hpp"

#include "protocol/go_compat/json_input.hpp"
#include "protocol/go_compat/json_output.hpp"

#include <array>

namespace belay::http {

namespace {

// {"AccessorID":"...","Rules":[{"Named":[["key","prefix","a/","write"],...],"ACL":"read","Keyring":"...","Operator":"..."},...]}

constexpr std::array<std::string_view, acl::resource_count> resources{"agent",   "key",   "node", "service",
                                                                      "session", "event", "query"};
constexpr std::array<std::string_view, 2> match_names{"exact", "prefix"};
constexpr std::array<std::string_view, 4> permissions{"deny", "read", "list", "write"};

template <std::size_t N, class Enum>
std::string_view name_in(const std::array<std::string_view, N>& names, Enum v) {
  return names.at(static_cast<std::size_t>(v));
}

/// @returns false: it is none of the names
template <class Enum, std::size_t N>
bool take(const std::array<std::string_view, N>& names, const boost::json::value& v, Enum& out) {
  const auto* text = v.if_string();
  for (std::size_t i = 0; text != nullptr && i < N; ++i)
    if (names[i] == std::string_view(*text)) {
      out = static_cast<Enum>(i);
      return true;
    }
  return false;
}

bool take(const boost::json::object& from, std::string_view name, std::optional<acl::permission>& out) {
  const auto* v = from.if_contains(name);
  return v == nullptr || take(permissions, *v, out.emplace());
}

bool take_rule(const boost::json::value& v, acl::rule& out) {
  const auto* a = v.if_array();
  if (a == nullptr || a->size() != 4 || !(*a)[2].is_string())
    return false;
  out.name = (*a)[2].get_string();
  return take(resources, (*a)[0], out.on) && take(match_names, (*a)[1], out.by) &&
         take(permissions, (*a)[3], out.policy);
}

bool take_rules(const boost::json::value& v, acl::rules& out) {
  const auto* o = v.if_object();
  const auto* named = o != nullptr ? o->if_contains("Named") : nullptr;
  if (named == nullptr || !named->is_array())
    return false;
  for (const auto& each : named->get_array())
    if (!take_rule(each, out.named.emplace_back()))
      return false;
  return take(*o, "ACL", out.on_acl) && take(*o, "Keyring", out.on_keyring) && take(*o, "Operator", out.on_operator);
}

void append(std::string& out, std::string_view name, const std::optional<acl::permission>& p) {
  if (p)
    go_compat::append_json_member(out, name, name_in(permissions, *p));
}

} // namespace

std::string json_of(const token_rules& r) {
  std::string out = "{";
  go_compat::append_json_member(out, "AccessorID", r.accessor);
  out += ",\"Rules\":[";
  for (const auto& each : r.rules) {
    out += &each == &r.rules.front() ? "{\"Named\":[" : ",{\"Named\":[";
    for (const auto& rule : each.named) {
      if (&rule != &each.named.front())
        out += ',';
      out.append("[\"").append(name_in(resources, rule.on)).append("\",\"").append(name_in(match_names, rule.by));
      out += "\",";
      go_compat::append_json_string(out, rule.name);
      out.append(",\"").append(name_in(permissions, rule.policy)).append("\"]");
    }
    out += ']';
    append(out, "ACL", each.on_acl);
    append(out, "Keyring", each.on_keyring);
    append(out, "Operator", each.on_operator);
    out += '}';
  }
  return out += "]}";
}

std::optional<token_rules> read_token_rules(std::string_view json) {
  const auto found = go_compat::read_json(json, go_compat::server_json);
  const auto* o = found ? found->if_object() : nullptr;
  const auto* accessor = o != nullptr ? o->if_contains("AccessorID") : nullptr;
  const auto* rules = o != nullptr ? o->if_contains("Rules") : nullptr;
  if (accessor == nullptr || rules == nullptr || !accessor->is_string() || !rules->is_array())
    return std::nullopt;
  token_rules out;
  out.accessor = accessor->get_string();
  for (const auto& each : rules->get_array())
    if (!take_rules(each, out.rules.emplace_back()))
      return std::nullopt;
  return out;
}

} // namespace belay::http
