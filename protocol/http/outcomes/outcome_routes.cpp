// /v1/outcome/ (docs/reference/exactly-once.md).

#include "protocol/http/reading/query_options.hpp"
#include "protocol/http/routes.hpp"

namespace belay::http {

action outcome_route(request_context& c) {
  if (auto r = refuse_namespace(c))
    return std::move(*r);
  if (auto r = refuse_datacenter(c))
    return std::move(*r);
  if (!state::is_once_key(c.argument))
    return error_response(400, "Missing or invalid idempotency key");
  if (c.request.method == "DELETE")
    return write_request{state::outcome_seal{std::string(c.argument), {}}};
  read_request read{{state::outcome_read{std::string(c.argument)}}};
  read.mode = consistency::consistent; // in any case: a server that is behind would report unknown
  return read;
}

} // namespace belay::http
