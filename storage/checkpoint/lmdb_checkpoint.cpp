#include "storage/checkpoint/lmdb_checkpoint.hpp"

#include "storage/checkpoint/checkpoint_rows.hpp"
#include "storage/checkpoint/row_proof.hpp"
#include "storage/checkpoint/snapshot_file.hpp"

#include <algorithm>
#include <cerrno>

namespace belay::storage {

namespace {

constexpr std::uint64_t map_bytes_min = 1u << 20;
constexpr std::uint64_t small_row_waste = 4; // a row of a snapshot can be far smaller than the overhead added for it

bool row_before(const row_change& a, const row_change& b) {
  return a.table != b.table ? a.table < b.table : a.key < b.key;
}

file_system& files_of(const lmdb_checkpoint_options& o) {
  return o.files != nullptr ? *o.files : posix_file_system();
}

lmdb_file::limits limits_in(const lmdb_checkpoint_options& o) {
  const auto at_first = std::max(o.map_bytes, map_bytes_min);
  return {at_first, std::max(o.map_bytes_max, at_first)};
}

} // namespace

lmdb_checkpoint::lmdb_checkpoint(const std::string& state, std::string snapshots, lmdb_checkpoint_options options,
                                 std::unique_ptr<file_lock> lock)
    : files_(files_of(options)), snapshots_(std::move(snapshots)),
      frozen_max_(std::max<std::size_t>(options.frozen_max, 1)), hash_(options.row_hash),
      checks_ahead_(options.checks_ahead), always_whole_(options.always_read_whole),
      before_proof_(std::move(options.before_proof)), after_proof_(std::move(options.after_proof)),
      lock_(std::move(lock)), rows_(files_, state, "checkpoint.mdb", "new.mdb", limits_in(options)),
      older_(files_, state, hash_), kept_(files_, state, limits_in(options)) {}

result<std::unique_ptr<lmdb_checkpoint>> lmdb_checkpoint::open(const std::string& data_directory,
                                                               lmdb_checkpoint_options options) {
  auto& files = files_of(options);
  auto state = data_directory + "/state";
  auto snapshots = data_directory + "/snapshots";
  for (const auto& directory : {state, snapshots})
    if (auto s = files.make_directory(directory); !s)
      return s.reason();
  auto lock = files.lock(state);
  if (!lock)
    return lock.reason();
  // The names may be in memory only: a process may have ended between a rename and the sync.
  if (auto s = files.sync_directory(state); !s)
    return s.reason();
  std::unique_ptr<lmdb_checkpoint> store(
      new lmdb_checkpoint(state, std::move(snapshots), options, std::move(lock).value()));
  if (auto s = store->remove_leftovers(); !s)
    return s.reason();
  if (auto s = store->older_.open(); !s)
    return s.reason();
  if (auto s = store->open_rows(); !s)
    return s.reason();
  if (auto s = store->kept_.open(); !s)
    return s.reason();
  return store;
}

status lmdb_checkpoint::remove_leftovers() {
  auto names = files_.list(snapshots_);
  if (!names)
    return names.reason();
  for (const auto& name : *names)
    if (name.ends_with(".snapshot") || name == "incoming")
      if (auto s = files_.remove(snapshots_ + "/" + name); !s)
        return s;
  return rows_.remove_leftover();
}

status lmdb_checkpoint::open_rows() {
  auto there = rows_.open_if_there(lmdb_file::pages::checked);
  if (there && !*there && !older_.info())
    return rows_.open_or_create();
  // A file that is damaged, or missing beside an older one, does not prevent a start: fall_back()
  // finds another one. Missing permission to read it is not damage (docs/internals/pitfalls.md R45).
  if (!there && there.reason().kind != failure_kind::unproven)
    return there.reason();
  if (!there)
    unreadable_ = there.error();
  else if (!*there)
    unreadable_ = "state/checkpoint.mdb is missing";
  return done{};
}

result<std::optional<checkpoint_info>> lmdb_checkpoint::info() {
  if (!dead().empty())
    return failure{dead()};
  if (!unreadable_.empty())
    return failure{unreadable_};
  lmdb_transaction txn;
  if (int rc = txn.begin(rows_.env(), false); rc != 0)
    return lmdb_failure("cannot read", rows_.env().path(), rc);
  auto stored = get_info(txn, rows_.env().path());
  if (!stored)
    return stored.reason();
  std::optional<checkpoint_info> i;
  if (*stored)
    i = std::move((*stored)->info);
  return i;
}

status lmdb_checkpoint::load(const std::function<void(std::uint8_t, std::string_view, std::string_view)>& row) {
  if (!dead().empty())
    return failure{dead()};
  if (!unreadable_.empty())
    return failure{unreadable_};
  lmdb_transaction txn, txn_ahead;
  for (auto* each : {&txn, &txn_ahead}) // both here: LMDB records in the environment that they use its one database
    if (int rc = each->begin(rows_.env(), false); rc != 0)
      return lmdb_failure("cannot read", rows_.env().path(), rc);
  checks_ahead ahead;
  const bool has_thread = checks_ahead_ && ahead.start(txn_ahead, short_row_tag);
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
    return there.reason();
  return kept_.keep(*there, next, delta);
}

result<std::optional<log_index>>
lmdb_checkpoint::load_changes(const std::function<void(log_index, std::uint64_t, std::string_view)>& row) {
  auto there = info();
  if (!there)
    return there.reason();
  return kept_.load(*there, row);
}

// ---- commit

status lmdb_checkpoint::commit(const checkpoint_delta& delta) {
  if (!dead().empty())
    return failure{dead()};
  PRECONDITION(unreadable_.empty());
  PRECONDITION(delta.full || rows_.is_open());
  PRECONDITION(!delta.meta.index.is_zero());
  auto s = delta.full ? commit_full(delta) : commit_changes(delta);
  if (!s && s.reason().kind == failure_kind::other && dead().empty())
    return rows_.die(s.error());
  if (s) { // what is in force was read back
    INVARIANT(proven_digest_ == delta.digest);
    INVARIANT(rows_.is_open());
    INVARIANT(dead().empty());
  }
  if (rows_.is_open())
    rows_.env().drop_pages();
  return s;
}

/// Sorts by key, so that neighbours share pages. Of several changes of a row the last one counts.
lmdb_checkpoint::sorted_rows lmdb_checkpoint::sorted(const checkpoint_delta& delta) {
  sorted_rows rows;
  rows.reserve(delta.rows.size());
  for (const auto& r : delta.rows)
    rows.push_back(&r);
  std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) { return row_before(*a, *b); });
  const auto is_replaced = [&](std::size_t i) { return i + 1 < rows.size() && !row_before(*rows[i], *rows[i + 1]); };
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!is_replaced(i))
      rows[kept++] = rows[i];
  rows.resize(kept);
  return rows;
}

