#pragma once
// Actions of protocol/forward as lines of text, so that a test shows a story and its result.

#include "protocol/base/overloaded.hpp"
#include "protocol/forward/pending_barriers.hpp"
#include "protocol/forward/pending_calls.hpp"

#include <string>
#include <vector>

namespace belay::forward::testing {

using lines = std::vector<std::string>;

inline std::string words(const to_peer& p) {
  const auto what = std::visit(
      overloaded{
          [](const call& c) { return "call " + to_string(c.id) + " " + name_of(c.kind) + " " + std::string(*c.bytes); },
          [](const reply& r) {
            return "reply " + to_string(r.id) + " " + name_of(r.outcome) + (r.bytes.empty() ? "" : ": " + r.bytes);
          },
          [](const read_index& q) { return std::string("read index?") + (q.lease_ok ? " lease" : ""); },
          [](const read_index_reply& r) {
            return "read index " + std::to_string(r.id) + (r.ok ? " is " + to_string(r.index) : " unknown");
          },
      },
      p.what);
  return "to " + to_string(p.to) + ": " + what;
}

inline std::string names(const std::vector<queued_call>& calls) {
  std::string all;
  for (const auto& c : calls)
    all.append(" ").append(*c.bytes);
  return all;
}

inline std::string words(const to_client& t) {
  return "tell " + to_string(t.id) + " " + name_of(t.outcome) + ": " + t.text;
}
inline std::string words(const pass_answer& p) {
  return "answer " + to_string(p.requested.from.id) + " " + std::string(*p.requested.bytes) + ": " + p.answer.bytes;
}
inline std::string words(const renew_here& r) {
  return std::string(r.confirmed ? "confirmed, " : "") + "renew " + std::string(*r.session) + " for " +
         to_string(r.from.node) + "/" + to_string(r.from.id);
}
inline std::string words(const decide_here& d) {
  return std::string("decide ") + name_of(d.requested.kind) + " " + std::string(*d.requested.bytes);
}
inline std::string words(const propose_here& p) {
  return "propose" + names(p.batch);
}
inline std::string words(const barrier_done& d) {
  return "barrier " + std::to_string(d.id) + (d.ok ? " at " + to_string(d.index) : " failed");
}
inline std::string words(const confirm_leadership&) {
  return "confirm leadership";
}

template <class Action>
lines words_of(const std::vector<Action>& actions) {
  lines all;
  for (const auto& action : actions)
    all.push_back(std::visit([](const auto& a) { return words(a); }, action));
  return all;
}

inline constexpr node_id self{1}, second{2}, third{3};

inline leadership led_here(std::uint64_t term = 5, bool serving = true) {
  return {true, serving, term_id{term}, {}, true};
}
/// This server leads without a lease; others may believe that they lead.
inline leadership led_here_without_a_lease() {
  return {true, true, term_id{5}, {}};
}
inline leadership led_by(node_id leader) {
  return {false, false, term_id{5}, leader};
}
/// There is no leader, or it is not connected.
inline leadership leaderless() {
  return {false, false, term_id{5}, {}};
}

} // namespace belay::forward::testing
