#include "storage/log/segment_log.hpp"
#include "protocol/base/hex.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "storage/log/sector_format.hpp"

#include <algorithm>
#include <random>

namespace belay::storage {

namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t zeros_bytes = 256u << 10;
constexpr std::size_t frame_memory_kept = 8u << 20; // a larger buffer is freed: it was one unusual append

const std::string& zeros() {
  static const std::string z(zeros_bytes, '\0');
  return z;
}

std::uint64_t round_up(std::uint64_t n, std::uint64_t to) {
  return (n + to - 1) / to * to;
}

/// Frames begin and end at multiples of this.
std::size_t frame_bytes_step(segment_version v) {
  return v == segment_version::sectors ? sector_bytes : frame_align;
}

std::uint64_t seed_or_random(std::uint64_t seed) {
  if (seed != 0)
    return seed;
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) | device();
}

std::string numbered(std::uint64_t number, const char* ending) {
  return to_hex(number) + ending;
}

} // namespace

std::string segment_name(std::uint64_t number) {
  return numbered(number, ".segment");
}
std::string free_name(std::uint64_t number) {
  return numbered(number, ".free");
}

segment_log::segment_log(file_system& files, std::string directory, segment_log_options options,
                         std::unique_ptr<file_lock> lock)
    : files_(files), directory_(std::move(directory)), options_(options), lock_(std::move(lock)),
      random_(seed_or_random(options.seed)) {
  options_.segment_bytes = round_up(std::max(options_.segment_bytes, page_bytes), page_bytes);
}

result<std::unique_ptr<segment_log>> segment_log::open(file_system& files, std::string directory,
                                                       segment_log_options options) {
  if (auto s = files.make_directory(directory); !s)
    return s.reason();
  auto lock = files.lock(directory);
  if (!lock)
    return lock.reason();
  return std::unique_ptr<segment_log>(new segment_log(files, std::move(directory), options, std::move(lock).value()));
}

failure segment_log::die(const std::string& why) {
  PROBE("log: append failed for good");
  // The kind of the failure is dropped: no_space would mean that the log is unchanged.
  dead_ = "Raft log in " + directory_ + " failed: " + why;
  return failure{dead_};
}

result<segment_log::position> segment_log::follow(const std::vector<raft::persist_batch>& batches) const {
  auto p = position_;
  ++p.sequence;
  for (const auto& b : batches) {
    if (b.hard)
      p.hard = *b.hard;
    if (b.restart_after)
      p.next_index = b.restart_after->index.next();
    if (b.truncate_from) {
      if (*b.truncate_from > p.next_index || b.truncate_from->is_zero())
        return failure{"cannot truncate from " + to_string(*b.truncate_from) + " a log that ends before " +
                       to_string(p.next_index)};
      p.next_index = *b.truncate_from;
    }
    for (const auto& e : b.entries) {
      if (e.index != p.next_index)
        return failure{"unexpected entry " + to_string(e.index) + " instead of " + to_string(p.next_index)};
      p.next_index = e.index.next();
    }
  }
  return p;
}

void segment_log::check_consistency() const {
  INVARIANT(segments_.empty() || active_);
  INVARIANT(free_.size() <= options_.free_segments_max);
  if (spare_) {
    INVARIANT(spare_->zeroed <= spare_->bytes);
    INVARIANT(!spare_->synced || spare_->zeroed == spare_->bytes);
  }
  if (!active_)
    return;
  INVARIANT(active_->header.number + 1 == next_number_);
  INVARIANT(segments_.empty() || segments_.front().header.number + segments_.size() == active_->header.number);
  INVARIANT(active_->offset > segment_header_bytes); // a segment has a frame
  INVARIANT(active_->offset <= active_->header.file_bytes);
  INVARIANT(active_->offset % frame_bytes_step(active_->header.version) == 0);
  INVARIANT(position_.sequence != active_->header.first_sequence); // it would be used twice
}

