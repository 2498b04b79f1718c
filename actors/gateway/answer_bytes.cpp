#include "actors/gateway/answer_bytes.hpp"

namespace belay::actors {

namespace {

void append_stream_head(const exchange& e, const answer_head& head, std::string& out) {
  const bool gzip = e.transfer->rows != nullptr && e.transfer->rows->made().gzip;
  http::serialize_stream_head(*e.answer, head.date, !head.last, !e.old_version, gzip, head.extra, out);
}

} // namespace

void append_answer(exchange& e, const answer_head& head, std::string& out) {
  auto& r = *e.answer;
  if (e.old_version && !head.last)
    r.headers.emplace_back("Connection", "keep-alive");
  if (e.head && e.transfer != nullptr && e.transfer->rows != nullptr) { // its length is not known
    append_stream_head(e, head, out);
  } else if (r.body_pieces) {
    http::serialize_head(r, head.date, !head.last, r.body_pieces->gzip, r.body_pieces->size, head.extra, out);
  } else if (e.head || r.status == 304) {
    const auto body_bytes = r.body_shared ? r.body_shared->size() : r.body.size();
    http::serialize_head(r, head.date, !head.last, false, body_bytes, head.extra, out);
  } else {
    http::serialize(r, head.date, !head.last, e.options.gzip, head.extra, out);
  }
}

bool append_piece(exchange& e, const answer_head& head, std::string& out) {
  auto& t = *e.transfer;
  const bool chunked = !e.old_version;
  if (!t.head_written) {
    t.head_written = true;
    append_stream_head(e, head, out);
  }
  if (!t.piece.empty()) {
    if (chunked)
      http::append_chunk(out, t.piece);
    else
      out += t.piece;
    t.piece = std::string();
  }
  if (t.ended && chunked)
    http::append_chunk(out, {});
  return t.ended || t.failed;
}

} // namespace belay::actors
