#pragma once
// What happens to the keys below a prefix: each change once and in order.
//
// Promise: next() brings what happened behind place(), in the order of the log, nothing twice and
// nothing left out, through any server; place() moves on when next() returns. Whoever keeps a place
// and begins there with another object goes on behind it. Where the history is gone (the window of
// the server, a restore, another cluster in its place) it says so: is_snapshot(), with the keys as
// they are now. Survives: lost answers, servers that go and come back, elections. When it cannot:
// *refused* with reason deadline, stopped, or what the server says; place() stays.
//
// A place is `INDEX` or `INDEX.N`, and from servers of 0.3.0 `@HISTORY` follows: a cluster, and its
// newest restore or recovery. The server rejects a place of another history, also after its indexes
// have passed it. Keep all of the text.
//
// Consul has no changes: there each batch is a snapshot, at the index at which something changed,
// and what happened in between is not told. The place in a key of its own: place_in_key; in a file:
// place_in_file.

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
  std::string place; ///< everything up to this one; empty in a snapshot
  std::string key;
  std::string value;
  std::uint64_t flags = 0;
  std::string session;              ///< that has locked it
  std::uint64_t previous_index = 0; ///< that the key had before; 0: it was not there
  std::uint64_t index = 0;
};

class change_batch {
public:
  change_batch() = default;
  /// What is known is void: these are the keys as they are. There is no other.
  bool is_snapshot = false;
  /// A snapshot with all that was committed when it was asked for. False: a listing of Consul,
  /// which may be of a leader that was deposed.
  bool is_newest = false;
  std::vector<key_change> changes;
  std::string place; ///< of changes::place() afterwards
};

class changes {
public:
  /// @param place behind which to begin. Empty: a snapshot comes first; "now": with what happens from now on
  changes(world& w, std::string prefix, std::string place = {});

  /// Waits for the next changes; at least one, or a snapshot.
  task<result<change_batch>> next(patience limit);
  const std::string& place() const noexcept { return place_; }
  /// Whether nothing has happened behind place(). Asks without waiting for something to happen.
  /// False where the history is gone, and where there is no place yet.
  task<result<bool>> is_current(patience limit);

private:
  request asking(milliseconds wait, bool names_history) const;

  world& world_;
  std::string prefix_;
  std::string place_;
};

/// Whether a place is behind another one of the same history.
bool is_behind(std::string_view later, std::string_view earlier);

/// `INDEX` or `INDEX.N` of a place: it names a change within its history.
std::string position_of(std::string_view place);
/// Of a place; 0: it names none. What it is made of is the server's business: two places compare if
/// it is the same.
std::uint64_t history_of(std::string_view place);
/// Whether two histories, none of which is 0, are of one cluster.
bool in_one_cluster(std::uint64_t history, std::uint64_t other) noexcept;

/// A place that is kept in a file: the whole old one or the whole new one, also when the power
/// fails. 0.2.0 reads the file, too.
class place_in_file {
public:
  explicit place_in_file(std::string path) : path_(std::move(path)) {}
  /// Empty if there is no such file.
  /// @returns refused with the system's text, and if what is there is no place
  result<std::string> load() const;
  /// @returns refused with the system's text
  status store(const std::string& place) const;

private:
  std::string path_;
};

/// A place that is kept in a key: `INDEX.N` as the value, the history as the flags. It never goes
/// back within a history, whoever writes it; one of another history takes its place.
class place_in_key {
public:
  place_in_key(world& w, std::string key) : world_(w), key_(std::move(key)) {}
  /// Empty if there is no such key.
  task<result<std::string>> load(patience limit);
  /// @returns the place that is there afterwards: a later one of the same history if somebody else
  /// was faster
  task<result<std::string>> store(std::string place, patience limit);

private:
  world& world_;
  std::string key_;
};

} // namespace v0
} // namespace belay
