#include "sim/checkers/idle_checker.hpp"

#include "protocol/wire/command_codec.hpp"
#include "sim/checkers/session_ends.hpp"
#include "sim/record/text_rendering.hpp"

#include <algorithm>

namespace belay::sim {

namespace {

// A leader that has not applied its own proposal yet may propose it once more.
constexpr int in_vain_max = 1;

} // namespace

broken idle_checker::committed(const raft::entry& e) {
  const auto found = wire::decode_command(*e.data);
  const auto* reap =
      found && e.kind == raft::entry_kind::command ? std::get_if<state::tombstone_reap>(&*found) : nullptr;
  const bool in_vain = reap != nullptr && reap->up_to <= reaped_;
  if (reap != nullptr)
    reaped_ = std::max(reaped_, reap->up_to);
  if (!term_)
    return std::nullopt;
  const auto entry = "entry " + to_string(e.index) + " of term " + to_string(e.term);
  if (e.term != *term_)
    return entry + " was committed although no client has sent a write since term " + to_string(*term_);
  if (e.kind != raft::entry_kind::command || !found)
    return entry + " is no command, and no client has sent a write";
  if (ended_by_timers(*found) != nullptr || (reap != nullptr && (!in_vain || ++in_vain_ <= in_vain_max)))
    return std::nullopt;
  return entry + " was written although no client has sent a write: " + rendered(*found);
}

} // namespace belay::sim