/// Writes the changed rows in one transaction, and proves the commit before it returns: the rows
/// are read back and the digest is carried from the replaced rows to the new ones, or computed from
/// the whole file if that is not possible. A commit that fails the proof is reverted.
status lmdb_checkpoint::commit_changes(const checkpoint_delta& delta) {
  const auto rows = sorted(delta);
  space_estimate space;
  for (const auto* r : rows)
    space.add(r->key.size(), r->bytes_max);
  row_sum replaced(hash_);
  bool carries_digest = proven_digest_ && !delta.read_whole && !always_whole_;
  const auto write = [&](lmdb_transaction& txn) {
    replaced = row_sum(hash_);
    std::string value_buffer;
    for (const auto* r : rows) {
      // The hash of a damaged row is unknown: then the whole file is read.
      if (std::string_view before; carries_digest) {
        const int rc = get_row(txn, r->table, r->key, before);
        carries_digest = rc == MDB_NOTFOUND || (rc == 0 && replaced.add({r->table, r->key, before}).ok());
      }
      const int rc = r->append_value ? put_row(txn, {r->table, r->key, value_of(*r, value_buffer)})
                                     : remove_row(txn, r->table, r->key);
      if (rc != 0)
        return rc;
    }
    return put_info(txn, {delta.meta, delta.digest});
  };
  bool committed = false;
  auto s = rows_.commit(space.bytes(), write, [&] {
    committed = true;
    if (before_proof_)
      before_proof_();
    if (!carries_digest)
      proven_digest_.reset();
    auto proven = prove_changes(delta, rows, replaced.digest());
    if (after_proof_)
      after_proof_();
    return proven;
  });
  if (s || !committed)
    return s;
  const auto back = take_back();
  if (!rows_.is_open())
    return rows_.die(s.error() + "; " + back.error());
  // The state machine still has everything: the next commit, a full one, replaces the file.
  if (!back)
    return failure{s.error() + "; no earlier checkpoint can be read: " + back.error(), failure_kind::unproven};
  return s;
}

