#include "actors/relay/request_for_servers.hpp"

#include "protocol/base/ascii_case.hpp"
#include "protocol/http/tokens.hpp"

#include <algorithm>
#include <array>

namespace belay::actors {

namespace {

// A stream sends a sign of life more often than that.
constexpr std::chrono::seconds stream_begins_in{20};

/// Request headers that a server's routes read. Token and framing are written from parsed values.
bool goes_to_servers(std::string_view name) {
  constexpr auto names = std::to_array<std::string_view>(
      {"Accept", "Cache-Control", "Idempotency-Key", "Last-Event-ID", "X-Consul-Namespace"});
  return std::any_of(names.begin(), names.end(), [&](std::string_view n) { return equal_ignoring_case(n, name); });
}

} // namespace

passed_on_request request_for_servers(const http::raw_request& r, const http::parsed_request& parsed,
                                      std::string_view further) {
  passed_on_request p;
  p.request.method = r.method == "HEAD" ? "GET" : std::string(r.method);
  p.request.target = parsed.target_for_servers;
  for (const auto& [name, value] : r.headers)
    if (goes_to_servers(name) || (!further.empty() && name == further))
      p.request.headers.emplace_back(name, value);
  if (!parsed.secret_for_servers.empty()) {
    p.request.secret = http::token_header(parsed.secret_for_servers);
    p.request.headers.emplace_back("X-Consul-Token", p.request.secret);
  }
  p.request.cached = parsed.cached;
  p.request.body = r.body;
  if (const auto* read = std::get_if<http::read_request>(&parsed.action); read != nullptr && read->min_index > 0)
    p.wait = read->wait + read->wait / 16;
  if (std::holds_alternative<http::change_stream>(parsed.action))
    p.wait = stream_begins_in;
  if (const auto* agent = std::get_if<http::agent_request>(&parsed.action))
    p.wait = agent::wait_of(agent->what);
  if (const auto* write = std::get_if<http::write_request>(&parsed.action)) {
    p.wait = write->lock_wait;
    p.request.waits_for_lock = p.wait.count() > 0 && std::holds_alternative<state::kv_acquire>(write->command);
  }
  p.request.waits = p.wait.count() > 0;
  return p;
}

} // namespace belay::actors
