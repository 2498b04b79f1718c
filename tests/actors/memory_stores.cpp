#include "tests/actors/memory_stores.hpp"

#include "protocol/base/bytes.hpp"

#include <algorithm>

namespace belay::actors::testing {

// ---- memory_log

status memory_log::append(const std::vector<raft::persist_batch>& batches) {
  if (full_) {
    ++refused_;
    return failure{"no space left on the simulated disk"};
  }
  auto& entries = kept_.entries;
  for (const auto& b : batches) {
    if (b.hard)
      kept_.hard = *b.hard;
    if (b.restart_after)
      entries.clear();
    if (b.truncate_from)
      std::erase_if(entries, [&](const raft::entry& e) { return e.index >= *b.truncate_from; });
    for (const auto& e : b.entries) {
      if (!entries.empty() && e.index != entries.back().index.next())
        return failure{"gap before entry " + to_string(e.index)};
      entries.push_back(e);
    }
  }
  return done{};
}

status memory_log::compact(log_index first_kept) {
  std::erase_if(kept_.entries, [&](const raft::entry& e) { return e.index < first_kept; });
  return done{};
}

// ---- memory_checkpoints

status memory_checkpoints::load(const std::function<void(std::uint8_t, std::string_view, std::string_view)>& row) {
  for (const auto& [key, value] : rows_)
    row(key.first, key.second, value);
  return done{};
}

status memory_checkpoints::commit(const storage::checkpoint_delta& delta) {
  if (full_) {
    ++refused_;
    return failure{"no space left on the simulated disk"};
  }
  if (delta.full)
    rows_.clear();
  for (const auto& r : delta.rows) {
    if (r.value)
      rows_[{r.table, r.key}] = *r.value;
    else
      rows_.erase({r.table, r.key});
  }
  info_ = storage::checkpoint_info{delta.meta, delta.digest};
  commits_.push_back(delta.full);
  return done{};
}

std::string memory_checkpoints::to_bytes() const {
  std::string out;
  byte_writer w(out);
  w.u64(info_->digest);
  w.u64(rows_.size());
  for (const auto& [key, value] : rows_) {
    w.u8(key.first);
    w.text(key.second);
    w.text(value);
  }
  w.u32(crc32c(out));
  return out;
}

result<storage::checkpoint_store::chunk> memory_checkpoints::read_snapshot(log_index index, std::uint64_t offset,
                                                                           std::size_t bytes_max) {
  if (index.is_zero()) {
    if (!info_)
      return failure{"no checkpoint yet"};
    if (!outgoing_ || outgoing_->meta.index < info_->meta.index)
      outgoing_ = frozen{info_->meta, to_bytes()};
  } else if (!outgoing_ || outgoing_->meta.index != index) {
    return failure{"snapshot " + to_string(index) + " is gone"};
  }
  const auto& bytes = outgoing_->bytes;
  if (offset > bytes.size())
    return failure{"offset behind the end"};
  auto part = bytes.substr(offset, bytes_max);
  const bool last = offset + part.size() == bytes.size();
  return chunk{outgoing_->meta, make_payload(std::move(part)), last};
}

result<std::uint64_t> memory_checkpoints::write_snapshot(const raft::snapshot_meta& meta, std::uint64_t offset,
                                                         std::string_view bytes, bool last) {
  if (offset == 0)
    incoming_ = frozen{meta, {}};
  if (!incoming_ || incoming_->meta != meta || incoming_->bytes.size() != offset)
    return failure{"snapshot chunk does not continue"};
  incoming_->bytes.append(bytes);
  ++chunks_written_;
  const auto stored = incoming_->bytes.size();
  if (last) {
    const auto whole = std::move(*incoming_);
    incoming_.reset();
    if (auto s = put_in_force(whole); !s)
      return failure{s.error()};
  }
  return std::uint64_t{stored};
}

status memory_checkpoints::put_in_force(const frozen& snapshot) {
  const std::string_view all = snapshot.bytes;
  if (all.size() < 4)
    return failure{"snapshot is cut"};
  byte_reader crc(all.substr(all.size() - 4));
  const auto body = all.substr(0, all.size() - 4);
  if (crc.u32() != crc32c(body))
    return failure{"snapshot is damaged"};
  byte_reader r(body);
  storage::checkpoint_info info{snapshot.meta, r.u64()};
  std::map<std::pair<std::uint8_t, std::string>, std::string> rows;
  for (auto n = r.u64(); n > 0 && r.ok(); --n) {
    const auto table = r.u8();
    std::string key(r.text());
    rows[{table, std::move(key)}] = std::string(r.text());
  }
  if (!r.complete())
    return failure{"snapshot is damaged"};
  rows_ = std::move(rows);
  info_ = info;
  ++installed_;
  return done{};
}

} // namespace belay::actors::testing
