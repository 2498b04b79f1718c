#include <belay/consumer.hpp>

#include <belay/mutex.hpp>

#include "client/core/asking.hpp"
#include "client/core/cursors.hpp"
#include "client/core/mutants.hpp"
#include "client/core/transactions.hpp"

#include <algorithm>

namespace belay {
inline namespace v0 {

namespace {

constexpr std::size_t effects_max = 20;

error not_active() {
  return error(outcome::refused, reason::session, "this member is no longer the active one of the group");
}

} // namespace

consumer::consumer(session& s, std::string prefix, std::string name, consumer_options options)
    : session_(s), prefix_(std::move(prefix)), name_(std::move(name)), options_(options) {
  options_.ack_wait = detail::at_most_a_year(options_.ack_wait);
  options_.unacknowledged_max = std::clamp<std::size_t>(options_.unacknowledged_max, 1, 256);
}

/// Discards the state in memory: the next call of next() starts from the stored state.
void consumer::give_up() {
  lease_.drop();
  source_.reset();
  open_.clear();
}

std::string consumer::state_text() const {
  detail::text_rows rows = {{"place", done_}};
  for (const auto& [position, done] : done_beyond_)
    rows.push_back({"done", position});
  for (const auto& [position, n] : tries_)
    rows.push_back({"tries", position, std::to_string(n)});
  return detail::text_of(rows);
}

bool consumer::read_state(const std::string& text) {
  done_.clear();
  done_beyond_.clear();
  tries_.clear();
  auto rows = detail::rows_in(text);
  if (!rows)
    return false;
  for (const auto& row : *rows) {
    if (row.size() == 2 && row[0] == "place")
      done_ = row[1];
    else if (row.size() == 2 && row[0] == "done")
      done_beyond_[row[1]] = true;
    else if (row.size() == 3 && row[0] == "tries")
      tries_[row[1]] = detail::number_in(row[2]).value_or(0);
    else
      return false;
  }
  return true;
}

task<status> consumer::become_active(deadline limit) {
  if (source_ && lease_.safe())
    co_return nothing();
  give_up();
  mutex lock(session_, name_ + "/.lock");
  result<lease> held = co_await lock.acquire(limit);
  if (!held)
    co_return held.error();
  lease_ = std::move(*held);
  session_id_ = session_.id();
  result<reading> kept = co_await read_key(session_.env(), name_ + "/.state", limit);
  if (!kept) {
    give_up();
    co_return kept.error();
  }
  index_ = kept->found ? kept->found->index : 0;
  if (kept->found && !read_state(kept->found->value)) {
    give_up();
    co_return error(outcome::refused, reason::invalid, "the key " + name_ + "/.state is not the state of a group");
  }
  if (!kept->found)
    read_state("[]");
  history_ = kept->found ? kept->found->flags : 0;
  auto from = detail::cursor_parts{done_, history_}.text();
  source_ = std::make_shared<changes>(session_.env(), prefix_, from);
  co_return nothing();
}

task<status> consumer::keep_state(writes effect, deadline limit) {
  if (!lease_.safe())
    co_return not_active();
  detail::transaction t;
  if (!CLIENT_MUTANT(consumer_unguarded))
    t.check_session(name_ + "/.lock", session_id_).cas(name_ + "/.state", state_text(), index_, history_);
  else
    t.set(name_ + "/.state", state_text(), history_);
  for (const auto& [key, value] : effect)
    t.set(key, value);
  detail::decision made = co_await detail::commit(session_.env(), t, limit, detail::repeats::harmless);
  if (detail::is_made(made)) {
    index_ = detail::index_of_result(made.last.body(), name_ + "/.state");
    co_return nothing();
  }
  if (!detail::is_conflict(made)) {
    error why = made.to_error();
    co_return why;
  }
  if (made.lost)
    co_return error(outcome::unknown, reason::no_answer, "a response was lost, and the group has continued since");
  co_return not_active();
}

/// Writes of the state take turns: each stores all that is in memory, at the index of the last one.
task<status> consumer::await_turn(const session::ticket& mine, deadline limit) {
  environment& env = session_.env();
  while (!mine.is_first()) {
    // The end of the session removes all tickets, and wakes this task.
    if (!source_ || !lease_.safe())
      co_return not_active();
    if (limit.over(env.now()))
      co_return limit.error();
    co_await sleep_until(env, limit.at(), limit.stop(), &session_.queue_moved());
  }
  co_return nothing();
}

/// Fetches the next changes, and stores that they are delivered before they are.
/// @param wait for the changes @param limit for storing them
task<status> consumer::fetch(deadline wait, deadline limit) {
  auto source = source_;
  result<change_batch> batch = co_await source->next(wait);
  if (!batch)
    co_return batch.error();
  // An ack may have found out meanwhile that this member is no longer active.
  if (source_ != source)
    co_return not_active();
  auto at_once = session_.env().now();
  history_ = history_of(batch->cursor);
  if (batch->is_snapshot) {
    // The snapshot's cursor may be of another history, and before the one that was reached.
    done_.clear();
    done_beyond_.clear();
    open_.clear();
    auto before = tries_.empty() ? 0 : tries_.begin()->second;
    tries_.clear();
    delivery all;
    all.is_snapshot = true;
    all.cursor = batch->cursor;
    all.changes = std::move(batch->changes);
    all.tries = before;
    // A member that dies during the delivery has had it once more.
    auto position = position_of(all.cursor);
    tries_[position] = before + 1;
    auto& f = open_[position];
    f.due = at_once;
    f.it = std::move(all);
  } else {
    for (auto& c : batch->changes) {
      // Acknowledged changes beyond a gap are not listed once it is closed: done_ covers them.
      auto position = position_of(c.cursor);
      bool done = done_beyond_.count(position) || (!done_.empty() && !is_behind(position, done_));
      if (done && !CLIENT_MUTANT(consumer_forgets_beyond))
        continue;
      delivery one;
      one.cursor = c.cursor;
      auto known = tries_.find(position);
      one.tries = known == tries_.end() ? 0 : known->second;
      one.changes.push_back(std::move(c));
      tries_[position] = one.tries + 1;
      auto& f = open_[position];
      f.due = at_once;
      f.it = std::move(one);
    }
  }
  if (CLIENT_MUTANT(consumer_moves_on_early))
    done_ = position_of(source_->cursor());
  // An ack in progress has marked its change in memory. It is stored only together with its effect.
  session::ticket mine(session_, "consumer/" + name_);
  status first = co_await await_turn(mine, limit);
  // At the deadline the changes stay fetched; the next write stores that they are delivered.
  if (!first)
    co_return first;
  if (source_ != source)
    co_return not_active();
  writes none;
  status kept = co_await keep_state(none, limit);
  if (!kept)
    give_up();
  co_return kept;
}

/// Returns a fetched change that is due: a new one, or one whose time for an ack has passed. A
/// change that has used up its tries becomes a dead letter. Otherwise it fetches more, unless too
/// many are unacknowledged.
task<result<delivery>> consumer::next(deadline limit) {
  environment& env = session_.env();
  for (;;) {
    bell_.reset();
    status active = co_await become_active(limit);
    if (!active)
      co_return active.error();
    auto now = env.now();
    auto soonest = instant::max();
    std::string buried;
    for (auto& [position, f] : open_) {
      if (f.due > now) {
        soonest = std::min(soonest, f.due);
        continue;
      }
      ++f.it.tries;
      f.due = CLIENT_MUTANT(consumer_never_again) ? instant::max() : now + options_.ack_wait;
      auto& tries = tries_[position];
      tries = std::max(tries, f.it.tries);
      if (f.it.is_snapshot || f.it.tries <= options_.tries_max)
        co_return f.it;
      buried = position;
      break;
    }
    if (!buried.empty()) {
      const auto& c = open_[buried].it.changes.front();
      detail::text_rows letter = {{c.key, detail::base64_encoded(c.value), std::to_string(c.index)}};
      writes dead = {{name_ + "/dead/" + buried, detail::text_of(letter)}};
      status gone = co_await finish(buried, dead, limit);
      if (!gone && limit.over(env.now()))
        co_return gone.error();
      continue;
    }
    if (limit.over(now))
      co_return limit.error();
    if (open_.size() >= options_.unacknowledged_max) {
      co_await sleep_until(env, std::min(soonest, limit.at()), limit.stop(), &bell_);
      continue;
    }
    deadline until_due(std::min(soonest, limit.at()), limit.stop(), &bell_);
    status more = co_await fetch(until_due, limit);
    bool waited = more.reason() == reason::deadline || more.reason() == reason::stopped || bell_.stopped();
    if (!more && !waited && !session_.safe())
      co_return not_active();
    if (!more && !waited && more.reason() != reason::session && limit.over(env.now()))
      co_return more.error();
    if (!more && !waited) {
      auto later = env.now() + milliseconds(100 + env.random(400));
      co_await sleep_until(env, later, limit);
    }
  }
}

task<status> consumer::finish(std::string cursor, writes effect, deadline limit) {
  session::ticket mine(session_, "consumer/" + name_);
  status first = co_await await_turn(mine, limit);
  if (!first)
    co_return first;
  auto position = position_of(cursor);
  if (!source_ || !open_.count(position))
    co_return not_active();
  auto was_open = std::move(open_[position]);
  open_.erase(position);
  tries_.erase(position);
  done_beyond_[position] = true;
  // All fetched changes are acknowledged or open. Older acks may lie beyond them, after a gap.
  std::string fetched = position_of(source_->cursor());
  done_ = open_.empty() ? fetched : done_;
  while (!done_beyond_.empty()) {
    std::string first = done_beyond_.begin()->first;
    bool gap = is_behind(first, fetched) && !CLIENT_MUTANT(consumer_skips_a_gap);
    if (gap || (!open_.empty() && !is_behind(open_.begin()->first, first)))
      break;
    if (is_behind(first, done_))
      done_ = first;
    done_beyond_.erase(done_beyond_.begin());
  }
  status kept = co_await keep_state(effect, limit);
  // After an uncertain outcome the next active member reads the state again, perhaps this one.
  if (!kept)
    give_up();
  co_return kept;
}

task<status> consumer::ack(std::string cursor, deadline limit, writes effect) {
  if (effect.size() > effects_max)
    co_return error(outcome::refused, reason::limit, "at most 20 keys are written with an acknowledgement");
  status done = co_await finish(cursor, effect, limit);
  co_return done;
}

void consumer::nack(const std::string& cursor) {
  auto found = open_.find(position_of(cursor));
  if (found == open_.end())
    return;
  found->second.due = session_.env().now();
  bell_.stop();
}

task<status> consumer::leave(deadline limit) {
  source_.reset();
  open_.clear();
  lease last = std::move(lease_);
  status left = co_await last.release(limit);
  co_return left;
}

} // namespace v0
} // namespace belay
