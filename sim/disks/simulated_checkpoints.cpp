#include "sim/disks/simulated_checkpoints.hpp"

#include "protocol/base/bytes.hpp"
#include "protocol/wire/entry_codec.hpp"
#include "storage/snapshot_file.hpp"

#include <algorithm>

namespace belay::sim {

namespace {

constexpr std::size_t frozen_max = 2; // as of the real store

/// Lets snapshot_file read and write a text.
class text_file final : public storage::file {
public:
  explicit text_file(std::string& text) : text_(text) {}

  result<std::size_t> read_at(std::uint64_t offset, char* into, std::size_t n) override {
    return offset >= text_.size() ? std::size_t{0} : text_.copy(into, n, offset);
  }
  status write_at(std::uint64_t offset, const std::vector<std::string_view>& parts) override {
    PRECONDITION(offset == text_.size());
    for (auto p : parts)
      text_.append(p);
    return done{};
  }
  status sync() override { return done{}; }
  void begin_writeback(std::uint64_t, std::uint64_t) override {}
  result<std::uint64_t> size() override { return std::uint64_t{text_.size()}; }

private:
  std::string& text_;
};

void flip(std::string& bytes, std::uint64_t n) {
  bytes[n / 8] = static_cast<char>(bytes[n / 8] ^ (1 << n % 8));
}

failure damaged(const std::string& what) {
  return failure{"simulated checkpoint is damaged: " + what};
}

} // namespace

std::uint32_t simulated_checkpoints::checksum(const row_key& key, std::string_view value) {
  const char table = static_cast<char>(key.first);
  const auto n = key.second.size();
  const char length[] = {static_cast<char>(n), static_cast<char>(n >> 8), static_cast<char>(n >> 16)};
  return crc32c(value, crc32c(key.second, crc32c({length, sizeof length}, crc32c({&table, 1}))));
}

void simulated_checkpoints::put_row(row_map& rows, std::uint8_t table, std::string_view key, std::string_view value) {
  row_key k{table, std::string(key)};
  stored_row row{std::string(value), checksum(k, value)};
  rows.insert_or_assign(std::move(k), std::move(row));
}

// ---- what it holds

void simulated_checkpoints::put_record(const storage::checkpoint_info& i) {
  record_.clear();
  byte_writer w(record_);
  wire::encode_snapshot_meta(w, i.meta);
  w.u64(i.digest);
  w.u64(rows_.size());
  w.u32(crc32c(record_));
}

result<std::optional<storage::checkpoint_info>> simulated_checkpoints::info() {
  if (!dead_.empty())
    return failure{dead_};
  std::optional<storage::checkpoint_info> found;
  if (record_.empty())
    return found;
  const auto body = std::string_view(record_).substr(0, record_.size() - 4);
  if (byte_reader(std::string_view(record_).substr(body.size())).u32() != crc32c(body))
    return damaged("the record of what it holds has a wrong checksum");
  byte_reader r(body);
  auto& i = found.emplace();
  const bool meta = wire::decode_snapshot_meta(r, i.meta);
  i.digest = r.u64();
  const auto rows = r.u64();
  if (!meta || !r.complete())
    return damaged("the record of what it holds is malformed");
  if (rows != rows_.size())
    return damaged("it has " + std::to_string(rows_.size()) + " rows instead of " + std::to_string(rows));
  return found;
}

status simulated_checkpoints::each_row(
    const std::function<status(std::uint8_t, std::string_view, std::string_view)>& row) const {
  std::size_t n = 0;
  for (const auto& [key, stored] : rows_) {
    if (stored.crc != checksum(key, stored.value))
      return damaged("row " + std::to_string(n) + " has a wrong checksum");
    if (auto s = row(key.first, key.second, stored.value); !s)
      return s;
    ++n;
  }
  return done{};
}

status simulated_checkpoints::load(const std::function<void(std::uint8_t, std::string_view, std::string_view)>& row) {
  if (auto i = info(); !i)
    return i.why();
  return each_row([&](std::uint8_t table, std::string_view key, std::string_view value) {
    row(table, key, value);
    return status(done{});
  });
}

// ---- commit

failure simulated_checkpoints::die(std::string why) {
  dead_ = std::move(why);
  return failure{dead_};
}

std::optional<failure> simulated_checkpoints::before_change(const char* what) {
  if (!dead_.empty())
    return failure{dead_};
  if (stop_) {
    ++counters_.stopped;
    return die(std::string("cannot ") + what + ": the machine is going off (simulated)");
  }
  if (fail_in_ > 0 && --fail_in_ == 0) {
    ++counters_.failed;
    return failure{std::string("cannot ") + what + ": I/O error (simulated)"};
  }
  if (full_) {
    ++counters_.full;
    return storage::no_space("cannot " + std::string(what) + " (simulated)");
  }
  return std::nullopt;
}

status simulated_checkpoints::commit(const storage::checkpoint_delta& delta) {
  if (auto f = before_change("commit to the simulated checkpoint")) {
    if (f->kind == failure_kind::no_space)
      ++refused_;
    else if (dead_.empty())
      return die(f->text);
    return *f;
  }
  if (delta.full)
    rows_.clear();
  for (const auto& r : delta.rows) {
    if (r.append_value) {
      std::string value;
      r.append_value(value);
      put_row(rows_, r.table, r.key, value);
    } else {
      rows_.erase({r.table, r.key});
    }
  }
  put_record({delta.meta, delta.digest});
  commits_.push_back(delta.full);
  return done{};
}

// ---- the window of changes

result<bool> simulated_checkpoints::keep_changes(const storage::checkpoint_info& next,
                                                 const storage::kept_delta& delta) {
  const auto there = info();
  if (!there)
    return there.why();
  if (delta.behind && !(kept_for_ && kept_for_->reaches(*delta.behind)))
    return false;
  std::erase_if(kept_, [&](const auto& each) {
    return !delta.behind || each.first.first <= delta.floor || each.first.first > *delta.behind;
  });
  for (const auto& r : delta.rows)
    storage::value_of(r, kept_[{r.index, r.effect}]);
  kept_for_ = {*there ? storage::kept_record::mark_of(**there) : storage::kept_record::mark{},
               storage::kept_record::mark_of(next), delta.floor, kept_.size()};
  return true;
}

result<std::optional<log_index>>
simulated_checkpoints::load_changes(const std::function<void(log_index, std::uint64_t, std::string_view)>& row) {
  const auto there = info();
  if (!there)
    return there.why();
  if (!*there || !kept_for_ || !kept_for_->belongs_to(**there))
    return std::optional<log_index>{};
  for (const auto& [place, value] : kept_)
    if (place.first <= (*there)->meta.index)
      row(place.first, place.second, value);
  return std::optional(std::min(kept_for_->floor, (*there)->meta.index));
}

// ---- snapshots

std::string simulated_checkpoints::on_its_way(std::string chunk) {
  if (chunk_flip_ && !chunk.empty()) {
    flip(chunk, *chunk_flip_ % (8 * chunk.size()));
    chunk_flip_.reset();
    ++counters_.chunks_flipped;
  }
  return chunk;
}

status simulated_checkpoints::freeze(const storage::checkpoint_info& now) {
  if (auto f = before_change("freeze a snapshot of the simulated checkpoint"))
    return *f;
  frozen view{now.meta, {}};
  text_file file(view.bytes);
  storage::snapshot_writer writer(file, now);
  auto s = each_row([&](std::uint8_t table, std::string_view key, std::string_view value) {
    return writer.add({table, key, value});
  });
  if (!s)
    return s;
  if (auto bytes = writer.finish(); !bytes)
    return bytes.why();
  // There may be one of another checkpoint with the same index.
  std::erase_if(outgoing_, [&](const frozen& v) { return v.meta.index == now.meta.index; });
  if (outgoing_.size() == frozen_max)
    outgoing_.pop_front();
  outgoing_.push_back(std::move(view));
  return done{};
}

result<storage::checkpoint_store::chunk> simulated_checkpoints::read_snapshot(log_index index, std::uint64_t offset,
                                                                              std::size_t bytes_max) {
  if (!dead_.empty())
    return failure{dead_};
  if (index.is_zero()) {
    auto now = info();
    if (!now)
      return now.why();
    if (!*now)
      return failure{"there is no checkpoint yet"};
    if (outgoing_.empty() || outgoing_.back().meta != (*now)->meta)
      if (auto s = freeze(**now); !s)
        return s.why();
    index = (*now)->meta.index;
  }
  const auto view =
      std::find_if(outgoing_.begin(), outgoing_.end(), [&](const frozen& v) { return v.meta.index == index; });
  if (view == outgoing_.end())
    return failure{"the snapshot of index " + to_string(index) + " is gone"};
  if (offset > view->bytes.size())
    return failure{"the snapshot of index " + to_string(index) + " has only " + std::to_string(view->bytes.size()) +
                   " bytes"};
  auto part = view->bytes.substr(offset, bytes_max);
  const bool last = offset + part.size() == view->bytes.size();
  return chunk{view->meta, make_payload(on_its_way(std::move(part))), last, view->bytes.size()};
} // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): it does not follow the count of owners of a payload

result<std::uint64_t> simulated_checkpoints::write_snapshot(const raft::snapshot_meta& meta, std::uint64_t offset,
                                                            std::string_view bytes, bool last,
                                                            storage::snapshot_judge* judge) {
  if (auto f = before_change("write an incoming snapshot")) {
    incoming_.reset();
    return *f;
  }
  if (offset == 0)
    incoming_ = frozen{meta, {}};
  if (!incoming_)
    return failure{"no snapshot has been begun"};
  if (incoming_->meta != meta || incoming_->bytes.size() != offset)
    return failure{"bytes from " + std::to_string(offset) + " of the snapshot of index " + to_string(meta.index) +
                   " do not continue those up to " + std::to_string(incoming_->bytes.size()) + " of index " +
                   to_string(incoming_->meta.index)};
  incoming_->bytes.append(on_its_way(std::string(bytes)));
  ++chunks_written_;
  const std::uint64_t stored = incoming_->bytes.size();
  if (last) {
    auto whole = std::move(*incoming_);
    incoming_.reset();
    if (auto s = install(std::move(whole), judge); !s)
      return s.why();
  }
  return stored;
}

status simulated_checkpoints::install(frozen whole, storage::snapshot_judge* judge) {
  row_map rows;
  text_file file(whole.bytes);
  auto found = storage::read_snapshot_file(file, [&](const storage::row_view& r) -> status {
    if (!rows.empty() && row_key{r.table, std::string(r.key)} <= rows.rbegin()->first)
      return failure{"snapshot is damaged: its rows are not in order"};
    put_row(rows, r.table, r.key, r.value);
    return judge != nullptr ? judge->row(r.table, r.key, r.value) : status(done{});
  });
  if (!found)
    return found.why();
  if (found->meta != whole.meta)
    return failure{"snapshot is of index " + to_string(found->meta.index) + " and not what was announced as index " +
                   to_string(whole.meta.index)};
  if (auto s = judge != nullptr ? judge->whole(*found) : status(done{}); !s)
    return s;
  rows_ = std::move(rows);
  put_record(*found);
  ++installed_;
  return done{};
}

// ---- ends and faults

void simulated_checkpoints::crash() {
  outgoing_.clear();
  incoming_.reset();
  dead_.clear();
  stop_ = false;
  fail_in_ = 0;
  chunk_flip_.reset();
}

void simulated_checkpoints::wipe() {
  crash();
  rows_.clear();
  record_.clear();
  kept_.clear();
  kept_for_.reset();
}

std::uint64_t simulated_checkpoints::used_bits() const {
  std::uint64_t n = record_.size();
  for (const auto& [key, stored] : rows_)
    n += key.second.size() + stored.value.size();
  return 8 * n;
}

void simulated_checkpoints::flip_bit(std::uint64_t n) {
  PRECONDITION(n < used_bits());
  if (n < 8 * record_.size())
    return flip(record_, n);
  n -= 8 * record_.size();
  for (auto row = rows_.begin(); row != rows_.end(); ++row) {
    const auto key_bits = 8 * row->first.second.size();
    const auto bits = key_bits + 8 * row->second.value.size();
    if (n >= bits) {
      n -= bits;
      continue;
    }
    if (n >= key_bits)
      return flip(row->second.value, n - key_bits);
    auto moved = rows_.extract(row);
    flip(moved.key().second, n);
    rows_.insert(std::move(moved)); // if there is such a key, a row is missing now: its number tells
    return;
  }
}

} // namespace belay::sim
