#pragma once
// Describes a frame that travels between nodes in one line of text, for the trace.

#include "protocol/wire/frame_codec.hpp"

#include <string>

namespace belay::sim {

std::string rendered(const wire::frame& f);

} // namespace belay::sim
