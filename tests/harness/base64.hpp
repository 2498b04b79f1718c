#pragma once
// Values in answers and transactions are base64. The tests of real servers read it with code of their own, so that they
// do not share the mistakes of the server.

#include <string>
#include <string_view>

namespace belay::harness {

std::string base64_decoded(std::string_view text);
std::string base64_encoded(std::string_view bytes);

} // namespace belay::harness
