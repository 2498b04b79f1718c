#pragma once
// Encodes server-sent events as bytes, each rendered once for all clients that get it.

#include "protocol/http/shared_body.hpp"
#include "protocol/state/queries.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace belay::actors {

/// The text as one chunk of a body (RFC 9112, section 7.1).
std::string framed(std::string_view text);
/// The text in a framed() body, for clients that do not support chunks.
std::string_view unframed(const http::shared_body& body);

/// All changes of a result.
std::string text_of(const state::change_rows& rows, bool keys_only);
/// The changes of a result after a cursor.
std::string text_of(const state::change_rows& rows, const state::change_position& after, bool keys_only);

/// The rows of a snapshot; each piece is rendered when a client first needs it.
class snapshot_text {
public:
  // About a millisecond.
  static constexpr std::size_t piece_bytes = 64u << 10;
  using keeper = std::function<http::shared_body_ptr(std::string text)>;

  /// @param rows change_rows of a snapshot
  /// @param keep makes a body of a text; called while this object exists
  snapshot_text(std::shared_ptr<const state::query_result> rows, bool keys_only, keeper keep);

  /// All entries up to this one are included.
  log_index index() const { return rows().reached.index; }
  state::history_id history() const { return rows().history; }
  const std::shared_ptr<const acl::authorizer>& viewer() const { return rows().viewer; }
  /// @returns null: there are no more. @pre n is at most the number of pieces requested before
  http::shared_body_ptr piece(std::size_t n);

private:
  const state::change_rows& rows() const { return std::get<state::change_rows>(rows_->data); }

  std::shared_ptr<const state::query_result> rows_;
  bool keys_only_;
  keeper keep_;
  std::size_t next_row_ = 0;
  std::vector<http::shared_body_ptr> pieces_;
};

} // namespace belay::actors
