#include "protocol/forward/keyring_rounds.hpp"

#include "protocol/base/mutants.hpp"

#include <algorithm>
#include <utility>

namespace belay::forward {

bool keyring_rounds::begin(request_id id, keyring_operation what, bool local_only, const std::vector<member>& who,
                           local_time deadline) {
  if (rounds_.size() >= rounds_max)
    return false;
  round r{std::move(what), local_only, deadline, {}};
  for (const auto& m : who)
    r.members.push_back({m.id, {true, {m.name, false, {}}}});
  rounds_.insert_or_assign(id, std::move(r));
  return true;
}

void keyring_rounds::settle(round& r, node_id member, bool answered, keyring_answer a) {
  for (auto& [id, s] : r.members) {
    if (id != member || !s.waiting)
      continue;
    s.waiting = false;
    s.response.answered = answered;
    s.response.answer = std::move(a);
    return;
  }
}

const keyring_operation* keyring_rounds::operation(request_id id) const {
  const auto r = rounds_.find(id);
  return r == rounds_.end() ? nullptr : &r->second.what;
}

void keyring_rounds::answered(request_id id, node_id from, keyring_answer a) {
  if (const auto r = rounds_.find(id); r != rounds_.end())
    settle(r->second, from, true, std::move(a));
}

void keyring_rounds::not_requested(request_id id, node_id member, std::string why) {
  if (const auto r = rounds_.find(id); r != rounds_.end())
    settle(r->second, member, MUTANT(member_not_asked_is_done),
           {MUTANT(member_not_asked_is_done), std::move(why), {}, false});
}

void keyring_rounds::lost(node_id member) {
  for (auto& [id, r] : rounds_)
    settle(r, member, false, {false, "its connection was lost before it responded", {}, false});
}

void keyring_rounds::expire(local_time now) {
  for (auto& [id, r] : rounds_)
    if (r.deadline <= now)
      for (const auto& [member, s] : r.members)
        settle(r, member, false, {false, "no response in time", {}, false});
}

std::vector<keyring_outcome> keyring_rounds::take_finished() {
  std::vector<keyring_outcome> over;
  for (auto it = rounds_.begin(); it != rounds_.end();) {
    auto& r = it->second;
    if (std::any_of(r.members.begin(), r.members.end(), [](const auto& m) { return m.second.waiting; })) {
      ++it;
      continue;
    }
    keyring_outcome o{it->first, std::move(r.what), r.local_only, {}};
    for (auto& [id, s] : r.members)
      o.members.push_back(std::move(s.response));
    over.push_back(std::move(o));
    it = rounds_.erase(it);
  }
  return over;
}

} // namespace belay::forward