/// Checks that the batches continue the log, and writes them as one frame: into the active segment
/// or, if it is full, into the prepared one, which becomes active. Then it prepares a part of the
/// next segment.
status segment_log::append(const std::vector<raft::persist_batch>& batches) {
  PRECONDITION(loaded_);
  if (!dead_.empty())
    return failure{dead_};
  if (batches.empty())
    return done{};
  auto after = follow(batches);
  if (!after)
    return die(after.error());
  INVARIANT(after->hard.term >= position_.hard.term); // the core's term never falls
  if (batches_bytes_max(batches) > body_bytes_max)
    return die("append of more than 1 GiB");
  encode_frame(batches, frame_);
  if (!active_ || active_->offset + encoded_bytes(active_->header.version) > active_->header.file_bytes) {
    const auto needed = segment_header_bytes + encoded_bytes(version_);
    if (!spare_ || !spare_->synced || spare_->bytes < needed) {
      PROBE("log: append waited for a segment to be filled");
      ++counters_.waited_for_fill;
      if (auto s = fill_spare(needed, SIZE_MAX); !s) {
        if (s.reason().kind != failure_kind::no_space)
          return die(s.error());
        PROBE("log: no space for the next segment");
        if (spare_ && spare_->bytes > options_.segment_bytes)
          drop_spare(); // a smaller append may still fit
        return s;
      }
    }
    if (auto s = begin_segment(); !s)
      return die(s.error());
  } else if (auto s = write_frame(); !s) {
    return die(s.error());
  }
  position_ = *after;
  for (const auto& b : batches)
    if (!b.entries.empty())
      active_->highest = std::max(active_->highest, b.entries.back().index);
  ++counters_.appends;
  const auto written = encoded_bytes(active_->header.version);
  counters_.bytes += written;
  for (auto* buffer : {&frame_, &sectors_})
    if (buffer->capacity() > frame_memory_kept)
      std::string().swap(*buffer);
  // Prepares twice as many bytes as were written, so that the next segment is ready before this one
  // is full. A full disk matters only when that segment is needed.
  if (auto s = fill_spare(options_.segment_bytes, std::max(options_.fill_bytes, 2 * written));
      !s && s.reason().kind != failure_kind::no_space)
    return die(s.error());
  check_consistency();
  return done{};
}

std::size_t segment_log::encoded_bytes(segment_version version) const {
  return version == segment_version::sectors ? sector_frame_bytes(encoded_body(frame_).size()) : frame_.size();
}

std::string_view segment_log::sealed(const segment_header& s, std::uint64_t offset) {
  if (s.version == segment_version::sectors) {
    encode_sectors(encoded_body(frame_), s, position_.sequence, static_cast<std::uint32_t>(random_.next()), sectors_);
    return sectors_;
  }
  seal_frame(frame_, s, position_.sequence, offset);
  return frame_;
}

status segment_log::write_frame() {
  const auto frame = sealed(active_->header, active_->offset);
  INVARIANT(frame.size() == encoded_bytes(active_->header.version)); // append() looked for this much space
  INVARIANT(active_->offset + frame.size() <= active_->header.file_bytes);
  if (auto s = active_->f->write_at(active_->offset, {frame}); !s)
    return s;
  if (auto s = MUTANT(log_not_synced) ? status(done{}) : active_->f->sync(); !s)
    return s;
  active_->offset += frame.size();
  return done{};
}

status segment_log::begin_segment() {
  PRECONDITION(spare_.has_value());
  PRECONDITION(spare_->synced);
  PRECONDITION(spare_->zeroed == spare_->bytes);
  active_segment next;
  next.header = {version_,           next_number_,         spare_->bytes, random_.next(),
                 position_.sequence, position_.next_index, position_.hard};
  next.name = segment_name(next_number_);
  next.f = std::move(spare_->f);
  const auto header = encode_segment_header(next.header);
  const auto frame = sealed(next.header, segment_header_bytes);
  INVARIANT(frame.size() == encoded_bytes(version_));
  INVARIANT(header.size() + frame.size() <= next.header.file_bytes);
  if (auto s = next.f->write_at(0, {header, frame}); !s)
    return s;
  if (auto s = next.f->sync(); !s)
    return s;
  if (auto s = files_.rename(path(spare_->name), path(next.name)); !s)
    return s;
  if (auto s = files_.sync_directory(directory_); !s)
    return s;
  next.offset = segment_header_bytes + frame.size();
  ++counters_.segments_begun;
  if (spare_->recycled)
    PROBE("log: segment recycled");
  counters_.segments_recycled += spare_->recycled;
  spare_.reset();
  if (active_)
    segments_.push_back(std::move(static_cast<segment&>(*active_)));
  active_ = std::move(next);
  ++next_number_;
  return done{};
}

