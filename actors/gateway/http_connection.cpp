#include "actors/gateway/http_connection.hpp"

#include "actors/gateway/answer_bytes.hpp"
#include "protocol/base/check.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace belay::actors {

namespace {

constexpr std::string_view continue_line = "HTTP/1.1 100 Continue\r\n\r\n";
// Input of an idle connection: most have none; a small buffer is kept.
constexpr std::size_t kept_bytes_max = 1024;
// Rounds of reading before other connections get their turn.
constexpr int reads_per_turn = 4;
// Of an upload, while what came before is on its way through the log.
constexpr std::size_t upload_bytes_max = 1u << 20;

/// The answer to a request that could not be read.
http::response refusal(http_reader::verdict why, const http_reader& reader, const http::route_settings& routes) {
  switch (why) {
  case http_reader::verdict::header_too_large:
    return http::closing_error(431, "431 Request Header Fields Too Large");
  case http_reader::verdict::body_too_large:
    return http::body_too_large(reader.request().target, reader.declared_length(), routes);
  case http_reader::verdict::no_host:
    return http::closing_error(400, "400 Bad Request: missing required Host header");
  default:
    return http::malformed_request();
  }
}

} // namespace

http_connection::http_connection(http_front& front, const connection_limits& limits, int fd, const std::string* address)
    : front_(&front), limits_(limits), fd_(fd), address_(address), last_input_(front.now()), last_output_(last_input_) {
}

http_connection::~http_connection() {
  shut();
}

void http_connection::start() {
  wait_readable();
}

// ---- reading

void http_connection::on_ready(bool readable, bool writable) {
  const auto self = shared_from_this();
  if (writable && waits_for_.write) {
    if (!wait_for({waits_for_.read, false}))
      return;
    if (flush())
      progress();
  }
  if (readable && open() && waits_for_.read)
    read_some();
}

bool http_connection::may_read() const {
  if (input_ended_ || !open())
    return false;
  // A client that sends far ahead is not read until its answers are through.
  return lingering_ || may_look_at_next() || waiting_.size() < limits_.waiting_bytes_max;
}

bool http_connection::wait_for(socket_poller::interest i) {
  if (!front_->sockets().change(fd_, *this, waits_for_, i)) {
    close();
    return false;
  }
  waits_for_ = i;
  return true;
}

void http_connection::wait_readable() {
  if (open())
    wait_for({may_read(), waits_for_.write});
}

void http_connection::read_some() {
  auto& buffer = front_->input;
  for (int i = 0; i < reads_per_turn; ++i) {
    const auto n = ::recv(fd_, buffer.data(), buffer.size(), 0);
    if (n > 0) {
      last_input_ = front_->now();
      if (!lingering_)
        take(std::string_view(buffer.data(), static_cast<std::size_t>(n)));
      if (!open())
        return;
      if (static_cast<std::size_t>(n) < buffer.size() || waiting_.size() >= limits_.waiting_bytes_max)
        break;
    } else if (n == 0) {
      return end_of_input();
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      return close();
    }
  }
  wait_readable();
}

void http_connection::take(std::string_view bytes) {
  if (last_answer_)
    return;
  if (!waiting_.empty() || !may_look_at_next()) {
    waiting_.append(bytes);
    return progress();
  }
  // The common case: everything is used up without a copy.
  busy_ = true;
  bool more_needed = false;
  while (!bytes.empty() && !more_needed && may_look_at_next()) {
    bytes.remove_prefix(look_at_next(bytes, more_needed));
    write_in_order();
  }
  busy_ = false;
  if (!bytes.empty() && !last_answer_)
    waiting_.assign(bytes);
  flush();
}

bool http_connection::may_look_at_next() const {
  if (uploading_)
    return exchanges_.back().transfer->body.size() < upload_bytes_max;
  return !last_answer_ && exchanges_.size() < limits_.in_flight_max && unsent() < limits_.unsent_bytes_max &&
         (exchanges_.empty() || exchanges_.back().may_overlap());
}

