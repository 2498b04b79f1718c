#include "tests/harness/base64.hpp"

#include <boost/beast/core/detail/base64.hpp>

namespace belay::harness {

namespace base64 = boost::beast::detail::base64;

std::string base64_decoded(std::string_view text) {
  std::string out(base64::decoded_size(text.size()), '\0');
  out.resize(base64::decode(out.data(), text.data(), text.size()).first);
  return out;
}

std::string base64_encoded(std::string_view bytes) {
  std::string out(base64::encoded_size(bytes.size()), '\0');
  out.resize(base64::encode(out.data(), bytes.data(), bytes.size()));
  return out;
}

} // namespace belay::harness
