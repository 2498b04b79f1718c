#pragma once
// What travels and what is asked, in one line of words for the trace.

#include "protocol/wire/frame_codec.hpp"
#include "sim/history.hpp"

#include <string>

namespace belay::sim {

std::string words(const wire::frame& f);
std::string words(const state::command& c);
std::string words(const http::read_request& r);
std::string words(const operation& o);

} // namespace belay::sim