/// Reads at most one request. @returns bytes used
std::size_t http_connection::look_at_next(std::string_view input, bool& more_needed) {
  if (reader_ == nullptr)
    reader_ = front_->readers().take();
  std::size_t used = 0;
  const auto verdict = reader_->read(input, used);
  switch (verdict) {
  case http_reader::verdict::head:
    begin_exchange(true);
    return used;
  case http_reader::verdict::more:
    more_needed = true;
    if (uploading_)
      hand_over(false);
    if (exchanges_.empty() && reader_->take_expectation())
      front_->output += continue_line;
    if (!reader_->in_request())
      front_->readers().give_back(std::move(reader_));
    return used;
  case http_reader::verdict::complete:
    if (uploading_)
      hand_over(true);
    else
      begin_exchange(false);
    front_->readers().give_back(std::move(reader_));
    return used;
  default:
    if (uploading_)
      break_upload();
    else
      refuse(verdict);
    front_->readers().give_back(std::move(reader_));
    return input.size(); // nothing behind it can be understood
  }
}

/// The rest of its body cannot be found.
void http_connection::break_upload() {
  auto& e = exchanges_.back();
  if (e.sent && !e.answer)
    front_->forget(e);
  e.sent = true;
  if (!e.answer)
    e.answer = http::malformed_request();
}

/// Bytes of the body of the upload under way.
void http_connection::hand_over(bool complete) {
  auto& e = exchanges_.back();
  e.transfer->body += reader_->take_body();
  e.transfer->body_complete = complete;
  uploading_ = !complete;
  last_answer_ = last_answer_ || (complete && !e.keep_alive);
  front_->body_arrived(e);
}

exchange& http_connection::new_exchange() {
  auto& e = exchanges_.emplace_back();
  e.from = this;
  e.began = front_->now();
  return e;
}

void http_connection::begin_exchange(bool body_follows) {
  auto& e = new_exchange();
  http::raw_request request = reader_->request();
  request.remote_address = *address_;
  e.head = request.method == "HEAD";
  e.keep_alive = reader_->keep_alive();
  e.old_version = reader_->old_version();
  front_->understand(request, e);
  uploading_ = body_follows && e.transfer != nullptr;
  if (e.transfer != nullptr)
    e.transfer->body_complete = !body_follows;
  if (body_follows && !uploading_ && e.answer)
    e.answer->close = true; // it was refused, and the body is not read
  if ((!e.keep_alive && !uploading_) || (e.answer && e.answer->close))
    last_answer_ = true;
  if (e.may_overlap()) { // else write_in_order starts it when it is at the front
    e.sent = true;
    if (!e.answer)
      front_->dispatch(e);
  }
}

void http_connection::refuse(http_reader::verdict why) {
  auto& e = new_exchange();
  e.route = "refused";
  e.sent = true;
  e.keep_alive = false;
  last_answer_ = true;
  e.answer = refusal(why, *reader_, front_->routes());
}

void http_connection::end_of_input() {
  input_ended_ = true;
  if (lingering_ || uploading_)
    return close();
  // A client may close its side behind a request and still wait for the answer; nobody does that for minutes.
  for (const auto& e : exchanges_)
    if (e.blocking())
      return close();
  progress();
}

// ---- answering

void http_connection::progress() {
  if (busy_ || !open())
    return;
  busy_ = true;
  std::size_t used = 0;
  bool more_needed = false;
  for (;;) {
    write_in_order();
    if (more_needed || !may_look_at_next() || used == waiting_.size())
      break;
    used += look_at_next(std::string_view(waiting_).substr(used), more_needed);
  }
  busy_ = false;
  if (last_answer_ || used == waiting_.size())
    waiting_.clear();
  else
    waiting_.erase(0, used);
  if (waiting_.empty() && waiting_.capacity() > kept_bytes_max)
    waiting_.shrink_to_fit();
  if (!flush())
    return;
  const bool stuck = waiting_.empty() || more_needed || last_answer_;
  if (input_ended_ && exchanges_.empty() && unsent() == 0 && stuck && !lingering_)
    return close();
  wait_readable();
}

/// Moves answers from the front of the queue to the output; starts a request that had to wait for that.
void http_connection::write_in_order() {
  while (!exchanges_.empty()) {
    auto& e = exchanges_.front();
    if (!e.sent && !e.answer) {
      e.sent = true;
      front_->dispatch(e);
    }
    if (!e.answer)
      break;
    if (uploading_ && exchanges_.size() == 1) { // answered before its body was there: nothing behind it is read
      uploading_ = false;
      e.answer->close = true;
    }
    if (e.transfer == nullptr || !e.transfer->streaming) {
      write_answer(e);
    } else if (e.head) {
      write_answer(e);
      front_->forget(e); // nobody takes the pieces
    } else if (!write_piece(e)) {
      break;
    }
    exchanges_.pop_front();
    if (closing_) {
      last_answer_ = true;
      drop_exchanges();
    }
  }
  const bool body_wanted = exchanges_.empty() || (uploading_ && exchanges_.size() == 1);
  if (body_wanted && reader_ != nullptr && reader_->take_expectation())
    front_->output += continue_line;
}

