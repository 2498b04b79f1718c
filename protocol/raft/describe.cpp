#include "protocol/raft/core_impl.hpp"

namespace belay::raft {

namespace {

std::string list(const std::vector<node_id>& ids) {
  std::string s;
  for (auto id : ids)
    s += (s.empty() ? "" : ",") + to_string(id);
  return s;
}

} // namespace

std::string core::impl::describe() const {
  std::string s = to_string(self) + " " + std::string(name_of(soft.role)) + " term=" + to_string(hard.term);
  s += " vote=" + (hard.voted_for.is_zero() ? "-" : to_string(hard.voted_for));
  s += " leader=" + (soft.leader.is_zero() ? "-" : to_string(soft.leader));
  s += " log=" + to_string(log.first()) + ".." + to_string(log.last()) + "@" + to_string(log.last_term());
  s += " durable=" + to_string(durable) + " commit=" + to_string(commit);
  s += " voters=" + list(config().voters);
  if (config().joint())
    s += " old=" + list(config().voters_old);
  if (!config().learners.empty())
    s += " learners=" + list(config().learners);
  if (incoming)
    s += " receiving=" + to_string(incoming->meta.index) + "+" + std::to_string(incoming->next_offset);
  if (!leading)
    return s;
  for (const auto& [id, p] : leading->followers) {
    s += " [" + to_string(id) + " " + std::string(name_of(p.state)) + " match=" + to_string(p.match) +
         " next=" + to_string(p.next);
    if (p.inflight() != 0)
      s += " inflight=" + std::to_string(p.inflight());
    s += "]";
  }
  return s;
}

} // namespace belay::raft
