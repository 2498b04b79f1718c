#include "actors/gateway/unsent_output.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace belay::actors {

namespace {

// Buffers of an idle connection: most have none; small ones are kept for the next slow answer.
constexpr std::size_t kept_output_bytes_max = 1024;

} // namespace

std::size_t unsent_output::shared_bytes() const {
  std::size_t bytes = 0;
  for (const auto& p : behind_)
    if (p.body)
      bytes += p.body->size / static_cast<std::size_t>(p.body.use_count());
  return bytes;
}

void unsent_output::take(std::string& fresh) {
  if (bytes_.empty() && behind_.empty()) {
    bytes_.swap(fresh); // no copy, and the small buffer of one goes to the other
    return;
  }
  if (fresh.empty())
    return;
  if (behind_.empty()) {
    bytes_ += fresh;
  } else {
    if (behind_.back().body)
      behind_.emplace_back();
    behind_.back().bytes += fresh;
    behind_bytes_ += fresh.size();
    own_bytes_behind_ += fresh.size();
  }
  fresh.clear();
}

void unsent_output::append(http::shared_body_ptr body) {
  behind_bytes_ += body->size;
  behind_.push_back({std::move(body)});
}

/// @param sent bytes of them that are gone already
unsent_output::outcome unsent_output::send_some(int fd, std::string_view bytes, std::size_t& sent,
                                                std::size_t& left_of_turn) {
  while (sent < bytes.size()) {
    if (left_of_turn == 0)
      return outcome::blocked;
    const auto n = ::send(fd, bytes.data() + sent, std::min(bytes.size() - sent, bytes_per_turn), MSG_NOSIGNAL);
    if (n >= 0) {
      sent += static_cast<std::size_t>(n);
      left_of_turn -= std::min(left_of_turn, static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      return outcome::blocked;
    } else if (errno != EINTR) {
      return outcome::broken;
    }
  }
  return outcome::sent;
}

unsent_output::outcome unsent_output::send(int fd) {
  auto left_of_turn = bytes_per_turn;
  const auto o = send_some(fd, bytes_, sent_, left_of_turn);
  return o == outcome::sent && !behind_.empty() ? send_behind(fd, left_of_turn) : o;
}

unsent_output::outcome unsent_output::send_behind(int fd, std::size_t& left_of_turn) {
  while (!behind_.empty()) {
    auto& p = behind_.front();
    const bool own = p.body == nullptr;
    if (!own && p.piece == p.body->pieces.size()) {
      behind_.pop_front();
      continue;
    }
    const std::string_view bytes = own ? p.bytes : *p.body->pieces[p.piece];
    const auto before = p.sent;
    const auto o = send_some(fd, bytes, p.sent, left_of_turn);
    behind_bytes_ -= p.sent - before;
    if (o != outcome::sent)
      return o;
    if (own) {
      own_bytes_behind_ -= p.bytes.size();
      behind_.pop_front();
    } else {
      ++p.piece;
      p.sent = 0;
    }
  }
  return outcome::sent;
}

void unsent_output::release(std::string& fresh, std::size_t shared_max) {
  clear();
  if (fresh.capacity() < bytes_.capacity() && bytes_.capacity() <= shared_max)
    bytes_.swap(fresh); // the warm buffer stays with the gateway
  if (bytes_.capacity() > kept_output_bytes_max)
    bytes_ = std::string();
}

void unsent_output::clear() {
  bytes_.clear();
  sent_ = 0;
  behind_.clear();
  behind_bytes_ = own_bytes_behind_ = 0;
}

} // namespace belay::actors
