#pragma once
// Nodes, services and checks as clients send them, in registrations and in transactions (docs/contract/05, docs/contract/07).

#include "protocol/golang/json_input.hpp"
#include "protocol/http/request_context.hpp"

namespace belay::http {

/// `owner` names the object in error texts.
void decode_node(golang::json_decoder& d, const boost::json::value& v, std::string_view owner, state::node_record& out);
void decode_service(golang::json_decoder& d, const boost::json::value& v, std::string_view owner,
                    state::service_record& out);
/// One member by its lower-case name. @returns false: a service has no such member
bool decode_service_member(golang::json_decoder& d, const std::string& name, const boost::json::value& each,
                           std::string_view owner, state::service_record& out);
void decode_check(golang::json_decoder& d, const boost::json::value& v, std::string_view owner,
                  state::check_record& out);

/// 400 for a body that is no such object (docs/contract/01, section 9).
response decode_failure(std::string why);

/// Reads the body's JSON and hands it to `decode(json_decoder&, const boost::json::value&)`.
template <class Decode>
refused decode_body(const request_context& c, Decode decode) {
  if (auto r = refuse_namespace(c))
    return r;
  auto json = golang::read_json(c.request.body);
  if (!json)
    return decode_failure(json.error());
  golang::json_decoder d;
  decode(d, *json);
  if (!d.ok())
    return decode_failure(d.error());
  return std::nullopt;
}

} // namespace belay::http
