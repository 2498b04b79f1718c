#include "protocol/wire/frame_codec.hpp"

#include "protocol/base/compiled_once_here.hpp"
#include "protocol/base/overloaded.hpp"
#include "protocol/raft/configuration.hpp"
#include "protocol/wire/entry_codec.hpp"

#include <algorithm>
#include <bit>
#include <utility>

template struct belay::compiled_once<belay::wire::frame::plain>;

namespace belay::wire {

namespace {

constexpr std::uint8_t version = 1;
constexpr std::size_t header_bytes = 8; // length, CRC
constexpr std::size_t kind_at = 9;      // after the version
// One read returns at most this much (actors/consensus/peer_link.cpp); more is freed after a large
// frame.
constexpr std::size_t spare_capacity_max = 256u << 10;
constexpr std::size_t members_max = 1000; // a hello with more is invalid, and would only use memory
constexpr std::size_t known_max = 64;
constexpr std::size_t refused_max = 64;

/// Never renumber.
enum class kind : std::uint8_t {
  hello = 1,
  append_entries = 2,
  append_reply = 3,
  vote_request = 4,
  vote_reply = 5,
  snapshot_chunk = 6,
  snapshot_reply = 7,
  timeout_now = 8,
  forward_call = 9,
  forward_reply = 10,
  read_index = 11,
  read_index_reply = 12,
  user_event = 13,
  gossip = 14,
  keyring_call = 15,
  keyring_reply = 16,
  coordinate_probe = 17,
  coordinate_answer = 18,
  coordinate_news = 19,
};

/// Never renumber.
enum class extension : std::uint8_t {
  feature_level = 1,
  known_servers = 3,
  has_log = 4,
  round = 5,
  replica = 6,
  client_agent = 7,
  coordinates = 8,
};

// Later extensions of a hello: blocks of u8 extension
// | u32 length | bytes. Unknown blocks are skipped.
//
//   feature_level   u16
//   known_servers   varint count, then each: text host:port
//   has_log         u8: sum of 1 has a log, 2 can reach a cluster, 4 its disk is full
//   client_agent    nothing
//   coordinates     nothing
//   round           u64 round | u8 given up | varint count of refused clusters, then each (u64)
//   replica         u8: 1 it must not get a vote. Without the block: does not know replicas
//
// The blocks are the address of an extra last member of `agreed` with id zero. Servers of the
// first version reject frames with trailing bytes or unknown kinds, but only compare `agreed`.
std::string extensions_of(const hello& h) {
  std::string out;
  byte_writer w(out);
  const auto block = [&](extension e, const std::string& bytes) {
    w.u8(static_cast<std::uint8_t>(e));
    w.u32(static_cast<std::uint32_t>(bytes.size()));
    w.raw(bytes);
  };
  std::string bytes;
  byte_writer b(bytes);
  if (h.level != 0) {
    b.u16(h.level);
    block(extension::feature_level, std::exchange(bytes, {}));
  }
  if (!h.known.empty()) {
    const auto n = std::min(h.known.size(), known_max);
    b.varint(n);
    for (std::size_t i = 0; i < n; ++i)
      b.text(h.known[i]);
    block(extension::known_servers, std::exchange(bytes, {}));
  }
  if (const int flags = (h.has_log ? 1 : 0) | (h.reaches_cluster ? 2 : 0) | (h.disk_full ? 4 : 0); flags != 0) {
    b.u8(static_cast<std::uint8_t>(flags));
    block(extension::has_log, std::exchange(bytes, {}));
  }
  if (h.promises) {
    b.u64(h.round);
    b.boolean(h.given_up);
    const auto n = std::min(h.refused.size(), refused_max);
    b.varint(n);
    for (std::size_t i = 0; i < n; ++i)
      b.u64(h.refused[i]);
    block(extension::round, std::exchange(bytes, {}));
  }
  INVARIANT(bytes.empty()); // each block has only its own
  if (h.has_replicas) {
    b.u8(h.replica ? 1 : 0);
    block(extension::replica, bytes);
  }
  if (h.client_agent)
    block(extension::client_agent, {});
  if (h.coordinates)
    block(extension::coordinates, {});
  return out;
}

/// Decodes one extension of a hello. Unknown extensions are ignored, so that newer servers may send
/// them. @returns false: it is malformed
bool take_extension(extension e, std::string_view bytes, hello& h) {
  byte_reader r(bytes);
  switch (e) {
  case extension::feature_level:
    h.level = r.u16();
    break;
  case extension::known_servers: {
    const auto n = r.varint();
    if (n > known_max)
      return false;
    for (std::uint64_t i = 0; r.ok() && i < n; ++i)
      h.known.emplace_back(r.text());
    break;
  }
  case extension::has_log: {
    const auto flags = r.u8();
    h.has_log = (flags & 1) != 0;
    h.reaches_cluster = (flags & 2) != 0;
    h.disk_full = (flags & 4) != 0;
    break;
  }
  case extension::round: {
    h.promises = true;
    h.round = r.u64();
    h.given_up = r.boolean();
    const auto n = r.varint();
    if (n > refused_max)
      return false;
    for (std::uint64_t i = 0; r.ok() && i < n; ++i)
      h.refused.push_back(r.u64());
    break;
  }
  case extension::replica:
    h.has_replicas = true;
    h.replica = (r.u8() & 1) != 0;
    break;
  case extension::client_agent:
    h.client_agent = true;
    break;
  case extension::coordinates:
    h.coordinates = true;
    break;
  default:
    return true;
  }
  return r.ok();
}

bool take_extensions(std::string_view bytes, hello& h) {
  byte_reader r(bytes);
  while (r.ok() && r.remaining() > 0) {
    const auto e = static_cast<extension>(r.u8());
    const auto block = r.raw(r.u32());
    if (!r.ok() || !take_extension(e, block, h))
      return false;
  }
  return r.ok();
}

void put(byte_writer& w, const hello& h) {
  raft::put_member(w, h.self);
  w.text(h.datacenter);
  w.u64(h.cluster_id);
  w.u32(h.bootstrap_expect);
  auto more = extensions_of(h);
  w.varint(h.agreed.size() + (more.empty() ? 0 : 1));
  for (const auto& m : h.agreed)
    raft::put_member(w, m);
  if (!more.empty())
    raft::put_member(w, raft::member{node_id{}, {}, {}, std::move(more)});
}

hello get_hello(byte_reader& r) {
  hello h;
  h.self = raft::get_member(r);
  h.datacenter = r.text();
  h.cluster_id = r.u64();
  h.bootstrap_expect = r.u32();
  const auto n = r.varint();
  if (n > members_max)
    r.fail();
  for (std::uint64_t i = 0; r.ok() && i < n; ++i)
    h.agreed.push_back(raft::get_member(r));
  if (r.ok() && !h.agreed.empty() && h.agreed.back().id.is_zero()) {
    const auto more = std::move(h.agreed.back().address);
    h.agreed.pop_back();
    if (!take_extensions(more, h))
      r.fail();
  }
  return h;
}

template <class Enum>
Enum get_enum(byte_reader& r, Enum last) {
  const auto v = r.u8();
  if (v > static_cast<std::uint8_t>(last))
    r.fail();
  return static_cast<Enum>(v);
}

std::string get_text(byte_reader& r, std::size_t bytes_max) {
  const auto text = r.text();
  if (text.size() > bytes_max)
    r.fail();
  return r.ok() ? std::string(text) : std::string();
}

void put(byte_writer& w, const keyring_call& c) {
  w.u64(c.id.value);
  w.u8(static_cast<std::uint8_t>(c.what.verb));
  w.text(c.what.key);
}

keyring_call get_keyring_call(byte_reader& r) {
  keyring_call c;
  c.id = request_id{r.u64()};
  c.what.verb = get_enum(r, forward::keyring_verb::remove);
  c.what.key = get_text(r, forward::keyring_key_bytes_max);
  return c;
}

void put(byte_writer& w, const keyring_reply& a) {
  w.u64(a.id.value);
  w.boolean(a.answer.ok);
  w.text(std::string_view(a.answer.text).substr(0, forward::keyring_text_bytes_max));
  const auto n = std::min(a.answer.keys.size(), forward::keyring_keys_max);
  w.varint(n);
  for (std::size_t i = 0; i < n; ++i)
    w.text(a.answer.keys[i]);
}

keyring_reply get_keyring_reply(byte_reader& r) {
  keyring_reply a;
  a.id = request_id{r.u64()};
  a.answer.ok = r.boolean();
  a.answer.text = get_text(r, forward::keyring_text_bytes_max);
  const auto n = r.varint();
  if (n > forward::keyring_keys_max)
    r.fail();
  for (std::uint64_t i = 0; r.ok() && i < n; ++i)
    a.answer.keys.push_back(get_text(r, forward::keyring_key_bytes_max));
  return a;
}

void put(byte_writer& w, const gossip& g) {
  w.u64(g.clock.sent_ns);
  w.u64(g.clock.wall.value);
  w.u64(g.clock.contact_ns);
  w.u64(g.clock.held_ns);
  w.varint(g.members.size());
  for (auto id : g.members)
    w.u64(id.value);
}

gossip get_gossip(byte_reader& r) {
  gossip g;
  g.clock.sent_ns = r.u64();
  g.clock.wall = cluster_time{r.u64()};
  g.clock.contact_ns = r.u64();
  g.clock.held_ns = r.u64();
  const auto n = r.varint();
  if (n > members_max)
    r.fail();
  for (std::uint64_t i = 0; r.ok() && i < n; ++i)
    g.members.push_back(node_id{r.u64()});
  return g;
}

// A coordinate is 11 IEEE 754 doubles: the 8 of its vector, error,
// adjustment, height. The receiver checks that they are finite.
//
//   coordinate_probe    u64 sent_ns
//   coordinate_answer   u64 sent_ns | coordinate
//   coordinate_news     varint count, then each: text node | text segment | u64 stamp | coordinate
void put(byte_writer& w, const coordinates::coordinate& c) {
  for (const auto x : c.vec)
    w.u64(std::bit_cast<std::uint64_t>(x));
  for (const auto x : {c.error, c.adjustment, c.height})
    w.u64(std::bit_cast<std::uint64_t>(x));
}

coordinates::coordinate get_coordinate(byte_reader& r) {
  coordinates::coordinate c;
  for (auto& x : c.vec)
    x = std::bit_cast<double>(r.u64());
  for (auto* x : {&c.error, &c.adjustment, &c.height})
    *x = std::bit_cast<double>(r.u64());
  return c;
}

void put(byte_writer& w, const coordinate_news& n) {
  const auto count = std::min(n.rows.size(), coordinates::news_rows_max);
  w.varint(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& row = n.rows[i];
    w.text(row.node);
    w.text(row.segment);
    w.u64(row.stamp);
    put(w, row.at);
  }
}

coordinate_news get_coordinate_news(byte_reader& r) {
  coordinate_news n;
  const auto count = r.varint();
  if (count > coordinates::news_rows_max)
    r.fail();
  for (std::uint64_t i = 0; r.ok() && i < count; ++i) {
    auto& row = n.rows.emplace_back();
    row.node = get_text(r, coordinates::name_bytes_max);
    row.segment = get_text(r, coordinates::segment_bytes_max);
    row.stamp = r.u64();
    row.at = get_coordinate(r);
  }
  return n;
}

kind kind_of(const raft::message_body& body) {
  return static_cast<kind>(static_cast<int>(kind::append_entries) + static_cast<int>(body.index()));
}

void put(byte_writer& w, const raft::message& m) {
  w.u64(m.from.value);
  w.u64(m.to.value);
  w.u64(m.term.value);
  std::visit(overloaded{
                 [&](const raft::append_entries& a) {
                   w.u64(a.prev_index.value);
                   w.u64(a.prev_term.value);
                   w.u64(a.commit.value);
                   w.u64(a.round);
                   w.varint(a.entries.size());
                   for (const auto& e : a.entries)
                     encode_entry(w, e);
                 },
                 [&](const raft::append_reply& a) {
                   w.boolean(a.success);
                   w.u64(a.match.value);
                   w.u64(a.rejected.value);
                   w.u64(a.conflict_index.value);
                   w.u64(a.conflict_term.value);
                   w.u64(a.round);
                 },
                 [&](const raft::vote_request& v) {
                   w.boolean(v.pre_vote);
                   w.boolean(v.transfer);
                   w.u64(v.last_index.value);
                   w.u64(v.last_term.value);
                 },
                 [&](const raft::vote_reply& v) {
                   w.boolean(v.pre_vote);
                   w.boolean(v.granted);
                 },
                 [&](const raft::snapshot_chunk& s) {
                   PRECONDITION(s.bytes != nullptr);
                   encode_snapshot_meta(w, s.meta);
                   w.u64(s.offset);
                   w.text(*s.bytes);
                   w.boolean(s.last);
                 },
                 [&](const raft::snapshot_reply& s) {
                   w.u64(s.index.value);
                   w.u64(s.next_offset);
                   w.boolean(s.installed);
                   w.boolean(s.rejected);
                 },
                 [](const raft::timeout_now&) {},
             },
             m.body);
}

/// Decodes the body of a Raft message; put() has the layouts. Invalid input makes `r` fail, which
/// the caller checks.
raft::message_body get_body(byte_reader& r, kind k) {
  switch (k) {
  case kind::append_entries: {
    raft::append_entries a;
    a.prev_index = log_index{r.u64()};
    a.prev_term = term_id{r.u64()};
    a.commit = log_index{r.u64()};
    a.round = r.u64();
    const auto n = r.varint();
    if (n > r.remaining()) // an entry has at least one byte
      r.fail();
    else
      a.entries.reserve(n);
    for (std::uint64_t i = 0; r.ok() && i < n; ++i)
      if (!decode_entry(r, a.entries.emplace_back()))
        r.fail();
    return a;
  }
  case kind::append_reply: {
    raft::append_reply a;
    a.success = r.boolean();
    a.match = log_index{r.u64()};
    a.rejected = log_index{r.u64()};
    a.conflict_index = log_index{r.u64()};
    a.conflict_term = term_id{r.u64()};
    a.round = r.u64();
    return a;
  }
  case kind::vote_request: {
    raft::vote_request v;
    v.pre_vote = r.boolean();
    v.transfer = r.boolean();
    v.last_index = log_index{r.u64()};
    v.last_term = term_id{r.u64()};
    return v;
  }
  case kind::vote_reply: {
    raft::vote_reply v;
    v.pre_vote = r.boolean();
    v.granted = r.boolean();
    return v;
  }
  case kind::snapshot_chunk: {
    raft::snapshot_chunk s;
    if (!decode_snapshot_meta(r, s.meta))
      r.fail();
    s.offset = r.u64();
    s.bytes = make_payload(r.text());
    s.last = r.boolean();
    return s;
  }
  case kind::snapshot_reply: {
    raft::snapshot_reply s;
    s.index = log_index{r.u64()};
    s.next_offset = r.u64();
    s.installed = r.boolean();
    s.rejected = r.boolean();
    return s;
  }
  default:
    return raft::timeout_now{};
  }
}

std::optional<frame> decode_frame(std::string_view bytes) {
  byte_reader r(bytes);
  if (r.u8() != version)
    return std::nullopt;
  const auto k = static_cast<kind>(r.u8());
  frame f;
  switch (k) {
  case kind::hello:
    f = get_hello(r);
    break;
  case kind::append_entries:
  case kind::append_reply:
  case kind::vote_request:
  case kind::vote_reply:
  case kind::snapshot_chunk:
  case kind::snapshot_reply:
  case kind::timeout_now: {
    raft::message m;
    m.from = node_id{r.u64()};
    m.to = node_id{r.u64()};
    m.term = term_id{r.u64()};
    m.body = get_body(r, k);
    f = std::move(m);
    break;
  }
  case kind::forward_call: {
    forward_call c;
    c.id = request_id{r.u64()};
    c.kind = get_enum(r, call_kind::describe_health);
    c.bytes = make_payload(r.text());
    f = std::move(c);
    break;
  }
  case kind::forward_reply: {
    forward_reply c;
    c.id = request_id{r.u64()};
    c.outcome = get_enum(r, call_outcome::retry);
    c.index = log_index{r.u64()};
    c.bytes = r.text();
    f = std::move(c);
    break;
  }
  case kind::read_index: {
    read_index q;
    q.id = r.u64();
    q.lease_ok = r.boolean();
    f = q;
    break;
  }
  case kind::read_index_reply: {
    read_index_reply q;
    q.id = r.u64();
    q.ok = r.boolean();
    q.index = log_index{r.u64()};
    f = q;
    break;
  }
  case kind::user_event: {
    agent::user_event e;
    for (auto* text : {&e.id, &e.name, &e.payload, &e.node_filter, &e.service_filter, &e.tag_filter})
      *text = r.text();
    e.time = r.u64();
    f = std::move(e);
    break;
  }
  case kind::gossip:
    f = get_gossip(r);
    break;
  case kind::keyring_call:
    f = get_keyring_call(r);
    break;
  case kind::keyring_reply:
    f = get_keyring_reply(r);
    break;
  case kind::coordinate_probe:
    f = coordinate_probe{r.u64()};
    break;
  case kind::coordinate_answer: {
    coordinate_answer a;
    a.sent_ns = r.u64();
    a.own = get_coordinate(r);
    f = a;
    break;
  }
  case kind::coordinate_news:
    f = get_coordinate_news(r);
    break;
  default:
    return std::nullopt;
  }
  if (!r.complete())
    return std::nullopt;
  return f;
}

void patch_u32(std::string& out, std::size_t at, std::uint32_t v) {
  for (std::size_t i = 0; i < 4; ++i)
    out[at + i] = static_cast<char>(v >> (8 * i));
}

} // namespace

void encode_frame(const frame& f, std::string& out) {
  const auto start = out.size();
  byte_writer w(out);
  w.u64(0); // length and CRC, patched below
  w.u8(version);
  const auto begin = [&w](kind k) { w.u8(static_cast<std::uint8_t>(k)); };
  std::visit(
      overloaded{
          [&](const hello& h) {
            begin(kind::hello);
            put(w, h);
          },
          [&](const raft::message& m) {
            begin(kind_of(m.body));
            put(w, m);
          },
          [&](const forward_call& c) {
            PRECONDITION(c.bytes != nullptr);
            begin(kind::forward_call);
            w.u64(c.id.value);
            w.u8(static_cast<std::uint8_t>(c.kind));
            w.text(*c.bytes);
          },
          [&](const forward_reply& c) {
            begin(kind::forward_reply);
            w.u64(c.id.value);
            w.u8(static_cast<std::uint8_t>(c.outcome));
            w.u64(c.index.value);
            w.text(c.bytes);
          },
          [&](const read_index& q) {
            begin(kind::read_index);
            w.u64(q.id);
            w.boolean(q.lease_ok);
          },
          [&](const read_index_reply& q) {
            begin(kind::read_index_reply);
            w.u64(q.id);
            w.boolean(q.ok);
            w.u64(q.index.value);
          },
          [&](const agent::user_event& e) {
            begin(kind::user_event);
            for (const auto* text : {&e.id, &e.name, &e.payload, &e.node_filter, &e.service_filter, &e.tag_filter})
              w.text(*text);
            w.u64(e.time);
          },
          [&](const gossip& g) {
            begin(kind::gossip);
            put(w, g);
          },
          [&](const keyring_call& c) {
            begin(kind::keyring_call);
            put(w, c);
          },
          [&](const keyring_reply& a) {
            begin(kind::keyring_reply);
            put(w, a);
          },
          [&](const coordinate_probe& c) {
            begin(kind::coordinate_probe);
            w.u64(c.sent_ns);
          },
          [&](const coordinate_answer& a) {
            begin(kind::coordinate_answer);
            w.u64(a.sent_ns);
            put(w, a.own);
          },
          [&](const coordinate_news& n) {
            begin(kind::coordinate_news);
            put(w, n);
          },
      },
      f);
  const auto body = std::string_view(out).substr(start + header_bytes);
  INVARIANT(body.size() <= UINT32_MAX - 4); // a shorter length would end the frame in its middle
  INVARIANT(start + kind_at < out.size());
  INVARIANT(out[start + kind_at] != 0); // a decoder takes the kind from there
  patch_u32(out, start, static_cast<std::uint32_t>(body.size() + 4));
  patch_u32(out, start + 4, crc32c(body));
}

status frame_decoder::feed(std::string_view bytes, std::vector<frame>& frames) {
  pending_.append(bytes);
  std::string_view rest = pending_;
  while (rest.size() >= header_bytes) {
    byte_reader header(rest);
    const std::size_t length = header.u32();
    const auto crc = header.u32();
    if (length < 4 || length > frame_bytes_max_)
      return failure{"frame of " + std::to_string(length) + " bytes"};
    if (rest.size() > kind_at && rest[kind_at] == static_cast<char>(kind::hello) && length + 4 > hello_bytes_max_)
      return failure{"introduction of " + std::to_string(length) + " bytes"};
    if (rest.size() < length + 4)
      break;
    const auto body = rest.substr(header_bytes, length - 4);
    if (crc32c(body) != crc)
      return failure{"frame with a bad checksum"};
    auto f = decode_frame(body);
    if (!f)
      return failure{"frame that is malformed or of an unknown version"};
    frames.push_back(std::move(*f));
    rest.remove_prefix(length + 4);
  }
  pending_.erase(0, pending_.size() - rest.size());
  if (pending_.capacity() > spare_capacity_max && pending_.size() < pending_.capacity() / 8)
    pending_.shrink_to_fit();
  return done{};
}

} // namespace belay::wire
