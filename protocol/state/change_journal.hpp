#pragma once
// What every table reports its changes to: keeps the digest, the set of rows a checkpoint lacks, and how to undo.

#include "protocol/state/machine.hpp"

#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace belay::state {

using row_value = decltype(dirty_row::row);

class change_journal {
public:
  /// Row `key` of `t` had this hash and has that one now; zero: there was or is none.
  void row_changed(table t, std::string_view key, std::uint64_t hash_before, std::uint64_t hash_after) {
    digest_ += hash_after - hash_before;
    auto& keys = dirty_[static_cast<std::size_t>(t)];
    if (keys.find(key) == keys.end())
      keys.emplace(key);
  }

  std::uint64_t digest() const { return digest_; }

  // ---- undo: while recording, tables remember every row before they change it

  bool recording() const { return recording_; }
  void start_recording() { recording_ = true; }
  /// @returns the rows as they were, newest first: put back in this order they restore the start.
  std::vector<dirty_row> stop_recording() {
    recording_ = false;
    std::vector<dirty_row> rows(std::make_move_iterator(before_.rbegin()), std::make_move_iterator(before_.rend()));
    before_.clear();
    return rows;
  }
  void discard_recording() {
    recording_ = false;
    before_.clear();
  }
  void remember(table t, std::string_view key, row_value before) {
    before_.push_back({t, std::string(key), std::move(before)});
  }

  // ---- checkpoints

  struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const noexcept { return std::hash<std::string_view>{}(s); }
  };
  using key_set = std::unordered_set<std::string, text_hash, std::equal_to<>>;

  const key_set& dirty(table t) const { return dirty_[static_cast<std::size_t>(t)]; }
  void clear_dirty() {
    for (auto& keys : dirty_)
      keys = key_set{};
  }

private:
  std::uint64_t digest_ = 0;
  bool recording_ = false;
  std::vector<dirty_row> before_;
  std::array<key_set, 9> dirty_; // by table number, 1 to 8
};

} // namespace belay::state
