#include "actors/gateway/requests/exchange.hpp"

#include "protocol/base/overloaded.hpp"

#include <algorithm>

namespace belay::actors {

void exchange::understood(http::parsed_request&& parsed, std::string_view body) {
  options = std::move(parsed.options);
  route = parsed.route;
  understood_bytes = parsed.memory;
  if (!std::holds_alternative<http::response>(parsed.action))
    by = std::move(parsed.by);
  needs = parsed.needs;
  if (parsed.cached && !parsed.for_servers)
    cached = std::make_unique<const http::cached_read>(std::move(*parsed.cached));
  std::visit(overloaded{
                 [this](http::response& known) { answer = std::move(known); },
                 [this](http::write_request& write) {
                   what = std::move(write.command);
                   if (write.lock_wait.count() > 0)
                     wait_until = began + write.lock_wait;
                 },
                 [this, body](http::snapshot_restore& restore) {
                   what = restore;
                   transfer = std::make_unique<snapshot_transfer>();
                   transfer->body = body;
                 },
                 [this](auto& other) { what = std::move(other); },
             },
             parsed.action);
}

bool exchange::blocking() const {
  if (const auto* a = std::get_if<http::agent_request>(&what)) {
    const auto* events = std::get_if<agent::list_events>(&a->what);
    const auto* service = std::get_if<agent::read_service>(&a->what);
    return (events != nullptr && events->index > 0) || (service != nullptr && !service->hash.empty());
  }
  if (const auto* l = std::get_if<http::local_request>(&what))
    return l->kind == http::local_kind::agent_monitor;
  if (std::holds_alternative<http::change_stream>(what))
    return true;
  if (const auto* p = std::get_if<passed_on_request>(&what))
    return p->wait.count() > 0;
  const auto* r = std::get_if<http::read_request>(&what);
  return (r != nullptr && r->min_index > 0) || in_delay || in_queue;
}

std::optional<std::chrono::nanoseconds> exchange::wait_for_lock(std::chrono::milliseconds delay,
                                                                monotonic_time now) const {
  if (now >= wait_until)
    return std::nullopt;
  return std::min<std::chrono::nanoseconds>(delay, wait_until - now);
}

} // namespace belay::actors
