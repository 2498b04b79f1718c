#include "actors/gateway/requests/logged_request.hpp"

#include "protocol/base/ascii_case.hpp"
#include "protocol/base/hex.hpp"
#include "protocol/golang/url.hpp"

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

/// The path as it came; of paths that end with a token's secret, what stands before it. Such paths are those of Consul's old ACLs: that
/// nobody answers there any more keeps no client from asking.
std::string without_secret(std::string_view target) {
  std::string path;
  if (!golang::decode_path(target, path))
    path = target;
  path = golang::clean_path(path);
  std::string lower;
  for (const char c : path)
    lower += lower_case(c);
  for (const std::string_view verb : {"create", "update", "destroy", "info", "clone", "list"}) {
    const auto before = "/v1/acl/" + std::string(verb) + "/";
    if (lower.starts_with(before) && lower.size() > before.size())
      return path.substr(0, before.size()) + "<hidden>";
  }
  return std::string(target);
}

} // namespace

std::string logged_request(const http::raw_request& r) {
  const auto target = r.target;
  std::string shown(r.method);
  shown += ' ';
  const auto query = std::min(target.find('?'), target.size());
  shown += without_secret(target.substr(0, query));
  // Parameters begin behind each '?' too: who wrote it may have meant another address behind the first.
  for (auto begin = query; begin < target.size();) {
    shown += target[begin++];
    const auto end = std::min(target.find_first_of("?&;", begin), target.size());
    const auto parameter = target.substr(begin, end - begin);
    const auto equals = parameter.find('=');
    if (equals != std::string_view::npos && names_token(parameter.substr(0, equals))) {
      shown += parameter.substr(0, equals + 1);
      shown += "<hidden>";
      begin = std::min(target.find('&', begin), target.size()); // what is behind ';' may belong to the secret
    } else {
      shown += parameter;
      begin = end;
    }
  }
  return shown;
}

} // namespace belay::actors
