#pragma once
// Checks what a client receives of changes against docs/reference/changes.md alone.

#include "sim/record/event_reader.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace belay::harness {

/// A change: its log index and its number in the entry. `4711`, all of it, is after `4711.n`.
using change_position = std::pair<std::uint64_t, std::uint64_t>;
/// Without the history, if the id names one.
change_position cursor_of(const std::string& id);

struct known_row {
  std::string value;
  std::uint64_t index = 0;
  bool operator==(const known_row&) const = default;
};
using known_state = std::map<std::string, known_row>;

/// Receives the events of one stream after another, each of which resumes where the last one ended.
class change_checker {
public:
  void take(const sim::stream_event& e);

  /// The id from which the next stream resumes; empty: none was received.
  const std::string& last_id() const { return last_id_; }
  /// Everything up to this index has been sent, according to the server.
  std::uint64_t sent_up_to() const { return progress_; }
  const known_state& known() const { return known_; }
  const std::vector<std::string>& wrong() const { return wrong_; }
  std::size_t changes() const { return changes_; }
  std::size_t resets() const { return resets_; }

private:
  void check(bool ok, std::string what) {
    if (!ok)
      wrong_.push_back(std::move(what));
  }

  std::string last_id_;
  known_state known_;
  change_position cursor_{0, 0};
  std::uint64_t progress_ = 0;
  bool in_snapshot_ = false;
  std::size_t changes_ = 0, resets_ = 0;
  std::vector<std::string> wrong_;
};

} // namespace belay::harness
