#pragma once
// The files of the console as they were when the program was built (console/embed.cpp writes the source behind this).

#include "protocol/http/console/console.hpp"

namespace belay::console {

const http::console_files& embedded();

} // namespace belay::console
