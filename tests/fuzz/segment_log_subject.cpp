#include "tests/fuzz/pieces.hpp"
#include "tests/fuzz/property.hpp"
#include "tests/fuzz/subjects.hpp"

#include "protocol/wire/entry_codec.hpp"
#include "sim/disks/memory_files.hpp"
#include "storage/log/segment_log.hpp"

namespace belay::fuzz {

namespace {

constexpr std::size_t header_crc_at = 8 + 4 + 5 * 8 + 17; // see segment_format.hpp

void put_u32(std::string& s, std::size_t at, std::uint32_t v) {
  for (std::size_t i = 0; i < 4; ++i)
    s[at + i] = static_cast<char>(v >> (8 * i));
}

/// Corrects the checksums of the header and all frames, to reach the code behind the checks.
void repair(std::string& segment) {
  if (segment.size() < storage::segment_header_bytes)
    return;
  put_u32(segment, header_crc_at, crc32c(std::string_view(segment).substr(0, header_crc_at)));
  const auto header = storage::decode_segment_header(segment);
  if (!header)
    return;
  if (header->version == storage::segment_version::sectors) {
    constexpr auto checked = storage::sector_bytes - 4;
    for (auto at = storage::segment_header_bytes; at + storage::sector_bytes <= segment.size();
         at += storage::sector_bytes)
      if (const auto sector = std::string_view(segment).substr(at, checked); !storage::all_zero(sector))
        put_u32(segment, at + checked, crc32c(sector));
    return;
  }
  const auto seed = crc32c(std::string_view(segment).substr(12, 8), 0);
  const auto salted = crc32c(std::string_view(segment).substr(28, 8), seed);
  auto at = storage::segment_header_bytes;
  while (at + storage::frame_header_bytes <= segment.size()) {
    const auto n = byte_reader(std::string_view(segment).substr(at + 4)).u32();
    if (n == 0 || storage::frame_bytes(n) > segment.size() - at)
      return;
    const auto body = std::string_view(segment).substr(at + storage::frame_header_bytes, n);
    put_u32(segment, at + 16, crc32c(body, salted));
    put_u32(segment, at + 24, crc32c(std::string_view(segment).substr(at, 24), salted));
    at += storage::frame_bytes(n);
  }
}

/// One segment that begins a log, with these bodies in whole frames.
std::string segment_of(const std::vector<piece>& bodies) {
  storage::segment_header h;
  h.number = 1;
  h.salt = 7;
  h.first_sequence = 1;
  h.next_index = log_index{1};
  h.file_bytes = storage::segment_header_bytes;
  for (const auto& b : bodies)
    h.file_bytes += storage::frame_bytes(b.bytes.size());
  h.file_bytes = (h.file_bytes + log_segment_bytes - 1) / log_segment_bytes * log_segment_bytes;
  auto segment = storage::encode_segment_header(h);
  std::uint64_t sequence = h.first_sequence;
  for (const auto& b : bodies) {
    std::string frame;
    storage::encode_frame({}, frame); // for its trailer
    const auto trailer = frame.substr(frame.size() - storage::frame_trailer_bytes);
    frame.assign(storage::frame_header_bytes, '\0');
    frame.append(b.bytes);
    frame.resize(storage::frame_bytes(b.bytes.size()) - storage::frame_trailer_bytes);
    frame.append(trailer);
    put_u32(frame, 4, static_cast<std::uint32_t>(b.bytes.size()));
    storage::seal_frame(frame, h, sequence++, segment.size());
    segment.append(frame);
  }
  segment.resize(h.file_bytes);
  return segment;
}

/// A decoded body is encoded in no more bytes, and its encoding is stable.
void check_body(std::string_view body) {
  const auto batches = storage::decode_body(body);
  if (!batches)
    return;
  const auto encode = [](const std::vector<raft::persist_batch>& each) {
    std::string frame;
    storage::encode_frame(each, frame);
    const auto encoded = storage::encoded_body(frame);
    HOLDS(encoded.size() <= storage::batches_bytes_max(each));
    return std::string(encoded);
  };
  const auto once = encode(*batches);
  HOLDS(once.size() <= body.size());
  const auto second = storage::decode_body(once);
  HOLDS(second.has_value());
  HOLDS(encode(*second) == once);
}

storage::segment_log_options small_segments() {
  storage::segment_log_options o;
  o.segment_bytes = log_segment_bytes;
  o.fill_bytes = log_segment_bytes;
  o.seed = 99;
  return o;
}

std::string log_bytes(const storage::loaded_log& log) {
  std::string out;
  byte_writer w(out);
  wire::encode_hard_state(w, log.hard);
  for (const auto& e : log.entries)
    wire::encode_entry(w, e);
  return out;
}

/// Opens a log that could be opened before, and appends a batch if one is given.
storage::loaded_log open_again(sim::memory_files& files, const std::optional<raft::persist_batch>& batch) {
  auto log = storage::segment_log::open(files, "raft", small_segments());
  HOLDS(log.ok());
  auto found = (*log)->load();
  HOLDS(found.ok());
  if (batch)
    HOLDS((*log)->append({*batch}).ok());
  return std::move(*found);
}

log_finding check_log(const std::vector<std::string>& segments) {
  sim::memory_files files;
  for (std::size_t i = 0; i < segments.size(); ++i)
    files.contents[storage::segment_name(i + 1)] = std::make_shared<std::string>(segments[i]);
  storage::loaded_log first;
  {
    auto log = storage::segment_log::open(files, "raft", small_segments());
    HOLDS(log.ok());
    auto found = (*log)->load();
    if (!found) {
      HOLDS(found.error().find("Raft log is damaged") != std::string::npos);
      return log_finding::refused;
    }
    first = std::move(*found);
  }
  for (std::size_t i = 1; i < first.entries.size(); ++i)
    HOLDS(first.entries[i].index == first.entries[i - 1].index.next());
  raft::persist_batch batch;
  batch.hard = raft::hard_state{first.hard.term, node_id{5}};
  const auto next = first.entries.empty() ? log_index{} : first.entries.back().index.next();
  if (!next.is_zero())
    batch.entries.push_back(
        {next, first.hard.term, cluster_time{1}, raft::entry_kind::command, make_payload("appended")});
  HOLDS(log_bytes(open_again(files, batch)) == log_bytes(first));
  auto wanted = first;
  wanted.hard = *batch.hard;
  wanted.entries.insert(wanted.entries.end(), batch.entries.begin(), batch.entries.end());
  HOLDS(log_bytes(open_again(files, std::nullopt)) == log_bytes(wanted));
  return first.entries.empty() ? log_finding::opened : log_finding::opened_with_entries;
}

} // namespace

log_finding fuzz_segment_log(std::string_view bytes) {
  if (bytes.empty())
    return log_finding::refused;
  const auto pieces = pieces_of(bytes.substr(1));
  if (bytes[0] == 'b') {
    for (const auto& p : pieces)
      check_body(p.bytes);
    return check_log({segment_of(pieces)});
  }
  if (bytes[0] != 's' && bytes[0] != 'r')
    return log_finding::refused;
  std::vector<std::string> segments;
  for (const auto& p : pieces) {
    auto& s = segments.emplace_back(p.bytes);
    if (!p.marked && s.size() < log_segment_bytes)
      s.resize(log_segment_bytes);
    if (bytes[0] == 'r')
      repair(s);
  }
  return check_log(segments);
}

} // namespace belay::fuzz
