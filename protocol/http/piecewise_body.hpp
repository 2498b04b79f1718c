#pragma once
// The body of a large response, rendered some rows at a time, so that other requests are
// served in between. All rows are of one moment: they are immutable, and the result owns them.

#include "protocol/archive/gzip.hpp"
#include "protocol/go_compat/pretty_json.hpp"
#include "protocol/http/list_rows.hpp"
#include "protocol/http/shared_body.hpp"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace belay::http {

class piecewise_body {
public:
  /// @param meta see rows_of()
  /// @pre rows_of() the result is not nullopt
  piecewise_body(std::shared_ptr<const state::query_result> result, const state::query& q,
                 const render_options& options, const read_meta* meta = nullptr);
  // Not copyable: rows_ refers to *result_.
  piecewise_body(const piecewise_body&) = delete;
  piecewise_body& operator=(const piecewise_body&) = delete;

  /// Renders rows until `bytes` were added or none are left. @returns true: it is complete
  bool go_on(std::size_t bytes);
  std::size_t row_count() const { return rows_.count; }
  /// What was rendered so far.
  const shared_body& made() const { return body_; }
  shared_body take() { return std::move(body_); }
  /// What was rendered since the last call, for a client that receives it piece by piece.
  std::vector<payload> take_pieces() { return std::exchange(body_.pieces, {}); }

private:
  std::shared_ptr<const state::query_result> result_;
  list_rows rows_;
  std::size_t next_ = 0;
  std::optional<go_compat::pretty_json> pretty_;
  std::optional<archive::gzip_stream> gzip_;
  shared_body body_;
};

} // namespace belay::http
