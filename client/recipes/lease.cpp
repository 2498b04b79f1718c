#include <belay/lease.hpp>

#include "client/core/asking.hpp"
#include "client/core/mutants.hpp"

#include <algorithm>

namespace belay {
inline namespace v0 {

bool fencing_token_checker::admits(std::uint64_t fence) noexcept {
  if (fence < largest_ && !CLIENT_MUTANT(fence_unchecked))
    return false;
  largest_ = std::max(largest_, fence);
  return true;
}

lease::lease(v0::session& s, detail::pending_release how, v0::session::ticket t)
    : session_(&s), session_id_(s.id()), pending_(std::move(how)), ticket_(std::move(t)) {}

lease::lease(lease&& other) noexcept
    : session_(std::exchange(other.session_, nullptr)), session_id_(std::move(other.session_id_)),
      pending_(std::move(other.pending_)), ticket_(std::move(other.ticket_)), fence_(other.fence_),
      claim_id_(std::move(other.claim_id_)), granted_(other.granted_), transferring_(other.transferring_) {}

lease& lease::operator=(lease&& other) noexcept {
  if (this != &other) {
    drop();
    session_ = std::exchange(other.session_, nullptr);
    session_id_ = std::move(other.session_id_);
    pending_ = std::move(other.pending_);
    ticket_ = std::move(other.ticket_);
    fence_ = other.fence_;
    claim_id_ = std::move(other.claim_id_);
    granted_ = other.granted_;
    transferring_ = other.transferring_;
  }
  return *this;
}

bool lease::same_session() const {
  return session_ && session_->id() == session_id_;
}

instant lease::safe_until() const noexcept {
  return same_session() && !transferring_ ? session_->safe_until() : instant();
}

bool lease::safe() const {
  return same_session() && !transferring_ && session_->safe();
}

void lease::granted(std::uint64_t fence, std::string claim_id) {
  granted_ = true;
  fence_ = fence;
  claim_id_ = std::move(claim_id);
}

void lease::forget() noexcept {
  session_ = nullptr;
  ticket_.leave();
}

void lease::drop() noexcept {
  // An acquire without a response may still arrive, so the release is sent twice.
  if (same_session())
    session_->release_later(pending_, std::move(ticket_), !granted_);
  forget();
}

task<status> lease::release(deadline limit) {
  if (!session_)
    co_return nothing();
  if (!safe()) {
    drop();
    co_return error(outcome::refused, reason::session, "it was lost before it was released");
  }
  environment& env = session_->env();
  transferring_ = true;
  answer a = co_await detail::pending_release::ask(env, pending_, limit);
  if (detail::is_failure(a)) {
    error why = a.to_error(true);
    drop();
    co_return why;
  }
  forget();
  if (detail::is_true(a))
    co_return nothing();
  co_return error(outcome::refused, reason::session, "it was no longer held: " + a.body().substr(0, 200), a.status());
}

} // namespace v0
} // namespace belay
