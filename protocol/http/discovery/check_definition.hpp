#pragma once
// The definition of a check in the catalog (docs/contract/07), stored in the form that is shown.

#include "protocol/go_compat/json_input.hpp"

namespace belay::http {

struct check_definition {
  std::string json = "{}"; ///< without zero values; durations as Go prints them
  std::string type;        ///< http, tcp, ...; empty: none is run
};

/// Ignores members of later versions.
/// @param of_transaction accept only the members of Consul's api package, which are fewer
check_definition decode_check_definition(go_compat::json_decoder& d, const boost::json::value& v,
                                         std::string_view owner, bool of_transaction);

} // namespace belay::http
