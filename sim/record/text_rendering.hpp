#pragma once
// Describes requests and responses in one line of text for the trace, and times for checkers.

#include "sim/record/history.hpp"

#include <string>

namespace belay::sim {

std::string rendered(const state::command& c);
std::string rendered(const http::read_request& r);
std::string rendered(const operation& o);
/// "1.500000 s"
std::string in_seconds(virtual_time t);

} // namespace belay::sim
