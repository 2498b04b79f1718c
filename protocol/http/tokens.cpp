#include "protocol/http/tokens.hpp"

#include "protocol/go_compat/syntax.hpp"

#include <algorithm>
#include <array>

namespace belay::http {

namespace {

/// No header or configuration file can contain it.
constexpr std::string_view nobodys_secret{"\0", 1};
/// The same in a header, which cannot have a zero byte. No token has spaces, not even in 0.2.0.
constexpr std::string_view nobodys_header = "not a token";

/// The first word after the scheme; empty: another scheme, or none.
std::string_view bearer(std::string_view authorization) {
  const auto space = authorization.find(' ');
  if (space == std::string_view::npos || !go_compat::equal_ignoring_case(authorization.substr(0, space), "Bearer"))
    return {};
  const auto begin = authorization.find_first_not_of(" \t", space);
  if (begin == std::string_view::npos)
    return {};
  const auto word = authorization.substr(begin);
  return word.substr(0, word.find_first_of(" \t"));
}

struct agent_token_name {
  std::string_view name;
  agent_token_kind kind;
};
// In the order of their kinds; the latter half is their names before Consul 1.4.3.
constexpr auto agent_token_names = std::to_array<agent_token_name>({
    {"default", agent_token_kind::of_requests},
    {"agent", agent_token_kind::agent},
    {"agent_master", agent_token_kind::agent_master},
    {"replication", agent_token_kind::replication},
    {"acl_token", agent_token_kind::of_requests},
    {"acl_agent_token", agent_token_kind::agent},
    {"acl_agent_master_token", agent_token_kind::agent_master},
    {"acl_replication_token", agent_token_kind::replication},
});

std::string_view response_token(const request_context& c) {
  if (const auto token = c.query.get("token"); !token.empty())
    return token;
  return c.consul_token.empty() ? bearer(c.authorization) : c.consul_token;
}

} // namespace

std::optional<agent_token_kind> agent_token_named(std::string_view name) {
  const auto found = std::find_if(agent_token_names.begin(), agent_token_names.end(),
                                  [&](const agent_token_name& n) { return n.name == name; });
  return found == agent_token_names.end() ? std::nullopt : std::optional(found->kind);
}

std::string_view name_of(agent_token_kind kind) {
  return kind == agent_token_kind::unknown ? "" : agent_token_names[static_cast<std::size_t>(kind)].name;
}

bool could_be_token(std::string_view text) {
  const auto printable = [](char c) { return c > ' ' && c < '\x7f'; };
  return !text.empty() && text.size() <= token_bytes_max && std::all_of(text.begin(), text.end(), printable);
}

std::string_view token_header(std::string_view secret) {
  return could_be_token(secret) ? secret : nobodys_header;
}

std::string_view token_of(const request_context& c) {
  if (const auto token = response_token(c); !token.empty())
    return token;
  return c.request.passed_on_by != nullptr ? std::string_view() : c.settings.default_token;
}

std::string_view brought_token(const request_context& c) {
  const auto token = response_token(c);
  return could_be_token(token) ? token : std::string_view();
}

state::auth_context auth_context_of(const request_context& c) {
  auto token = token_of(c);
  if (token.empty())
    token = state::anonymous_secret;
  else if (!could_be_token(token))
    token = nobodys_secret;
  return {std::string(token), c.settings.acl_allowed_by_default, c.settings.datacenter};
}

void attach_auth_context(action& a, const state::auth_context& by, bool lists_need_permission) {
  if (auto* read = std::get_if<read_request>(&a)) {
    read->query.by = by;
    read->query.lists_need_permission = lists_need_permission;
  } else if (auto* stream = std::get_if<change_stream>(&a)) {
    stream->query.by = by;
    stream->query.lists_need_permission = lists_need_permission;
  } else if (auto* write = std::get_if<write_request>(&a)) {
    write->command.by = by;
    write->command.lists_need_permission = lists_need_permission;
  }
}

} // namespace belay::http
