#include "actors/gateway/requests/logged_request.hpp"

#include "protocol/base/ascii_case.hpp"
#include "protocol/base/hex.hpp"
#include "protocol/go_compat/url.hpp"
#include "protocol/http/tokens.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

/// `token`, in any case and with any of its letters as %XX.
bool names_token(std::string_view name) {
  constexpr std::string_view wanted = "token";
  std::size_t found = 0;
  for (std::size_t i = 0; i < name.size(); ++i, ++found) {
    char c = name[i];
    if (c == '%' && i + 2 < name.size() && hex_value(name[i + 1]) >= 0 && hex_value(name[i + 2]) >= 0) {
      c = static_cast<char>(hex_value(name[i + 1]) * 16 + hex_value(name[i + 2]));
      i += 2;
    }
    if (found == wanted.size() || lower_case(c) != wanted[found])
      return false;
  }
  return found == wanted.size();
}

constexpr std::string_view hidden = "<hidden>";
constexpr std::size_t secret_bytes_looked_for = 16;

std::string in_lower_case(std::string_view text) {
  std::string lower;
  for (const char c : text)
    lower += lower_case(c);
  return lower;
}

constexpr std::string_view of_agents = "/v1/agent/token/";

/// The path as received, if it has no secret. Paths of Consul's old ACLs end with a token's
/// secret, which is cut off: clients may still send them although no route serves them.
std::string without_secret(std::string_view target, std::string_view own, bool found) {
  std::string path;
  if (!go_compat::decode_path(target, path))
    path = target;
  path = go_compat::clean_path(path);
  const auto lower = in_lower_case(path);
  for (const std::string_view verb : {"create", "update", "destroy", "info", "clone", "list"}) {
    const auto before = "/v1/acl/" + std::string(verb) + "/";
    if (lower.starts_with(before) && lower.size() > before.size())
      return path.substr(0, before.size()).append(hidden);
  }
  auto shown = path;
  if (const auto named = token_named_in(path); !named.empty() && !(found && !lower.starts_with(of_agents)))
    shown.replace(static_cast<std::size_t>(named.data() - path.data()), named.size(), hidden);
  hide_secret(shown, own);
  return shown == path ? std::string(target) : shown;
}

/// A parameter as received, unless it contains `own`.
std::string without_secret(std::string_view parameter, std::string_view own) {
  std::string read;
  for (std::size_t i = 0; i < parameter.size(); ++i)
    if (parameter[i] == '%' && i + 2 < parameter.size() && hex_value(parameter[i + 1]) >= 0 &&
        hex_value(parameter[i + 2]) >= 0) {
      read += static_cast<char>(hex_value(parameter[i + 1]) * 16 + hex_value(parameter[i + 2]));
      i += 2;
    } else {
      read += parameter[i];
    }
  auto shown = read;
  hide_secret(shown, own);
  return shown == read ? std::string(parameter) : shown;
}

} // namespace

std::string_view token_named_in(std::string_view path) {
  const auto lower = in_lower_case(path);
  if (lower.starts_with(of_agents)) {
    const auto kind = path.substr(of_agents.size());
    return http::agent_token_named(kind) ? std::string_view() : kind;
  }
  for (const std::string_view before : {"/v1/acl/token/", "/v1/acl/rules/translate/"})
    if (lower.starts_with(before)) {
      const auto rest = path.substr(before.size());
      const auto accessor = rest.substr(0, rest.find('/'));
      return accessor == "self" ? std::string_view() : accessor;
    }
  return {};
}

void hide_secret(std::string& text, std::string_view secret) {
  if (secret.size() < secret_bytes_looked_for)
    return;
  for (auto at = text.find(secret); at != std::string::npos; at = text.find(secret, at + hidden.size()))
    text.replace(at, secret.size(), hidden);
}

std::string logged_request(const http::raw_request& r, std::string_view own, bool found) {
  const auto target = r.target;
  std::string shown(r.method);
  shown += ' ';
  const auto query = std::min(target.find('?'), target.size());
  shown += without_secret(target.substr(0, query), own, found);
  // Parameters also begin after each '?': the client may have meant another URL after the first.
  for (auto begin = query; begin < target.size();) {
    shown += target[begin++];
    const auto end = std::min(target.find_first_of("?&;", begin), target.size());
    const auto parameter = target.substr(begin, end - begin);
    const auto equals = parameter.find('=');
    if (equals != std::string_view::npos && names_token(parameter.substr(0, equals))) {
      shown += parameter.substr(0, equals + 1);
      shown += hidden;
      begin = std::min(target.find('&', begin), target.size()); // what follows ';' may belong to the secret
    } else {
      shown += without_secret(parameter, own);
      begin = end;
    }
  }
  return shown;
}

} // namespace belay::actors
