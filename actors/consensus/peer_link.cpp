#include "actors/consensus/peer_link.hpp"

#include "actors/telemetry/log.hpp"
#include "protocol/base/host_port.hpp"

#include <caf/io/middleman.hpp>
#include <caf/io/network/multiplexer.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace belay::actors {

namespace {

constexpr std::chrono::milliseconds tick{20};
constexpr std::chrono::milliseconds redial_min{20};
constexpr std::chrono::milliseconds redial_max{500};
constexpr std::chrono::seconds hello_again{1};
// What is read at once grows and shrinks with what comes: CAF zeroes that many bytes before each read.
constexpr std::size_t read_bytes_min = 4u << 10;
constexpr std::size_t read_bytes_max = 256u << 10;
// A larger buffer of a peer's frames is given back: it was one unusual batch.
constexpr std::size_t kept_bytes_max = 256u << 10;

/// Numeric addresses only need parsing; a name is looked up, which may wait for DNS: names are for small clusters with a hosts file.
bool resolve(const std::string& host, std::uint16_t port, bool passive, sockaddr_storage& out, socklen_t& length) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
  addrinfo* found = nullptr;
  if (getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
    return false;
  std::memcpy(&out, found->ai_addr, found->ai_addrlen);
  length = found->ai_addrlen;
  freeaddrinfo(found);
  return true;
}

void set_options(int fd, std::chrono::milliseconds silence_limit) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  const auto limit = static_cast<unsigned>(silence_limit.count());
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
}

/// How much to read at once after a read of `got` bytes that could have brought `at_most`.
std::size_t fitting_read(std::size_t at_most, std::size_t got) {
  if (got == at_most)
    return std::min(2 * at_most, read_bytes_max);
  return got < at_most / 8 ? std::max(at_most / 2, read_bytes_min) : at_most;
}

} // namespace

result<int> listen_for_peers(const peer_link_settings& s) {
  const auto where = s.listen_host + ":" + std::to_string(s.listen_port);
  sockaddr_storage address{};
  socklen_t length = 0;
  if (!resolve(s.listen_host, s.listen_port, true, address, length))
    return failure{"address of the server port cannot be resolved: " + where};
  const int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return failure{std::string("no socket for peers: ") + std::strerror(errno)};
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(fd, 128) != 0) {
    const std::string why = std::strerror(errno);
    ::close(fd);
    return failure{"cannot listen for peers on " + where + ": " + why + " (set bind_addr and ports.server)"};
  }
  return fd;
}

peer_link::peer_link(caf::actor_config& config, wiring_ptr wires, peer_link_settings settings, int listener,
                     node_id self, metrics& m)
    : caf::io::broker(config), wires_(std::move(wires)), settings_(std::move(settings)), listener_(listener),
      self_(self), metrics_(m), random_(settings_.seed) {}

caf::behavior peer_link::make_behavior() {
  add_doorman(listener_);
  return {
      [this](const caf::io::new_connection_msg& c) {
        incoming_[c.handle].read_max = read_bytes_min;
        configure_read(c.handle, caf::io::receive_policy::at_most(read_bytes_min));
      },
      [this](const caf::io::new_data_msg& d) { on_data(d); },
      [this](const caf::io::connection_closed_msg& c) { on_closed(c.handle); },
      [this](const caf::io::acceptor_closed_msg&) {
        log::error("peer_link", "listening socket for peers closed; no peer can connect to this node",
                   {{"advice", "restart the node"}});
      },
      [this](const caf::io::data_transferred_msg& d) {
        for (auto& [address, o] : outgoing_)
          if (o.state == dial_state::up && o.handle == d.handle)
            o.unsent = d.remaining;
      },
      [this](send_frames& f) { send_to_peers(f); },
      [this](const dial_peers& d) {
        for (auto& [address, o] : outgoing_)
          o.wanted = o.peer != node_id{};
        for (const auto& a : d.addresses) {
          auto& o = outgoing_[a];
          o.address = a;
          o.wanted = true;
        }
      },
      [this](const announce& a) {
        const bool changed = a.hello != hello_;
        hello_ = a.hello;
        if (changed)
          next_hello_ = {};
      },
      [this](tick_atom) {
        on_tick();
        delayed_send(this, tick, tick_atom::value);
      },
      [this](stop_atom) {
        for (auto& [address, o] : outgoing_)
          disconnect(o);
        quit();
      },
  };
}

