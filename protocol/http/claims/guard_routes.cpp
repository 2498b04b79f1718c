// /v1/guard/, /v1/guards (docs/reference/claims.md).

#include "protocol/http/reading/claim_parameters.hpp"
#include "protocol/http/reading/query_options.hpp"
#include "protocol/http/routes.hpp"

namespace belay::http {

action guard_route(request_context& c) {
  if (auto r = refuse_namespace(c))
    return std::move(*r);
  if (auto r = refuse_datacenter(c))
    return std::move(*r);
  std::string prefix(c.argument);
  if (prefix.empty())
    return error_response(400, "Missing prefix");
  if (c.request.method == "DELETE") {
    std::optional<std::uint64_t> fence;
    if (auto r = read_count(c, "fence", fence))
      return std::move(*r);
    return write_request{state::guard_remove{std::move(prefix), fence.value_or(0)}};
  }
  std::optional<state::resource_name> by;
  if (auto r = read_resource(c, by))
    return std::move(*r);
  if (!by)
    return invalid_parameter("claim", "\"claim\" or \"lock\" must name the holder whose fencing token is required");
  return write_request{state::guard_set{std::move(prefix), std::move(*by)}};
}

action guards_route(request_context& c) {
  query_options o;
  if (auto r = refuse_namespace(c))
    return std::move(*r);
  if (auto r = refuse_datacenter(c))
    return std::move(*r);
  if (auto r = read_query_options(c, o))
    return std::move(*r);
  return make_read(state::guards_list{}, o);
}

} // namespace belay::http
