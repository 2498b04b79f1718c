#pragma once
// The body of a large answer, made some rows at a time, so that others are served in between. All rows are of one moment: they never
// change, and the result holds them.

#include "protocol/archive/gzip_stream.hpp"
#include "protocol/golang/pretty_json.hpp"
#include "protocol/http/list_rows.hpp"
#include "protocol/http/shared_body.hpp"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace belay::http {

class piecewise_body {
public:
  /// @pre rows_of() the result is not nullopt
  piecewise_body(std::shared_ptr<const state::query_result> result, const state::query& q,
                 const render_options& options);
  // What refers to the rows stays where it is.
  piecewise_body(const piecewise_body&) = delete;
  piecewise_body& operator=(const piecewise_body&) = delete;

  /// Renders whole rows until there are so many bytes more, or no rows. @returns true: that was all
  bool go_on(std::size_t bytes);
  /// What is there by now.
  const shared_body& made() const { return body_; }
  shared_body take() { return std::move(body_); }
  /// What is there by now, for a client that gets it piece by piece; the next call returns what has come since.
  std::vector<payload> take_pieces() { return std::exchange(body_.pieces, {}); }

private:
  std::shared_ptr<const state::query_result> result_;
  list_rows rows_;
  std::size_t next_ = 0;
  std::optional<golang::pretty_json> pretty_;
  std::optional<archive::gzip_stream> gzip_;
  shared_body body_;
};

} // namespace belay::http
