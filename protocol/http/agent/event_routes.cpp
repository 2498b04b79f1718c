// /v1/event/ (docs/contract/13).

#include "protocol/agent/user_events.hpp"
#include "protocol/go_compat/syntax.hpp"
#include "protocol/http/routes.hpp"

namespace belay::http {

action event_fire_route(request_context& c) {
  if (c.argument.empty())
    return error_response(400, "Missing name");
  agent::user_event e;
  e.node_filter = c.query.get("node");
  e.service_filter = c.query.get("service");
  e.tag_filter = c.query.get("tag");
  if (auto why = agent::complaint_of(e)) // errors of the filters come before that of the datacenter
    return error_response(500, *why);
  if (auto no = refuse_datacenter(c))
    return std::move(*no);
  e.id = c.uuid();
  e.name = c.argument;
  e.payload = c.request.body;
  return agent_request{agent::fire_event{std::move(e)}};
}

action event_list_route(request_context& c) {
  agent::list_events r{std::string(c.query.get("name")), 0, {}};
  if (auto no = read_wait(c, r.wait))
    return std::move(*no);
  if (const auto text = c.query.get("index"); !text.empty()) {
    const auto index = go_compat::parse_uint(text);
    if (!index)
      return error_response(400, "Invalid index");
    r.index = *index;
  }
  return agent_request{std::move(r)};
}

} // namespace belay::http
