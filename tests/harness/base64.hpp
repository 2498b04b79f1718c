#pragma once
// Decodes base64 values in responses and transactions. Tests of real servers use this code instead
// of the server's, so that they do not share its mistakes.

#include <string>
#include <string_view>

namespace belay::harness {

std::string base64_decoded(std::string_view text);
std::string base64_encoded(std::string_view bytes);

} // namespace belay::harness
