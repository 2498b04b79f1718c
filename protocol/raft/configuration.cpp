#include "protocol/raft/configuration.hpp"

#include <algorithm>

namespace belay::raft {

namespace {

constexpr std::uint8_t encoding_version = 1;

bool has(const std::vector<node_id>& sorted, node_id id) {
  return std::binary_search(sorted.begin(), sorted.end(), id);
}

bool strictly_rising(const std::vector<node_id>& ids) {
  return std::adjacent_find(ids.begin(), ids.end(), [](node_id a, node_id b) { return !(a < b); }) == ids.end();
}

void keep_named(configuration& c) {
  std::erase_if(c.members, [&](const member& m) { return !c.is_voter(m.id) && !has(c.learners, m.id); });
}

void put_ids(byte_writer& w, const std::vector<node_id>& ids) {
  w.varint(ids.size());
  for (auto id : ids)
    w.u64(id.value);
}

bool get_ids(byte_reader& r, std::vector<node_id>& ids) {
  const auto n = r.varint();
  if (!r.ok() || n > r.remaining() / 8)
    return false;
  ids.reserve(n);
  for (std::uint64_t i = 0; i < n; ++i)
    ids.push_back(node_id{r.u64()});
  return r.ok();
}

} // namespace

bool configuration::is_voter(node_id id) const {
  return has(voters, id) || has(voters_old, id);
}

bool configuration::contains(node_id id) const {
  return find(id) != nullptr;
}

const member* configuration::find(node_id id) const {
  auto it = std::lower_bound(members.begin(), members.end(), id, [](const member& m, node_id v) { return m.id < v; });
  return it != members.end() && it->id == id ? &*it : nullptr;
}

bool well_formed(const configuration& c) {
  if (c.voters.empty() || !strictly_rising(c.voters) || !strictly_rising(c.voters_old) || !strictly_rising(c.learners))
    return false;
  const auto not_rising = [](const member& a, const member& b) { return !(a.id < b.id); };
  if (std::adjacent_find(c.members.begin(), c.members.end(), not_rising) != c.members.end())
    return false;
  if (c.members.empty() || c.members.front().id.is_zero())
    return false;
  const auto known = [&](node_id id) { return c.contains(id); };
  if (!std::all_of(c.voters.begin(), c.voters.end(), known) ||
      !std::all_of(c.voters_old.begin(), c.voters_old.end(), known) ||
      !std::all_of(c.learners.begin(), c.learners.end(), known))
    return false;
  if (std::any_of(c.learners.begin(), c.learners.end(), [&](node_id id) { return has(c.voters, id); }))
    return false;
  return std::all_of(c.members.begin(), c.members.end(),
                     [&](const member& m) { return c.is_voter(m.id) || has(c.learners, m.id); });
}

std::vector<member_change> changes_between(const configuration& before, const configuration& after) {
  using kind = member_change::kind;
  std::vector<member_change> out;
  auto was = before.members.begin();
  auto is = after.members.begin();
  while (was != before.members.end() || is != after.members.end()) {
    if (is == after.members.end() || (was != before.members.end() && was->id < is->id)) {
      out.push_back({kind::removed, *was, before.is_voter(was->id)});
      ++was;
    } else if (was == before.members.end() || is->id < was->id) {
      out.push_back({kind::added, *is, after.is_voter(is->id)});
      ++is;
    } else {
      const bool voted = before.is_voter(was->id), votes = after.is_voter(is->id);
      if (*was != *is)
        out.push_back({kind::renamed, *is, votes});
      if (voted != votes)
        out.push_back({votes ? kind::got_vote : kind::lost_vote, *is, votes});
      ++was;
      ++is;
    }
  }
  return out;
}

std::string text_of(const member_change& c) {
  const auto who = c.who.name + " (" + c.who.uuid + ") at " + c.who.address;
  switch (c.what) {
  case member_change::kind::added:
    return who + (c.votes ? " is added as a voter" : " is added without a vote");
  case member_change::kind::removed:
    return who + " is removed";
  case member_change::kind::got_vote:
    return who + " becomes a voter";
  case member_change::kind::lost_vote:
    return who + " loses its vote";
  case member_change::kind::renamed:
    return who + " changes to this name and address";
  }
  return who;
}

configuration first_step(const configuration& now, const configuration& target) {
  PRECONDITION(!now.joint());
  PRECONDITION(!target.joint());
  if (now.voters == target.voters)
    return target;
  configuration joint = target;
  joint.voters_old = now.voters;
  for (const auto& m : now.members) {
    auto at = std::lower_bound(joint.members.begin(), joint.members.end(), m.id,
                               [](const member& a, node_id id) { return a.id < id; });
    if (at == joint.members.end() || at->id != m.id)
      joint.members.insert(at, m);
  }
  keep_named(joint);
  INVARIANT(well_formed(joint)); // else no server could decode the entry
  return joint;
}

configuration second_step(const configuration& joint) {
  PRECONDITION(joint.joint());
  configuration last = joint;
  last.voters_old.clear();
  keep_named(last);
  INVARIANT(well_formed(last));
  return last;
}

configuration without(configuration now, node_id id) {
  std::erase_if(now.members, [id](const member& m) { return m.id == id; });
  std::erase(now.voters, id);
  std::erase(now.learners, id);
  return now;
}

void put_member(byte_writer& w, const member& m) {
  w.u64(m.id.value);
  w.text(m.uuid);
  w.text(m.name);
  w.text(m.address);
}

member get_member(byte_reader& r) {
  member m;
  m.id = node_id{r.u64()};
  m.uuid = r.text();
  m.name = r.text();
  m.address = r.text();
  return m;
}

// Stored in log entries and checkpoints, and sent. Integers are little-endian.
//
// offset  size      what
// 0       1         version, 1
// 1       varint    count of members, then each: id (8), uuid, name, address (varint length, bytes)
// ...     varint    number of voters, then their ids (8 each); the same for voters_old and learners
std::string encode(const configuration& c) {
  std::string out;
  byte_writer w(out);
  w.u8(encoding_version);
  w.varint(c.members.size());
  for (const auto& m : c.members)
    put_member(w, m);
  put_ids(w, c.voters);
  put_ids(w, c.voters_old);
  put_ids(w, c.learners);
  return out;
}

std::optional<configuration> decode_configuration(std::string_view bytes) {
  byte_reader r(bytes);
  if (r.u8() != encoding_version)
    return std::nullopt;
  configuration c;
  const auto n = r.varint();
  if (!r.ok() || n > r.remaining())
    return std::nullopt;
  for (std::uint64_t i = 0; i < n && r.ok(); ++i)
    c.members.push_back(get_member(r));
  if (!r.ok() || !get_ids(r, c.voters) || !get_ids(r, c.voters_old) || !get_ids(r, c.learners))
    return std::nullopt;
  if (!r.complete() || !well_formed(c))
    return std::nullopt;
  return c;
}

} // namespace belay::raft
