#include "storage/lmdb_checkpoint.hpp"

#include "storage/checkpoint_rows.hpp"
#include "storage/snapshot_file.hpp"

#include <algorithm>
#include <cerrno>

namespace belay::storage {

namespace {

constexpr std::uint64_t map_bytes_min = 1u << 20;
constexpr std::uint64_t small_row_waste = 4; // a row of a snapshot can be far smaller than what is added for it

bool row_before(const row_change& a, const row_change& b) {
  return a.table != b.table ? a.table < b.table : a.key < b.key;
}

lmdb_file::limits limits_in(const lmdb_checkpoint_options& o) {
  const auto at_first = std::max(o.map_bytes, map_bytes_min);
  return {at_first, std::max(o.map_bytes_max, at_first)};
}

} // namespace

lmdb_checkpoint::lmdb_checkpoint(const std::string& state, std::string snapshots, lmdb_checkpoint_options options,
                                 std::unique_ptr<file_lock> lock)
    : files_(posix_file_system()), snapshots_(std::move(snapshots)),
      frozen_max_(std::max<std::size_t>(options.frozen_max, 1)), lock_(std::move(lock)),
      rows_(files_, state, "checkpoint.mdb", "new.mdb", limits_in(options)), kept_(files_, state, limits_in(options)) {}

result<std::unique_ptr<lmdb_checkpoint>> lmdb_checkpoint::open(const std::string& data_directory,
                                                               lmdb_checkpoint_options options) {
  auto& files = posix_file_system();
  auto state = data_directory + "/state";
  auto snapshots = data_directory + "/snapshots";
  for (const auto& directory : {state, snapshots})
    if (auto s = files.make_directory(directory); !s)
      return s.why();
  auto lock = files.lock(state);
  if (!lock)
    return lock.why();
  std::unique_ptr<lmdb_checkpoint> store(
      new lmdb_checkpoint(state, std::move(snapshots), options, std::move(lock).value()));
  if (auto s = store->remove_leftovers(); !s)
    return s.why();
  if (auto s = store->rows_.open_or_create(); !s)
    return s.why();
  if (auto s = store->kept_.open(); !s)
    return s.why();
  return store;
}

status lmdb_checkpoint::remove_leftovers() {
  auto names = files_.list(snapshots_);
  if (!names)
    return names.why();
  for (const auto& name : *names)
    if (name.ends_with(".snapshot") || name == "incoming")
      if (auto s = files_.remove(snapshots_ + "/" + name); !s)
        return s;
  return rows_.remove_leftover();
}

result<std::optional<checkpoint_info>> lmdb_checkpoint::info() {
  if (!dead().empty())
    return failure{dead()};
  lmdb_transaction txn;
  if (int rc = txn.begin(rows_.env(), false); rc != 0)
    return lmdb_failure("cannot read", rows_.env().path(), rc);
  auto stored = get_info(txn, rows_.env().path());
  if (!stored)
    return stored.why();
  std::optional<checkpoint_info> i;
  if (*stored)
    i = std::move((*stored)->info);
  return i;
}

status lmdb_checkpoint::load(const std::function<void(std::uint8_t, std::string_view, std::string_view)>& row) {
  if (!dead().empty())
    return failure{dead()};
  lmdb_transaction txn, txn_ahead;
  for (auto* each : {&txn, &txn_ahead}) // both here: LMDB notes in the environment that they use its one database
    if (int rc = each->begin(rows_.env(), false); rc != 0)
      return lmdb_failure("cannot read", rows_.env().path(), rc);
  checks_ahead ahead;
  const bool has_thread = ahead.start(txn_ahead, short_row_tag);
  auto s = each_row(
      txn, rows_.env().path(),
      [&](const row_view& r) {
        row(r.table, r.key, r.value);
        return status(done{});
      },
      has_thread ? &ahead : nullptr);
  rows_.env().drop_pages();
  return s;
}

// ---- the window of changes

result<bool> lmdb_checkpoint::keep_changes(const checkpoint_info& next, const kept_delta& delta) {
  auto there = info();
  if (!there)
    return there.why();
  return kept_.keep(*there, next, delta);
}

result<std::optional<log_index>>
lmdb_checkpoint::load_changes(const std::function<void(log_index, std::uint64_t, std::string_view)>& row) {
  auto there = info();
  if (!there)
    return there.why();
  return kept_.load(*there, row);
}

// ---- commit

status lmdb_checkpoint::commit(const checkpoint_delta& delta) {
  if (!dead().empty())
    return failure{dead()};
  auto s = delta.full ? commit_full(delta) : commit_changes(delta);
  if (!s && s.why().kind != failure_kind::no_space && dead().empty())
    return rows_.die(s.error());
  if (rows_.is_open())
    rows_.env().drop_pages();
  return s;
}

status lmdb_checkpoint::commit_changes(const checkpoint_delta& delta) {
  // In key order, neighbours share pages.
  std::vector<const row_change*> rows;
  rows.reserve(delta.rows.size());
  room_estimate room;
  for (const auto& r : delta.rows) {
    rows.push_back(&r);
    room.add(r.key.size(), r.bytes_max);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) { return row_before(*a, *b); });
  return rows_.commit(room.bytes(), [&](lmdb_transaction& txn) {
    int rc = 0;
    std::string value;
    for (auto r = rows.begin(); rc == 0 && r != rows.end(); ++r)
      rc = (*r)->append_value ? put_row(txn, {(*r)->table, (*r)->key, value_of(**r, value)})
                              : remove_row(txn, (*r)->table, (*r)->key);
    return rc == 0 ? put_info(txn, {delta.meta, delta.digest}) : rc;
  });
}

