#include "actors/gateway/http_connection.hpp"

#include "protocol/base/check.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

namespace belay::actors {

namespace {

constexpr std::string_view continue_line = "HTTP/1.1 100 Continue\r\n\r\n";
// Input of an idle connection: most have none; a small buffer is kept.
constexpr std::size_t kept_input_bytes_max = 1024;
// Rounds of reading before other connections are served.
constexpr int reads_per_quantum = 4;
// How long a client that pipelines requests is served before others. One request is always served.
constexpr std::chrono::microseconds quantum_max{100};

} // namespace

http_connection::http_connection(connection_host& host, const connection_limits& limits, int fd,
                                 const std::string* address, std::unique_ptr<tls_stream> tls,
                                 std::unique_ptr<const http::client_agent> passes_on)
    : host_(&host), limits_(limits), fd_(fd), address_(address), passes_on_(std::move(passes_on)),
      queue_(*this, host, limits), tls_(std::move(tls)), last_input_(host.now()), last_output_(last_input_) {}

http_connection::~http_connection() {
  shut();
}

void http_connection::start() {
  wait_readable();
}

void http_connection::start(std::string_view after_hello) {
  const auto self = shared_from_this();
  start();
  if (!after_hello.empty() && open())
    take(after_hello);
  account();
}

// ---- reading

void http_connection::on_ready(bool readable, bool writable) {
  const auto self = shared_from_this();
  if (writable && waits_for_.write) {
    if (!wait_for({waits_for_.read, false, waits_for_.hang_up}))
      return;
    if (flush())
      progress();
  }
  if (readable && open() && waits_for_.read && (!shaking_hands() || may_shake_hands()))
    read_some();
  account();
}

bool http_connection::may_read() const {
  if (input_ended_ || !open() || (tls_ != nullptr && tls_->waits_for_time()))
    return false;
  // A client that sends far ahead is not read until its answers are sent.
  return lingering_ || (may_look_at_next() && !again_) || waiting_.size() < limits_.waiting_bytes_max;
}

bool http_connection::wait_for(socket_poller::interest i) {
  if (!host_->sockets().change(fd_, *this, waits_for_, i)) {
    close();
    return false;
  }
  waits_for_ = i;
  return true;
}

/// A socket that is not read is watched for its end: its client may disconnect during a wait.
void http_connection::wait_readable() {
  if (!open())
    return;
  const bool reads = may_read();
  wait_for({reads, waits_for_.write, !reads && !input_ended_ && !hung_up_});
}

void http_connection::read_some() {
  auto& buffer = host_->input;
  for (int i = 0; i < reads_per_quantum; ++i) {
    const auto n = ::recv(fd_, buffer.data(), buffer.size(), 0);
    if (n > 0) {
      last_input_ = host_->now();
      const std::string_view came(buffer.data(), static_cast<std::size_t>(n));
      if (!lingering_ && tls_ == nullptr)
        take(came);
      else if (!lingering_)
        take_sealed(came);
      if (!open() || input_ended_)
        return;
      if (static_cast<std::size_t>(n) < buffer.size() || waiting_.size() >= limits_.waiting_bytes_max)
        break;
    } else if (n == 0) {
      return end_of_input();
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      note_end();
      return close();
    }
  }
  wait_readable();
}

void http_connection::take(std::string_view bytes) {
  if (queue_.ended())
    return;
  if (!waiting_.empty() || !may_look_at_next()) {
    waiting_.append(bytes);
    return again_ ? void() : progress();
  }
  // The common case: everything is consumed without a copy.
  busy_ = true;
  bool more_needed = false;
  while (!bytes.empty() && !more_needed && may_look_at_next() && !again_) {
    bytes.remove_prefix(look_at_next(bytes, more_needed));
    write_in_order();
    if (!bytes.empty() && host_->now() >= last_input_ + quantum_max)
      go_on_later();
  }
  busy_ = false;
  if (!bytes.empty() && !queue_.ended())
    waiting_.assign(bytes);
  flush();
}

/// Reads at most one request. @returns bytes used
std::size_t http_connection::look_at_next(std::string_view input, bool& more_needed) {
  if (reader_ == nullptr)
    reader_ = host_->readers().take();
  std::size_t used = 0;
  const bool had_head = reader_->has_head();
  const auto outcome = reader_->read(input, used);
  switch (outcome) {
  case http_reader::outcome::head:
    request_moved(!had_head, used);
    queue_.begin(*reader_, *address_, passes_on_.get(), true);
    return used;
  case http_reader::outcome::more:
    more_needed = true;
    request_moved(!had_head && reader_->has_head(), used);
    if (queue_.uploading())
      queue_.body_arrived(reader_->take_body(), false);
    if (queue_.empty() && reader_->take_expectation())
      host_->output += continue_line;
    if (!reader_->in_request())
      host_->readers().give_back(std::move(reader_));
    return used;
  case http_reader::outcome::complete:
    if (queue_.uploading())
      queue_.body_arrived(reader_->take_body(), true);
    else
      queue_.begin(*reader_, *address_, passes_on_.get(), false);
    host_->readers().give_back(std::move(reader_));
    request_pace_.end();
    return used;
  default:
    queue_.refuse(outcome, *reader_);
    host_->readers().give_back(std::move(reader_));
    return input.size(); // what follows cannot be parsed
  }
}

/// More bytes of an incomplete request arrived.
/// @param head_ended whether its headers are complete now; the body has a deadline of its own
void http_connection::request_moved(bool head_ended, std::size_t bytes) {
  if (head_ended)
    request_pace_.end();
  if (reader_->in_request())
    request_pace_.begin(host_->now());
  request_pace_.moved(bytes);
}

/// A client that is gone looks like one that has closed only its side (`nc -N`) until data is sent.
/// So the end of input ends waits: what needs no waiting is answered, then the connection closes.
void http_connection::end_of_input() {
  input_ended_ = true;
  note_end();
  if (lingering_ || queue_.uploading())
    return close();
  end_waits();
}

/// Like end_of_input(), for a client whose last requests are not read yet.
void http_connection::on_hang_up(bool broken) {
  if (!open() || !waits_for_.hang_up)
    return;
  const auto self = shared_from_this();
  note_end();
  if (broken)
    return close();
  hung_up_ = true;
  end_waits();
  account();
}

void http_connection::note_end() {
  queue_.note_end(passes_on_ != nullptr, waiting_);
}

void http_connection::end_waits() {
  busy_ = true; // keeps answers in order
  queue_.end_waits();
  busy_ = false;
  progress();
}

// ---- answering

void http_connection::go_on_later() {
  if (!std::exchange(again_, true))
    host_->sockets().again(*this);
}

void http_connection::on_resumed() {
  const auto self = shared_from_this();
  again_ = false;
  progress();
}

void http_connection::progress() {
  if (busy_ || !open())
    return;
  busy_ = true;
  std::size_t used = 0;
  bool more_needed = false;
  std::optional<monotonic_time> quantum_ends;
  for (;;) {
    write_in_order();
    if (more_needed || !may_look_at_next() || used == waiting_.size() || again_)
      break;
    const auto now = host_->now();
    if (quantum_ends && now >= *quantum_ends) {
      go_on_later();
      break;
    }
    quantum_ends = quantum_ends.value_or(now + quantum_max);
    used += look_at_next(std::string_view(waiting_).substr(used), more_needed);
  }
  busy_ = false;
  if (queue_.ended() || used == waiting_.size())
    waiting_.clear();
  else
    waiting_.erase(0, used);
  if (waiting_.empty() && waiting_.capacity() > kept_input_bytes_max)
    waiting_.shrink_to_fit();
  if (!flush())
    return;
  const bool stuck = waiting_.empty() || more_needed || queue_.ended();
  if (input_ended_ && queue_.empty() && unsent() == 0 && stuck && !lingering_)
    return close();
  wait_readable();
  account();
}

bool http_connection::send_now(const http::shared_body_ptr& piece) {
  if (busy_ || !open() || lingering_ || unsent() != 0)
    return false;
  const auto self = shared_from_this();
  unsent_.append(piece);
  if (flush() && to_send() != 0)
    account();
  return true;
}

void http_connection::write_in_order() {
  queue_.write(to_send());
  while (auto body = queue_.take_body()) {
    unsent_.take(host_->output);
    unsent_.append(std::move(body));
    queue_.write(to_send());
  }
  // NOLINTNEXTLINE(clang-analyzer-cplusplus.Move): a reader that was given back is null, which is asked first
  if (queue_.needs_body() && reader_ != nullptr && reader_->take_expectation())
    host_->output += continue_line;
}

/// @returns false: the connection was closed
bool http_connection::flush() {
  unsent_.take(host_->output);
  const bool nothing = to_send() == 0;
  std::size_t moved = 0;
  if (!waits_for_.write) {
    switch (send_some(moved)) {
    case unsent_output::outcome::sent:
      break;
    case unsent_output::outcome::blocked:
      if (!wait_for({waits_for_.read, true, waits_for_.hang_up}))
        return false;
      break;
    case unsent_output::outcome::broken:
      unsent_.clear();
      note_end();
      close();
      return false;
    }
  }
  if (nothing || moved != 0)
    last_output_ = host_->now();
  if (to_send() != 0) {
    answer_pace_.begin(last_output_);
    answer_pace_.moved(moved);
    return true;
  }
  answer_pace_.end();
  unsent_.release(host_->output, limits_.unsent_bytes_max);
  if (queue_.closing()) {
    if (tls_ == nullptr || send_close_notify())
      begin_linger();
    return open();
  }
  return true;
}

/// @param moved set to the bytes that the socket took
unsent_output::outcome http_connection::send_some(std::size_t& moved) {
  if (tls_ != nullptr)
    return tls_->send(fd_, unsent_, host_->sealed, moved);
  const auto before = unsent_.size();
  const auto outcome = unsent_.send(fd_);
  moved = before - unsent_.size();
  return outcome;
}

/// Closing while the client still sends would reset the connection before the client reads the
/// answer.
void http_connection::begin_linger() {
  if (lingering_)
    return;
  if (input_ended_)
    return close();
  ::shutdown(fd_, SHUT_WR);
  lingering_ = true;
  linger_until_ = host_->now() + limits_.linger;
  waiting_ = std::string();
  wait_readable();
}

// ---- ending

void http_connection::finish(const std::string& text) {
  if (!open() || lingering_)
    return;
  queue_.finish(text);
  if (queue_.empty() && unsent() == 0)
    return close();
  progress();
}

void http_connection::close() {
  if (!open())
    return;
  INVARIANT(!busy_);
  shut();
  unsent_.clear(); // frees shared bodies now, not with the last reference to this connection
  queue_.drop();
  if (reader_ != nullptr)
    host_->readers().give_back(std::move(reader_));
  host_->closed(*this);
}

void http_connection::shut() {
  if (!open())
    return;
  if (tls_ != nullptr)
    hang_up_politely();
  host_->sockets().change(fd_, *this, waits_for_, {});
  if (std::exchange(again_, false))
    host_->sockets().not_again(*this);
  waits_for_ = {};
  ::close(std::exchange(fd_, -1));
  host_->held.change(std::exchange(held_, 0), 0);
}

// ---- buffered bytes

void http_connection::account() {
  if (!open())
    return;
  const auto reading = reader_ != nullptr ? reader_->held_bytes() : 0;
  const auto sealed = tls_ != nullptr ? tls_->held_bytes() : 0;
  const auto now_held = reading + waiting_.capacity() + unsent_.held_bytes() + sealed + queue_.held_bytes();
  host_->held.change(std::exchange(held_, now_held), now_held);
  if (host_->held.exceeded())
    host_->shed();
}

std::size_t http_connection::held_bytes() const {
  return held_ + unsent_.shared_bytes() + queue_.shared_bytes();
}

std::optional<monotonic_time> http_connection::idle_since() const {
  const bool reading = (reader_ != nullptr && reader_->in_request()) || !waiting_.empty();
  if (!open() || reading || !idle() || lingering_ || shaking_hands() || passes_on_ != nullptr)
    return std::nullopt;
  return std::max(last_input_, last_output_);
}

void http_connection::shed() {
  if (!open())
    return;
  if (!waits_for_request() || to_send() != 0 || queue_.uploading())
    return close();
  host_->readers().give_back(std::move(reader_));
  waiting_ = std::string();
  queue_.refuse(http::closing_error(
      503, "too many bytes of requests and responses are in flight: see limits.http_max_bytes_in_flight"));
  progress();
}

/// Nothing happens before the client sends more of its request.
bool http_connection::waits_for_request() const {
  if (queue_.uploading())
    return queue_.starved();
  return reader_ != nullptr && reader_->in_request() && queue_.empty() && may_look_at_next();
}

void http_connection::sweep(monotonic_time now) {
  if (lingering_) {
    if (now >= linger_until_)
      close();
    return;
  }
  if (tls_ != nullptr && tls_->is_late(now, limits_.handshake)) {
    tls_->limiter().log_rejection(address(), "the TLS handshake was not complete in time", now);
    return close();
  }
  if (unsent() > 0 && now - last_output_ > limits_.stall)
    return close();
  if (reader_ != nullptr && queue_.empty() && now - last_input_ > limits_.stall)
    return close();
  if (queue_.starved() && now - last_input_ > limits_.stall)
    return close();
  request_pace_.look(now, waits_for_request());
  answer_pace_.look(now, waits_for_.write);
  const bool in_header = reader_ != nullptr && !reader_->has_head();
  const auto& pace = queue_.uploading() ? limits_.uploads : limits_.pace;
  if (in_header ? request_pace_.header_too_slow(pace) : request_pace_.body_too_slow(pace))
    return close();
  if (answer_pace_.body_too_slow(limits_.pace))
    return close();
  if (queue_.sweep(now))
    progress();
}

} // namespace belay::actors
