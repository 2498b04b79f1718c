#include "actors/gateway/transport/unsent_output.hpp"

#include "protocol/base/check.hpp"

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
    bytes_.swap(fresh); // no copy, and the small buffer of one is reused by the other
    return;
  }
  if (fresh.empty())
    return;
  if (behind_.empty()) {
    // Sent bytes must not be kept forever for a client that always leaves a few bytes unread.
    if (sent_ > bytes_.size() / 2) {
      bytes_.erase(0, sent_);
      sent_ = 0;
    }
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

unsent_output::outcome unsent_output::send(int fd) {
  auto left_of_quantum = bytes_per_quantum;
  for (auto bytes = front(); !bytes.empty();) {
    if (left_of_quantum == 0)
      return outcome::blocked;
    const auto n = ::send(fd, bytes.data(), std::min(bytes.size(), bytes_per_quantum), MSG_NOSIGNAL);
    if (n >= 0) {
      const auto sent = static_cast<std::size_t>(n);
      left_of_quantum -= std::min(left_of_quantum, sent);
      skip(sent);
      bytes = front();
    } else if (errno == EAGAIN) {
      return outcome::blocked;
    } else if (errno != EINTR) {
      return outcome::broken;
    }
  }
  return outcome::sent;
}

std::string_view unsent_output::front() {
  if (sent_ < bytes_.size())
    return std::string_view(bytes_).substr(sent_);
  while (!behind_.empty()) {
    auto& p = behind_.front();
    if (const auto left = left_of(p); !left.empty())
      return left;
    if (p.body && ++p.piece < p.body->pieces.size()) {
      p.sent = 0;
      continue;
    }
    own_bytes_behind_ -= p.bytes.size();
    behind_.pop_front();
  }
  return {};
}

void unsent_output::skip(std::size_t bytes) {
  PRECONDITION(bytes <= front().size());
  if (sent_ < bytes_.size()) {
    sent_ += bytes;
    if (sent_ == bytes_.size()) {
      bytes_.clear();
      sent_ = 0;
    }
  } else {
    behind_.front().sent += bytes;
    behind_bytes_ -= bytes;
  }
}

std::string_view unsent_output::left_of(const part& p) {
  if (!p.body)
    return std::string_view(p.bytes).substr(p.sent);
  return p.piece < p.body->pieces.size() ? std::string_view(*p.body->pieces[p.piece]).substr(p.sent)
                                         : std::string_view();
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
