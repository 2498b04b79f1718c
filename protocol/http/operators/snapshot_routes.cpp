// /v1/snapshot (docs/contract/11).

#include "protocol/http/render.hpp"
#include "protocol/http/routes.hpp"

namespace belay::http {

action snapshot_route(request_context& c) {
  if (auto r = refuse_datacenter(c))
    return std::move(*r);
  const bool stale = c.query.has("stale"); // other modes have no effect here
  if (c.request.method != "PUT")
    return snapshot_save{stale};
  if (stale)
    return error_response(500, "stale not allowed for restore");
  return snapshot_restore{};
}

response render_snapshot_head(log_index index, const read_meta& meta) {
  response r;
  r.content_type = "application/x-gzip";
  r.headers.emplace_back("X-Consul-Index", to_string(index));
  r.headers.emplace_back("X-Consul-Knownleader", meta.known_leader ? "true" : "false");
  r.headers.emplace_back("X-Consul-Lastcontact", std::to_string(meta.last_contact_ms));
  return r;
}

} // namespace belay::http
