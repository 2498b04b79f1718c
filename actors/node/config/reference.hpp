#pragma once
// Generates docs/reference/configuration.md from the tables of keys and flags; a test compares the file.

#include <string>

namespace belay::actors {

/// The whole page, in Markdown.
std::string configuration_reference();

} // namespace belay::actors
