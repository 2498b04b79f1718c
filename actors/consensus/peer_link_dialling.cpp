// peer_link: dialled connections, and what is sent on them.

#include "actors/consensus/peer_link.hpp"
#include "actors/spare_descriptors.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/base/host_port.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace belay::actors {

namespace {

constexpr std::chrono::milliseconds redial_min{20};
constexpr std::chrono::milliseconds redial_max{500};
// Pause for a name whose connection was ended while servers are connected under the addresses that
// they announced. Most likely it is one of those, at an address visible only to others;
// is_reached_otherwise() cannot detect that. Then each connection that is dialled by the name ends
// the other one.
constexpr std::chrono::seconds name_again{60};
// A connection that ends sooner was rejected: in TLS 1.3 the dialling side finishes
// before the other side has checked it.
constexpr std::chrono::seconds lasting{1};
// A larger buffer is freed: it was one unusual batch.
constexpr std::size_t spare_capacity_max = 256u << 10;

} // namespace

peer_link::outgoing& peer_link::towards(const std::string& address) {
  const auto [there, fresh] = outgoing_.try_emplace(address, address, settings_.unsent_bytes_max);
  if (fresh)
    tick_soon();
  return there->second;
}

// ---- dialling

void peer_link::dial_at_once(const std::string& address) {
  auto& o = towards(address);
  o.named = true; // the caller has it among the addresses to dial
  o.awaited = true;
  if (o.state == dial_state::up)
    notify_dialled(o, {});
  else if (o.state == dial_state::idle)
    dial(o);
}

void peer_link::notify_dialled(outgoing& o, std::string error) {
  if (std::exchange(o.awaited, false))
    send(node_actors_->raft_peer, dialled_now{o.address, std::move(error)});
}

/// Whether a name in retry_join means a server already connected under the address it announced.
/// That server would take a second connection for a reconnect and drop the first. The first would
/// be dialled again, the second dropped, and so on; each time frames (such as heartbeats) are lost.
bool peer_link::is_reached_otherwise(const outgoing& o, const socket_endpoint& meant) const {
  if (!o.peer.is_zero())
    return false;
  const auto port = split_host_port(o.address).number();
  const auto host = host_text(meant);
  return std::any_of(outgoing_.begin(), outgoing_.end(), [&](const auto& known) {
    const auto& other = known.second;
    if (other.peer.is_zero() || other.state != dial_state::up)
      return false;
    const auto there = split_host_port(other.address);
    const auto endpoint = numeric_endpoint(there.host, there.number());
    return there.number() == port && endpoint && host_text(*endpoint) == host;
  });
}