/// Nothing is answered on this connection behind `e`.
bool http_connection::is_last(const exchange& e) const {
  return !e.keep_alive || (last_answer_ && exchanges_.size() == 1);
}

void http_connection::write_answer(exchange& e) {
  const bool last = e.answer->close || is_last(e);
  append_answer(e, {front_->date(), front_->routes().response_headers, last}, front_->output);
  written(e, last);
}

/// Some more of an answer that comes in pieces. @returns true: that was all of it
bool http_connection::write_piece(exchange& e) {
  const bool last = ends_with_connection(e) || is_last(e);
  if (append_piece(e, {front_->date(), front_->routes().response_headers, last}, front_->output)) {
    written(e, last);
    return true;
  }
  if (!e.transfer->asked && unsent() < limits_.unsent_bytes_max / 2)
    front_->next_piece(e);
  return false;
}

void http_connection::written(const exchange& e, bool last) {
  front_->count(e, e.answer->status);
  closing_ = closing_ || last;
}

/// @returns false: the connection was closed
bool http_connection::flush() {
  unsent_.take(front_->output);
  const auto before = unsent_.size();
  if (!waits_for_.write) {
    switch (unsent_.send(fd_)) {
    case unsent_output::outcome::sent:
      break;
    case unsent_output::outcome::blocked:
      if (!wait_for({waits_for_.read, true}))
        return false;
      break;
    case unsent_output::outcome::broken:
      unsent_.clear();
      close();
      return false;
    }
  }
  if (before == 0 || unsent_.size() != before)
    last_output_ = front_->now();
  if (!unsent_.empty())
    return true;
  unsent_.release(front_->output, limits_.unsent_bytes_max);
  if (closing_) {
    begin_linger();
    return open();
  }
  return true;
}

/// Closing while the client still sends would reset the connection, and the client might never read our answer.
void http_connection::begin_linger() {
  if (lingering_)
    return;
  if (input_ended_)
    return close();
  ::shutdown(fd_, SHUT_WR);
  lingering_ = true;
  linger_until_ = front_->now() + limits_.linger;
  waiting_ = std::string();
  wait_readable();
}

// ---- ending

void http_connection::finish(const std::string& text) {
  if (!open() || lingering_)
    return;
  last_answer_ = true;
  for (auto& e : exchanges_) {
    e.keep_alive = e.keep_alive && &e != &exchanges_.back();
    if (e.answer || (e.sent && !e.blocking()))
      continue;
    if (e.sent)
      front_->forget(e);
    e.sent = true;
    e.answer = http::error_response(500, text);
  }
  if (exchanges_.empty() && unsent() == 0)
    return close();
  closing_ = closing_ || exchanges_.empty();
  progress();
}

void http_connection::close() {
  if (!open())
    return;
  INVARIANT(!busy_);
  shut();
  drop_exchanges();
  if (reader_ != nullptr)
    front_->readers().give_back(std::move(reader_));
  front_->closed(*this);
}

void http_connection::shut() {
  if (!open())
    return;
  front_->sockets().change(fd_, *this, waits_for_, {});
  waits_for_ = {};
  ::close(std::exchange(fd_, -1));
}

void http_connection::drop_exchanges() {
  for (auto& e : exchanges_)
    if (e.sent && (!e.answer || (e.transfer != nullptr && e.transfer->streaming)))
      front_->forget(e);
  exchanges_.clear();
}

void http_connection::sweep(monotonic_time now) {
  if (lingering_) {
    if (now >= linger_until_)
      close();
    return;
  }
  if (unsent() > 0 && now - last_output_ > limits_.stall)
    return close();
  if (reader_ != nullptr && exchanges_.empty() && now - last_input_ > limits_.stall)
    return close();
  if (uploading_ && exchanges_.back().transfer->starved && now - last_input_ > limits_.stall)
    return close();
  bool changed = false;
  for (auto& e : exchanges_) {
    if (!e.sent || e.answer)
      continue;
    if (now >= e.deadline) {
      front_->forget(e);
      e.answer = http::error_response(500, std::string(e.give_up));
      changed = true;
    } else if (std::exchange(e.ask_again, false)) {
      front_->dispatch(e);
      changed = changed || e.answer.has_value();
    }
  }
  if (changed)
    progress();
}

} // namespace belay::actors