status segment_log::fill_spare(std::uint64_t bytes_needed, std::size_t budget) {
  // Prefers a used-up segment to a partly filled new file:
  // its blocks are allocated even if the disk is full.
  if (spare_ && !spare_->recycled && spare_->zeroed < spare_->bytes && !free_.empty())
    drop_spare();
  if (!spare_) {
    spare_segment s;
    s.recycled = !free_.empty();
    s.name = s.recycled ? free_.back().name : free_name(next_free_number_);
    const bool prepared = s.recycled && free_.back().has_sectors && version_ == segment_version::sectors;
    auto f = files_.open(path(s.name), s.recycled ? open_mode::existing : open_mode::fresh);
    if (!f)
      return f.reason();
    s.f = std::move(f).value();
    s.bytes = options_.segment_bytes;
    if (prepared) {
      PROBE("log: used-up segment needs no zeros");
      s.f->read_ahead();
      s.zeroed = s.bytes;
      s.synced = true;
    }
    if (s.recycled)
      free_.pop_back();
    else
      ++next_free_number_;
    spare_ = std::move(s);
  }
  auto& s = *spare_;
  if (s.bytes < bytes_needed) {
    s.bytes = round_up(bytes_needed, page_bytes);
    s.synced = false;
  }
  while (s.zeroed < s.bytes && budget > 0) {
    const auto n = std::min<std::uint64_t>({zeros().size(), s.bytes - s.zeroed, budget});
    if (auto w = s.f->write_at(s.zeroed, {std::string_view(zeros()).substr(0, n)}); !w)
      return w;
    s.f->begin_writeback(s.zeroed, n);
    s.zeroed += n;
    budget -= n;
  }
  if (s.zeroed == s.bytes && !s.synced) {
    // Delayed allocation may fail only now; after a failed sync the file is no longer trusted.
    if (auto w = s.f->sync(); !w) {
      s.zeroed = 0;
      return w;
    }
    s.synced = true;
  }
  return done{};
}

void segment_log::drop_spare() {
  const auto name = spare_->name;
  spare_.reset();
  // If the removal fails, the next start repeats it.
  (void)files_.remove(path(name));
}

result<bool> segment_log::compact(log_index first_kept, std::size_t segments_max) {
  PRECONDITION(loaded_);
  if (!dead_.empty())
    return failure{dead_};
  while (!segments_.empty() && (segments_.front().highest < first_kept || MUTANT(log_compacted_too_far))) {
    if (segments_max-- == 0)
      return true;
    PROBE("log: segment dropped behind a checkpoint");
    const auto& oldest = segments_.front();
    INVARIANT(active_ && oldest.header.number != active_->header.number); // the one written to stays
    const bool keep = free_.size() < options_.free_segments_max && oldest.header.file_bytes == options_.segment_bytes;
    const bool has_sectors = oldest.header.version == segment_version::sectors;
    const auto freed = free_name(next_free_number_);
    if (auto s = keep ? files_.rename(path(oldest.name), path(freed)) : files_.remove(path(oldest.name)); !s)
      return s.reason();
    segments_.pop_front();
    // One at a time: if a later removal were durable and an earlier one not, there would be a gap.
    if (auto s = files_.sync_directory(directory_); !s)
      return die(s.error());
    if (keep) {
      free_.push_back({freed, has_sectors});
      ++next_free_number_;
    }
  }
  check_consistency();
  return false;
}

} // namespace belay::storage
