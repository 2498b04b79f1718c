// Loads a Raft log: the part of segment_log that distinguishes torn writes from damage.

#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "storage/advice.hpp"
#include "storage/log/segment_log.hpp"

#include <charconv>

namespace belay::storage {

namespace {

/// The number in a name such as 0000000000000007.segment; nullopt: another name.
std::optional<std::uint64_t> number_of(std::string_view name, std::string_view ending) {
  constexpr std::size_t digits = 16;
  if (name.size() != digits + ending.size() || !name.ends_with(ending))
    return std::nullopt;
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + digits, n, 16);
  if (error != std::errc{} || end != name.data() + digits)
    return std::nullopt;
  return n;
}

/// Why the bytes at `offset`, where frame `sequence` of segment `s` is expected, are not
/// an unfinished write; nullopt: they may be one. @pre look.state is not whole
std::optional<std::string> damage_in(const frame_look& look, std::string_view all, std::size_t offset,
                                     std::uint64_t sequence, const segment_header& s) {
  const auto expected = "frame " + std::to_string(sequence);
  if (look.state == frame_state::damaged)
    return expected + " has a wrong checksum or number, and is not an incomplete write";
  if (auto later = find_later_frame(all, offset, sequence, s))
    return expected + " is unreadable, but a later one follows at offset " + std::to_string(*later);
  // A write ends where its frame does; bytes after it were written once this one was durable.
  if (look.bytes > 0 && !all_zero(all.substr(offset + look.bytes)))
    return expected + " is incomplete, but something was written after it";
  // The first frame of a segment was durable before the file was renamed.
  if (offset == segment_header_bytes)
    return expected + ", the first of this segment, is unreadable";
  return std::nullopt;
}

} // namespace

failure segment_log::damage(const std::string& name, std::size_t offset, const std::string& what) const {
  PROBE("log: damage found");
  return failure{"Raft log is damaged: " + path(name) + " at offset " + std::to_string(offset) + ": " + what +
                 ". Nothing was changed. Check the disk, then " + start_empty};
}

result<std::vector<std::uint64_t>> segment_log::sort_out_files() {
  auto names = files_.list(directory_);
  if (!names)
    return names.reason();
  std::vector<std::uint64_t> numbers;
  bool removed = false;
  for (const auto& name : *names) {
    if (auto n = number_of(name, ".segment")) {
      numbers.push_back(*n);
      continue;
    }
    const auto n = number_of(name, ".free");
    if (!n)
      continue;
    next_free_number_ = std::max(next_free_number_, *n + 1);
    auto f = files_.open(path(name), open_mode::existing);
    if (!f)
      return f.reason();
    auto bytes = (*f)->size();
    if (!bytes)
      return bytes.reason();
    if (*bytes == options_.segment_bytes && free_.size() < options_.free_segments_max) {
      free_.push_back({name});
      continue;
    }
    if (auto s = files_.remove(path(name)); !s)
      return s.reason();
    removed = true;
  }
  if (removed)
    if (auto s = files_.sync_directory(directory_); !s)
      return s.reason();
  return numbers;
}

result<segment_header> segment_log::read_header(std::uint64_t number) {
  const auto name = segment_name(number);
  auto f = files_.open(path(name), open_mode::existing);
  if (!f)
    return f.reason();
  std::string bytes(segment_header_bytes, '\0');
  auto got = (*f)->read_at(0, bytes.data(), bytes.size());
  if (!got)
    return got.reason();
  bytes.resize(*got);
  auto header = decode_segment_header(bytes);
  if (!header)
    return damage(name, 0, "the file " + header.error());
  if (header->number != number)
    return damage(name, 0, "the file belongs to segment " + std::to_string(header->number));
  return header;
}

result<std::size_t> segment_log::skip_segments(const std::vector<std::uint64_t>& numbers, log_index needed) {
  std::vector<segment> all;
  for (const auto n : numbers) {
    auto header = read_header(n);
    if (!header)
      return header.reason();
    version_ = std::max(version_, header->version);
    all.push_back({*header, segment_name(n), {}});
  }
  // A later segment may truncate entries of earlier ones, but not committed ones of a checkpoint.
  std::size_t skipped = 0;
  while (skipped + 1 < all.size() && all[skipped + 1].header.next_index <= needed)
    ++skipped;
  for (std::size_t i = 0; i < skipped; ++i) {
    // Entries that were truncated later do not count: they are no longer in any log.
    all[i].highest = log_index{all[i + 1].header.next_index.value - 1};
    segments_.push_back(std::move(all[i]));
  }
  return skipped;
}

