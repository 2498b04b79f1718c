#include "storage/lmdb_checkpoint.hpp"

#include "storage/checkpoint_rows.hpp"
#include "storage/snapshot_file.hpp"

#include <algorithm>
#include <cerrno>

namespace belay::storage {

namespace {

constexpr auto live_name = "/checkpoint.mdb";
constexpr auto new_name = "/new.mdb";
constexpr std::uint64_t map_step = 1u << 20;
constexpr std::uint64_t map_bytes_min = 1u << 20;
// For the pages a change copies on the way from its leaf to the root, and for the list of free pages.
constexpr std::uint64_t map_slack = 512u << 10;
constexpr std::uint64_t row_overhead = 64; // our headers, LMDB's node and its share of the page
// LMDB puts values above half a page on pages of their own: at worst, two pages for a little more than one.
constexpr std::uint64_t page_waste = 3;
constexpr std::uint64_t small_row_waste = 4; // a row of a snapshot can be far smaller than row_overhead

std::uint64_t row_bytes(std::size_t key, std::size_t value) {
  return row_overhead + key + value;
}

bool row_before(const row_change& a, const row_change& b) {
  return a.table != b.table ? a.table < b.table : a.key < b.key;
}

status as_status(int code, const std::string& what, const std::string& path) {
  if (code != 0)
    return lmdb_failure(what, path, code);
  return done{};
}

} // namespace

lmdb_checkpoint::lmdb_checkpoint(std::string state, std::string snapshots, lmdb_checkpoint_options options,
                                 std::unique_ptr<file_lock> lock)
    : files_(posix_file_system()), state_(std::move(state)), snapshots_(std::move(snapshots)), options_(options),
      lock_(std::move(lock)) {
  options_.map_bytes = std::max(options_.map_bytes, map_bytes_min);
  options_.map_bytes_max = std::max(options_.map_bytes_max, options_.map_bytes);
  options_.frozen_max = std::max<std::size_t>(options_.frozen_max, 1);
}

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
      new lmdb_checkpoint(std::move(state), std::move(snapshots), options, std::move(lock).value()));
  if (auto s = store->remove_leftovers(); !s)
    return s.why();
  if (auto s = store->open_or_create(); !s)
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
  auto state = files_.list(state_);
  if (!state)
    return state.why();
  if (std::find(state->begin(), state->end(), new_name + 1) != state->end())
    return files_.remove(state_ + new_name);
  return done{};
}

status lmdb_checkpoint::open_or_create() {
  const auto path = state_ + live_name;
  auto names = files_.list(state_);
  if (!names)
    return names.why();
  if (std::find(names->begin(), names->end(), live_name + 1) == names->end())
    // LMDB does not create a file atomically; a rename does.
    return replace_with(0, [](lmdb_transaction&) { return status(done{}); });
  auto f = files_.open(path, open_mode::existing);
  if (!f)
    return f.why();
  auto bytes = (*f)->size();
  if (!bytes)
    return bytes.why();
  auto env =
      lmdb_env::open(path, lmdb_use::live, std::max(options_.map_bytes, *bytes + *bytes / 2 / map_step * map_step));
  if (!env)
    return env.why();
  env_ = std::move(env).value();
  return done{};
}

failure lmdb_checkpoint::die(const std::string& why) {
  dead_ = "checkpoint in " + state_ + " failed: " + why;
  return failure{dead_};
}

result<std::optional<checkpoint_info>> lmdb_checkpoint::info() {
  if (!dead_.empty())
    return failure{dead_};
  lmdb_transaction txn;
  if (int rc = txn.begin(*env_, false); rc != 0)
    return lmdb_failure("cannot read", env_->path(), rc);
  auto stored = get_info(txn, env_->path());
  if (!stored)
    return stored.why();
  std::optional<checkpoint_info> i;
  if (*stored)
    i = std::move((*stored)->info);
  return i;
}