status lmdb_checkpoint::commit_full(const checkpoint_delta& delta) {
  std::vector<const row_change*> rows;
  room_estimate room;
  for (const auto& r : delta.rows) {
    if (!r.append_value)
      continue;
    rows.push_back(&r);
    room.add(r.key.size(), r.bytes_max);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) { return row_before(*a, *b); });
  return rows_.replace_with(room.bytes(), [&](lmdb_transaction& txn) -> status {
    row_appender appender(txn);
    std::string value;
    int rc = 0;
    for (std::size_t i = 0; rc == 0 && i < rows.size(); ++i) {
      // Of several changes of one row the last one counts.
      if (i + 1 < rows.size() && !row_before(*rows[i], *rows[i + 1]))
        continue;
      rc = appender.add({rows[i]->table, rows[i]->key, value_of(*rows[i], value)});
    }
    if (rc == 0)
      rc = appender.finish();
    if (rc == 0)
      rc = put_info(txn, {delta.meta, delta.digest});
    return as_status(rc, "cannot write", rows_.new_path());
  });
}

// ---- snapshot out

status lmdb_checkpoint::freeze(const checkpoint_info& now) {
  // The file is named after the index, and another checkpoint may have had the same.
  std::erase_if(frozen_, [&](const frozen_view& v) { return v.meta.index == now.meta.index; });
  frozen_view view;
  view.meta = now.meta;
  const auto index = to_string(now.meta.index);
  view.path = snapshots_ + "/" + std::string(16 - std::min<std::size_t>(16, index.size()), '0') + index + ".snapshot";
  auto f = files_.open(view.path, open_mode::fresh);
  if (!f)
    return f.why();
  view.f = std::move(f).value();
  lmdb_transaction txn;
  auto s = as_status(txn.begin(rows_.env(), false), "cannot read", rows_.env().path());
  snapshot_writer writer(*view.f, now);
  if (s)
    s = each_row(txn, rows_.env().path(), [&](const row_view& r) { return writer.add(r); });
  rows_.env().drop_pages();
  if (s) {
    auto bytes = writer.finish();
    s = bytes ? status(done{}) : status(bytes.why());
    view.bytes = bytes ? *bytes : 0;
  }
  if (!s) {
    (void)files_.remove(view.path);
    return s;
  }
  while (frozen_.size() >= frozen_max_) {
    (void)files_.remove(frozen_.front().path);
    frozen_.pop_front();
  }
  frozen_.push_back(std::move(view));
  return done{};
}

