#include "actors/relay/server_connection.hpp"

#include "actors/relay/request_text.hpp"
#include "protocol/base/ascii_case.hpp"
#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>

#include <charconv>

namespace belay::actors {

namespace {

namespace asio = boost::asio;
namespace beast_http = boost::beast::http;
using boost::system::error_code;

constexpr std::size_t read_bytes = 64u << 10;
constexpr std::size_t spare_capacity_max = 64u << 10;

std::string hexadecimal(std::size_t n) {
  char text[16];
  const auto end = std::to_chars(text, text + sizeof text, n, 16).ptr;
  return {text, end};
}

} // namespace

server_connection::server_connection(relay_loop& loop, std::string server, tls::credentials_ptr credentials,
                                     events then)
    : socket_(loop.open_socket()), server_(std::move(server)), credentials_(std::move(credentials)),
      then_(std::move(then)) {}

server_connection::~server_connection() {
  close();
}

void server_connection::dial(const socket_endpoint& to, const std::string& hello) {
  socket_->connect(to, [self = shared_from_this(), hello](error_code e) {
    if (self->closed_)
      return;
    if (e)
      return self->fail("dial tcp " + self->server_ + ": connect: " + lower_case(e.message())); // in Go's words
    self->connected(hello);
  });
}

void server_connection::connected(const std::string& hello) {
  hello_ = hello;
  if (credentials_->dials_with_tls()) {
    channel_.emplace(credentials_, tls::channel::side::dials);
    channel_->take_output(out_);
    write_more();
  }
  in_.resize(read_bytes);
  read_more();
  if (!channel_)
    received({});
}

void server_connection::close() {
  closed_ = true;
  ready_ = false;
  listener_ = nullptr;
  socket_->close();
}

void server_connection::fail(const std::string& why) {
  if (closed_)
    return;
  const auto self = shared_from_this();
  auto* listener = std::exchange(listener_, nullptr);
  const bool head_sent = head_sent_;
  close();
  if (listener != nullptr && head_sent) // the rest of an answer
    listener->on_failure(why, false);
  then_.closed(*this, why);
}

// ---- bytes

void server_connection::write_plaintext(std::string_view plaintext) {
  if (!channel_)
    out_ += plaintext;
  else if (channel_->write(plaintext))
    channel_->take_output(out_);
  write_more();
}

void server_connection::write_more() {
  if (closed_ || !in_flight_.empty())
    return;
  if (out_.empty()) {
    if (output_ends_)
      socket_->end_output();
    return;
  }
  in_flight_.swap(out_);
  socket_->write(in_flight_, [self = shared_from_this()](error_code e) {
    self->in_flight_.clear();
    if (self->in_flight_.capacity() > spare_capacity_max)
      self->in_flight_ = std::string();
    if (!e) // the pending read reports an error
      self->write_more();
  });
}

void server_connection::read_more() {
  if (closed_ || reading_ || !wanted_)
    return;
  reading_ = true;
  socket_->read(in_, [self = shared_from_this()](error_code e, std::size_t n) {
    self->reading_ = false;
    if (self->closed_)
      return;
    if (e)
      return self->fail(e == asio::error::eof ? "EOF" : e.message());
    self->received(std::string_view(self->in_).substr(0, n));
    self->read_more();
  });
}

void server_connection::received(std::string_view wire) {
  if (channel_) {
    plain_.clear();
    const auto fed = channel_->feed(wire, plain_);
    channel_->take_output(out_);
    write_more();
    if (!fed)
      return fail(fed.error());
    if (!channel_->established())
      return;
  } else {
    plain_.assign(wire);
  }
  if (!ready_) {
    ready_ = true;
    write_plaintext(std::exchange(hello_, {}));
    then_.ready(*this);
    if (closed_)
      return;
  }
  if (!plain_.empty())
    parse(std::exchange(plain_, {}));
}

// ---- HTTP

void server_connection::carry(const relayed_request& r, answer_listener& listener) {
  PRECONDITION(idle());
  INVARIANT(unread_.empty()); // else its answer would begin with bytes of the last one
  listener_ = &listener;
  head_sent_ = false;
  ++carried_;
  parser_.emplace();
  parser_->eager(true);
  parser_->body_limit(boost::none);
  parser_->header_limit(64u << 10);
  write_plaintext(written(r));
}

void server_connection::send_body(std::string_view bytes, bool last) {
  std::string chunk;
  if (!bytes.empty())
    chunk = hexadecimal(bytes.size()).append("\r\n").append(bytes).append("\r\n");
  if (last)
    chunk += "0\r\n\r\n";
  write_plaintext(chunk);
}

void server_connection::let_come(bool wanted) {
  wanted_ = wanted;
  read_more();
}

void server_connection::end_output(std::string_view last) {
  if (std::exchange(output_ends_, true))
    return;
  if (last.empty())
    write_more();
  else
    write_plaintext(last);
}

void server_connection::leave() {
  PRECONDITION(output_ends_);
  listener_ = nullptr;
  let_come(true);
}

void server_connection::abandon() {
  close();
}

void server_connection::deliver_head() {
  head_sent_ = true;
  header_list headers;
  for (const auto& field : parser_->get())
    headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  listener_->on_head(static_cast<int>(parser_->get().result_int()), std::move(headers));
}

void server_connection::parse(std::string_view plaintext) {
  const auto self = shared_from_this();
  if (listener_ == nullptr)
    return fail("the server sent data without a request");
  INVARIANT(parser_.has_value());
  auto bytes = std::exchange(unread_, {});
  bytes += plaintext;
  std::string_view left = bytes;
  while (!closed_ && listener_ != nullptr && !parser_->is_done() && !left.empty()) {
    error_code e;
    const auto used = parser_->put(asio::buffer(left.data(), left.size()), e);
    left.remove_prefix(used);
    if (e && e != beast_http::error::need_more)
      return fail("malformed HTTP response: " + e.message());
    if (parser_->is_header_done() && !head_sent_)
      deliver_head();
    if (closed_ || listener_ == nullptr)
      return;
    if (const auto body = std::exchange(parser_->get().body(), {}); !body.empty())
      listener_->on_body(body);
    if (e == beast_http::error::need_more)
      break;
  }
  if (closed_ || listener_ == nullptr)
    return;
  if (parser_->is_done())
    return answer_complete(!left.empty());
  unread_ = left;
}

/// @param more_came bytes that belong to no request: later answers could not be matched
void server_connection::answer_complete(bool more_came) {
  INVARIANT(head_sent_);
  const bool stays = parser_->get().keep_alive();
  parser_.reset();
  auto* listener = std::exchange(listener_, nullptr);
  wanted_ = wanted_ || !MUTANT(relay_stays_paused);
  listener->on_end();
  if (closed_)
    return;
  if (more_came)
    return fail("the server sent more than one response");
  if (!stays || output_ends_)
    return fail("EOF");
  then_.ready(*this);
}

} // namespace belay::actors
