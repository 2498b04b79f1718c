#include "actors/audit/audit_event.hpp"

#include "protocol/base/uuid.hpp"
#include "protocol/go_compat/json_output.hpp"
#include "protocol/go_compat/timestamp.hpp"

#include <array>

namespace belay::actors {

namespace {

std::string_view name_of(audit_outcome o) {
  constexpr std::array<std::string_view, 4> names = {"done", "refused", "denied", "unknown"};
  static_assert(names.size() == static_cast<std::size_t>(audit_outcome::unknown) + 1);
  return names[static_cast<std::size_t>(o)];
}

std::string time_text(std::int64_t ns) {
  return go_compat::format_timestamp(go_compat::timestamp::of(ns));
}

void append_cut(std::string& out, std::string_view name, std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max)
    return go_compat::append_json_member(out, name, text);
  while (bytes_max > 0 && (static_cast<unsigned char>(text[bytes_max]) & 0xC0) == 0x80) // not within a character
    --bytes_max;
  go_compat::append_json_member(out, name, std::string(text.substr(0, bytes_max)) + "...");
}

void append_target(std::string& out, const audit_target& t) {
  out += '{';
  go_compat::append_json_member(out, "verb", t.verb);
  go_compat::append_json_member(out, "kind", t.kind);
  if (!t.name.empty())
    append_cut(out, "name", t.name, audit_path_bytes_max);
  if (!t.id.empty())
    append_cut(out, "id", t.id, audit_path_bytes_max);
  out += '}';
}

void append_ours(std::string& out, const audit_event& e) {
  go_compat::append_json_name(out, "belay");
  out += '{';
  go_compat::append_json_member(out, "route", e.route);
  go_compat::append_json_member(out, "outcome", name_of(e.outcome));
  if (!e.index.is_zero()) {
    go_compat::append_json_name(out, "index");
    go_compat::append_number(out, e.index);
  }
  if (!e.targets.empty()) {
    go_compat::append_json_name(out, "targets");
    out += '[';
    for (const auto& t : e.targets) {
      if (&t != &e.targets.front())
        out += ',';
      append_target(out, t);
    }
    out += ']';
  }
  if (e.more_targets > 0) {
    go_compat::append_json_name(out, "more_targets");
    go_compat::append_number(out, e.more_targets);
  }
  out += '}';
}

void append_head(std::string& out, std::int64_t created_ns, std::string_view id, std::string_view type) {
  out += '{';
  go_compat::append_json_member(out, "created_at", time_text(created_ns));
  go_compat::append_json_member(out, "event_type", "audit");
  go_compat::append_json_name(out, "payload");
  out += '{';
  go_compat::append_json_member(out, "id", id);
  go_compat::append_json_member(out, "version", "1");
  go_compat::append_json_member(out, "type", type);
}

} // namespace

std::string audit_line(const audit_event& e) {
  std::string out;
  append_head(out, e.completed_ns, e.id, "HTTPEvent");
  go_compat::append_json_member(out, "timestamp", time_text(e.began_ns));
  go_compat::append_json_name(out, "auth");
  out += '{';
  go_compat::append_json_member(out, "accessor_id", e.accessor);
  append_cut(out, "description", e.description, audit_text_bytes_max);
  if (e.token_created_ns != 0)
    go_compat::append_json_member(out, "create_time", time_text(e.token_created_ns));
  out += '}';
  go_compat::append_json_name(out, "request");
  out += '{';
  append_cut(out, "operation", e.method, audit_text_bytes_max);
  append_cut(out, "endpoint", e.endpoint, audit_path_bytes_max);
  go_compat::append_json_member(out, "remote_addr", e.remote_address);
  append_cut(out, "user_agent", e.user_agent, audit_text_bytes_max);
  append_cut(out, "host", e.host, audit_text_bytes_max);
  out += '}';
  if (e.status != 0) {
    go_compat::append_json_name(out, "response");
    out += '{';
    go_compat::append_json_member(out, "status", std::to_string(e.status));
    if (!e.error.empty())
      append_cut(out, "error", e.error, audit_text_bytes_max);
    out += '}';
  }
  go_compat::append_json_member(out, "stage", "OperationComplete");
  append_ours(out, e);
  out += "}}\n";
  return out;
}

std::string audit_gap_line(std::string_view id, std::int64_t now_ns, std::uint64_t lost) {
  std::string out;
  append_head(out, now_ns, id, "LostEvents");
  go_compat::append_json_member(out, "timestamp", time_text(now_ns));
  go_compat::append_json_name(out, "belay");
  out += "{\"lost\":";
  go_compat::append_number(out, lost);
  out += "}}}\n";
  return out;
}

void hide_secret(audit_event& e, std::string_view secret) {
  for (auto* text : {&e.method, &e.endpoint, &e.user_agent, &e.host, &e.error})
    hide_secret(*text, secret);
  for (auto& t : e.targets) {
    hide_secret(t.name, secret);
    hide_secret(t.id, secret);
  }
}

void hide_uuids(std::string& text) {
  constexpr std::string_view instead = "<hidden>";
  for (std::size_t at = 0; at + uuid_characters <= text.size(); ++at)
    if (is_uuid(std::string_view(text).substr(at, uuid_characters))) {
      text.replace(at, uuid_characters, instead);
      at += instead.size() - 1;
    }
}

} // namespace belay::actors
