#pragma once
// Requests to a server with ACLs in force.

#include "tests/unit/protocol/http/requested.hpp"

namespace belay::http {

inline route_settings acl_settings() {
  auto s = usual_settings();
  s.acl_enabled = true;
  s.acl_allowed_by_default = false;
  return s;
}

inline const std::string some_id = "00000000-1111-2222-3333-444444444444";

/// The router's own response, shortened to `status text`.
inline std::string received(std::string_view method, std::string_view target, std::string_view body = {},
                            header_list headers = {}) {
  const auto r = refusal_to(method, target, body, std::move(headers), acl_settings());
  return std::to_string(r.status) + " " + r.body;
}

template <class Command>
Command acl_written(std::string_view method, std::string_view target, std::string_view body = {}) {
  return written<Command>(method, target, body, acl_settings());
}

template <class Query>
Query acl_requested(std::string_view target, std::string_view method = "GET", std::string_view body = {}) {
  const auto r = read_requested(method, target, body, acl_settings());
  REQUIRE(std::holds_alternative<Query>(r.query));
  return std::get<Query>(r.query);
}

} // namespace belay::http
