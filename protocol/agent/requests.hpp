#pragma once
// Requests of clients to the agent itself, and its replies (docs/contract/09 and 13).

#include "protocol/agent/definitions.hpp"
#include "protocol/agent/user_events.hpp"
#include "protocol/base/compiled_once.hpp"

#include <algorithm>
#include <chrono>
#include <variant>

namespace belay::agent {

// ---- requests

struct list_services {};
struct list_checks {};
/// `hash` not empty: replies when the service's hash differs, or after `wait`.
struct read_service {
  std::string id, hash;
  std::chrono::nanoseconds wait{0};
};
/// Includes node checks.
struct service_health {
  std::string name; ///< or ID
  bool by_id = false;
};
struct register_service {
  service_definition definition;
  bool replace_existing_checks = false;
};
struct deregister_service {
  std::string id;
};
struct service_maintenance {
  std::string id;
  bool enable = false;
  std::string reason;
  std::string token = {}; ///< token of the request; as check_definition::token
};
struct node_maintenance {
  bool enable = false;
  std::string reason;
  std::string token = {}; ///< token of the request; as check_definition::token
};
struct register_check {
  check_definition definition;
};
struct deregister_check {
  std::string id;
};
/// Sets the status of a TTL check.
struct update_check {
  std::string id, status, output;
};
struct fire_event {
  user_event event;
};
/// `index` > 0: replies when the list's index differs, or after `wait`.
struct list_events {
  std::string name;
  std::uint64_t index = 0;
  std::chrono::nanoseconds wait{0};
};

using request = compiled_once<std::variant<list_services, list_checks, read_service, service_health, register_service,
                                           deregister_service, service_maintenance, node_maintenance, register_check,
                                           deregister_check, update_check, fire_event, list_events>>;

/// How long the reply may wait for a change; zero: not at all.
inline std::chrono::nanoseconds wait_of(const request& r) {
  if (const auto* events = std::get_if<list_events>(&r))
    return events->wait;
  if (const auto* service = std::get_if<read_service>(&r))
    return service->wait;
  return std::chrono::nanoseconds{0};
}

/// Reduces the wait by the time that has passed.
inline void wait_less(request& r, std::chrono::nanoseconds by) {
  const auto left = std::max(wait_of(r) - by, std::chrono::nanoseconds{0});
  if (auto* events = std::get_if<list_events>(&r))
    events->wait = left;
  else if (auto* service = std::get_if<read_service>(&r))
    service->wait = left;
}

// ---- replies

/// 200 without a body.
struct accepted {};
struct refused {
  int status = 500;
  std::string text;
};
struct service_rows {
  std::vector<state::service_ptr> list;
};
struct check_rows {
  std::vector<state::check_ptr> list;
};
struct service_row {
  state::service_ptr service;
  std::string hash;
};
struct health_of_service {
  std::string status; ///< passing, warning, critical, maintenance
  state::service_ptr service;
  std::vector<state::check_ptr> checks;
};
struct health_rows {
  std::vector<health_of_service> list; ///< empty: unknown
};
struct event_rows {
  user_events::listing events;
};
struct event_fired {
  user_event event;
};

using reply =
    std::variant<accepted, refused, service_rows, check_rows, service_row, health_rows, event_rows, event_fired>;

} // namespace belay::agent
