#include "tests/fuzz/pieces.hpp"
#include "tests/fuzz/property.hpp"
#include "tests/fuzz/subjects.hpp"

#include "protocol/base/random.hpp"
#include "protocol/wire/command_codec.hpp"
#include "protocol/wire/entry_codec.hpp"
#include "protocol/wire/frame_codec.hpp"
#include "protocol/wire/operator_codec.hpp"

#include <algorithm>

namespace belay::fuzz {

namespace {

/// Encoding a decoded item takes no more bytes (varints may be long, names doubled) and is stable.
template <class Decode, class Encode>
void check_stable(std::string_view bytes, Decode decode, Encode encode, wire_findings& f) {
  const auto first = decode(bytes);
  if (!first) {
    ++f.refused;
    return;
  }
  ++f.decoded;
  const std::string once = encode(*first);
  HOLDS(once.size() <= bytes.size());
  const auto second = decode(std::string_view(once));
  HOLDS(second.has_value());
  HOLDS(encode(*second) == once);
}

// ---- frames

struct read_frames {
  std::vector<std::string> frames; ///< encoded again
  std::string failure;             ///< empty: none
};

std::string encoded_frame(const wire::frame& f) {
  std::string out;
  wire::encode_frame(f, out);
  return out;
}

read_frames read_stream(std::string_view stream, const std::vector<std::size_t>& cuts) {
  read_frames found;
  wire::frame_decoder decoder;
  std::vector<wire::frame> frames;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= cuts.size() && found.failure.empty(); ++i) {
    const auto to = i < cuts.size() ? cuts[i] : stream.size();
    if (auto s = decoder.feed(stream.substr(from, to - from), frames); !s)
      found.failure = s.error();
    from = to;
  }
  for (const auto& f : frames)
    found.frames.push_back(encoded_frame(f));
  return found;
}

void check_frames(std::string_view stream, wire_findings& f) {
  const auto whole = read_stream(stream, {});
  f.decoded += whole.frames.size();
  f.refused += whole.failure.empty() ? 0 : 1;
  std::vector<std::size_t> every_byte;
  for (std::size_t i = 1; i < stream.size(); ++i)
    every_byte.push_back(i);
  const auto check_same = [&](const std::vector<std::size_t>& cuts) {
    const auto cut = read_stream(stream, cuts);
    HOLDS(cut.frames == whole.frames);
    HOLDS(cut.failure == whole.failure);
  };
  check_same(every_byte);
  seeded_random random(crc32c(stream));
  for (int i = 0; i < 3; ++i) {
    std::vector<std::size_t> cuts(random.below(6));
    for (auto& c : cuts)
      c = random.below(stream.size() + 1);
    std::sort(cuts.begin(), cuts.end());
    check_same(cuts);
  }
  // Encoded again, exactly the same frames come out.
  std::string again;
  for (const auto& each : whole.frames)
    again += each;
  HOLDS(again.size() <= stream.size());
  const auto second = read_stream(again, {});
  HOLDS(second.failure.empty());
  HOLDS(second.frames == whole.frames);
}

std::string sealed(const std::vector<piece>& bodies) {
  std::string stream;
  byte_writer w(stream);
  for (const auto& b : bodies) {
    w.u32(static_cast<std::uint32_t>(b.bytes.size() + 4));
    w.u32(crc32c(b.bytes));
    w.raw(b.bytes);
  }
  return stream;
}

// ---- values

std::optional<raft::hard_state> decode_hard(std::string_view bytes) {
  byte_reader r(bytes);
  raft::hard_state h;
  if (!wire::decode_hard_state(r, h) || !r.complete())
    return std::nullopt;
  return h;
}

std::optional<raft::snapshot_meta> decode_meta(std::string_view bytes) {
  byte_reader r(bytes);
  raft::snapshot_meta m;
  if (!wire::decode_snapshot_meta(r, m) || !r.complete())
    return std::nullopt;
  return m;
}

std::optional<std::vector<raft::entry>> decode_entries(std::string_view bytes) {
  byte_reader r(bytes);
  std::vector<raft::entry> entries;
  while (r.ok() && r.remaining() > 0) {
    const bool good = wire::decode_entry(r, entries.emplace_back());
    HOLDS(entries.back().data != nullptr);
    HOLDS(good == r.ok());
  }
  if (!r.complete())
    return std::nullopt;
  return entries;
}

template <class T, class Put>
std::string written(const T& value, Put put) {
  std::string out;
  byte_writer w(out);
  put(w, value);
  return out;
}

std::string encode_entries(const std::vector<raft::entry>& entries) {
  std::string out;
  byte_writer w(out);
  for (const auto& e : entries) {
    const auto before = out.size();
    wire::encode_entry(w, e);
    HOLDS(out.size() - before <= wire::entry_bytes_max(e));
  }
  return out;
}

void check_row(std::string_view bytes, wire_findings& f) {
  byte_reader r(bytes);
  const auto table = r.u8();
  const auto key = r.raw(r.u16());
  if (!r.ok()) {
    ++f.refused;
    return;
  }
  const auto value = bytes.substr(r.position());
  check_stable(
      value, [&](std::string_view v) { return wire::decode_row(table, key, v); },
      [](const state::dirty_row& row) { return wire::encode_row(row).value(); }, f);
  if (auto row = wire::decode_row(table, key, value)) {
    state::machine m;
    m.load_row(std::move(*row));
    m.finish_load(log_index{1}, cluster_time{1});
    HOLDS(m.digest() == m.recompute_digest());
    HOLDS(m.all_rows().size() == 1);
  }
}

// ---- commands applied

void check_applied(const std::vector<piece>& commands, wire_findings& f) {
  state::machine m;
  state::effects changed;
  log_index index;
  cluster_time now;
  for (const auto& each : commands) {
    const auto c = wire::decode_command(each.bytes);
    if (!c) {
      ++f.refused;
      continue;
    }
    ++f.decoded;
    index = index.next();
    now = cluster_time{now.value + 700};
    (void)m.refuse_early(*c, now);
    const auto bytes = wire::encode_reply(m.apply(index, now, *c, changed));
    const auto back = wire::decode_reply(bytes);
    HOLDS(back.has_value());
    HOLDS(wire::encode_reply(*back) == bytes);
    HOLDS(m.digest() == m.recompute_digest());
  }
  state::machine rebuilt;
  for (const auto& row : m.all_rows()) {
    const auto value = wire::encode_row(row);
    HOLDS(value.has_value());
    auto back = wire::decode_row(static_cast<std::uint8_t>(row.table), row.key, *value);
    HOLDS(back.has_value());
    rebuilt.load_row(std::move(*back));
  }
  rebuilt.finish_load(index, now);
  HOLDS(rebuilt.digest() == m.digest());
  HOLDS(rebuilt.digest() == rebuilt.recompute_digest());
}

} // namespace

