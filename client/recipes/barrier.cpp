#include <belay/barrier.hpp>

#include <belay/keys.hpp>

#include "client/core/mutants.hpp"
#include "client/core/transactions.hpp"
#include "client/recipes/waiting.hpp"

#include <algorithm>
#include <vector>

namespace belay {
inline namespace v0 {

namespace {

/// How many keys of dead participants are erased when a round begins.
constexpr std::size_t swept_at_once = 8;

/// A listed participant, and the key that shows that it is alive.
class participant {
public:
  std::string session;
  std::string call;
  /// CreateIndex of its key. A key that a late request creates again differs, and does not count.
  std::uint64_t created = 0;
  std::uint64_t index = 0; ///< index of its key; 0: it is gone, or its session has ended
};

/// The keys below NAME/ at one index.
class round_state {
public:
  std::uint64_t index = 0; ///< index of the key with the list; 0: there is none
  std::uint64_t number = 0;
  std::uint64_t needed = 0;
  bool full = false;
  std::vector<participant> listed;
  std::vector<entry> left_over; ///< keys whose sessions have ended
  std::vector<entry> live;

  bool lists(const std::string& session, const std::string& call) const {
    return std::any_of(listed.begin(), listed.end(),
                       [&](const participant& p) { return p.session == session && p.call == call; });
  }
  std::size_t living(const std::string& but_session) const {
    return static_cast<std::size_t>(std::count_if(
        listed.begin(), listed.end(), [&](const participant& p) { return p.index > 0 && p.session != but_session; }));
  }
};

std::string key_of(const std::string& name, const std::string& session, const std::string& call) {
  return name + "/" + session + "/" + call;
}

/// @returns nullopt if the key does not hold what a barrier writes
std::optional<round_state> round_in(const std::string& name, const std::vector<entry>& entries) {
  round_state out;
  for (const auto& e : entries) {
    if (e.key != name + "/.round") {
      (e.session.empty() ? out.left_over : out.live).push_back(e);
      continue;
    }
    auto rows = detail::rows_in(e.value);
    if (!rows || rows->empty() || rows->front().size() != 3)
      return std::nullopt;
    auto number = detail::number_in(rows->front()[0]);
    auto needed = detail::number_in(rows->front()[1]);
    if (!number || !needed)
      return std::nullopt;
    out.index = e.index;
    out.number = *number;
    out.needed = *needed;
    out.full = rows->front()[2] == "full";
    for (auto row = rows->begin() + 1; row != rows->end(); ++row) {
      auto created = row->size() == 3 ? detail::number_in((*row)[2]) : std::nullopt;
      if (!created)
        return std::nullopt;
      out.listed.push_back({(*row)[0], (*row)[1], *created, 0});
    }
  }
  for (auto& p : out.listed)
    for (const auto& e : out.live)
      if (e.session == p.session && e.key == key_of(name, p.session, p.call) &&
          (e.created == p.created || CLIENT_MUTANT(barrier_counts_ghosts)))
        p.index = e.index;
  return out;
}

std::string text_of(const round_state& r) {
  detail::text_rows rows = {{std::to_string(r.number), std::to_string(r.needed), r.full ? "full" : "open"}};
  for (const auto& p : r.listed)
    rows.push_back({p.session, p.call, std::to_string(p.created)});
  return detail::text_of(rows);
}

} // namespace

/// Each participant locks a key of its own. The key `.round` lists the participants of the current
/// round, and changes by check-and-set only, while all that it lists are alive. A participant adds
/// itself, and passes when a list with all participants has it. After a list that may have it was
/// written, giving up is *unknown*: the others may have passed.
task<result<barrier_pass>> barrier::enter(deadline whole) {
  environment& env = session_.env();
  deadline limit = whole.with(session_.ended());
  if (participants_ < 1 || participants_ > participants_max)
    co_return error(outcome::refused, reason::invalid, "a barrier has 1 to 24 participants");
  if (!session_.safe())
    co_return detail::session_error(session_);
  std::string id = session_.id();

  session::ticket mine(session_, "barrier/" + name_);
  while (!mine.is_first()) {
    auto why = detail::given_up(session_, id, limit, env.now());
    if (why)
      co_return *why;
    co_await sleep_until(env, limit.at(), whole.stop(), &session_.queue_moved());
  }
  // Each call has a key of its own, so late requests cannot affect later calls.
  std::string call = detail::fresh_id(env);
  std::string own_key = key_of(name_, id, call);
  request removal("DELETE", request::path_of("/v1/kv/", own_key));
  lease held(session_, detail::pending_release(removal), std::move(mine));
  request appear("PUT", request::path_of("/v1/kv/", own_key));
  appear.query("acquire", id).repeatable();
  answer there = co_await detail::ask_until_answered(env, appear, limit, detail::one_try);
  if (!detail::is_true(there)) {
    error why = there.to_error(true);
    co_return why;
  }

  std::string prefix = name_ + "/";
  std::uint64_t seen = 0;
  // The newest list that may have it, or precede one that has. Only a newer one proves absence.
  std::optional<std::uint64_t> may_be_in;
  backoff pauses(milliseconds(20), milliseconds(1000));
  for (;;) {
    auto over = detail::given_up(session_, id, limit, env.now());
    if (over && may_be_in)
      co_return error(outcome::unknown, over->reason(),
                      "other participants may have passed the barrier with this one: " + over->text());
    if (over)
      co_return *over;
    result<tree_reading> now = co_await await_tree(env, prefix, seen, detail::longest_wait, limit);
    if (!now) {
      if (limit.over(env.now()))
        continue;
      error why = now.error();
      if (may_be_in)
        why = error(outcome::unknown, why.reason(),
                    "other participants may have passed the barrier with this one: " + why.text());
      co_return why;
    }
    auto state = round_in(name_, now->found);
    bool other_number = state && state->living(id) > 0 && state->needed != participants_;
    if (!state || other_number)
      co_return error(outcome::refused, reason::invalid,
                      "the key " + name_ +
                          "/.round is a barrier with another number of participants, or not a barrier");
    auto own = std::find_if(state->live.begin(), state->live.end(), [&](const entry& e) { return e.key == own_key; });
    bool listed = state->lists(id, call);
    if (listed)
      may_be_in = std::max(may_be_in.value_or(0), state->index);
    else if (may_be_in && state->index > *may_be_in)
      may_be_in.reset();
    if (own == state->live.end()) {
      // The server lags behind, or the session has ended.
      seen = now->index < seen ? 0 : now->index;
      continue;
    }
    if (listed && (state->full || CLIENT_MUTANT(barrier_opens_early))) {
      if (!detail::still_safe(session_, id))
        co_return error(outcome::unknown, reason::session, "the session was lost when the round was full");
      held.granted(0);
      co_return barrier_pass(std::move(held), state->number);
    }
    bool in_use = state->full && state->living({}) > 0;
    if (listed || in_use) {
      seen = now->index < seen ? 0 : now->index;
      if (CLIENT_MUTANT(barrier_wakes_late))
        seen += 1000;
      continue;
    }
    round_state next = *state;
    next.needed = participants_;
    if (next.number == 0 || next.full) {
      ++next.number;
      next.listed.clear();
    }
    next.full = false;
    std::erase_if(next.listed, [&](const participant& p) {
      return (p.index == 0 && !CLIENT_MUTANT(barrier_counts_the_dead)) || p.session == id;
    });
    next.listed.push_back({id, call, own->created, own->index});
    next.full = next.listed.size() >= participants_;
    // All listed participants must be alive when the list is written.
    detail::transaction t;
    for (const auto& p : next.listed)
      if (p.index > 0)
        t.check_index(key_of(name_, p.session, p.call), p.index);
    t.cas(prefix + ".round", text_of(next), state->index);
    for (std::size_t i = 0; i < state->left_over.size() && i < swept_at_once; ++i)
      t.erase_cas(state->left_over[i].key, state->left_over[i].index);
    auto before = may_be_in;
    may_be_in = std::max(may_be_in.value_or(0), state->index);
    detail::decision made = co_await detail::commit(env, t, limit, detail::repeats::harmless);
    if (detail::is_conflict(made) && !made.lost)
      may_be_in = before;
    seen = 0;
    if (detail::is_made(made))
      continue;
    auto again = env.now() + pauses.next(env);
    co_await sleep_until(env, again, limit);
  }
}

task<status> barrier::leave(barrier_pass pass, deadline limit) {
  environment& env = session_.env();
  std::string id = session_.id();
  status gone = co_await pass.lease_.release(limit);
  std::string prefix = name_ + "/";
  std::uint64_t seen = 0;
  while (!CLIENT_MUTANT(barrier_leaves_alone)) {
    result<tree_reading> now = co_await await_tree(env, prefix, seen, detail::longest_wait, limit);
    if (!now && limit.over(env.now()))
      co_return limit.error();
    if (!now)
      co_return now.error();
    auto state = round_in(name_, now->found);
    bool over = !state || state->number != pass.round() || state->living(id) == 0;
    if (over)
      break;
    if (limit.over(env.now()))
      co_return limit.error();
    seen = now->index < seen ? 0 : now->index;
  }
  co_return gone;
}

} // namespace v0
} // namespace belay