// ---- dialling

void peer_link::on_tick() {
  const auto now = clock().now();
  const bool say_hello = now >= next_hello_;
  if (say_hello)
    next_hello_ = now + hello_again;
  for (auto& [address, o] : outgoing_) {
    if (o.state == dial_state::idle && o.wanted && now >= o.next_event && address != hello_.self.address)
      dial(o);
    else if (o.state == dial_state::connecting)
      finish_dial(o);
    else if (o.state == dial_state::up && say_hello)
      write_hello(o);
  }
  drop_silent_connections();
}

void peer_link::drop_silent_connections() {
  std::vector<caf::io::connection_handle> silent;
  for (auto& [handle, in] : incoming_)
    if (++in.silent_ticks * tick > settings_.hello_limit)
      silent.push_back(handle);
  for (const auto& handle : silent) {
    log::info("peer_link", "nothing heard on a connection for too long; closed",
              {{"peer", incoming_[handle].peer.value}});
    hang_up(handle);
  }
}

void peer_link::dial(outgoing& o) {
  const auto peer = split_host_port(o.address);
  sockaddr_storage address{};
  socklen_t length = 0;
  if (peer.number() == 0 || !resolve(peer.host, peer.number(), false, address, length))
    return dial_failed(o, "address cannot be resolved");
  o.fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (o.fd < 0)
    return dial_failed(o, std::strerror(errno));
  set_options(o.fd, settings_.silence_limit);
  o.state = dial_state::connecting;
  o.next_event = clock().now() + settings_.dial_deadline;
  if (connect(o.fd, reinterpret_cast<sockaddr*>(&address), length) != 0 && errno != EINPROGRESS)
    return dial_failed(o, std::strerror(errno));
  finish_dial(o);
}

void peer_link::finish_dial(outgoing& o) {
  pollfd p{o.fd, POLLOUT, 0};
  if (poll(&p, 1, 0) == 0) {
    if (clock().now() >= o.next_event)
      dial_failed(o, "no answer");
    return;
  }
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(o.fd, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0)
    return dial_failed(o, std::strerror(error));
  dialled(o);
}

void peer_link::dialled(outgoing& o) {
  o.handle = add_scribe(o.fd); // which closes it
  o.state = dial_state::up;
  o.failures = 0;
  o.unsent = 0;
  ack_writes(o.handle, true);
  configure_read(o.handle, caf::io::receive_policy::at_most(1024)); // to learn of its end; peers do not answer here
  write_hello(o);
  log::debug("peer_link", "connected", {{"address", o.address}});
  if (!o.peer.is_zero())
    send(wires_->raft_peer, peer_connected{o.peer});
}

void peer_link::dial_failed(outgoing& o, const char* why) {
  if (o.fd >= 0)
    ::close(o.fd);
  o.fd = -1;
  o.state = dial_state::idle;
  if (o.failures == 0)
    log::warn("peer_link", "peer cannot be reached; trying again until it can",
              {{"address", o.address}, {"reason", why}});
  o.failures = std::min(o.failures + 1, 10);
  const auto pause = std::min(redial_max, redial_min * (1 << std::min(o.failures, 5)));
  const auto jitter = random_.below(static_cast<std::uint64_t>(pause.count()));
  o.next_event = clock().now() + pause / 2 + std::chrono::milliseconds(jitter);
}

void peer_link::disconnect(outgoing& o) {
  if (o.state == dial_state::up)
    close(o.handle);
  else if (o.fd >= 0)
    ::close(o.fd);
  o.fd = -1;
  o.state = dial_state::idle;
}

void peer_link::hang_up(caf::io::connection_handle handle) {
  close(handle);
  on_closed(handle);
}

void peer_link::on_closed(caf::io::connection_handle handle) {
  if (auto it = incoming_.find(handle); it != incoming_.end()) {
    const auto peer = it->second.peer;
    incoming_.erase(it);
    if (peer.is_zero())
      return;
    for (const auto& [other, in] : incoming_)
      if (in.peer == peer)
        return; // it came back before we saw it go
    log::info("peer_link", "peer hung up", {{"peer", peer.value}});
    send(wires_->raft_peer, peer_lost{peer});
    return;
  }
  for (auto& [address, o] : outgoing_) {
    if (o.state != dial_state::up || o.handle != handle)
      continue;
    o.state = dial_state::idle;
    o.fd = -1;
    o.next_event = clock().now() + redial_min;
    log::info("peer_link", "connection lost", {{"address", address}});
    if (!o.peer.is_zero())
      send(wires_->raft_peer, peer_lost{o.peer});
  }
}

