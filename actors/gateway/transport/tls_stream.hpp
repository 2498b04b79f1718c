#pragma once
// TLS between a client's socket and its connection: decrypts what arrives, encrypts what
// is written, piece by piece as the socket takes it.

#include "actors/gateway/transport/handshake_limiter.hpp"
#include "actors/gateway/transport/sealed_channel.hpp"
#include "actors/gateway/transport/unsent_output.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace belay::actors {

class tls_stream {
public:
  /// Bytes encrypted at once: this much of an answer waits in a form only for this client.
  static constexpr std::size_t sealed_at_once = 64u << 10;

  tls_stream(std::shared_ptr<handshake_limiter> limiter, tls::https_credentials_ptr credentials, monotonic_time now)
      : limiter_(std::move(limiter)), credentials_(std::move(credentials)), since_(now) {}

  /// Continues a connection whose handshake is complete.
  tls_stream(std::shared_ptr<handshake_limiter> limiter, std::unique_ptr<sealed_channel> established,
             monotonic_time now)
      : limiter_(std::move(limiter)), channel_(std::move(established)), since_(now) {}

  handshake_limiter& limiter() { return *limiter_; }
  bool established() const { return channel_ && channel_->established(); }
  bool ended_by_client() const { return channel_ && channel_->ended_by_client(); }

  /// Whether handshake bytes may be processed now. Otherwise `who` is notified when they may.
  bool may_work(std::weak_ptr<handshake_limiter::waiter> who, monotonic_time now);
  /// Call it when `who` was notified.
  void time_granted(monotonic_time now);
  bool waits_for_time() const { return waiting_since_.has_value(); }
  /// Whether the handshake has taken longer than `limit`.
  bool is_late(monotonic_time now, std::chrono::milliseconds limit) const {
    return !established() && !waits_for_time() && now - since_ > limit;
  }

  /// Decrypts input. @returns a failure: no more can be read; send() what is left, and close
  status feed(std::string_view wire, const tls::https_channel::listener& on_plaintext);

  /// Encrypted bytes not sent yet.
  std::size_t unsent() const { return channel_ ? channel_->output().size() - sent_ : 0; }
  /// Encrypts and sends what is in `plain`, up to one quantum.
  /// @param scratch a scratch buffer, empty before and afterwards
  /// @param moved set to the bytes that the socket took
  unsent_output::outcome send(int fd, unsent_output& plain, std::string& scratch, std::size_t& moved);
  /// Appends close_notify after the unsent bytes. @returns false: it had been appended before
  bool end();

  /// Memory used, in bytes.
  std::size_t held_bytes() const {
    return channel_ ? tls::https_channel::resting_bytes + channel_->output().capacity() : 0;
  }

private:
  unsent_output::outcome send_sealed(int fd, std::size_t& left_of_quantum);

  std::shared_ptr<handshake_limiter> limiter_;
  tls::https_credentials_ptr credentials_;  ///< until there is a channel
  std::unique_ptr<sealed_channel> channel_; ///< null before the client has sent anything
  std::size_t sent_ = 0;                    ///< bytes of the channel's output that were sent
  monotonic_time since_;
  std::optional<monotonic_time> waiting_since_;
  bool ended_ = false;
};

} // namespace belay::actors
