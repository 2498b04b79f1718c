#pragma once
// Several errors as one text in the form of go-multierror, which Consul's clients see in bodies.

#include <string>
#include <vector>

namespace belay::go_compat {

/// `1 error occurred:`, or their number; then each on a line of its own.
std::string error_list(const std::vector<std::string>& errors);

} // namespace belay::go_compat
