#include "actors/gateway/exchange_queue.hpp"

#include "actors/gateway/answer_bytes.hpp"
#include "actors/relay/request_text.hpp"
#include "protocol/base/mutants.hpp"

#include <algorithm>
#include <utility>

namespace belay::actors {

namespace {

// Buffered bytes of an upload while earlier parts are being replicated.
constexpr std::size_t upload_bytes_max = 1u << 20;

/// The answer to a request that could not be read.
http::response refusal(http_reader::outcome why, const http_reader& reader, const http::route_settings& routes) {
  switch (why) {
  case http_reader::outcome::header_too_large:
    return http::closing_error(431, "431 Request Header Fields Too Large");
  case http_reader::outcome::body_too_large:
    return http::refuse_large_body(reader.request(), reader.declared_length(), routes);
  case http_reader::outcome::no_host:
    return http::closing_error(400, "400 Bad Request: missing required Host header");
  case http_reader::outcome::many_hosts:
    return http::closing_error(400, "400 Bad Request: too many Host headers");
  case http_reader::outcome::malformed_host:
    return http::closing_error(400, "400 Bad Request: malformed Host header");
  default:
    return http::malformed_request();
  }
}

} // namespace

bool exchange_queue::blocking() const {
  return std::any_of(list_.begin(), list_.end(), [](const exchange& e) { return e.blocking(); });
}

std::size_t exchange_queue::held_bytes() const {
  std::size_t all = 0;
  for (const auto& e : list_) {
    all += e.request_bytes + e.understood_bytes + (e.answer ? e.answer->body.size() : 0);
    if (e.transfer != nullptr)
      all += e.transfer->body.size() + e.transfer->piece.size();
  }
  return all;
}

std::size_t exchange_queue::shared_bytes() const {
  std::size_t all = 0;
  for (const auto& e : list_) {
    all += e.rendering_bytes;
    if (e.transfer != nullptr && e.transfer->block)
      all += e.transfer->block->size / static_cast<std::size_t>(e.transfer->block.use_count());
    if (e.answer && e.answer->body_pieces)
      all += e.answer->body_pieces->size / static_cast<std::size_t>(e.answer->body_pieces.use_count());
  }
  return all;
}

/// Sum over at most limits_.in_flight_max requests.
std::size_t exchange_queue::request_bytes() const {
  std::size_t all = 0;
  for (const auto& e : list_)
    all += e.request_bytes;
  return all;
}

bool exchange_queue::may_begin(std::size_t unsent) const {
  if (uploading_)
    return list_.back().transfer->body.size() < upload_bytes_max;
  if (ended_ || unsent >= limits_.unsent_bytes_max)
    return false;
  return list_.empty() || (list_.size() < limits_.in_flight_max && request_bytes() < limits_.in_flight_bytes_max &&
                           list_.back().may_overlap());
}

// ---- requests

exchange& exchange_queue::add() {
  auto& e = list_.emplace_back();
  e.from = &owner_;
  e.began = host_.now();
  e.input_ended = input_ended_;
  e.disconnected = disconnected_;
  return e;
}

void exchange_queue::begin(const http_reader& reader, std::string_view client_address,
                           const http::client_agent* passed_on_by, bool body_follows) {
  auto& e = add();
  http::raw_request request = reader.request();
  request.remote_address = client_address;
  request.passed_on_by = passed_on_by;
  request.now_ns = host_.wall_ns();
  e.head = request.method == "HEAD";
  e.keep_alive = reader.keep_alive();
  e.old_version = reader.old_version();
  e.request_bytes = request.target.size() + request.body.size();
  host_.understand(request, e);
  uploading_ = body_follows && e.transfer != nullptr;
  if (e.transfer != nullptr)
    e.transfer->body_complete = !body_follows;
  if (body_follows && !uploading_ && e.answer)
    e.answer->close = true; // it was rejected, and the body is not read
  if ((!e.keep_alive && !uploading_) || (e.answer && e.answer->close))
    ended_ = true;
  if (e.may_overlap()) { // otherwise write() starts it when it is at the front
    e.sent = true;
    if (!e.answer)
      host_.dispatch(e);
  }
}

void exchange_queue::body_arrived(std::string_view bytes, bool complete) {
  auto& e = list_.back();
  e.transfer->body += bytes;
  e.transfer->body_complete = complete;
  uploading_ = !complete;
  ended_ = ended_ || (complete && !e.keep_alive);
  host_.body_arrived(e);
}

void exchange_queue::refuse(http_reader::outcome why, const http_reader& reader) {
  if (uploading_) {
    auto& e = list_.back();
    if (e.sent && !e.answer)
      host_.forget(e);
    e.sent = true;
    if (!e.answer)
      e.answer = http::malformed_request();
    return;
  }
  refuse(refusal(why, reader, host_.routes()));
}

void exchange_queue::refuse(http::response answer) {
  auto& e = add();
  e.route = "refused";
  e.sent = true;
  e.keep_alive = false;
  ended_ = true;
  e.answer = std::move(answer);
}

// ---- answers

void exchange_queue::write(std::size_t unsent) {
  while (!list_.empty() && body_ == nullptr) {
    auto& e = list_.front();
    if (!e.sent && !e.answer) {
      e.sent = true;
      host_.dispatch(e);
    }
    if (!e.answer || !host_.may_answer(e))
      break;
    if (uploading_ && list_.size() == 1) { // answered before its body arrived: nothing more is read
      uploading_ = false;
      e.answer->close = true;
    }
    if (e.transfer == nullptr || !e.transfer->streaming) {
      write_answer(e);
    } else if (e.head) {
      write_answer(e);
      host_.forget(e); // the pieces are not needed
    } else if (!write_piece(e, unsent)) {
      break;
    }
    list_.pop_front();
    if (closing_) {
      ended_ = true;
      drop();
    }
  }
}

/// Whether no later request is answered.
bool exchange_queue::is_last(const exchange& e) const {
  return !e.keep_alive || (ended_ && list_.size() == 1);
}

void exchange_queue::write_answer(exchange& e) {
  const bool last = e.answer->close || is_last(e);
  append_answer(e, {host_.date(), host_.routes().response_headers, last}, host_.output);
  if (!e.head)
    body_ = std::move(e.answer->body_pieces);
  written(e, last);
}

/// Writes more of an answer that comes in pieces. @returns true: that was all of it
bool exchange_queue::write_piece(exchange& e, std::size_t unsent) {
  const bool last = ends_with_connection(e) || is_last(e);
  for (;;) {
    if (append_piece(e, {host_.date(), host_.routes().response_headers, last}, host_.output)) {
      written(e, last);
      return true;
    }
    body_ = std::move(e.transfer->block);
    if (body_ != nullptr || e.transfer->requested || unsent + host_.output.size() >= limits_.unsent_bytes_max / 2)
      return false;
    host_.next_piece(e);
    if (e.transfer->requested)
      return false; // it comes later
  }
}

void exchange_queue::written(const exchange& e, bool last) {
  host_.count(e, e.answer->status);
  closing_ = closing_ || last;
}

// ---- ending

void exchange_queue::end_waits() {
  if (std::exchange(input_ended_, true))
    return;
  for (auto& e : list_) {
    e.input_ended = true;
    const bool streaming = e.transfer != nullptr && e.transfer->streaming && !e.transfer->ended;
    if (e.sent && (!e.answer || streaming))
      host_.end_wait(e);
  }
}

void exchange_queue::note_end(bool of_agent, std::string_view unread) {
  if (of_agent && unread != client_disconnected && !MUTANT(end_of_agent_disconnects))
    return;
  disconnected_ = true;
  for (auto& e : list_)
    e.disconnected = true;
}

bool exchange_queue::sweep(monotonic_time now) {
  bool changed = false;
  for (auto& e : list_) {
    if (!e.sent || e.answer)
      continue;
    if (now >= e.deadline) {
      host_.forget(e);
      e.answer = http::error_response(500, std::string(e.give_up));
      changed = true;
    } else if (std::exchange(e.ask_again, false)) {
      host_.dispatch(e);
      changed = changed || e.answer.has_value();
    }
  }
  return changed;
}

void exchange_queue::finish(const std::string& text) {
  ended_ = true;
  closing_ = closing_ || list_.empty();
  for (auto& e : list_) {
    e.keep_alive = e.keep_alive && &e != &list_.back();
    if (e.answer || (e.sent && !e.blocking()))
      continue;
    if (e.sent)
      host_.forget(e);
    e.sent = true;
    e.answer = http::error_response(500, text);
  }
}

void exchange_queue::drop() {
  for (auto& e : list_)
    if (e.sent && (!e.answer || (e.transfer != nullptr && e.transfer->streaming)))
      host_.forget(e);
  for (auto& e : list_)
    host_.dropped(e);
  list_.clear();
}

} // namespace belay::actors
