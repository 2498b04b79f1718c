#pragma once
// Network coordinates as Consul's clients send and read them (docs/contract/17).

#include "protocol/coordinates/table.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace belay::http {

/// `{"Vec":[...],"Error":...,"Adjustment":...,"Height":...}`. @pre valid
void append_coordinate(std::string& out, const coordinates::coordinate& c);
/// `{"Node":...,"Segment":...,"Coord":{...}}`
void append_coordinate_row(std::string& out, const coordinates::row& r);
/// GET /v1/coordinate/datacenters: the servers of the only datacenter.
std::string coordinates_of_datacenters(std::string_view datacenter, const std::vector<coordinates::row>& servers);

} // namespace belay::http