status lmdb_checkpoint::load(const std::function<void(std::uint8_t, std::string_view, std::string_view)>& row) {
  if (!dead_.empty())
    return failure{dead_};
  lmdb_transaction txn;
  if (int rc = txn.begin(*env_, false); rc != 0)
    return lmdb_failure("cannot read", env_->path(), rc);
  auto s = each_row(txn, env_->path(), [&](const row_view& r) {
    row(r.table, r.key, r.value);
    return status(done{});
  });
  env_->drop_pages();
  return s;
}

// ---- commit

status lmdb_checkpoint::commit(const checkpoint_delta& delta) {
  if (!dead_.empty())
    return failure{dead_};
  auto s = delta.full ? commit_full(delta) : commit_changes(delta);
  if (!s && s.why().kind != failure_kind::no_space && dead_.empty())
    return die(s.error());
  if (env_ != nullptr)
    env_->drop_pages();
  return s;
}

status lmdb_checkpoint::grow_map(std::uint64_t more) {
  const auto now = env_->map_bytes();
  const auto wanted = std::max(2 * now, (now + more + map_step - 1) / map_step * map_step);
  if (now >= options_.map_bytes_max)
    return no_space("the checkpoint may not use more than " + std::to_string(options_.map_bytes_max) + " bytes");
  return env_->resize(std::min(wanted, options_.map_bytes_max));
}

status lmdb_checkpoint::commit_changes(const checkpoint_delta& delta) {
  // In key order, neighbours share pages.
  std::vector<const row_change*> rows;
  rows.reserve(delta.rows.size());
  std::uint64_t bytes = map_slack;
  for (const auto& r : delta.rows) {
    rows.push_back(&r);
    bytes += page_waste * row_bytes(r.key.size(), r.value ? r.value->size() : 0);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) { return row_before(*a, *b); });
  if (env_->used_bytes() > env_->map_bytes() / 10 * 7)
    // At the limit of the map there may still be free pages inside: it is tried.
    if (auto s = grow_map(bytes); !s && s.why().kind != failure_kind::no_space)
      return s;
  auto rc = try_commit(delta, rows);
  if (rc == MDB_MAP_FULL) {
    if (auto s = grow_map(bytes); !s)
      return s;
    rc = try_commit(delta, rows);
  }
  auto s = as_status(rc, "cannot commit to", env_->path());
  if (rc != MDB_MAP_FULL && !s && s.why().kind == failure_kind::no_space) {
    // The file still holds the last commit: LMDB writes new pages only where nothing lives, and the page that puts them
    // in force comes last. A fresh environment shares no memory with the failed attempt.
    env_.reset();
    if (auto reopened = open_or_create(); !reopened)
      return die(reopened.error());
  }
  return s;
}

int lmdb_checkpoint::try_commit(const checkpoint_delta& delta, const std::vector<const row_change*>& rows) {
  lmdb_transaction txn;
  int rc = txn.begin(*env_, true);
  for (auto r = rows.begin(); rc == 0 && r != rows.end(); ++r)
    rc = (*r)->value ? put_row(txn, {(*r)->table, (*r)->key, *(*r)->value}) : remove_row(txn, (*r)->table, (*r)->key);
  if (rc == 0)
    rc = put_info(txn, {delta.meta, delta.digest});
  return rc == 0 ? txn.commit() : rc;
}

status lmdb_checkpoint::commit_full(const checkpoint_delta& delta) {
  std::vector<const row_change*> rows;
  std::uint64_t bytes = 0;
  for (const auto& r : delta.rows) {
    if (!r.value)
      continue;
    rows.push_back(&r);
    bytes += row_bytes(r.key.size(), r.value->size());
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) { return row_before(*a, *b); });
  return replace_with(bytes, [&](lmdb_transaction& txn) -> status {
    row_appender appender(txn);
    int rc = 0;
    for (std::size_t i = 0; rc == 0 && i < rows.size(); ++i) {
      // Of several changes of one row the last one counts.
      if (i + 1 < rows.size() && !row_before(*rows[i], *rows[i + 1]))
        continue;
      rc = appender.add({rows[i]->table, rows[i]->key, *rows[i]->value});
    }
    if (rc == 0)
      rc = appender.finish();
    if (rc == 0)
      rc = put_info(txn, {delta.meta, delta.digest});
    return as_status(rc, "cannot write", state_ + new_name);
  });
}