status lmdb_checkpoint::commit_full(const checkpoint_delta& delta) {
  auto rows = sorted(delta);
  std::erase_if(rows, [](const row_change* r) { return !r->append_value; });
  space_estimate space;
  for (const auto* r : rows)
    space.add(r->key.size(), r->bytes_max);
  const auto fill = [&](lmdb_transaction& txn) -> status {
    row_appender appender(txn);
    std::string value_buffer;
    int rc = 0;
    for (auto r = rows.begin(); rc == 0 && r != rows.end(); ++r)
      rc = appender.add({(*r)->table, (*r)->key, value_of(**r, value_buffer)});
    if (rc == 0)
      rc = appender.finish();
    if (rc == 0)
      rc = put_info(txn, {delta.meta, delta.digest});
    return as_status(rc, "cannot write", rows_.new_path());
  };
  return rows_.replace_with(space.bytes(), fill, [&](lmdb_env& env) -> status {
    if (before_proof_)
      before_proof_();
    auto s = prove_whole(env, {delta.meta, delta.digest});
    if (after_proof_)
      after_proof_();
    return s || s.reason().kind != failure_kind::unproven ? s : status(name_difference(delta, rows, env));
  });
}

// ---- proof

status lmdb_checkpoint::prove_changes(const checkpoint_delta& delta, const sorted_rows& rows, std::uint64_t replaced) {
  const checkpoint_info written{delta.meta, delta.digest};
  if (!proven_digest_) {
    auto s = prove_whole(rows_.env(), written);
    return s || s.reason().kind != failure_kind::unproven ? s : status(name_difference(delta, rows, rows_.env()));
  }
  lmdb_transaction txn;
  if (int rc = txn.begin(rows_.env(), false); rc != 0)
    return lmdb_failure("cannot read", rows_.env().path(), rc);
  auto there = get_info(txn, rows_.env().path());
  if (!there || !*there || (*there)->info.meta != written.meta || (*there)->info.digest != written.digest)
    return failure{"the record of the contents of the checkpoint reads back different", failure_kind::unproven};
  row_sum sum(hash_, *proven_digest_ - replaced);
  for (const auto* r : rows) {
    std::string_view value;
    const int rc = get_row(txn, r->table, r->key, value);
    if (rc != (r->append_value ? 0 : MDB_NOTFOUND))
      return failure{name_of_row(r->table, r->key) + (rc == 0 ? ": it was removed, but is still present"
                                                      : rc == MDB_NOTFOUND
                                                          ? ": it was written, but is missing"
                                                          : ": it has a wrong checksum, or cannot be read"),
                     failure_kind::unproven};
    if (rc == 0)
      if (auto s = sum.add({r->table, r->key, value}); !s)
        return s;
  }
  if (sum.digest() != written.digest)
    return name_difference(delta, rows, rows_.env());
  proven_digest_ = sum.digest();
  return done{};
}

