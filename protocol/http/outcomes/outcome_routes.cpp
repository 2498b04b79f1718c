// /v1/outcome/ (docs/reference/exactly-once.md).

#include "protocol/base/renamed_names.hpp"
#include "protocol/http/reading/query_options.hpp"
#include "protocol/http/routes.hpp"

namespace belay::http {

namespace {

constexpr std::string_view cancel = "/cancel";

} // namespace

action outcome_route(request_context& c) {
  if (auto r = refuse_namespace(c))
    return std::move(*r);
  if (auto r = refuse_datacenter(c))
    return std::move(*r);
  auto key = c.argument;
  if (c.request.method == "PUT") {
    if (!key.ends_with(cancel))
      return error_response(400, "Missing action: PUT /v1/outcome/KEY/cancel cancels the write with that key");
    key.remove_suffix(cancel.size());
  }
  if (!state::is_once_key(key))
    return error_response(400, "Missing or invalid idempotency key");
  if (c.request.method == "DELETE") {
    c.old_name = &renamed(name_kind::route, "PUT /v1/outcome/KEY/cancel");
    c.options.old_values = true;
  }
  if (c.request.method != "GET")
    return write_request{state::outcome_seal{std::string(key), {}}};
  read_request read{{state::outcome_read{std::string(key)}}};
  read.mode = consistency::consistent; // in any case: a server that is behind would report unknown
  return read;
}

} // namespace belay::http
