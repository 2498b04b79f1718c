#pragma once
// Renews several sessions by one renew_session call. Its bytes are IDs, each followed by a space.
// That is no session ID, so an older leader replies with nothing, which newer ones never do.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::forward {

/// @pre none of them contains a space
std::string renewal_list(const std::vector<std::string>& ids);
inline bool is_renewal_list(std::string_view bytes) {
  return bytes.find(' ') != std::string_view::npos;
}
std::vector<std::string> sessions_of(std::string_view list);

/// The remaining life of each session in ms, zero without a TTL; nullopt: it was not renewed.
using renewed_lifetimes = std::vector<std::optional<std::uint64_t>>;
/// Never empty.
std::string encode_lifetimes(const renewed_lifetimes& all);
/// nullopt: not a text of encode_lifetimes()
std::optional<renewed_lifetimes> decode_lifetimes(std::string_view bytes);

} // namespace belay::forward
