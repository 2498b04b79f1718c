// http_connection: the part for TLS.

#include "actors/gateway/http_connection.hpp"

#include <sys/socket.h>

#include <utility>

namespace belay::actors {

/// @returns false: other handshakes are first; on_time_granted() follows
bool http_connection::may_shake_hands() {
  if (tls_->may_work(std::static_pointer_cast<http_connection>(shared_from_this()), host_->now()))
    return true;
  wait_readable();
  return false;
}

void http_connection::on_time_granted() {
  if (!open())
    return;
  const auto self = shared_from_this();
  tls_->time_granted(host_->now());
  read_some();
  account();
}

void http_connection::take_sealed(std::string_view wire) {
  const auto fed = tls_->feed(wire, [this](std::string_view plaintext) {
    take(plaintext);
    return open();
  });
  if (!open())
    return;
  if (!fed)
    return refuse_tls(fed.error());
  if (tls_->unsent() != 0 && !flush())
    return;
  if (tls_->ended_by_client())
    end_of_input();
}

/// The rest of the input cannot be decrypted. The client gets the reason as a TLS alert.
void http_connection::refuse_tls(const std::string& why) {
  tls_->limiter().log_rejection(address(), why, host_->now());
  std::size_t ignored = 0;
  unsent_output nothing;
  const bool undone = !queue_.empty() || unsent() > tls_->unsent();
  const auto outcome = tls_->send(fd_, nothing, host_->sealed, ignored);
  if (undone || outcome == unsent_output::outcome::broken)
    return close();
  begin_linger();
}

/// Sends TLS's end of data before the socket ends. @returns false: has to wait for the socket
bool http_connection::send_close_notify() {
  if (!tls_->end())
    return true;
  std::size_t ignored = 0;
  switch (tls_->send(fd_, unsent_, host_->sealed, ignored)) {
  case unsent_output::outcome::sent:
    return true;
  case unsent_output::outcome::blocked:
    wait_for({waits_for_.read, true, waits_for_.hang_up});
    return false;
  case unsent_output::outcome::broken:
    break;
  }
  close();
  return false;
}

/// Like send_close_notify(), but does not wait for the socket.
void http_connection::hang_up_politely() {
  std::size_t ignored = 0;
  if (to_send() == 0 && tls_->end())
    tls_->send(fd_, unsent_, host_->sealed, ignored);
}

} // namespace belay::actors
