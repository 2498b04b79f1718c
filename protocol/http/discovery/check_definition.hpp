#pragma once
// How a check is run, as the catalog documents it (docs/contract/07): kept in the form in which it is shown.

#include "protocol/golang/json_input.hpp"

namespace belay::http {

struct check_definition {
  std::string json = "{}"; ///< members with zero values left out, durations as Go prints them
  std::string type;        ///< http, tcp, ...; empty: it runs nothing
};

/// Members of later versions are ignored.
/// @param of_transaction by the members that Consul's api package knows, which are fewer
check_definition decode_check_definition(golang::json_decoder& d, const boost::json::value& v, std::string_view owner,
                                         bool of_transaction);

} // namespace belay::http
