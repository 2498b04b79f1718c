#pragma once
// Encodes the answer of an exchange as bytes for its client: whole, or in pieces for downloads.

#include "actors/gateway/requests/exchange.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::actors {

/// Parts of the head that all answers share.
struct answer_head {
  std::string_view date;
  const std::vector<std::pair<std::string, std::string>>& extra; ///< configured headers
  bool last = false;                                             ///< the connection ends after this answer
};

/// Appends the answer, or only its head if the body is shared. @pre there is an answer
void append_answer(exchange& e, const answer_head& head, std::string& out);

/// Whether the body ends with the connection: HTTP/1.0 has no chunks.
inline bool ends_with_connection(const exchange& e) {
  return e.old_version || e.transfer->failed;
}
/// Appends the head, unless already sent, and the available part of the body.
/// @pre the answer comes in pieces (e.transfer->streaming)
/// @returns true: that was all of it
bool append_piece(exchange& e, const answer_head& head, std::string& out);

} // namespace belay::actors
