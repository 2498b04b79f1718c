#include "actors/gateway/http_reader.hpp"
#include "actors/relay/request_for_servers.hpp"
#include "actors/relay/request_text.hpp"
#include "protocol/http/request.hpp"
#include "protocol/wire/command_codec.hpp"
#include "tests/fuzz/property.hpp"
#include "tests/fuzz/subjects.hpp"

#include <algorithm>

namespace belay::fuzz {

namespace {

using actors::http_reader;
using outcome = http_reader::outcome;

const http::client_agent passing_agent{"agent", "5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a02", "10.0.0.1"};

http::route_settings settings_of_relay(bool of_agent) {
  http::route_settings made;
  made.node_name = of_agent ? "agent" : "n1";
  made.acl_enabled = true;
  made.client_agent = of_agent;
  return made;
}
const http::route_settings& agent_settings() {
  static const auto s = settings_of_relay(true);
  return s;
}
const http::route_settings& server_settings() {
  static const auto s = settings_of_relay(false);
  return s;
}

const actors::http_reader_rules& relay_rules() {
  static const actors::http_reader_rules r = [] {
    actors::http_reader_rules all;
    all.header_bytes_max = 16 * http_header_max; // a target that is encoded again may be three times as long
    all.body_limit = [](std::string_view, std::string_view) { return http::body_limit{16 * http_body_max}; };
    return all;
  }();
  return r;
}

http::parsed_request parsed_at(const http::raw_request& r, const http::route_settings& s) {
  return http::parse(r, s, [] { return std::string("5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01"); });
}

bool is_known_header(std::string_view name) {
  constexpr auto names =
      std::to_array<std::string_view>({"Host", "Content-Length", "Accept", "Cache-Control", "Idempotency-Key",
                                       "Last-Event-ID", "X-Consul-Namespace", "X-Consul-Token"});
  return std::any_of(names.begin(), names.end(), [&](std::string_view n) {
    return n.size() == name.size() &&
           std::equal(n.begin(), n.end(), name.begin(), [](char a, char b) { return (a | 0x20) == (b | 0x20); });
  });
}

void check_same_meaning(const http::parsed_request& wanted, const http::parsed_request& got) {
  HOLDS(wanted.route == got.route);
  HOLDS(wanted.action.index() == got.action.index());
  HOLDS(wanted.by.has_value() == got.by.has_value());
  HOLDS(!wanted.by || wanted.by->secret == got.by->secret);
  if (const auto* write = std::get_if<http::write_request>(&wanted.action))
    HOLDS(wire::encode_command(write->command) ==
          wire::encode_command(std::get<http::write_request>(got.action).command));
  if (const auto* read = std::get_if<http::read_request>(&wanted.action)) {
    const auto& other = std::get<http::read_request>(got.action);
    HOLDS(read->query.index() == other.query.index());
    HOLDS(read->min_index == other.min_index);
    HOLDS(read->mode == other.mode);
    HOLDS(read->wait == other.wait);
  }
}

void check_passed_on(http::raw_request r, passed_on_findings& f) {
  const auto at_agent = parsed_at(r, agent_settings());
  if (!at_agent.for_servers)
    return;
  const auto p = actors::request_for_servers(r, at_agent);
  if (!actors::can_be_written(p.request)) {
    ++f.refused;
    return;
  }
  ++f.passed_on;
  const auto text = actors::written(p.request);
  http_reader reader(relay_rules());
  std::size_t used = 0;
  HOLDS(reader.read(text, used) == outcome::complete);
  HOLDS(used == text.size());
  auto got = reader.request();
  for (const auto& header : got.headers)
    HOLDS(is_known_header(header.first));
  HOLDS(got.method == (r.method == "HEAD" ? "GET" : r.method));
  HOLDS(got.body == r.body);
  // The agent has decided what only it can: from which address and by which name it was called.
  got.passed_on_by = r.passed_on_by = &passing_agent;
  got.remote_address = r.remote_address;
  r.method = got.method;
  check_same_meaning(parsed_at(r, server_settings()), parsed_at(got, server_settings()));
}

} // namespace

passed_on_findings fuzz_passed_on(std::string_view bytes) {
  passed_on_findings f;
  http_reader reader(relay_rules());
  auto left = bytes;
  for (std::size_t used = 0; reader.read(left, used) == outcome::complete; left.remove_prefix(used)) {
    auto r = reader.request();
    r.remote_address = "127.0.0.1";
    check_passed_on(r, f);
    reader.reset();
  }
  if (http::raw_request r; parse_written_down(bytes, r))
    check_passed_on(r, f);
  return f;
}

} // namespace belay::fuzz
