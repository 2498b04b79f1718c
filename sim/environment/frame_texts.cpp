#include "sim/environment/frame_texts.hpp"

#include "protocol/base/overloaded.hpp"

namespace belay::sim {

namespace {

std::string words_of(const raft::message& m) {
  const auto body = std::visit(
      overloaded{
          [](const raft::append_entries& a) {
            auto text = "append after " + to_string(a.prev_index) + "/" + to_string(a.prev_term);
            if (!a.entries.empty())
              text += ", entries " + to_string(a.entries.front().index) + ".." + to_string(a.entries.back().index);
            return text + ", commit " + to_string(a.commit) + ", round " + std::to_string(a.round);
          },
          [](const raft::append_reply& r) {
            return r.success ? "append accepted up to " + to_string(r.match) + ", round " + std::to_string(r.round)
                             : "append rejected at " + to_string(r.rejected) + ", try " + to_string(r.conflict_index) +
                                   "/" + to_string(r.conflict_term);
          },
          [](const raft::vote_request& v) {
            return std::string(v.pre_vote   ? "pre-vote?"
                               : v.transfer ? "vote (transfer)?"
                                            : "vote?") +
                   " log ends at " + to_string(v.last_index) + "/" + to_string(v.last_term);
          },
          [](const raft::vote_reply& v) {
            return std::string(v.pre_vote ? "pre-vote " : "vote ") + (v.granted ? "granted" : "refused");
          },
          [](const raft::snapshot_chunk& c) {
            return "snapshot " + to_string(c.meta.index) + " at " + std::to_string(c.offset) + ", " +
                   std::to_string(c.bytes->size()) + " bytes" + (c.last ? ", last" : "");
          },
          [](const raft::snapshot_reply& r) {
            return "snapshot " + to_string(r.index) +
                   (r.installed  ? " installed"
                    : r.rejected ? " rejected"
                                 : " next " + std::to_string(r.next_offset));
          },
          [](const raft::timeout_now&) { return std::string("campaign now"); },
      },
      m.body);
  return "[term " + to_string(m.term) + "] " + body;
}

const char* outcome_words(wire::call_outcome o) {
  constexpr const char* names[] = {"done", "refused", "unknown", "ask again"};
  return names[static_cast<std::size_t>(o)];
}

/// What the sender promised about the first configuration: protocol/raft/formation.hpp.
std::string promise_in(const wire::hello& h) {
  std::string text = h.has_log ? ", with a log" : "";
  if (h.cluster_id == 0 && (h.round != 0 || !h.refused.empty())) {
    text += ", in round " + std::to_string(h.round) + (h.agreed.empty() ? " without a set" : " with the set");
    for (const auto& m : h.agreed)
      text += ' ' + to_string(m.id);
    if (h.given_up)
      text += ", which it has given up";
    if (!h.refused.empty())
      text += "; " + std::to_string(h.refused.size()) + " refused";
  }
  return text;
}

} // namespace

std::string rendered(const wire::frame& f) {
  return std::visit(
      overloaded{
          [](const wire::hello& h) {
            return "hello, I am server " + to_string(h.self.id) + " (" + h.self.name + ") of cluster " +
                   std::to_string(h.cluster_id) + promise_in(h);
          },
          [](const raft::message& m) { return words_of(m); },
          [](const wire::forward_call& c) {
            return "for the leader: request " + to_string(c.id) +
                   (c.kind == wire::call_kind::propose ? "" : ", renew " + std::string(*c.bytes));
          },
          [](const wire::forward_reply& r) {
            return "request " + to_string(r.id) + " " + outcome_words(r.outcome) +
                   (r.index.is_zero() ? "" : " at " + to_string(r.index));
          },
          [](const wire::read_index& r) {
            return "read index? " + std::to_string(r.id) + (r.lease_ok ? ", lease will do" : "");
          },
          [](const wire::read_index_reply& r) {
            return "read index " + std::to_string(r.id) + (r.ok ? " is " + to_string(r.index) : " is not known here");
          },
          [](const agent::user_event& e) { return "event " + e.name; },
          [](const wire::gossip& g) { return "gossip of " + std::to_string(g.members.size()) + " members"; },
          [](const wire::keyring_call& c) { return "for the keyring: request " + to_string(c.id); },
          [](const wire::keyring_reply& r) {
            return "keyring, request " + to_string(r.id) + (r.answer.ok ? " done" : " refused");
          },
          [](const coordinates::probe&) { return std::string("how far away are you?"); },
          [](const coordinates::probe_answer&) { return std::string("an answer to who measures the distance"); },
          [](const coordinates::news& n) { return "news of " + std::to_string(n.rows.size()) + " coordinates"; },
      },
      f);
}

} // namespace belay::sim