void add_piece(std::string& input, std::string_view piece) {
  PRECONDITION(piece.size() < 32768);
  byte_writer w(input);
  w.u16(static_cast<std::uint16_t>(piece.size()));
  w.raw(piece);
}

wire_findings fuzz_wire(std::string_view bytes) {
  wire_findings f;
  if (bytes.empty())
    return f;
  const auto rest = bytes.substr(1);
  switch (bytes[0]) {
  case 'f':
    check_frames(rest, f);
    break;
  case 'b':
    check_frames(sealed(pieces_of(rest)), f);
    break;
  case 'c':
    check_stable(rest, wire::decode_command, wire::encode_command, f);
    break;
  case 'r':
    check_stable(rest, wire::decode_reply, wire::encode_reply, f);
    break;
  case 't':
    check_row(rest, f);
    break;
  case 'e':
    check_stable(rest, decode_entries, encode_entries, f);
    break;
  case 'h':
    check_stable(
        rest, decode_hard, [](const auto& h) { return written(h, wire::encode_hard_state); }, f);
    break;
  case 'm':
    check_stable(
        rest, decode_meta, [](const auto& m) { return written(m, wire::encode_snapshot_meta); }, f);
    break;
  case 'g':
    check_stable(
        rest, raft::decode_configuration, [](const auto& c) { return raft::encode(c); }, f);
    break;
  case 'o':
    if (!rest.empty())
      check_stable(
          rest.substr(1),
          [&](std::string_view call) {
            return wire::decode_operator_call(static_cast<forward::call_kind>(rest[0]), call);
          },
          wire::encode_operator_call, f);
    break;
  case 'a':
    check_applied(pieces_of(rest), f);
    break;
  default:
    ++f.refused;
  }
  return f;
}

} // namespace belay::fuzz
