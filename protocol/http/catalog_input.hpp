#pragma once
// Nodes, services and checks as clients send them, in registrations and in transactions (contract 05 and 07).

#include "protocol/http/json_input.hpp"

namespace belay::http {

/// `owner` names the object in error texts.
void decode_node(json_decoder& d, const boost::json::value& v, std::string_view owner, state::node_record& out);
void decode_service(json_decoder& d, const boost::json::value& v, std::string_view owner, state::service_record& out);
void decode_check(json_decoder& d, const boost::json::value& v, std::string_view owner, state::check_record& out);

} // namespace belay::http
