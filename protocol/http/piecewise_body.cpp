#include "protocol/http/piecewise_body.hpp"

#include "protocol/base/check.hpp"

namespace belay::http {

piecewise_body::piecewise_body(std::shared_ptr<const state::query_result> result, const state::query& q,
                               const render_options& options, const read_meta* meta)
    : result_(std::move(result)) {
  auto rows = rows_of(q, *result_, options, meta);
  PRECONDITION(rows.has_value());
  rows_ = std::move(*rows);
  if (options.pretty && rows_.json)
    pretty_.emplace();
  if (options.gzip) {
    gzip_.emplace();
    if (!gzip_->ok())
      gzip_.reset(); // like append_gzip(): without memory for it, no compression
  }
  body_.gzip = gzip_.has_value();
}

bool piecewise_body::go_on(std::size_t bytes) {
  std::string text;
  text.reserve(bytes + bytes / 8);
  if (next_ == 0)
    text += rows_.begin;
  while (next_ < rows_.count && text.size() < bytes)
    rows_.append_row(text, next_++);
  const bool last = next_ == rows_.count;
  if (last)
    text += rows_.end;
  if (pretty_) {
    std::string shown;
    shown.reserve(text.size() * 2);
    pretty_->append(shown, text);
    if (last)
      shown += '\n';
    text = std::move(shown);
  }
  if (gzip_) {
    std::string packed;
    gzip_->append(packed, text, last);
    text = std::move(packed);
  }
  if (!text.empty()) {
    body_.size += text.size();
    body_.pieces.push_back(make_payload(text));
  }
  return last;
}

} // namespace belay::http