/// @param excused a difference that is accepted
status lmdb_checkpoint::prove_whole(lmdb_env& env, const checkpoint_info& written,
                                    state::stored_digest::comparison excused) {
  proven_digest_.reset();
  lmdb_transaction txn;
  if (int rc = txn.begin(env, false); rc != 0)
    return lmdb_failure("cannot read", env.path(), rc);
  const auto there = get_info(txn, env.path());
  row_sum sum(hash_);
  auto s = there ? each_row(txn, env.path(), [&](const row_view& r) { return sum.add(r); }) : status(there.reason());
  if (!s)
    return failure{s.error(), failure_kind::unproven};
  const auto compared = sum.compare(written.digest);
  if (!*there || (*there)->info.meta != written.meta || (*there)->info.digest != written.digest ||
      (compared != state::stored_digest::comparison::same && compared != excused))
    return failure{"the digest of the rows in the file differs from that of the state", failure_kind::unproven};
  proven_digest_ = sum.digest();
  return done{};
}

/// Names the first row of the commit whose hash differs from that in memory.
failure lmdb_checkpoint::name_difference(const checkpoint_delta& delta, const sorted_rows& rows, lmdb_env& env) const {
  lmdb_transaction txn;
  if (delta.hash_of && txn.begin(env, false) == 0)
    for (const auto* r : rows) {
      std::string_view value;
      row_sum found(hash_);
      if (r->append_value && get_row(txn, r->table, r->key, value) == 0 && found.add({r->table, r->key, value}).ok() &&
          found.digest() == delta.hash_of(static_cast<std::size_t>(r - delta.rows.data())))
        continue;
      if (r->append_value)
        return {name_of_row(r->table, r->key) + ": it reads back different", failure_kind::unproven};
    }
  return {"the rows of " + env.path() +
              " have another digest than the state, although those of this commit are correct",
          failure_kind::unproven};
}

// ---- going back to earlier checkpoints

/// Reverts the newest commit: puts the previous one in force or, if that is unreadable,
/// the older generation.
status lmdb_checkpoint::take_back() {
  proven_digest_.reset();
  const auto readable = [&]() -> status {
    auto now = info();
    if (!now || !*now)
      return failure{now ? "the file is empty" : now.error()};
    return prove_whole(rows_.env(), **now, state::stored_digest::comparison::fault_of_0_2_0);
  };
  const auto reverted = rows_.revert();
  auto s = !reverted   ? status(reverted.reason())
           : *reverted ? readable()
                       : status(failure{"there is no earlier commit"});
  if (s)
    return s;
  auto older = install_older();
  if (older)
    return older;
  return failure{s.error() + "; " + older.error()};
}

result<std::optional<std::string>> lmdb_checkpoint::fall_back() {
  using found = std::optional<std::string>;
  proven_digest_.reset();
  if (fallen_back_ == fallback::none) {
    fallen_back_ = fallback::commit_before;
    auto reverted = rows_.revert();
    auto why = std::exchange(unreadable_, {});
    const auto before = reverted && *reverted ? info() : result<std::optional<checkpoint_info>>(std::nullopt);
    // The log reaches back to the older generation, and no further.
    if (before && *before && (!older_.info() || (*before)->meta.index >= older_.info()->meta.index))
      return found("the commit before it, in state/checkpoint.mdb");
    unreadable_ = !why.empty() || rows_.is_open() ? why : std::string("state/checkpoint.mdb cannot be opened");
  }
  if (fallen_back_ == fallback::older || !older_.info()) {
    (void)rows_.undo_revert(); // nothing is left: the file stays as it was found
    return found();
  }
  fallen_back_ = fallback::older;
  if (auto s = install_older(); !s) {
    unreadable_ = s.error();
    (void)rows_.undo_revert();
    return s.reason();
  }
  unreadable_.clear();
  return found(older_.path());
}

status lmdb_checkpoint::start_empty() {
  if (older_.is_there())
    return failure{older_.path() + " exists"};
  proven_digest_.reset();
  auto s = rows_.replace_with(0, [](lmdb_transaction&) { return status(done{}); });
  if (s)
    unreadable_.clear();
  INVARIANT(!s || rows_.is_open());
  return s;
}

std::optional<log_index> lmdb_checkpoint::older_index() const {
  return older_.info() ? std::optional(older_.info()->meta.index) : std::nullopt;
}

