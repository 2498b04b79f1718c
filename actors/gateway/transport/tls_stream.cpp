#include "actors/gateway/transport/tls_stream.hpp"

#include "actors/thread_time.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace belay::actors {

namespace {

// Output buffer of an idle connection: a small one is kept for the next answer.
constexpr std::size_t kept_sealed_bytes_max = 1024;

} // namespace

bool tls_stream::may_work(std::weak_ptr<handshake_limiter::waiter> who, monotonic_time now) {
  if (waits_for_time())
    return false;
  if (limiter_->may_work())
    return true;
  waiting_since_ = now;
  limiter_->wait(std::move(who));
  return false;
}

void tls_stream::time_granted(monotonic_time now) {
  if (waits_for_time())
    since_ += now - *std::exchange(waiting_since_, std::nullopt);
}

status tls_stream::feed(std::string_view wire, const tls::https_channel::listener& on_plaintext) {
  if (established())
    return channel_->feed(wire, on_plaintext);
  const auto begun = thread_time();
  if (!channel_)
    channel_ = std::make_unique<https_client_channel>(std::exchange(credentials_, nullptr));
  // Processing what the client sends after its handshake is not counted.
  std::optional<std::chrono::nanoseconds> took;
  auto s = channel_->feed(wire, [&](std::string_view plaintext) {
    if (!took)
      took = thread_time() - begun;
    return on_plaintext(plaintext);
  });
  limiter_->spend(took ? *took : thread_time() - begun);
  return s;
}

unsent_output::outcome tls_stream::send_sealed(int fd, std::size_t& left_of_quantum) {
  const auto& sealed = channel_->output();
  while (sent_ < sealed.size()) {
    if (left_of_quantum == 0)
      return unsent_output::outcome::blocked;
    const auto n = ::send(fd, sealed.data() + sent_, sealed.size() - sent_, MSG_NOSIGNAL);
    if (n >= 0) {
      sent_ += static_cast<std::size_t>(n);
      left_of_quantum -= std::min(left_of_quantum, static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      return unsent_output::outcome::blocked;
    } else if (errno != EINTR) {
      return unsent_output::outcome::broken;
    }
  }
  channel_->output().clear();
  sent_ = 0;
  return unsent_output::outcome::sent;
}

unsent_output::outcome tls_stream::send(int fd, unsent_output& plain, std::string& scratch, std::size_t& moved) {
  using outcome = unsent_output::outcome;
  moved = 0;
  if (!channel_)
    return outcome::sent;
  auto& sealed = channel_->output();
  if (sealed.empty() && sealed.capacity() < scratch.capacity())
    sealed.swap(scratch);
  auto left_of_quantum = unsent_output::bytes_per_quantum;
  auto o = outcome::sent;
  for (;;) {
    const auto left_before = left_of_quantum;
    o = send_sealed(fd, left_of_quantum);
    moved += left_before - left_of_quantum;
    if (o != outcome::sent || plain.empty())
      break;
    for (auto bytes = plain.front(); !bytes.empty() && sealed.size() < sealed_at_once; bytes = plain.front()) {
      bytes = bytes.substr(0, sealed_at_once - sealed.size());
      if (!channel_->write(bytes))
        return outcome::broken;
      plain.skip(bytes.size());
    }
  }
  if (sealed.empty() && sealed.capacity() > kept_sealed_bytes_max) {
    if (scratch.capacity() < sealed.capacity())
      scratch.swap(sealed); // the warm buffer stays with the gateway
    if (sealed.capacity() > kept_sealed_bytes_max)
      sealed = std::string();
  }
  return o;
}

bool tls_stream::end() {
  if (!established() || std::exchange(ended_, true))
    return false;
  channel_->end();
  return true;
}

} // namespace belay::actors
