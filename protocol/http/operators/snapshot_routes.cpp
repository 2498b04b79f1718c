// /v1/snapshot (docs/contract/11).

#include "protocol/http/reading/query_options.hpp"
#include "protocol/http/render.hpp"
#include "protocol/http/routes.hpp"

namespace belay::http {

action snapshot_route(request_context& c) {
  query_options o;
  if (auto r = read_consistency(c, o))
    return std::move(*r);
  if (auto r = refuse_datacenter(c))
    return std::move(*r);
  if (c.request.method == "PUT")
    return snapshot_restore{};
  return snapshot_save{o.mode == consistency::stale};
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
