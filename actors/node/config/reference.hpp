#pragma once
// docs/configuration.md, made from the tables of keys and flags. A test fails when the file differs from it.

#include <string>

namespace belay::actors {

/// The whole page, in Markdown.
std::string configuration_reference();

} // namespace belay::actors