result<loaded_log> segment_log::load(log_index needed) {
  PRECONDITION(!loaded_);
  auto numbers = sort_out_files();
  if (!numbers)
    return numbers.reason();
  for (std::size_t i = 1; i < numbers->size(); ++i)
    if ((*numbers)[i] != (*numbers)[i - 1] + 1)
      return damage(segment_name((*numbers)[i - 1] + 1), 0, "the file is missing");
  const auto skipped = skip_segments(*numbers, needed);
  if (!skipped)
    return skipped.reason();
  loaded_log log;
  for (auto i = *skipped; i < numbers->size(); ++i) {
    const auto n = (*numbers)[i];
    if (auto s = read_segment(n, i + 1 == numbers->size(), log); !s)
      return s.reason();
    next_number_ = n + 1;
  }
  log.hard = position_.hard;
  log.next = position_.next_index;
  for (const auto& s : segments_)
    log.bytes += s.header.file_bytes;
  if (active_) {
    log.bytes += active_->offset;
    log.begins = (segments_.empty() ? active_->header : segments_.front().header).next_index;
  }
  INVARIANT(log.entries.empty() || log.entries.back().index.next() == log.next);
  check_consistency();
  loaded_ = true;
  // A new log gets its first segment here, so that the first append does not wait for it.
  // If the disk is full, that append reports it.
  if (!numbers->empty())
    return log;
  use_sectors();
  if (auto s = fill_spare(options_.segment_bytes, SIZE_MAX); !s && s.reason().kind != failure_kind::no_space)
    return s.reason();
  return log;
}

/// Checks the header and that this segment continues the previous one. Then it decodes frame after
/// frame until one is incomplete, and decides whether what follows is the torn end of the log or
/// damage. The last segment stays open for appending.
status segment_log::read_segment(std::uint64_t number, bool last, loaded_log& into) {
  const auto name = segment_name(number);
  auto f = files_.open(path(name), open_mode::existing);
  if (!f)
    return f.reason();
  auto bytes = read_whole(**f);
  if (!bytes)
    return bytes.reason();
  const std::string_view all = *bytes;
  const auto header = decode_segment_header(all);
  if (!header)
    return damage(name, 0, "the file " + header.error());
  if (header->number != number)
    return damage(name, 0, "the file belongs to segment " + std::to_string(header->number));
  if (header->file_bytes != all.size())
    return damage(name, 0,
                  "the file has " + std::to_string(all.size()) + " bytes instead of " +
                      std::to_string(header->file_bytes));
  if (!active_) { // skipped segments are not checked for continuity
    position_ = {header->first_sequence, header->next_index, header->hard};
  } else if (header->first_sequence != position_.sequence || header->next_index != position_.next_index ||
             header->hard != position_.hard) {
    return damage(active_->name, active_->offset,
                  "the next segment begins with frame " + std::to_string(header->first_sequence) + ", but frame " +
                      std::to_string(position_.sequence) + " is missing");
  }
  active_segment now;
  now.header = *header;
  now.name = name;
  std::size_t offset = segment_header_bytes, last_frame = offset;
  std::string body;
  for (;;) {
    const auto look = look_at_frame(all, offset, position_.sequence, *header, body);
    if (look.state != frame_state::whole) {
      const auto why = damage_in(look, all, offset, position_.sequence, *header);
      if (why && !MUTANT(damage_cut_as_torn))
        return damage(name, offset, *why);
      break;
    }
    auto batches = decode_body(look.body);
    auto after = batches ? follow(*batches) : result<position>(failure{"unknown layout"});
    if (!after)
      return damage(name, offset, "frame " + std::to_string(position_.sequence) + ": " + after.error());
    for (auto& b : *batches) {
      auto& entries = into.entries;
      if (b.restart_after)
        entries.clear();
      while (b.truncate_from && !entries.empty() && entries.back().index >= *b.truncate_from)
        entries.pop_back();
      if (!b.entries.empty())
        now.highest = std::max(now.highest, b.entries.back().index);
      std::move(b.entries.begin(), b.entries.end(), std::back_inserter(entries));
    }
    INVARIANT(look.bytes > 0); // it goes on behind this frame
    INVARIANT(look.bytes <= all.size() - offset);
    position_ = *after;
    last_frame = offset;
    offset += look.bytes;
  }
  now.offset = offset;
  now.f = std::move(f).value();
  if (active_)
    segments_.push_back(std::move(static_cast<segment&>(*active_)));
  active_ = std::move(now);
  if (!last)
    return done{};
  const auto torn_bytes = tail_to_wipe(all, offset, *header);
  const bool secured = MUTANT(tail_unsynced_after_restart) && torn_bytes == 0;
  return secured ? status(done{}) : secure_end(all, last_frame, offset, torn_bytes);
}

status segment_log::secure_end(std::string_view all, std::size_t last_frame, std::size_t end, std::size_t torn_bytes) {
  // From here on the owner of the log acts on everything that was read. But the last frame may be
  // only in memory: the process that wrote it may have ended before the sync, or because the sync
  // failed. After a failed sync the system does not retry unless the bytes are written again.
  // Earlier frames were synced, or this was done for them.
  PRECONDITION(last_frame <= end);
  PRECONDITION(torn_bytes <= all.size() - end); // the file does not grow
  std::string bytes(all.substr(last_frame, end - last_frame));
  // An unfinished write after it was never acknowledged. Zeros replace it, because the next
  // frame has its sequence number and must be followed by zeros, or by sectors of other frames.
  if (torn_bytes > 0)
    PROBE("log: torn tail cut");
  bytes.append(torn_bytes, '\0');
  if (auto s = active_->f->write_at(last_frame, {bytes}); !s)
    return s;
  if (auto s = active_->f->sync(); !s)
    return s;
  counters_.torn_bytes_cut += torn_bytes;
  // The file's name may be in memory only, too.
  return files_.sync_directory(directory_);
}

} // namespace belay::storage
