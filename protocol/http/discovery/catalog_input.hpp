#pragma once
// Decodes nodes, services and checks of requests (docs/contract/05, docs/contract/07).

#include "protocol/go_compat/json_input.hpp"
#include "protocol/http/request_context.hpp"

namespace belay::http {

/// Transactions follow Consul's api package, registrations its servers: their members differ.
enum class catalog_source : bool { registration, transaction };

/// `owner` names the object in error texts.
void decode_node(go_compat::json_decoder& d, const boost::json::value& v, std::string_view owner,
                 state::node_record& out);
void decode_service(go_compat::json_decoder& d, const boost::json::value& v, std::string_view owner,
                    state::service_record& out, catalog_source source = catalog_source::registration);
/// Each check of a service has a copy of its tags, so a request may bring at most this many bytes
/// of them: 32 for each tag, and its own. Differs from Consul.
inline constexpr std::size_t tag_bytes_max = 64u << 10;
/// The same for all copies in the checks of one registration.
inline constexpr std::size_t copied_tag_bytes_max = 64u << 20;
/// An error if there are more. @param checks in the same request
void bound_tags(go_compat::json_decoder& d, const state::service_record& s, std::size_t checks = 1);
/// Decodes one member by its lower-case name. @returns false: a service has no such member
bool decode_service_member(go_compat::json_decoder& d, const std::string& name, const boost::json::value& each,
                           std::string_view owner, state::service_record& out);
void decode_check(go_compat::json_decoder& d, const boost::json::value& v, std::string_view owner,
                  state::check_record& out, catalog_source source = catalog_source::registration);

/// 400 for a body that is not such an object (docs/contract/01, section 9).
response decode_failure(std::string why);

/// Parses the body as JSON and calls `decode(json_decoder&, const boost::json::value&)`.
template <class Decode>
refused decode_only_body(const request_context& c, Decode decode) {
  auto json = go_compat::read_json(c.request.body);
  if (!json)
    return decode_failure(json.error());
  go_compat::json_decoder d(c.request.body);
  decode(d, *json);
  if (!d.ok())
    return decode_failure(d.error());
  return std::nullopt;
}

/// The same, but first rejects a namespace.
template <class Decode>
refused decode_body(const request_context& c, Decode decode) {
  if (auto r = refuse_namespace(c))
    return r;
  return decode_only_body(c, std::move(decode));
}

} // namespace belay::http
