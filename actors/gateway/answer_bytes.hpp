#pragma once
// The answer of an exchange as bytes for its client: whole, or for downloads piece by piece.

#include "actors/gateway/requests/exchange.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::actors {

/// What is in the head of every answer.
struct answer_head {
  std::string_view date;
  const std::vector<std::pair<std::string, std::string>>& extra; ///< configured headers
  bool last = false;                                             ///< the connection ends behind this answer
};

/// Appends the answer, or if its body is shared its head only. @pre there is one
void append_answer(exchange& e, const answer_head& head, std::string& out);

/// The body's end is that of the connection: HTTP/1.0 knows no chunks.
inline bool ends_with_connection(const exchange& e) {
  return e.old_version || e.transfer->failed;
}
/// Appends the head, if it is not there yet, and what has come of the body.
/// @pre the answer comes in pieces (e.transfer->streaming)
/// @returns true: that was all of it
bool append_piece(exchange& e, const answer_head& head, std::string& out);

} // namespace belay::actors
