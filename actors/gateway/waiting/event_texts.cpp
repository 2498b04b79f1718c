#include "actors/gateway/waiting/event_texts.hpp"

#include "protocol/base/check.hpp"
#include "protocol/http/kv/change_render.hpp"
#include "protocol/http/response.hpp"

#include <utility>

namespace belay::actors {

std::string framed(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  http::append_chunk(out, text);
  return out;
}

std::string_view unframed(const http::shared_body& body) {
  constexpr std::string_view end = "\r\n";
  const std::string_view whole = *body.pieces.front();
  const auto begin = whole.find(end) + end.size();
  return whole.substr(begin, whole.size() - begin - end.size());
}

std::string text_of(const state::change_rows& rows, bool keys_only) {
  return text_of(rows, {}, keys_only);
}

std::string text_of(const state::change_rows& rows, const state::change_position& after, bool keys_only) {
  std::string out;
  for (const auto& c : rows.list)
    if (state::change_position{c.index, c.effect} > after || after.index.is_zero())
      http::append_event(out, c, rows.history, keys_only);
  return out;
}

snapshot_text::snapshot_text(std::shared_ptr<const state::query_result> rows, bool keys_only, keeper keep)
    : rows_(std::move(rows)), keys_only_(keys_only), keep_(std::move(keep)) {}

http::shared_body_ptr snapshot_text::piece(std::size_t n) {
  PRECONDITION(n <= pieces_.size());
  const auto& list = rows().rows;
  if (n < pieces_.size())
    return pieces_[n];
  if (next_row_ == list.size())
    return nullptr;
  std::string text;
  while (next_row_ < list.size() && text.size() < piece_bytes)
    http::append_event(text, *list[next_row_++], keys_only_);
  pieces_.push_back(keep_(std::move(text)));
  return pieces_.back();
}

} // namespace belay::actors
