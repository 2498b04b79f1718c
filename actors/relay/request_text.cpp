#include "actors/relay/request_text.hpp"

#include "protocol/agent/probe_request.hpp"
#include "protocol/base/ascii_case.hpp"
#include "protocol/base/check.hpp"

#include <algorithm>
#include <array>

namespace belay::actors {

namespace {

template <class Predicate>
bool all(std::string_view text, Predicate allowed) {
  return std::all_of(text.begin(), text.end(), [&](char c) { return allowed(static_cast<unsigned char>(c)); });
}

bool is_token(std::string_view text) {
  return !text.empty() && all(text, [](unsigned char c) { return agent::is_token_character(static_cast<char>(c)); });
}

bool is_value(std::string_view text) {
  return all(text, [](unsigned char c) { return (c >= 0x20 && c != 0x7f) || c == '\t'; });
}

/// Headers that written() sets.
bool frames_the_message(std::string_view name) {
  constexpr auto names = std::to_array<std::string_view>(
      {"Host", "Connection", "Content-Length", "Transfer-Encoding", "Trailer", "Upgrade", "Expect"});
  return std::any_of(names.begin(), names.end(), [&](std::string_view n) { return equal_ignoring_case(n, name); });
}

} // namespace

bool can_be_written(const relayed_request& r) {
  return is_token(r.method) && r.target.starts_with('/') &&
         all(r.target, [](unsigned char c) { return c > 0x20 && c < 0x7f; }) &&
         std::all_of(r.headers.begin(), r.headers.end(), [](const auto& header) {
           return is_token(header.first) && !frames_the_message(header.first) && is_value(header.second);
         });
}

std::string written(const relayed_request& r) {
  PRECONDITION(can_be_written(r));
  std::string out = r.method + " " + r.target + " HTTP/1.1\r\nHost: localhost\r\n";
  for (const auto& [name, value] : r.headers)
    out.append(name).append(": ").append(value).append("\r\n");
  if (r.body_follows)
    out += "Transfer-Encoding: chunked\r\n";
  else if (!r.body.empty() || r.method != "GET")
    out.append("Content-Length: ").append(std::to_string(r.body.size())).append("\r\n");
  return out.append("\r\n").append(r.body);
}

} // namespace belay::actors
