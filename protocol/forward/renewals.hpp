#pragma once
// Several sessions renewed by one call of the kind renew_session. Its bytes are their IDs with a space behind each, which is no session's
// ID: a leader of a version before answers as for one that it does not know, with nothing, and a leader that knows lists never does.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::forward {

/// @pre none of them has a space in it
std::string renewal_list(const std::vector<std::string>& ids);
inline bool is_renewal_list(std::string_view bytes) {
  return bytes.find(' ') != std::string_view::npos;
}
std::vector<std::string> sessions_of(std::string_view list);

/// For each session in its order how long it lives now, in milliseconds, zero if it has no TTL; nullopt: it was not renewed.
using renewed_lifetimes = std::vector<std::optional<std::uint64_t>>;
/// Never empty.
std::string encode_lifetimes(const renewed_lifetimes& all);
/// nullopt: encode_lifetimes() made no such text
std::optional<renewed_lifetimes> decode_lifetimes(std::string_view bytes);

} // namespace belay::forward
