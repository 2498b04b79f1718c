#pragma once
// The files of the console as of the build. console/embed.cpp generates the source.

#include "protocol/http/console/console.hpp"

namespace belay::console {

const http::console_files& embedded();

} // namespace belay::console