// ---- frames

void peer_link::write_hello(outgoing& o) {
  if (hello_.self.id.is_zero())
    return;
  wire::encode_frame(hello_, o.fresh);
  transmit(o);
}

/// At once, as far as the socket takes it: CAF would wait for an event of the socket, which costs three system calls and
/// a turn of its loop. The rest, and everything behind it until that is gone, is CAF's.
void peer_link::transmit(outgoing& o) {
  std::size_t sent = 0;
  if (o.unsent == 0) {
    const auto n = ::send(o.fd, o.fresh.data(), o.fresh.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0)
      sent = static_cast<std::size_t>(n);
  }
  if (sent < o.fresh.size()) {
    write(o.handle, o.fresh.size() - sent, o.fresh.data() + sent);
    flush(o.handle);
    o.unsent += o.fresh.size() - sent;
  }
  if (o.fresh.capacity() > kept_bytes_max)
    o.fresh = {};
  o.fresh.clear();
}

void peer_link::send_to_peers(send_frames& frames) {
  std::vector<outgoing*> touched;
  for (const auto& [to, frame] : frames.list) {
    auto known = address_of_.find(to);
    if (known == address_of_.end())
      continue;
    auto& o = outgoing_[known->second];
    if (o.state != dial_state::up || o.unsent + o.fresh.size() > settings_.unsent_bytes_max) {
      metrics_.dropped_frame();
      continue;
    }
    wire::encode_frame(frame, o.fresh);
    if (std::find(touched.begin(), touched.end(), &o) == touched.end())
      touched.push_back(&o);
  }
  for (auto* o : touched)
    transmit(*o);
}

void peer_link::on_data(const caf::io::new_data_msg& msg) {
  auto it = incoming_.find(msg.handle);
  if (it == incoming_.end())
    return;
  auto& in = it->second;
  in.silent_ticks = 0;
  if (const auto fitting = fitting_read(in.read_max, msg.buf.size()); fitting != in.read_max) {
    in.read_max = fitting;
    configure_read(msg.handle, caf::io::receive_policy::at_most(fitting));
  }
  frames_received received;
  auto fed = in.decoder.feed({msg.buf.data(), msg.buf.size()}, received.list);
  if (fed && in.peer.is_zero() && !received.list.empty() && !std::holds_alternative<wire::hello>(received.list.front()))
    fed = failure{"no introduction"};
  for (const auto& f : received.list)
    if (const auto* h = std::get_if<wire::hello>(&f); h != nullptr && fed)
      on_hello(in, *h);
  if (!fed) {
    log::warn("peer_link", "connection closed: it does not speak our protocol", {{"reason", fed.error()}});
    hang_up(msg.handle);
    return;
  }
  received.from = in.peer;
  if (!received.list.empty())
    send(wires_->raft_peer, std::move(received));
}

/// What is still unread on them is of an earlier life of the connection: it must not be heard after what comes now.
void peer_link::drop_earlier_connections(node_id peer) {
  for (auto it = incoming_.begin(); it != incoming_.end();) {
    if (it->second.peer != peer) {
      ++it;
      continue;
    }
    const auto handle = it->first;
    it = incoming_.erase(it);
    close(handle);
  }
}

void peer_link::on_hello(incoming& in, const wire::hello& h) {
  const bool first = in.peer.is_zero();
  if (first)
    drop_earlier_connections(h.self.id);
  in.peer = h.self.id;
  if (h.self.id == self_)
    return;
  address_of_[h.self.id] = h.self.address;
  auto& o = outgoing_[h.self.address];
  o.address = h.self.address;
  o.wanted = true;
  const bool known = o.peer == h.self.id;
  o.peer = h.self.id;
  if (first && o.state == dial_state::idle)
    o.next_event = {}; // it is alive: no need to wait
  if (o.state == dial_state::up && (!known || first))
    send(wires_->raft_peer, peer_connected{o.peer});
}

} // namespace belay::actors
