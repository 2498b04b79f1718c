#pragma once
// Several errors as one text, as go-multierror prints them; clients of Consul see it in bodies.

#include <string>
#include <vector>

namespace belay::golang {

/// `1 error occurred:`, or how many, and each on a line of its own.
std::string error_list(const std::vector<std::string>& errors);

} // namespace belay::golang
