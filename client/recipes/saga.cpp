#include <belay/saga.hpp>

#include <belay/keys.hpp>

#include "client/core/mutants.hpp"
#include "client/core/transactions.hpp"
#include "client/recipes/waiting.hpp"

namespace belay {
inline namespace v0 {

/// The content of the key: the name of the saga, then its steps.
class saga::intent {
public:
  static std::string text_of(const std::string& id, const std::vector<saga_step>& steps, std::uint64_t fence) {
    detail::text_rows rows = {{id, std::to_string(fence)}};
    for (const auto& s : steps)
      rows.push_back({s.what, detail::base64_encoded(s.data)});
    return detail::text_of(rows);
  }
  /// nullopt: malformed.
  static std::optional<std::vector<saga_step>> steps_in(const std::string& text) {
    auto rows = detail::rows_in(text);
    if (!rows || rows->empty() || rows->front().size() != 2)
      return std::nullopt;
    std::vector<saga_step> out;
    for (auto row = rows->begin() + 1; row != rows->end(); ++row) {
      if (row->size() != 2)
        return std::nullopt;
      saga_step s;
      s.saga_id = rows->front()[0];
      s.number = out.size();
      s.what = (*row)[0];
      s.data = detail::base64_decoded((*row)[1]);
      out.push_back(std::move(s));
    }
    return out;
  }
  static std::string id_in(const std::string& text) {
    auto rows = detail::rows_in(text);
    return rows && !rows->empty() && !rows->front().empty() ? rows->front()[0] : std::string();
  }
};

saga::saga(session& s, const std::string& name, undo how)
    : session_(s), lock_key_(name + "/.lock"), intent_key_(name + "/.intent"), undo_(std::move(how)) {}

task<status> saga::take(deadline limit) {
  mutex lock(session_, lock_key_);
  result<lease> held = co_await lock.acquire(limit);
  if (!held)
    co_return held.error();
  session_id_ = session_.id();
  lease_ = std::move(*held);
  co_return nothing();
}

void saga::drop() noexcept {
  lease_.drop();
  steps_.clear();
  id_.clear();
}

/// Writes the text if the key is unchanged and the lock is still held. Empty: erases the key.
task<status> saga::write(std::string text, deadline limit) {
  if (!lease_.safe())
    co_return detail::session_error(session_);
  detail::transaction t;
  if (!CLIENT_MUTANT(intent_unguarded))
    t.check_session(lock_key_, session_id_);
  if (text.empty() && index_ > 0)
    t.check_index(intent_key_, index_).erase(intent_key_);
  else if (CLIENT_MUTANT(intent_unguarded))
    t.set(intent_key_, text);
  else if (!text.empty())
    t.cas(intent_key_, text, index_);
  detail::decision made = co_await detail::commit(session_.env(), t, limit, detail::repeats::harmless);
  if (detail::is_made(made)) {
    index_ = text.empty() ? 0 : detail::index_of_result(made.last.body(), intent_key_);
    co_return nothing();
  }
  if (!detail::is_conflict(made)) {
    error why = made.to_error();
    co_return why;
  }
  if (made.lost)
    co_return error(outcome::unknown, reason::no_answer, "a response was lost, and the intent has changed since");
  co_return error(outcome::refused, reason::session, "the lock is no longer held");
}

/// @pre the lock is held
task<result<std::uint64_t>> saga::undo_left(deadline limit) {
  result<reading> now = co_await read_key(session_.env(), intent_key_, limit);
  if (!now)
    co_return now.error();
  index_ = now->found ? now->found->index : 0;
  std::uint64_t undone = 0;
  if (!now->found || CLIENT_MUTANT(intent_ignored))
    co_return undone;
  auto left = intent::steps_in(now->found->value);
  if (!left)
    co_return error(outcome::refused, reason::invalid, "the key " + intent_key_ + " does not hold an intent");
  std::string id = intent::id_in(now->found->value);
  // Changing the index makes all late writes of the previous holder fail.
  std::string same = intent::text_of(id, *left, lease_.fence());
  status mine = co_await write(same, limit);
  if (!mine)
    co_return mine.error();
  while (!left->empty()) {
    saga_step last = left->back();
    last.fence = lease_.fence();
    if (!lease_.safe())
      co_return detail::session_error(session_);
    task<status> undoing = undo_(last);
    status undone_now = co_await undoing;
    if (!undone_now && !CLIENT_MUTANT(undo_not_repeated))
      co_return undone_now.error();
    left->pop_back();
    ++undone;
    std::string rest = intent::text_of(id, *left, lease_.fence());
    status noted = co_await write(rest, limit);
    if (!noted)
      co_return noted.error();
  }
  std::string none;
  status gone = co_await write(none, limit);
  if (!gone)
    co_return gone.error();
  co_return undone;
}

task<status> saga::begin(std::string id, deadline limit) {
  status taken = co_await take(limit);
  if (!taken)
    co_return taken;
  result<std::uint64_t> undone = co_await undo_left(limit);
  if (!undone) {
    drop();
    co_return undone.error();
  }
  steps_.clear();
  id_ = id;
  std::string text = intent::text_of(id_, steps_, lease_.fence());
  status noted = co_await write(text, limit);
  if (!noted)
    drop();
  co_return noted;
}

task<status> saga::step(std::string what, std::string data, deadline limit) {
  saga_step s;
  s.saga_id = id_;
  s.number = steps_.size();
  s.what = std::move(what);
  s.data = std::move(data);
  steps_.push_back(std::move(s));
  std::string text = intent::text_of(id_, steps_, lease_.fence());
  status noted = co_await write(text, limit);
  co_return noted;
}

task<status> saga::commit(deadline limit) {
  std::string none;
  status gone = co_await write(none, limit);
  drop();
  co_return gone;
}

task<status> saga::roll_back(deadline limit) {
  result<std::uint64_t> undone = co_await undo_left(limit);
  drop();
  if (!undone)
    co_return undone.error();
  co_return nothing();
}

task<result<std::uint64_t>> saga::recover(deadline limit) {
  status taken = co_await take(limit);
  if (!taken)
    co_return taken.error();
  result<std::uint64_t> undone = co_await undo_left(limit);
  drop();
  co_return undone;
}

} // namespace v0
} // namespace belay
