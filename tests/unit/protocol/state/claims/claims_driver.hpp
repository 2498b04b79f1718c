#pragma once
// A state machine with claims, and what the tests inspect of it.

#include "tests/unit/protocol/state/acl/acl_driver.hpp"
#include "tests/unit/protocol/state/driver.hpp"

#include <algorithm>
#include <functional>

namespace belay::state {

class claims_driver : public driver {
public:
  using change = std::function<void(claim_ask&)>;

  reply ask(
      const std::string& name, const std::string& session, const std::string& id = {},
      const change& more = [](claim_ask&) {}) {
    claim_ask c;
    c.name = name;
    c.session = session;
    c.id = id;
    more(c);
    return apply(c);
  }
  /// `held FENCE`, `waiting POSITION`, the name of the error, or the text of a refusal.
  static std::string response(const reply& r) {
    if (const auto* a = std::get_if<claim_answer>(&r))
      return a->state == claim_state::held ? "held" : "waiting " + std::to_string(a->position);
    if (const auto* no = std::get_if<claim_refusal>(&r))
      return std::string(name_of(no->why)) + (no->parameter.empty() ? "" : " " + no->parameter) +
             (no->ended ? " " + std::string(name_of(*no->ended)) : "");
    if (const auto* no = std::get_if<refusal>(&r))
      return no->text;
    if (const auto* yes = std::get_if<bool>(&r))
      return (*yes ? "true" : "false") +
             (r.note.why == refused_for::nothing ? "" : " " + std::string(name_of(r.note.why)));
    if (const auto* t = std::get_if<txn_reply>(&r))
      return t->errors.empty() ? "done" : t->errors.front().what;
    return "?";
  }
  std::string asks(
      const std::string& name, const std::string& session, const std::string& id = {},
      const change& more = [](claim_ask&) {}) {
    return response(ask(name, session, id, more));
  }
  std::string drops(const std::string& name, const std::string& id) { return response(apply(claim_release{name, id})); }

  /// `PUT /v1/kv/KEY?acquire=&wait=`
  reply queue(const std::string& key, const std::string& session, std::uint64_t wait_ms = 10'000,
              const std::string& value = "v", bool refuse = false) {
    kv_acquire c;
    c.op.verb = kv_verb::lock;
    c.op.key = key;
    c.op.session = session;
    c.op.value = make_payload(value);
    c.op.flags = 7;
    c.wait_ms = wait_ms;
    c.refuse_deadlock = refuse;
    return apply(c);
  }
  std::string queues(const std::string& key, const std::string& session, std::uint64_t wait_ms = 10'000) {
    return response(queue(key, session, wait_ms));
  }
  void alarm() { apply(claims_alarm{now}); }
  /// The ids, in order.
  std::vector<std::string> holders(const std::string& name, claim_space space = claim_space::claims) const {
    std::vector<std::string> ids;
    for (const auto& each : view(name, space).holders)
      ids.push_back(each.claim->id);
    return ids;
  }
  std::vector<std::string> waiters(const std::string& name, claim_space space = claim_space::claims) const {
    std::vector<std::string> ids;
    for (const auto& each : view(name, space).queue)
      ids.push_back(each.claim->id);
    return ids;
  }
  claim_view view(const std::string& name, claim_space space = claim_space::claims) const {
    return std::get<claim_view>(m.evaluate(claim_read{{name, space}}).data);
  }
  claim_standing standing(const std::string& name, const std::string& id,
                          claim_space space = claim_space::claims) const {
    return std::get<claim_standing>(m.evaluate(claim_status{{name, space}, id}).data);
  }
  std::uint64_t fence(const std::string& name, const std::string& id) const {
    const auto s = standing(name, id);
    return s.live ? s.live->fence : 0;
  }
  std::string ended(const std::string& name, const std::string& id, claim_space space = claim_space::claims) const {
    const auto s = standing(name, id, space);
    return s.ended ? std::string(name_of(s.ended->why)) : "";
  }
  std::string fenced_set(const std::string& key, const resource_name& of, std::uint64_t fence) {
    fenced_write w;
    w.op.key = key;
    w.op.value = make_payload("v");
    w.fence = {of, fence};
    return response(apply(w));
  }
  /// The grants of the newest entry, in order.
  std::vector<std::string> granted() const {
    std::vector<std::string> ids;
    for (const auto& e : changed)
      if (const auto* g = std::get_if<claim_granted>(&e))
        ids.push_back(g->of.name + ":" + g->id);
    return ids;
  }
  std::size_t sent_ends() const {
    return static_cast<std::size_t>(std::count_if(
        changed.begin(), changed.end(), [](const effect& e) { return std::holds_alternative<claim_ended>(e); }));
  }
  bool sound() const { return m.digest() == m.recompute_digest() && !m.recount(); }
};

using texts = std::vector<std::string>;

inline claims_driver::change of_kind(claim_kind k) {
  return [k](claim_ask& c) { c.kind = k; };
}
inline claims_driver::change shared() {
  return [](claim_ask& c) {
    c.kind = claim_kind::rw;
    c.mode = claim_mode::shared;
  };
}
inline claims_driver::change writer() {
  return of_kind(claim_kind::rw);
}
inline claims_driver::change permits(std::uint64_t n, std::uint64_t limit = 0) {
  return [=](claim_ask& c) {
    c.kind = claim_kind::semaphore;
    c.permits = n;
    if (limit != 0)
      c.limit = limit;
  };
}
inline claims_driver::change refusing() {
  return [](claim_ask& c) { c.refuse_deadlock = true; };
}
inline claims_driver::change priority(std::uint64_t p) {
  return [p](claim_ask& c) { c.priority = p; };
}
inline claims_driver::change until(std::uint64_t ms) {
  return [ms](claim_ask& c) { c.deadline_ms = ms; };
}

} // namespace belay::state
