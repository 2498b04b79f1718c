#pragma once
// Decodes commands of committed entries a little before they are applied.

#include "protocol/base/check.hpp"
#include "protocol/raft/types.hpp"
#include "protocol/state/machine.hpp"
#include "protocol/wire/command_codec.hpp"

#include <array>
#include <optional>
#include <vector>

namespace belay::actors {

/// Applying a command waits for memory that is not in the cache. So several are decoded at once,
/// and the machine prefetches what all of them will read (state::machine::fetch).
class decoded_ahead {
public:
  /// `entries` and `m` must outlive this object.
  decoded_ahead(const std::vector<raft::entry>& entries, const state::machine& m) : entries_(entries), machine_(m) {}

  /// The command of the i-th entry; nullopt: this version cannot decode it. Valid until the next
  /// call. @pre i is larger than in the call before; the entry is a command
  const std::optional<state::command>& of(std::size_t i) {
    PRECONDITION(i >= begin_);
    PRECONDITION(i < entries_.size());
    while (i >= end_)
      go_on();
    return decoded_[i - begin_];
  }

private:
  static constexpr std::size_t together = 16;
  // Large commands are decoded one at a time: there are few, and their values would fill the cache.
  static constexpr std::size_t bytes_together = std::size_t{64} << 10;

  void go_on() {
    begin_ = end_;
    std::array<const state::command*, together> next;
    std::size_t count = 0;
    for (std::size_t bytes = 0; end_ < entries_.size() && end_ - begin_ < together && bytes < bytes_together; ++end_) {
      const auto& e = entries_[end_];
      if (e.kind != raft::entry_kind::command)
        continue;
      bytes += e.data->size();
      auto& command = decoded_[end_ - begin_] = wire::decode_command(*e.data);
      if (command)
        next[count++] = &*command;
    }
    machine_.fetch(std::span(next).first(count));
  }

  const std::vector<raft::entry>& entries_;
  const state::machine& machine_;
  std::array<std::optional<state::command>, together> decoded_;
  std::size_t begin_ = 0, end_ = 0; ///< range of the entries in decoded_
};

} // namespace belay::actors
