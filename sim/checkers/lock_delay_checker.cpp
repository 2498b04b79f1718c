#include "sim/checkers/lock_delay_checker.hpp"

#include "protocol/base/probe.hpp"
#include "sim/record/text_rendering.hpp"

#include <algorithm>

namespace belay::sim {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds longest_delay{60};
// Cluster time counts in milliseconds: one may be lacking at each end.
constexpr milliseconds rounding_of_stamps{2};
// A request may wait in mailboxes before the leader reads its clock, and the response takes time.
constexpr seconds slack_of_asking{1};

} // namespace

broken lock_delay_checker::committed(const raft::entry& e, std::optional<virtual_time> made) {
  if (e.kind == raft::entry_kind::command) {
    if (made && last_made_ && e.term != last_term_)
      uncounted_ += std::max(*made - *last_made_, virtual_time::zero());
    if (made)
      last_made_ = made;
    last_term_ = e.term;
  }
  const auto& all = model_.changes();
  broken b;
  for (; changes_ < all.size(); ++changes_) {
    const auto& key = all[changes_].key;
    if (all[changes_].index != e.index || model_.doubtful(key, e.index))
      continue;
    const bool restored = !model_.restores().empty() && model_.restores().back() == e.index;
    const auto before = model_.entry_at(key, e.index.prev()), after = model_.entry_at(key, e.index);
    const std::string holder(before ? before->session : std::string_view());
    const bool kept = after && after->session == holder;
    if (!holder.empty() && !kept && (restored || !model_.sessions().lived_at(holder, e.index)) &&
        model_.lost_by_end(key, holder, e.index))
      lost(key, holder, made);
    if (made && !restored && after && !after->session.empty() && model_.granted_at(key, e.index) == e.index && !b)
      b = granted(key, e, *made);
  }
  return b;
}

void lock_delay_checker::lost(const std::string& key, const std::string& session, std::optional<virtual_time> made) {
  const auto* record = model_.sessions().past(session);
  auto& k = keys_[key];
  if (record == nullptr || !made) {
    k.unknown = true;
    return;
  }
  const auto length = std::min<virtual_time>(std::chrono::nanoseconds(record->lock_delay_ns), longest_delay);
  if (length > length.zero())
    k.delays.push_back({session, *made, length, uncounted_});
}

broken lock_delay_checker::granted(const std::string& key, const raft::entry& e, virtual_time made) const {
  const auto it = keys_.find(key);
  if (!rules_.trust_clocks || it == keys_.end() || it->second.unknown || it->second.delays.empty())
    return std::nullopt;
  const auto& d = it->second.delays.back(); // a later one starts again
  const auto gone = made - d.begun;
  if (gone < d.length * 2)
    PROBE("lock-delays: a lock soon after its delay");
  if (gone + gone / 10 + rounding_of_stamps >= d.length)
    return std::nullopt;
  return "entry " + to_string(e.index) + ", made at " + in_seconds(made) + ", gives key " + key + " to a session " +
         in_seconds(gone) + " after session " + d.session + ", which held it, ended with a lock-delay of " +
         in_seconds(d.length);
}

broken lock_delay_checker::ended(const operation& op) const {
  if (!rules_.trust_clocks || op.result != outcome::done || !op.write ||
      op.reply.note.why != state::refused_for::lock_delay)
    return std::nullopt;
  const auto* w = std::get_if<state::kv_write>(&*op.write);
  const auto it = w == nullptr ? keys_.end() : keys_.find(w->op.key);
  if (it == keys_.end() || it->second.unknown || it->second.delays.empty())
    return std::nullopt; // the model checks whether there is a delay at all
  // A leader that has made no entry yet continues the time of its predecessor.
  const bool between = led_ > last_term_ && last_made_;
  const auto uncounted =
      uncounted_ + (between ? std::max(op.returned - *last_made_, virtual_time::zero()) : virtual_time::zero());
  virtual_time over{0};
  for (const auto& d : it->second.delays) {
    const auto stood = rules_.clocks != nullptr ? rules_.clocks->stood_since(d.begun) : virtual_time::zero();
    over = std::max(over, d.begun + d.length + d.length / 10 + (uncounted - d.uncounted) + stood);
  }
  if (op.invoked <= over + slack_of_asking)
    return std::nullopt;
  const auto& last = it->second.delays.back();
  return "operation " + std::to_string(op.id) + " requested key " + w->op.key + " at " + in_seconds(op.invoked) +
         " and was refused for its lock-delay, which began at " + in_seconds(last.begun) + ", lasts " +
         in_seconds(last.length) + ", and was over at " + in_seconds(over) + " at the latest";
}

} // namespace belay::sim