result<std::uint64_t> lmdb_checkpoint::keep_older() {
  auto now = info();
  if (!now)
    return now.reason();
  if (!*now)
    return failure{"there is no checkpoint yet"};
  lmdb_transaction txn;
  if (int rc = txn.begin(rows_.env(), false); rc != 0)
    return lmdb_failure("cannot read", rows_.env().path(), rc);
  auto bytes = older_.keep(**now, [&](const auto& row) { return each_row(txn, rows_.env().path(), row); });
  rows_.env().drop_pages();
  return bytes;
}

// ---- outgoing snapshots

status lmdb_checkpoint::freeze(const checkpoint_info& now) {
  // The file is named after the index, and another checkpoint may have had the same.
  std::erase_if(frozen_, [&](const frozen_view& v) { return v.meta.index == now.meta.index; });
  frozen_view view;
  view.meta = now.meta;
  const auto index = to_string(now.meta.index);
  view.path = snapshots_ + "/" + std::string(16 - std::min<std::size_t>(16, index.size()), '0') + index + ".snapshot";
  auto f = files_.open(view.path, open_mode::fresh);
  if (!f)
    return f.reason();
  view.f = std::move(f).value();
  lmdb_transaction txn;
  auto s = as_status(txn.begin(rows_.env(), false), "cannot read", rows_.env().path());
  if (s) {
    auto bytes = write_flat(*view.f, now, [&](const auto& row) { return each_row(txn, rows_.env().path(), row); });
    s = bytes ? prove_flat(*view.f, now, hash_) : status(bytes.reason());
    view.bytes = bytes ? *bytes : 0;
  }
  rows_.env().drop_pages();
  if (!s) {
    (void)files_.remove(view.path);
    return s;
  }
  while (frozen_.size() >= frozen_max_) {
    (void)files_.remove(frozen_.front().path);
    frozen_.pop_front();
  }
  frozen_.push_back(std::move(view));
  INVARIANT(frozen_.size() <= frozen_max_); // their files are removed with them
  return done{};
}

result<lmdb_checkpoint::frozen_view*> lmdb_checkpoint::frozen(log_index index) {
  const auto read_one = [this](auto wanted) {
    const auto view = std::find_if(frozen_.begin(), frozen_.end(), [&](const auto& v) { return wanted(v.meta); });
    if (view == frozen_.end())
      return false;
    std::rotate(view, view + 1, frozen_.end()); // the last one to be replaced
    return true;
  };
  if (!index.is_zero()) {
    if (read_one([&](const auto& meta) { return meta.index == index; }))
      return &frozen_.back();
    return failure{"the snapshot at index " + to_string(index) + " no longer exists"};
  }
  auto now = info();
  if (!now)
    return now.reason();
  if (!*now)
    return failure{"there is no checkpoint yet"};
  if (!read_one([&](const auto& meta) { return meta == (*now)->meta; }))
    if (auto s = freeze(**now); !s)
      return s.reason();
  INVARIANT(!frozen_.empty());
  INVARIANT(frozen_.back().meta == (*now)->meta);
  return &frozen_.back();
}

result<checkpoint_store::chunk> lmdb_checkpoint::read_snapshot(log_index index, std::uint64_t offset,
                                                               std::size_t bytes_max) {
  PRECONDITION(bytes_max > 0); // else a reader never reaches the end
  if (!dead().empty())
    return failure{dead()};
  auto view = frozen(index);
  if (!view)
    return view.reason();
  const auto& v = **view;
  INVARIANT(index.is_zero() || v.meta.index == index);
  if (offset > v.bytes)
    return failure{"the snapshot at index " + to_string(v.meta.index) + " has only " + std::to_string(v.bytes) +
                   " bytes"};
  const auto n = std::min<std::uint64_t>(bytes_max, v.bytes - offset);
  std::string bytes(n, '\0');
  auto got = v.f->read_at(offset, bytes.data(), n);
  if (!got)
    return got.reason();
  if (*got != n)
    return failure{v.path + " is shorter than it was written"};
  chunk c;
  c.meta = v.meta;
  c.bytes = make_payload(bytes);
  c.last = offset + n == v.bytes;
  c.total_bytes = v.bytes;
  return c;
}

