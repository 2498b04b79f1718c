#include "protocol/http/agent/agent_render.hpp"

#include "protocol/go_compat/base64.hpp"
#include "protocol/http/reading/filtering.hpp"
#include "protocol/http/render_parts.hpp"
#include "protocol/http/request_context.hpp"

#include <algorithm>

namespace belay::http {

namespace {

template <class List, class Append>
void append_list(std::string& out, const List& list, Append append) {
  char lead = '[';
  for (const auto& each : list) {
    out += lead;
    lead = ',';
    append(each);
  }
  if (lead == '[')
    out += '[';
  out += ']';
}

/// Renders the list as a JSON object whose names are the IDs; `{}` for an empty list.
template <class List, class Id, class Append>
std::string json_by_id(const List& list, Id id_of, Append append) {
  std::string out;
  char lead = '{';
  for (const auto& each : list) {
    out += lead;
    lead = ',';
    go_compat::append_json_string(out, id_of(*each));
    out += ':';
    append(out, *each);
  }
  if (lead == '{')
    out += '{';
  return out += '}';
}

void append_check_row(std::string& out, const state::check_record& c) {
  append_check(out, c, absent_tags::empty);
}

/// Status code that corresponds to X-Consul-Reason.
int code_of(const std::string& status) {
  return status == "passing" ? 200 : status == "warning" ? 429 : 503;
}

void append_health(std::string& out, const agent::health_of_service& h) {
  out += "{\"AggregatedStatus\":";
  go_compat::append_json_string(out, h.status);
  out += ",\"Service\":";
  append_agent_service(out, *h.service, {});
  out += ",\"Checks\":";
  append_list(out, h.checks, [&](const state::check_ptr& c) { append_agent_health_check(out, *c); });
  out += '}';
}

response health_response(int code, std::string reason, std::string json, bool text, const render_options& options) {
  response r;
  if (text) {
    r.content_type = "text/plain";
    r.body = reason;
  } else {
    r = json_response(std::move(json), options);
  }
  r.status = code;
  r.headers.emplace_back("X-Consul-Reason", std::move(reason));
  return r;
}

void append_event(std::string& out, const agent::user_event& e) {
  using namespace go_compat;
  out += '{';
  append_json_member(out, "ID", e.id);
  append_json_member(out, "Name", e.name);
  append_json_name(out, "Payload");
  if (e.payload.empty())
    out += "null";
  else {
    out += '"';
    append_base64(out, e.payload);
    out += '"';
  }
  append_json_member(out, "NodeFilter", e.node_filter);
  append_json_member(out, "ServiceFilter", e.service_filter);
  append_json_member(out, "TagFilter", e.tag_filter);
  append_json_name(out, "Version");
  append_number(out, 1);
  append_json_name(out, "LTime");
  append_number(out, e.time);
  out += '}';
}

struct writer {
  const agent_request& request;
  const render_options& options;

  response operator()(const agent::accepted&) const { return {}; }
  response operator()(const agent::refused& r) const { return error_response(r.status, r.text); }

  response operator()(const agent::service_rows& found) const {
    return json_response(json_by_id(
                             found.list, [](const auto& s) -> const std::string& { return s.id; },
                             [](std::string& out, const auto& s) { append_agent_service(out, s, {}); }),
                         options);
  }

  response operator()(const agent::check_rows& found) const {
    return json_response(
        json_by_id(
            found.list, [](const auto& c) -> const std::string& { return c.check_id; }, append_check_row),
        options);
  }

  response operator()(const agent::service_row& found) const {
    std::string out;
    append_agent_service(out, *found.service, found.hash);
    auto r = json_response(std::move(out), options);
    r.headers.emplace_back("X-Consul-ContentHash", found.hash);
    return r;
  }

  response operator()(const agent::health_rows& found) const {
    const auto& requested = std::get<agent::service_health>(request.what);
    std::string out;
    if (requested.by_id) {
      if (found.list.empty()) {
        const auto reason = "ServiceId " + requested.name + " not found";
        go_compat::append_json_string(out, reason); // JSON, although text was requested: as in Consul
        if (!request.text)
          out = "{\"AggregatedStatus\":\"critical\",\"Service\":null,\"Checks\":null}";
        return health_response(404, reason, std::move(out), false, options);
      }
      const auto& only = found.list.front();
      append_health(out, only);
      return health_response(code_of(only.status), only.status, std::move(out), request.text, options);
    }
    append_list(out, found.list, [&](const agent::health_of_service& h) { append_health(out, h); });
    if (found.list.empty())
      return health_response(404, "ServiceName " + requested.name + " Not Found", std::move(out), request.text,
                             options);
    const auto worst = std::max_element(found.list.begin(), found.list.end(), [](const auto& a, const auto& b) {
      return code_of(a.status) < code_of(b.status);
    });
    return health_response(code_of(worst->status), worst->status, std::move(out), request.text, options);
  }

  response operator()(const agent::event_fired& fired) const {
    std::string out;
    append_event(out, fired.event);
    return json_response(std::move(out), options);
  }

  response operator()(const agent::event_rows& found) const {
    std::string out;
    append_list(out, found.events.list, [&](const agent::user_event& e) { append_event(out, e); });
    auto r = json_response(std::move(out), options);
    r.headers.emplace_back("X-Consul-Index", std::to_string(found.events.index));
    return r;
  }
};

} // namespace

response render_agent(const agent_request& request, const agent::reply& reply, const render_options& options) {
  if (options.filter) {
    auto kept = reply;
    if (!leave_out(*options.filter, kept))
      return filter_too_costly(filter::agent_filter_work_max);
    return std::visit(writer{request, options}, kept);
  }
  return std::visit(writer{request, options}, reply);
}

} // namespace belay::http
