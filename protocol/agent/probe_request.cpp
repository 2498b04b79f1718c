#include "protocol/agent/probe_request.hpp"

#include <algorithm>

namespace belay::agent {

namespace {

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), is_control);
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_character);
}

std::string too_long(const std::string& what) {
  return what + " must be shorter than " + std::to_string(request_part_bytes_max) + " bytes";
}

/// The name for an error text, truncated, because a client's name may be long.
std::string shown(std::string_view name) {
  constexpr std::size_t shown_bytes_max = 64;
  return "'" + std::string(name.substr(0, shown_bytes_max)) + (name.size() > shown_bytes_max ? "..." : "") + "'";
}

} // namespace

bool is_token_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

std::optional<std::string> request_complaint_of(const check_definition& c) {
  if (c.grpc.size() >= request_part_bytes_max)
    return too_long("GRPC");
  if (has_control(c.grpc))
    return "GRPC contains a control character";
  if (c.http.empty())
    return std::nullopt;
  if (c.method.size() >= request_part_bytes_max)
    return too_long("Method");
  if (!c.method.empty() && !is_token(c.method))
    return "Method contains characters that no HTTP method has";
  if (c.http.size() >= request_part_bytes_max)
    return too_long("HTTP");
  if (has_control(c.http))
    return "HTTP contains a control character";
  std::size_t bytes = 0;
  for (const auto& [name, values] : c.header) {
    if (name.size() >= request_part_bytes_max)
      return too_long("name in Header");
    if (!is_token(name))
      return "Header contains a name with characters that no header field has";
    for (const auto& value : values) {
      if (value.size() >= request_part_bytes_max)
        return too_long("value of Header " + shown(name));
      if (std::any_of(value.begin(), value.end(), [](char each) { return is_control(each) && each != '\t'; }))
        return "value of Header " + shown(name) + " contains a control character";
      bytes += name.size() + value.size();
    }
  }
  if (bytes > request_header_bytes_max)
    return "Header must not be larger than " + std::to_string(request_header_bytes_max) + " bytes";
  return std::nullopt;
}

} // namespace belay::agent
