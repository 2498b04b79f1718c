#pragma once
// Sends requests to the router as a client would, and parses the results.

#include "protocol/http/render.hpp"
#include "protocol/http/request.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <utility>
#include <vector>

namespace belay::http {

using header_list = std::vector<std::pair<std::string_view, std::string_view>>;

inline const std::string fresh_uuid = "5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01";

/// 2020-09-13T12:26:40.062313813Z
inline constexpr std::int64_t request_time_ns = 1'600'000'000'062'313'813;

inline route_settings usual_settings() {
  route_settings s;
  s.node_name = "n1";
  return s;
}

inline parsed_request ask(std::string_view method, std::string_view target, std::string_view body = {},
                          header_list headers = {}, const route_settings& s = usual_settings()) {
  raw_request r{method, target, std::move(headers), body, "127.0.0.1", request_time_ns};
  return parse(r, s, [] { return fresh_uuid; });
}

/// The response that the router made itself.
inline response refusal_to(std::string_view method, std::string_view target, std::string_view body = {},
                           header_list headers = {}, const route_settings& s = usual_settings()) {
  auto p = ask(method, target, body, std::move(headers), s);
  INFO(method << " " << target << " " << body);
  REQUIRE(std::holds_alternative<response>(p.action));
  return std::get<response>(p.action);
}

inline read_request read_requested(std::string_view method, std::string_view target, std::string_view body = {},
                                   const route_settings& s = usual_settings()) {
  auto p = ask(method, target, body, {}, s);
  INFO(method << " " << target << " " << body);
  if (auto* r = std::get_if<response>(&p.action))
    INFO(r->status << " " << r->body);
  REQUIRE(std::holds_alternative<read_request>(p.action));
  return std::get<read_request>(p.action);
}

/// The command of a write request.
template <class Command>
Command written(std::string_view method, std::string_view target, std::string_view body = {},
                const route_settings& s = usual_settings()) {
  auto p = ask(method, target, body, {}, s);
  INFO(method << " " << target << " " << body);
  REQUIRE(std::holds_alternative<write_request>(p.action));
  const auto& c = std::get<write_request>(p.action).command;
  REQUIRE(std::holds_alternative<Command>(c));
  return std::get<Command>(c);
}

inline std::string header(const response& r, std::string_view name) {
  for (const auto& [n, v] : r.headers)
    if (n == name)
      return v;
  return "(none)";
}

} // namespace belay::http
