#include "protocol/http/claims/claim_render.hpp"

#include "protocol/base/renamed_names.hpp"
#include "protocol/go_compat/base64.hpp"
#include "protocol/go_compat/json_output.hpp"
#include "protocol/http/claims/page_cursor.hpp"
#include "protocol/http/request_context.hpp"

namespace belay::http {

namespace {

using go_compat::append_json_member;
using go_compat::append_json_name;
using go_compat::append_json_number_member;

void append_bool_member(std::string& out, std::string_view name, bool value) {
  append_json_name(out, name);
  go_compat::append_bool(out, value);
}

// Renamed members: responses have the new name, then the old one.
constexpr const auto& position = renamed(name_kind::member, "Position");
constexpr const auto& limit_fixed = renamed(name_kind::member, "LimitFixed");
constexpr const auto& held_ms = renamed(name_kind::member, "HeldMs");
constexpr const auto& remaining_ms = renamed(name_kind::member, "RemainingMs");
constexpr const auto& truncated = renamed(name_kind::member, "Truncated");
constexpr const auto& redacted = renamed(name_kind::member, "Redacted");
constexpr const auto& ended_ms_ago = renamed(name_kind::member, "EndedMsAgo");

void append_number_members(std::string& out, const renamed_name& names, std::uint64_t value) {
  append_json_number_member(out, names.name, value);
  append_json_number_member(out, names.old_name, value);
}

void append_bool_members(std::string& out, const renamed_name& names, bool value) {
  append_bool_member(out, names.name, value);
  append_bool_member(out, names.old_name, value);
}

/// Like values of keys: base64, empty ones as null.
void append_value_member(std::string& out, const payload& value) {
  append_json_name(out, "Value");
  if (value == nullptr || value->empty()) {
    out += "null";
    return;
  }
  out += '"';
  go_compat::append_base64(out, *value);
  out += '"';
}

template <class List, class Append>
void append_list_member(std::string& out, std::string_view name, const List& list, Append append) {
  append_json_name(out, name);
  out += '[';
  bool first = true;
  for (const auto& each : list) {
    out += first ? "{" : ",{";
    first = false;
    append(each);
    out += '}';
  }
  out += ']';
}

template <class List, class Append>
std::string list_of(const List& list, Append append) {
  std::string out = "[";
  for (const auto& each : list) {
    out += out.size() == 1 ? "{" : ",{";
    append(out, each);
    out += '}';
  }
  return out += ']';
}

std::uint64_t ms_between(cluster_time from, cluster_time to) {
  return to > from ? to.value - from.value : 0;
}

void append_resource(std::string& out, const state::resource_name& of) {
  append_json_member(out, of.space == state::claim_space::claims ? "Claim" : "Lock", of.name);
}

void append_claim(std::string& out, const state::claim_row& row, cluster_time now) {
  const auto& c = *row.claim;
  append_json_member(out, "ID", c.id);
  append_json_member(out, "Session", c.session);
  append_json_member(out, "Node", row.node);
  append_json_member(out, "Mode", name_of(c.mode));
  append_json_number_member(out, "Permits", c.permits);
  append_json_number_member(out, "Priority", c.priority);
  if (c.state == state::claim_state::waiting) {
    if (row.position != 0)
      append_number_members(out, position, row.position);
    append_json_number_member(out, "WaitingMs", ms_between(c.requested, now));
    if (!c.deadline.is_zero())
      append_json_number_member(out, "DeadlineMs", ms_between(now, c.deadline));
    return;
  }
  append_json_number_member(out, "Fence", c.fence);
  append_value_member(out, c.value);
  if (!c.granted.is_zero())
    append_number_members(out, held_ms, ms_between(c.granted, now));
}

void append_delay(std::string& out, const state::claim_ghost& g, cluster_time now) {
  if (!g.session.empty()) {
    append_json_member(out, "ID", g.id);
    append_json_member(out, "Session", g.session);
    append_json_member(out, "Mode", name_of(g.mode));
    append_json_number_member(out, "Permits", g.permits);
    append_json_number_member(out, "Fence", g.fence);
  }
  append_number_members(out, remaining_ms, ms_between(now, g.until));
}

response nothing_there() {
  response r;
  r.status = 404;
  return r;
}

response plain_bool(bool yes, const render_options& options) {
  return json_response(yes ? "true" : "false", options);
}

response session_is_over(const state::claim_end_record& end) {
  auto r = error_response(404, "session \"" + end.session + "\" ended: " + end.cause);
  r.headers.emplace_back("X-Belay-Reason", present_value(name_of(end.why)));
  return r;
}

/// The response to an acquire: `true` with its fencing token, or `false` with the reason of the
/// wait's end.
response render_acquire(const state::claim_standing& s, const render_options& options) {
  auto r = plain_bool(s.live.has_value(), options);
  if (s.live) {
    r.headers.emplace_back("X-Belay-Index", to_string(s.live->index));
    r.headers.emplace_back("X-Belay-Fence", std::to_string(s.live->fence));
  } else {
    r.headers.emplace_back("X-Belay-Reason", present_value(name_of(s.ended->why)));
  }
  return r;
}

} // namespace

response render_claims(const state::claim_view& view, const render_options& options) {
  if (!view.known && view.delays.empty())
    return nothing_there();
  std::string out = "{";
  append_json_member(out, "Kind", name_of(view.kind));
  if (view.kind == state::claim_kind::semaphore) {
    append_json_number_member(out, "Limit", view.limit);
    append_bool_members(out, limit_fixed, view.pinned);
  }
  const auto row = [&](const state::claim_row& each) { append_claim(out, each, view.now); };
  append_json_number_member(out, "HolderCount", view.holder_count);
  append_list_member(out, "Holders", view.holders, row);
  append_json_number_member(out, "QueueLength", view.queue_length);
  append_list_member(out, "Queue", view.queue, row);
  append_list_member(out, "Delays", view.delays,
                     [&](const state::claim_ghost& each) { append_delay(out, each, view.now); });
  return json_response(out += '}', options);
}

response render_claims(const state::claim_rows& page, const render_options& options) {
  auto r = json_response(list_of(page.list,
                                 [&](std::string& out, const state::claim_row& each) {
                                   append_resource(out, each.claim->of);
                                   append_json_member(out, "State", name_of(each.claim->state));
                                   append_claim(out, each, page.now);
                                 }),
                         options);
  if (!page.next.empty())
    r.headers.emplace_back("X-Belay-Next", page_cursor(page.next));
  return r;
}

response render_claims(const state::wait_graph& graph, const render_options& options) {
  std::string out = "{";
  append_list_member(out, "Edges", graph.edges, [&](const state::wait_edge& each) {
    append_json_member(out, "Session", each.session);
    append_json_member(out, "ID", each.id);
    if (each.hidden)
      append_bool_members(out, redacted, true);
    else
      append_resource(out, each.on);
    append_json_member(out, "Blocker", each.blocker);
    append_bool_member(out, "BlockerHolds", each.blocker_holds);
  });
  append_bool_members(out, truncated, graph.cut);
  return json_response(out += '}', options);
}

response render_claims(const state::guard_rows& guards, const render_options& options) {
  return json_response(list_of(guards.list,
                               [](std::string& out, const state::guard_record& each) {
                                 append_json_member(out, "Prefix", each.prefix);
                                 append_resource(out, each.by);
                                 append_json_number_member(out, "CreateIndex", each.create_index.value);
                               }),
                       options);
}

response render_claims(const state::ended_session_rows& ended, const render_options& options) {
  if (ended.list.empty())
    return nothing_there();
  const auto& s = *ended.list.front();
  std::string out = "{";
  append_json_member(out, "ID", s.id);
  append_json_member(out, "Name", s.name);
  append_json_member(out, "Node", s.node);
  append_json_member(out, "Cause", s.cause);
  append_json_number_member(out, "Index", s.index.value);
  append_number_members(out, ended_ms_ago, ms_between(s.at, ended.now));
  append_list_member(out, "Released", s.released, [&](const auto& of) { append_resource(out, of); });
  append_json_number_member(out, "ReleasedCount", s.released_count);
  append_json_number_member(out, "OnEndDone", s.on_end_done);
  append_json_number_member(out, "OnEndRefused", s.on_end_refused);
  return json_response(out += '}', options);
}

response render_claim(const state::claim_answer& a, const render_options& options, std::uint64_t ttl_ms) {
  std::string out = "{";
  append_json_member(out, "ID", a.id);
  append_json_member(out, "Session", a.session);
  append_json_member(out, "State", name_of(a.state));
  if (a.state == state::claim_state::held) {
    append_json_number_member(out, "Fence", a.fence);
  } else {
    append_number_members(out, position, a.position);
    append_list_member(out, "Ahead", a.ahead, [&](const state::claim_ahead& each) {
      append_json_member(out, "ID", each.id);
      append_json_member(out, "Session", each.session);
      append_json_member(out, "State", name_of(each.state));
    });
  }
  append_json_number_member(out, "Index", a.index.value);
  if (ttl_ms != 0)
    append_json_number_member(out, "TtlMs", ttl_ms);
  return json_response(out += '}', options);
}

response render_claim_refusal(const state::claim_refusal& no) {
  auto text = no.text;
  for (const auto& edge : no.cycle) {
    text += "\nsession " + edge.session + " waits for ";
    text += edge.hidden ? "a redacted name" : std::string(name_of(edge.on.space)) + " \"" + edge.on.name + '"';
    text += edge.blocker_holds ? ", held by session " : ", behind session ";
    text += edge.blocker;
  }
  auto r = error_response(status_of(no.why), std::move(text));
  r.headers.emplace_back("X-Belay-Reason", no.ended ? present_value(name_of(*no.ended)) : name_of(no.why));
  return r;
}

response render_wait(const state::command& requested, const state::claim_standing& s, const render_options& options,
                     std::uint64_t ttl_ms) {
  if (!s.live && s.ended == nullptr)
    return error_response(404, "the claim was granted or ended meanwhile, and is there no more");
  if (!s.live && s.ended->why == state::claim_end::session)
    return session_is_over(*s.ended);
  if (std::holds_alternative<state::kv_acquire>(requested))
    return render_acquire(s, options);
  return s.live ? render_claim(*s.live, options, ttl_ms) : render_claim_refusal(state::refuse_ended(*s.ended));
}

} // namespace belay::http
