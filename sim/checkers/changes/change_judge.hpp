#pragma once
// Judges what one client is told that follows changes of keys (docs/claims.md, rules 43 to 47 and invariant 14): each change once, in order;
// progress N only when all up to N was sent; a snapshot and the changes behind it are the state. It remembers across streams, as the client does.

#include "sim/checkers/kv_model.hpp"
#include "sim/record/event_reader.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace belay::sim {

class change_judge {
public:
  /// The model has been given each entry before an event tells of it.
  change_judge(const kv_model& keys, std::string prefix) : keys_(keys), prefix_(std::move(prefix)) {}

  /// A stream begins, which goes on behind last_id().
  void opened() { in_snapshot_ = false; }
  broken told(const stream_event& e);
  /// Empty: there was none.
  const std::string& last_id() const { return last_id_; }
  /// Every change up to there was sent.
  log_index sent_up_to() const {
    return at_.effect == UINT64_MAX || at_.index == 0 ? log_index{at_.index} : log_index{at_.index - 1};
  }

private:
  struct place {
    std::uint64_t index = 0, effect = 0;
    auto operator<=>(const place&) const = default;
  };
  struct row {
    std::string value, session;
    std::uint64_t flags = 0;
    log_index index;
    bool operator==(const row&) const = default;
  };

  broken begin_snapshot(const stream_event& e, log_index index);
  broken take_row(const stream_event& e, const std::string& key, row now);
  broken take_change(const stream_event& e, const std::string& key, row now, log_index previous);
  broken take_progress(const stream_event& e, log_index index);
  broken compare_with(log_index at) const;

  const kv_model& keys_;
  std::string prefix_;
  std::string last_id_;
  place at_;
  log_index snapshot_; ///< that is being sent
  bool in_snapshot_ = false;
  bool has_state_ = false;
  std::map<std::string, row> known_;
};

} // namespace belay::sim
