#include "storage/checkpoint/kept_window.hpp"

#include "storage/checkpoint/checked_values.hpp"

namespace belay::storage {

namespace {

const std::string record_key(1, '\0');
constexpr std::size_t key_bytes = 16;

std::string key_of(log_index index, std::uint64_t effect) {
  std::string key;
  for (const auto number : {index.value, effect})
    for (int shift = 56; shift >= 0; shift -= 8)
      key.push_back(static_cast<char>(number >> shift));
  return key;
}

std::uint64_t number_in(std::string_view key, std::size_t at) {
  std::uint64_t v = 0;
  for (const char byte : key.substr(at, 8))
    v = (v << 8) | static_cast<unsigned char>(byte);
  return v;
}
/// Zero: of the record.
log_index index_in(std::string_view key) {
  return log_index{key.size() == key_bytes ? number_in(key, 0) : 0};
}

std::uint64_t space_for(const std::vector<kept_row>& rows) {
  space_estimate space;
  for (const auto& row : rows)
    space.add(key_bytes, row.bytes_max);
  return space.bytes();
}

int put_record(lmdb_transaction& txn, const kept_record& r) {
  const auto bytes = encode(r);
  return put_checked(txn, record_key, {bytes}, 0);
}

/// @param buffer memory for the encoded row, reused for each
int put_change(lmdb_transaction& txn, const kept_row& row, std::string& buffer, unsigned flags) {
  return put_checked(txn, key_of(row.index, row.effect), {value_of(row, buffer)}, flags);
}

/// Removes the rows of entries up to `floor`, and after `behind`.
int remove_outside(lmdb_transaction& txn, log_index floor, log_index behind) {
  lmdb_cursor c;
  int rc = c.open(txn);
  if (rc == 0)
    rc = c.seek(key_of(log_index{1}, 0));
  for (; rc == 0 && index_in(c.key()) <= floor; rc = c.next())
    if (int removed = c.remove(); removed != 0)
      return removed;
  while (rc == 0 && (rc = c.last()) == 0 && index_in(c.key()) > behind)
    rc = c.remove();
  return rc == MDB_NOTFOUND ? 0 : rc;
}

} // namespace

kept_window::kept_window(file_system& files, std::string directory, lmdb_file::limits l)
    : file_(files, std::move(directory), "changes.mdb", "new_changes.mdb", l) {}

failure kept_window::damaged(const std::string& what) const {
  return failure{"the window of changes is damaged: " + what};
}

status kept_window::open() {
  if (auto s = file_.remove_leftover(); !s)
    return s;
  if (auto there = file_.open_if_there(lmdb_file::pages::checked); !there)
    unreadable_ = there.error();
  return done{};
}

result<std::optional<kept_record>> kept_window::record(lmdb_transaction& txn) const {
  std::string_view value;
  std::uint64_t entries = 0;
  int rc = txn.get(record_key, value);
  if (rc == 0)
    rc = txn.entries(entries);
  if (rc == MDB_NOTFOUND)
    return std::optional<kept_record>{};
  if (rc != 0)
    return lmdb_failure("cannot read", file_.env().path(), rc);
  const auto bytes = checked(record_key, value);
  auto r = bytes ? decode_kept_record(*bytes) : std::nullopt;
  if (!r)
    return damaged("the record has a wrong checksum or an unknown version");
  if (r->rows + 1 != entries)
    return damaged("it has " + std::to_string(entries - 1) + " changes instead of " + std::to_string(r->rows));
  return r;
}

result<bool> kept_window::keep(const std::optional<checkpoint_info>& there, const checkpoint_info& next,
                               const kept_delta& delta) {
  PRECONDITION(delta.floor <= next.meta.index);
  PRECONDITION(!delta.behind || *delta.behind <= next.meta.index);
  PRECONDITION(delta.rows.empty() || delta.rows.back().index <= next.meta.index); // load() stops there
  kept_record r;
  if (there)
    r.before = kept_record::position_of(*there);
  r.newest = kept_record::position_of(next);
  r.floor = delta.floor;
  if (delta.behind) {
    if (!file_.is_open())
      return false;
    lmdb_transaction txn;
    if (int rc = txn.begin(file_.env(), false); rc != 0)
      return lmdb_failure("cannot read", file_.env().path(), rc);
    const auto known = record(txn);
    if (!known || !*known || !(*known)->reaches(*delta.behind))
      return false;
  }
  auto s = delta.behind ? write_changes(r, delta) : write_all(r, delta);
  if (file_.is_open())
    file_.env().drop_pages();
  if (!s && s.reason().kind != failure_kind::no_space && file_.dead().empty())
    return file_.die(s.error());
  if (!s)
    return s.reason();
  INVARIANT(file_.is_open());
  unreadable_.clear();
  return true;
}

status kept_window::write_changes(const kept_record& r, const kept_delta& delta) {
  return file_.commit(space_for(delta.rows), [&](lmdb_transaction& txn) {
    int rc = remove_outside(txn, delta.floor, *delta.behind);
    std::string value;
    for (auto row = delta.rows.begin(); rc == 0 && row != delta.rows.end(); ++row)
      rc = put_change(txn, *row, value, row->index > *delta.behind ? MDB_APPEND : 0);
    auto counted = r;
    if (rc == 0)
      rc = txn.entries(counted.rows);
    INVARIANT(rc != 0 || counted.rows > 0);
    --counted.rows; // the record
    return rc == 0 ? put_record(txn, counted) : rc;
  });
}

status kept_window::write_all(kept_record r, const kept_delta& delta) {
  r.rows = delta.rows.size();
  return file_.replace_with(space_for(delta.rows), [&](lmdb_transaction& txn) {
    int rc = put_record(txn, r);
    std::size_t uncommitted = 0;
    std::string value;
    for (auto row = delta.rows.begin(); rc == 0 && row != delta.rows.end(); ++row) {
      uncommitted += key_bytes + row->bytes_max;
      if (uncommitted > appended_bytes_max) {
        uncommitted = 0;
        if (rc = txn.commit_and_go_on(); rc != 0)
          break;
      }
      rc = put_change(txn, *row, value, MDB_APPEND);
    }
    return as_status(rc, "cannot write", file_.new_path());
  });
}

result<std::optional<log_index>>
kept_window::load(const std::optional<checkpoint_info>& there,
                  const std::function<void(log_index index, std::uint64_t effect, std::string_view value)>& row) {
  if (!unreadable_.empty())
    return failure{unreadable_};
  if (!file_.is_open() || !there)
    return std::optional<log_index>{};
  lmdb_transaction txn;
  if (int rc = txn.begin(file_.env(), false); rc != 0)
    return lmdb_failure("cannot read", file_.env().path(), rc);
  const auto known = record(txn);
  if (!known)
    return known.reason();
  if (!*known || !(*known)->belongs_to(*there))
    return std::optional<log_index>{};
  lmdb_cursor c;
  int rc = c.open(txn);
  if (rc == 0)
    rc = c.seek(key_of(log_index{1}, 0));
  for (; rc == 0; rc = c.next()) {
    const auto value = checked(c.key(), c.value());
    if (!value || c.key().size() != key_bytes)
      return damaged("a change has a wrong checksum or an unknown version");
    if (index_in(c.key()) > there->meta.index)
      break;
    row(index_in(c.key()), number_in(c.key(), 8), *value);
  }
  if (rc != 0 && rc != MDB_NOTFOUND)
    return lmdb_failure("cannot read", file_.env().path(), rc);
  return std::optional(std::min((*known)->floor, there->meta.index));
}

} // namespace belay::storage
