#pragma once
// The change feed: each change of the keys below a prefix, once and in order.
//
// Guarantees: next() returns the changes after cursor() in the order of the log, none
// twice and none missing, through any server. The cursor advances when next() returns. A program
// that stores it can resume from it with another object. If the history is gone (the server's
// window has moved on, a restore, another cluster), is_snapshot() of a batch is true, and it has
// the current keys. Survives: lost responses, server restarts, elections. On failure: *refused*
// with reason deadline, stopped, or that of the server; the cursor stays.
//
// A cursor is `INDEX` or `INDEX.N`; servers from 0.3.0 on append `@HISTORY`: a cluster, and its
// newest restore or recovery. The server rejects a cursor of another history, even after its
// indexes have passed it. Store the whole text.
//
// Consul has no change feed. There each batch is a snapshot at an index at which something changed,
// and changes in between are not reported. To store a cursor, use key_cursor or file_cursor.

#include <belay/keys.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace belay {
inline namespace v0 {

enum class change_kind : std::uint8_t {
  set,     ///< written, locked or unlocked
  erased,  ///< removed by a request
  expired, ///< removed because a session ended
};

class key_change {
public:
  key_change() = default;
  change_kind kind = change_kind::set;
  std::string cursor; ///< the cursor after this change; empty in a snapshot
  std::string key;
  std::string value;
  std::uint64_t flags = 0;
  std::string session;              ///< the session that has locked it
  std::uint64_t previous_index = 0; ///< the key's index before the change; 0: it did not exist
  std::uint64_t index = 0;
};

class change_batch {
public:
  change_batch() = default;
  /// Discard what is known: `changes` has all keys as they are now, and no others exist.
  bool is_snapshot = false;
  /// The snapshot has everything committed when it was requested. False: a listing of Consul, which
  /// may come from a deposed leader.
  bool is_newest = false;
  std::vector<key_change> changes;
  std::string cursor; ///< changes::cursor() afterwards
};

class changes {
public:
  /// @param cursor where to resume. Empty: a snapshot first; "now": only later changes
  changes(environment& env, std::string prefix, std::string cursor = {});

  /// Waits for the next changes; at least one, or a snapshot.
  task<result<change_batch>> next(deadline limit);
  const std::string& cursor() const noexcept { return cursor_; }
  /// Whether nothing has happened after the cursor. Does not wait for changes. False if the history
  /// is gone, and if there is no cursor yet.
  task<result<bool>> is_current(deadline limit);

private:
  request asking(milliseconds wait, bool names_history) const;

  environment& env_;
  std::string prefix_;
  std::string cursor_;
};

/// Whether the cursor `later` is after `earlier`. @pre both are of the same history
bool is_behind(std::string_view later, std::string_view earlier);

/// `INDEX` or `INDEX.N` of a cursor: identifies a change within its history.
std::string position_of(std::string_view cursor);
/// The history of a cursor; 0: it names none. Cursors are comparable if their histories are equal;
/// the number itself is opaque.
std::uint64_t history_of(std::string_view cursor);
/// Whether two histories belong to one cluster. @pre neither is 0
bool in_one_cluster(std::uint64_t history, std::uint64_t other) noexcept;

/// A cursor in a file. After a power failure it is either the old one or the new one as a whole.
/// 0.2.0 reads the file, too.
class file_cursor {
public:
  explicit file_cursor(std::string path) : path_(std::move(path)) {}
  /// Empty if there is no such file.
  /// @returns refused with the system's error text, or if the file does not hold a cursor
  result<std::string> load() const;
  /// @returns refused with the system's error text
  status store(const std::string& cursor) const;

private:
  std::string path_;
};

/// A cursor in a key: `INDEX.N` is the value, the history is the flags. It never goes back within a
/// history, even with several writers; a cursor of another history replaces it.
class key_cursor {
public:
  key_cursor(environment& env, std::string key) : env_(env), key_(std::move(key)) {}
  /// Empty if there is no such key.
  task<result<std::string>> load(deadline limit);
  /// @returns the stored cursor; a later one of the same history if another client was
  /// faster
  task<result<std::string>> store(std::string cursor, deadline limit);

private:
  environment& env_;
  std::string key_;
};

} // namespace v0
} // namespace belay