// ---- incoming snapshots

result<std::uint64_t> lmdb_checkpoint::write_snapshot(const raft::snapshot_meta& meta, std::uint64_t offset,
                                                      std::string_view bytes, bool last,
                                                      snapshot_validator* validator) {
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
      return f.reason();
    incoming_ = incoming_snapshot{.meta = meta, .f = std::move(f).value()};
  }
  if (!incoming_)
    return failure{"no snapshot has been started"};
  if (incoming_->meta != meta || incoming_->bytes != offset)
    return failure{"bytes from " + std::to_string(offset) + " of the snapshot at index " + to_string(meta.index) +
                   " do not follow those up to " + std::to_string(incoming_->bytes) + " of index " +
                   to_string(incoming_->meta.index)};
  if (auto s = incoming_->f->write_at(offset, {bytes}); !s)
    return give_up(s.reason());
  incoming_->f->begin_writeback(offset, bytes.size());
  incoming_->bytes += bytes.size();
  const auto stored = incoming_->bytes;
  if (!last)
    return stored;
  if (auto s = install(validator); !s)
    return give_up(s.reason());
  incoming_.reset();
  (void)files_.remove(path); // if this fails, the next start removes it
  return stored;
}

status lmdb_checkpoint::install(snapshot_validator* validator) {
  PRECONDITION(incoming_.has_value());
  // Also before the older generation adopts the file: another descriptor does not see its errors.
  if (auto synced = incoming_->f->sync(); !synced)
    return synced;
  checkpoint_info installed;
  auto s = install_from(
      *incoming_->f, incoming_->bytes,
      [&](const checkpoint_info& info) -> status {
        if (info.meta != incoming_->meta)
          return failure{"snapshot has index " + to_string(info.meta.index) + ", but was announced with index " +
                         to_string(incoming_->meta.index)};
        installed = info;
        return validator != nullptr ? validator->whole(info) : status(done{});
      },
      validator);
  if (!s)
    return s;
  INVARIANT(installed.meta == incoming_->meta); // both were compared before the file got its name
  INVARIANT(rows_.is_open());
  INVARIANT(!proven_digest_); // the next commit reads the whole file
  // The log up to there is gone, and the older generation is useless without it.
  if (auto adopted = older_.adopt(snapshots_ + "/incoming", installed); !adopted)
    older_.forget();
  return done{};
}

status lmdb_checkpoint::install_older() {
  if (!older_.info())
    return failure{"there is no older generation"};
  auto f = older_.open_file();
  if (!f)
    return f.reason();
  if (auto s = prove_flat(**f, *older_.info(), hash_); !s)
    return failure{older_.path() + ": " + s.error()};
  auto bytes = (*f)->size();
  if (!bytes)
    return bytes.reason();
  return install_from(
      **f, *bytes, [](const checkpoint_info&) { return status(done{}); }, nullptr);
}

/// Makes a checkpoint from a flat file, and puts it in force if `whole` accepts it.
status lmdb_checkpoint::install_from(file& f, std::uint64_t bytes,
                                     const std::function<status(const checkpoint_info&)>& whole,
                                     snapshot_validator* validator) {
  proven_digest_.reset();
  return rows_.replace_with(small_row_waste * bytes, [&](lmdb_transaction& txn) -> status {
    row_appender appender(txn);
    auto info = read_snapshot_file(f, [&](const row_view& r) -> status {
      const int rc = appender.add(r);
      if (rc == EINVAL)
        return failure{"snapshot is damaged: its rows are out of order"};
      if (rc == 0 && validator != nullptr)
        return validator->row(r.table, r.key, r.value);
      return as_status(rc, "cannot write", rows_.new_path());
    });
    if (!info)
      return info.reason();
    if (auto s = whole(*info); !s)
      return s;
    int rc = appender.finish();
    if (rc == 0)
      rc = put_info(txn, *info);
    return as_status(rc, "cannot write", rows_.new_path());
  });
}

} // namespace belay::storage
