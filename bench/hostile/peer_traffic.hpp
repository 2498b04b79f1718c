#pragma once
// A hostile peer. It has what a server sends to peers without credentials, and sends frames that
// are well-formed and wrong, frames that never end, and nothing.

#include "bench/hostile/traffic.hpp"
#include "protocol/base/host_port.hpp"
#include "protocol/wire/command_codec.hpp"
#include "protocol/wire/frame_codec.hpp"

#include <openssl/ssl.h>

#include <deque>
#include <vector>

namespace belay::hostile {

/// What it knows: the target server, and the contents of that server's hello.
struct victim {
  raft::member self;
  raft::member other; ///< another member: a peer with its id in its hello would be taken for it
  std::string datacenter = "dc1";
  std::uint64_t cluster_id = 0;
  std::vector<std::string> known; ///< addresses of other servers
};

inline std::string framed(const wire::frame& f) {
  std::string out;
  wire::encode_frame(f, out);
  return out;
}

inline constexpr node_id unverified_id{0x5716A96E};

inline raft::member unverified_at(const std::string& address) {
  return {unverified_id, "57164a6e-0000-4000-8000-000000000001", "stranger", address};
}

/// Sends a hello with an address where it listens, and reads the hello of the server that connects.
inline victim identified(const target& at, counts& counted) {
  victim out;
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in mine{};
  mine.sin_family = AF_INET;
  ::inet_pton(AF_INET, at.from.c_str(), &mine.sin_addr);
  socklen_t size = sizeof mine;
  const bool listens = ::bind(listener, reinterpret_cast<sockaddr*>(&mine), size) == 0 && ::listen(listener, 4) == 0 &&
                       ::getsockname(listener, reinterpret_cast<sockaddr*>(&mine), &size) == 0;
  connection ours(at, counted);
  ours.send(framed(wire::hello{unverified_at(at.from + ":" + std::to_string(ntohs(mine.sin_port))),
                               out.datacenter,
                               0,
                               0,
                               {},
                               state::own_level}));
  pollfd called{listener, POLLIN, 0};
  if (listens && ::poll(&called, 1, 3000) > 0) {
    const int fd = ::accept(listener, nullptr, nullptr);
    wire::frame_decoder decoder;
    std::vector<wire::frame> frames;
    std::string bytes(4096, '\0');
    for (pollfd p{fd, POLLIN, 0}; frames.empty() && ::poll(&p, 1, 1000) > 0;) {
      const auto n = ::recv(fd, bytes.data(), bytes.size(), 0);
      if (n <= 0 || !decoder.feed(std::string_view(bytes).substr(0, static_cast<std::size_t>(n)), frames).ok())
        break;
    }
    if (!frames.empty())
      if (const auto* greeting = std::get_if<wire::hello>(&frames.front()))
        out = {greeting->self, {}, greeting->datacenter, greeting->cluster_id, greeting->known};
    ::close(fd);
  }
  ::close(listener);
  return out;
}

/// The same, with another server that the first one has named.
inline victim identified_to_two(const target& at, counts& counted) {
  auto v = identified(at, counted);
  for (const auto& address : v.known) {
    auto there = at;
    there.port = split_host_port(address).number();
    if (const auto found = identified(there, counted); !found.self.id.is_zero() && found.self.id != v.self.id)
      v.other = found.self;
    if (!v.other.id.is_zero())
      break;
  }
  if (v.other.id.is_zero())
    v.other = v.self;
  return v;
}

/// Frames, as if from that server, that only members of the configuration may send.
inline std::vector<std::string> forged_frames(const victim& v, node_id from) {
  const term_id far{std::uint64_t{1} << 62}, near{1000};
  const log_index high{1u << 30};
  state::kv_op op;
  op.key = "forged";
  op.value = make_payload("forged");
  const auto forged = make_payload(wire::encode_command(state::kv_write{op}));
  const auto body = [&](term_id t, raft::message_body b) {
    return framed(raft::message{from, v.self.id, t, std::move(b)});
  };
  return {body(far, raft::vote_request{false, false, high, near}),
          body(near, raft::vote_request{true, false, high, near}),
          body(near, raft::vote_request{false, true, high, near}),
          body(near, raft::append_entries{log_index{1},
                                          term_id{1},
                                          high,
                                          1,
                                          {{log_index{2}, near, cluster_time{}, raft::entry_kind::command, forged}}}),
          body(far, raft::append_reply{true, high, {}, {}, {}, 1}),
          body(near, raft::timeout_now{}),
          body(near, raft::snapshot_chunk{{high, near, cluster_time{}, {}}, 0, make_payload("forged"), true}),
          framed(wire::forward_call{request_id{7}, wire::call_kind::propose, forged}),
          framed(wire::forward_call{request_id{8}, wire::call_kind::propose, make_payload("\x01\x4dgarbage")}),
          framed(wire::forward_call{request_id{9}, wire::call_kind::remove_member, make_payload("garbage")}),
          framed(wire::read_index{1, true})};
}

/// The client hello of TLS 1.3, for which a server must compute a response.
inline std::string client_hello() {
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL* session = SSL_new(context);
  BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
  SSL_set_bio(session, in, out);
  SSL_connect(session);
  std::string bytes(4096, '\0');
  const int n = BIO_read(out, bytes.data(), static_cast<int>(bytes.size()));
  bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  SSL_free(session);
  SSL_CTX_free(context);
  return bytes;
}

/// Opens connections with various first bytes and new names. The newest hundred stay open.
inline void open_connections(const target& at, const victim& v, double a_second, counts& counted) {
  auto as_member = v.other;
  as_member.address = at.from + ":1";
  const std::vector<std::string> words{
      "",
      client_hello(),
      "GET / HTTP/1.1\r\n\r\n",
      std::string("\0\0\0\x7f", 4) + std::string(300, 'x'),
      framed(wire::hello{as_member, v.datacenter, v.cluster_id, 3, {}, state::own_level}),
      framed(wire::hello{v.self, v.datacenter, 0, 3, {v.self}, state::own_level})};
  std::deque<connection> silent;
  pace steady_pace(a_second);
  for (std::size_t i = 0; !at.over(); ++i, steady_pace.wait()) {
    connection c(at, counted);
    auto sender = unverified_at(at.from + ":" + std::to_string(1 + i % 60000));
    sender.id = node_id{unverified_id.value + i};
    c.send(i % 7 == 0 ? framed(wire::hello{sender, v.datacenter, v.cluster_id, 3, {}, state::own_level})
                      : words[i % words.size()]);
    silent.push_back(std::move(c));
    if (silent.size() > 100)
      silent.pop_front();
  }
}

/// Sends forged frames, with the hello of an unknown server, of the server itself, and of a member.
inline void forge(const target& at, const victim& v, double a_second, counts& counted) {
  pace steady_pace(a_second);
  connection c;
  std::vector<std::string> frames;
  for (std::size_t i = 0, opened = 0; !at.over(); ++i, steady_pace.wait()) {
    if (!c.open()) {
      const raft::member played[] = {unverified_at(at.from + ":1"), v.other, v.self};
      auto self = played[opened++ % 3];
      frames = forged_frames(v, self.id);
      c = connection(at, counted);
      c.send(framed(wire::hello{std::move(self), v.datacenter, v.cluster_id, 0, {}, state::own_level}));
    }
    if (c.send(frames[i % frames.size()]))
      ++counted.messages;
    c.receive(milliseconds{0});
  }
}

/// Sends frames that claim 60 MiB and continue while they are accepted.
inline void flood(const target& at, const victim& v, double bytes_a_second, counts& counted) {
  const std::string chunk(std::size_t{256} << 10, 'x'); // the kernel accepts this much before the server reads
  const auto head = [] {
    std::string out;
    for (std::uint32_t length = 60u << 20, i = 0; i < 4; ++i)
      out += static_cast<char>(length >> (8 * i) & 0xFF);
    return out;
  }();
  pace steady_pace(bytes_a_second / static_cast<double>(chunk.size()));
  connection c;
  for (std::size_t sent = 0; !at.over(); steady_pace.wait()) {
    if (!c.open() || sent > (50u << 20)) {
      c = connection(at, counted);
      c.send(framed(wire::hello{unverified_at(at.from + ":1"), v.datacenter, v.cluster_id, 0, {}, state::own_level}));
      c.send(head);
      sent = 0;
    }
    if (c.send(chunk))
      sent += chunk.size();
  }
}

} // namespace belay::hostile