void peer_link::dial(outgoing& o) {
  PRECONDITION(o.state == dial_state::idle);
  PRECONDITION(o.fd < 0); // else it would stay open
  PRECONDITION(!o.channel);
  const auto peer = split_host_port(o.address);
  const auto address = peer.number() == 0 ? std::nullopt : names_.find(peer.host, peer.number());
  if (!address)
    return dial_failed(o, "its name is not resolved yet", true);
  if (is_reached_otherwise(o, *address)) {
    o.next_event = clock().now() + redial_max;
    return notify_dialled(o, {});
  }
  o.fd = socket(address->bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (o.fd < 0)
    return dial_failed(o, std::strerror(errno));
  if (!leaves_spare_descriptors(o.fd))
    return dial_failed(o, "file descriptors are nearly used up");
  set_peer_options(o.fd, settings_.silence_limit);
  o.state = dial_state::connecting;
  o.next_event = clock().now() + settings_.dial_deadline;
  tick_soon();
  if (connect(o.fd, address->any(), address->size) != 0 && errno != EINPROGRESS)
    return dial_failed(o, std::strerror(errno));
  finish_dial(o);
}

void peer_link::finish_dial(outgoing& o) {
  PRECONDITION(o.state == dial_state::connecting);
  PRECONDITION(o.fd >= 0);
  pollfd p{o.fd, POLLOUT, 0};
  if (poll(&p, 1, 0) == 0) {
    if (clock().now() >= o.next_event)
      dial_failed(o, "no response");
    return;
  }
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(o.fd, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0)
    return dial_failed(o, std::strerror(error));
  const auto credentials = settings_.credentials->now();
  if (!credentials->dials_with_tls())
    return dialled(o);
  o.channel.emplace(credentials, tls::channel::side::dials);
  o.state = dial_state::shaking_hands;
  o.next_event = clock().now() + settings_.pending.deadline;
  shake_hands(o);
}

void peer_link::shake_hands(outgoing& o) {
  PRECONDITION(o.state == dial_state::shaking_hands);
  PRECONDITION(o.channel.has_value());
  char bytes[8u << 10];
  std::string nothing;
  for (;;) {
    std::string out;
    o.channel->take_output(out);
    if (send_now(o.fd, out) != out.size())
      return dial_failed(o, "the handshake could not be sent");
    if (o.channel->established())
      return dialled(o);
    const auto n = ::recv(o.fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
      return dial_failed(o, "it closed the connection during the TLS handshake; check whether it uses TLS");
    if (n < 0) {
      if (clock().now() >= o.next_event)
        dial_failed(o, "no response to the TLS handshake");
      return;
    }
    if (const auto fed = o.channel->feed({bytes, static_cast<std::size_t>(n)}, nothing); !fed) {
      out.clear();
      o.channel->take_output(out); // the reason, for the peer
      (void)send_now(o.fd, out);
      return dial_failed(o, fed.error());
    }
  }
}

void peer_link::dialled(outgoing& o) {
  PRECONDITION(o.state != dial_state::up);
  PRECONDITION(!o.channel || o.channel->established()); // no frame before the peer has proved itself
  o.handle = add_scribe(o.fd);                          // which closes the descriptor
  o.state = dial_state::up;
  o.up_since = clock().now();
  o.unsent = 0;
  o.confirmed = false;
  o.queue.clear();
  ack_writes(o.handle, true);
  configure_read(o.handle, caf::io::receive_policy::at_most(1024)); // to detect its end; peers send nothing here
  write_hello(o);
  if (std::exchange(o.loss_unlogged, false))
    log::info("peer_link", "connection to peer lost and restored", {{"peer", o.name}, {"address", o.address}});
  log::debug("peer_link", "connected", {{"address", o.address}, {"tls", o.channel.has_value()}});
  if (!o.peer.is_zero())
    send(node_actors_->raft_peer, peer_connected{o.peer, o.channel.has_value()});
  notify_dialled(o, {});
}

/// @param may_pass the next attempt may succeed
void peer_link::dial_failed(outgoing& o, const std::string& why, bool may_pass) {
  if (o.fd >= 0)
    ::close(o.fd);
  o.fd = -1;
  o.channel.reset();
  o.state = dial_state::idle;
  names_.failed(split_host_port(o.address).host);
  cannot_reach(o, why);
  back_off(o);
  if (!may_pass)
    notify_dialled(o, why);
}

/// Logs once per outage, while the reason stays the same.
void peer_link::cannot_reach(outgoing& o, const std::string& why) {
  if (o.complaint == why)
    return;
  o.complaint = why;
  if (o.state != dial_state::up && std::exchange(o.loss_unlogged, false))
    return log::warn("peer_link", "connection to peer lost; retrying",
                     {{"peer", o.name}, {"address", o.address}, {"reason", why}});
  complain(o.address, why, "peer unreachable; retrying");
}

void peer_link::back_off(outgoing& o) {
  o.failures = std::min(o.failures + 1, 10);
  const auto pause = std::min(redial_max, redial_min * (1 << std::min(o.failures, 5)));
  const auto jitter = random_.below(static_cast<std::uint64_t>(pause.count()));
  o.next_event = clock().now() + pause / 2 + std::chrono::milliseconds(jitter);
  tick_soon();
}

/// A peer sends nothing on a connection that this server dialled, except the reason when it ends
/// the connection.
void peer_link::on_answer(outgoing& o, std::string_view bytes) {
  constexpr std::string_view alert("\x15\x03", 2);
  std::string plaintext;
  if (o.channel) {
    const auto fed = o.channel->feed(bytes, plaintext);
    if (fed)
      return;
    cannot_reach(o, fed.error());
  } else if (bytes.starts_with(alert)) {
    cannot_reach(o, "peer rejected this server: it requires TLS (encrypt, or certificates)");
  } else {
    return;
  }
  close(o.handle);
  lost(o);
}

void peer_link::lost(outgoing& o) {
  PRECONDITION(o.state == dial_state::up);
  const auto now = clock().now();
  o.state = dial_state::idle;
  o.fd = -1;
  o.channel.reset();
  o.queue.clear();
  tick_soon();
  const bool servers_are_connected = std::any_of(outgoing_.begin(), outgoing_.end(), [](const auto& known) {
    return !known.second.peer.is_zero() && known.second.state == dial_state::up;
  });
  if (o.peer.is_zero() && servers_are_connected) {
    o.next_event = now + name_again;
  } else if (now - o.up_since < lasting) {
    back_off(o);
  } else {
    o.failures = 0;
    o.complaint.clear();
    o.next_event = now + redial_min;
    o.loss_unlogged = o.named || log_limit_.may_write("lost " + o.address, now);
  }
  if (o.peer.is_zero())
    return;
  send(node_actors_->raft_peer, peer_lost{o.peer, is_reachable(o.peer)});
}

void peer_link::disconnect(outgoing& o) {
  if (o.state == dial_state::up)
    close(o.handle);
  else if (o.fd >= 0)
    ::close(o.fd);
  o.fd = -1;
  o.channel.reset();
  o.queue.clear();
  o.state = dial_state::idle;
}

// ---- frames

void peer_link::write_hello(outgoing& o) {
  if (hello_.self.id.is_zero())
    return;
  (void)o.queue.push(hello_, o.unsent); // if dropped: the peer accepts nothing anyway
  transmit(o);
}

/// Sends at once what the socket accepts: CAF would wait for an event of the socket, which costs
/// three system calls and a turn of its loop. CAF sends the rest, and everything queued after it.
void peer_link::transmit(outgoing& o) {
  PRECONDITION(o.state == dial_state::up);
  PRECONDITION(o.fresh.empty()); // or those bytes would come in the middle of a frame
  // Repeats while the socket accepts all: no event would then fetch what waits in the queue.
  while (o.queue.has_work(o.unsent)) {
    if (o.channel) {
      std::string plain;
      o.queue.take(o.unsent, plain);
      if (!o.channel->write(plain))
        break; // what is wrong shows when the peer's reason arrives, or the connection breaks
      o.channel->take_output(o.fresh);
    } else {
      o.queue.take(o.unsent, o.fresh);
    }
    const auto sent = o.unsent == 0 ? send_now(o.fd, o.fresh) : 0;
    if (sent < o.fresh.size()) {
      write(o.handle, o.fresh.size() - sent, o.fresh.data() + sent);
      flush(o.handle);
      o.unsent += o.fresh.size() - sent;
    }
    o.fresh.clear();
  }
  if (o.fresh.capacity() > spare_capacity_max)
    o.fresh = {};
}

void peer_link::send_to_peers(send_frames& frames) {
  std::vector<outgoing*> touched;
  for (const auto& [to, frame] : frames.list) {
    auto known = address_of_.find(to);
    if (known == address_of_.end())
      continue;
    const auto found = outgoing_.find(known->second);
    if (found == outgoing_.end())
      continue;
    auto& o = found->second;
    if (o.state != dial_state::up || (wire::holds_keys(frame) && !o.channel) || !o.queue.push(frame, o.unsent)) {
      metrics_.dropped_frame();
      continue;
    }
    if (std::find(touched.begin(), touched.end(), &o) == touched.end())
      touched.push_back(&o);
  }
  for (auto* o : touched)
    transmit(*o);
}

} // namespace belay::actors