// ---- a whole new file

status lmdb_checkpoint::discard_new(failure why) {
  (void)files_.remove(state_ + new_name); // if this fails, the next start removes it
  return why;
}

status lmdb_checkpoint::replace_with(std::uint64_t bytes_estimate,
                                     const std::function<status(lmdb_transaction&)>& fill) {
  const auto path = state_ + new_name;
  const auto map =
      std::max(options_.map_bytes, (page_waste * bytes_estimate + 2 * map_slack) / map_step * map_step + map_step);
  if (map > options_.map_bytes_max)
    return no_space("the checkpoint may not use more than " + std::to_string(options_.map_bytes_max) + " bytes");
  {
    auto env = lmdb_env::open(path, lmdb_use::build, map);
    if (!env)
      return discard_new(env.why());
    {
      lmdb_transaction txn;
      auto s = as_status(txn.begin(**env, true), "cannot write", path);
      if (s)
        s = fill(txn);
      if (s)
        s = as_status(txn.commit(), "cannot commit to", path);
      if (!s)
        return discard_new(s.why());
    }
    if (auto s = (*env)->sync(); !s)
      return discard_new(s.why());
  }
  return put_in_force();
}

status lmdb_checkpoint::put_in_force() {
  // Until env_ is replaced it goes on with the old file, even though that has no name then.
  if (auto s = files_.rename(state_ + new_name, state_ + live_name); !s)
    return discard_new(s.why());
  if (auto s = files_.sync_directory(state_); !s)
    return die(s.error());
  env_.reset();
  if (auto s = open_or_create(); !s)
    return die(s.error());
  return done{};
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
  auto s = as_status(txn.begin(*env_, false), "cannot read", env_->path());
  snapshot_writer writer(*view.f, now);
  if (s)
    s = each_row(txn, env_->path(), [&](const row_view& r) { return writer.add(r); });
  env_->drop_pages();
  if (s) {
    auto bytes = writer.finish();
    s = bytes ? status(done{}) : status(bytes.why());
    view.bytes = bytes ? *bytes : 0;
  }
  if (!s) {
    (void)files_.remove(view.path);
    return s;
  }
  while (frozen_.size() >= options_.frozen_max) {
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
  if (!dead_.empty())
    return failure{dead_};
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
  c.bytes = make_payload(std::move(bytes));
  c.last = offset + n == v.bytes;
  c.total_bytes = v.bytes;
  return c;
}

// ---- snapshot in

result<std::uint64_t> lmdb_checkpoint::write_snapshot(const raft::snapshot_meta& meta, std::uint64_t offset,
                                                      std::string_view bytes, bool last, snapshot_judge* judge) {
  if (!dead_.empty())
    return failure{dead_};
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
    incoming_.emplace();
    incoming_->meta = meta;
    incoming_->f = std::move(f).value();
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
  return replace_with(small_row_waste * incoming_->bytes, [this, judge](lmdb_transaction& txn) -> status {
    row_appender appender(txn);
    auto info = read_snapshot_file(*incoming_->f, [&](const row_view& r) -> status {
      const int rc = appender.add(r);
      if (rc == EINVAL)
        return failure{"snapshot is damaged: its rows are not in order"};
      if (rc == 0 && judge != nullptr)
        return judge->row(r.table, r.key, r.value);
      return as_status(rc, "cannot write", state_ + new_name);
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
    return as_status(rc, "cannot write", state_ + new_name);
  });
}

} // namespace belay::storage
