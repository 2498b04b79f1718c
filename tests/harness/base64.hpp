#pragma once
// Values in answers and transactions are base64.

#include <string>
#include <string_view>

namespace belay::harness {

std::string base64_decoded(std::string_view text);
std::string base64_encoded(std::string_view bytes);

} // namespace belay::harness