result<lmdb_checkpoint::frozen_view*> lmdb_checkpoint::frozen(log_index index) {
  if (!index.is_zero()) {
    for (auto& view : frozen_)
      if (view.meta.index == index)
        return &view;
    return failure{"the snapshot of index " + to_string(index) + " is gone"};
  }
  auto now = info();
  if (!now)
    return now.why();
  if (!*now)
    return failure{"there is no checkpoint yet"};
  if (frozen_.empty() || frozen_.back().meta != (*now)->meta)
    if (auto s = freeze(**now); !s)
      return s.why();
  return &frozen_.back();
}

result<checkpoint_store::chunk> lmdb_checkpoint::read_snapshot(log_index index, std::uint64_t offset,
                                                               std::size_t bytes_max) {
  if (!dead().empty())
    return failure{dead()};
  auto view = frozen(index);
  if (!view)
    return view.why();
  const auto& v = **view;
  if (offset > v.bytes)
    return failure{"the snapshot of index " + to_string(v.meta.index) + " has only " + std::to_string(v.bytes) +
                   " bytes"};
  const auto n = std::min<std::uint64_t>(bytes_max, v.bytes - offset);
  std::string bytes(n, '\0');
  auto got = v.f->read_at(offset, bytes.data(), n);
  if (!got)
    return got.why();
  if (*got != n)
    return failure{v.path + " is shorter than it was written"};
  chunk c;
  c.meta = v.meta;
  c.bytes = make_payload(bytes);
  c.last = offset + n == v.bytes;
  c.total_bytes = v.bytes;
  return c;
}

// ---- snapshot in

result<std::uint64_t> lmdb_checkpoint::write_snapshot(const raft::snapshot_meta& meta, std::uint64_t offset,
                                                      std::string_view bytes, bool last, snapshot_judge* judge) {
  if (!dead().empty())
    return failure{dead()};
  const auto path = snapshots_ + "/incoming";
  const auto give_up = [&](const failure& why) {
    incoming_.reset();
    (void)files_.remove(path);
    return why;
  };
  if (offset == 0) {
    incoming_.reset();
    auto f = files_.open(path, open_mode::fresh);
    if (!f)
      return f.why();
    incoming_ = incoming_snapshot{.meta = meta, .f = std::move(f).value()};
  }
  if (!incoming_)
    return failure{"no snapshot has been begun"};
  if (incoming_->meta != meta || incoming_->bytes != offset)
    return failure{"bytes from " + std::to_string(offset) + " of the snapshot of index " + to_string(meta.index) +
                   " do not continue those up to " + std::to_string(incoming_->bytes) + " of index " +
                   to_string(incoming_->meta.index)};
  if (auto s = incoming_->f->write_at(offset, {bytes}); !s)
    return give_up(s.why());
  incoming_->f->begin_writeback(offset, bytes.size());
  incoming_->bytes += bytes.size();
  const auto stored = incoming_->bytes;
  if (!last)
    return stored;
  if (auto s = install(judge); !s)
    return give_up(s.why());
  incoming_.reset();
  (void)files_.remove(path); // if this fails, the next start removes it
  return stored;
}

status lmdb_checkpoint::install(snapshot_judge* judge) {
  return rows_.replace_with(small_row_waste * incoming_->bytes, [this, judge](lmdb_transaction& txn) -> status {
    row_appender appender(txn);
    auto info = read_snapshot_file(*incoming_->f, [&](const row_view& r) -> status {
      const int rc = appender.add(r);
      if (rc == EINVAL)
        return failure{"snapshot is damaged: its rows are not in order"};
      if (rc == 0 && judge != nullptr)
        return judge->row(r.table, r.key, r.value);
      return as_status(rc, "cannot write", rows_.new_path());
    });
    if (!info)
      return info.why();
    if (info->meta != incoming_->meta)
      return failure{"snapshot is of index " + to_string(info->meta.index) + " and not what was announced as index " +
                     to_string(incoming_->meta.index)};
    if (auto s = judge != nullptr ? judge->whole(*info) : status(done{}); !s)
      return s;
    int rc = appender.finish();
    if (rc == 0)
      rc = put_info(txn, *info);
    return as_status(rc, "cannot write", rows_.new_path());
  });
}

} // namespace belay::storage
