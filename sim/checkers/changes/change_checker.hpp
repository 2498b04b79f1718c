#pragma once
// Checks one client's change streams (docs/reference/claims.md, rules 43 to 47 and invariant 14): each change
// once, in order; progress N only after all up to N; a snapshot plus its changes is the state. The
// model must have each entry before an event reports it.

#include "sim/checkers/kv_model.hpp"
#include "sim/record/event_reader.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace belay::sim {

class change_checker {
public:
  /// Called with each cursor: its index, and the history that it names (empty: none). @returns what
  /// is wrong with it
  using name_check = std::function<broken(log_index index, std::string_view history)>;
  change_checker(const kv_model& keys, std::string prefix, name_check named)
      : keys_(keys), prefix_(std::move(prefix)), named_(std::move(named)) {}

  /// A stream begins; it resumes after last_id().
  /// @param strange the server was given a cursor of another history instead: only a
  /// reset may come first
  void opened(bool strange) {
    in_snapshot_ = false;
    strange_ = strange;
  }
  broken received(const stream_event& e);
  /// Empty: there was none.
  const std::string& last_id() const { return last_id_; }
  /// Whether a cursor of another history was sent, and nothing has been received since.
  bool waits_for_reset() const { return strange_; }
  /// All changes up to that index were received.
  log_index sent_up_to() const {
    return at_.effect == UINT64_MAX || at_.index == 0 ? log_index{at_.index} : log_index{at_.index - 1};
  }

private:
  struct stream_position {
    std::uint64_t index = 0, effect = 0;
    auto operator<=>(const stream_position&) const = default;
  };
  struct row {
    std::string value, session;
    std::uint64_t flags = 0;
    log_index index;
    bool operator==(const row&) const = default;
  };

  broken begin_snapshot(const stream_event& e, log_index index, const std::string& reason);
  broken take_row(const stream_event& e, const std::string& key, row now);
  broken take_change(std::string_view position, const std::string& key, row now, log_index previous, bool sets);
  broken take_progress(std::string_view position, log_index index);
  broken compare_with(log_index at) const;

  const kv_model& keys_;
  std::string prefix_;
  name_check named_;
  std::string last_id_;
  stream_position at_;
  log_index snapshot_; ///< in progress
  bool in_snapshot_ = false;
  bool has_state_ = false;
  bool strange_ = false;
  std::map<std::string, row> known_;
};

} // namespace belay::sim
