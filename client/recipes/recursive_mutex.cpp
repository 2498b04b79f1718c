#include <belay/recursive_mutex.hpp>

#include "client/core/mutants.hpp"
#include "client/recipes/waiting.hpp"

namespace belay {
inline namespace v0 {

/// While an owner waits for the first of its leases, its other tasks wait for that one.
class recursive_mutex::asking_mark {
public:
  asking_mark(recursive_mutex& m, std::string owner) : mutex_(m), owner_(std::move(owner)) {
    mutex_.sections_[owner_] = {};
  }
  ~asking_mark() {
    if (mutex_.sections_[owner_].expired())
      mutex_.sections_.erase(owner_);
    if (!CLIENT_MUTANT(recursion_wakes_nobody))
      mutex_.acquiring_moved_.wake_all();
  }
  asking_mark(const asking_mark&) = delete;
  asking_mark& operator=(const asking_mark&) = delete;

private:
  recursive_mutex& mutex_;
  std::string owner_;
};

recursive_mutex::recursive_mutex(session& s, std::string key, mutex_options options)
    : session_(s), lock_(s, std::move(key), std::move(options)) {}

void recursive_mutex::left(const std::string& owner) noexcept {
  sections_.erase(owner);
  acquiring_moved_.wake_all();
}

task<result<recursive_mutex::level>> recursive_mutex::acquire(std::string owner, deadline whole) {
  environment& env = session_.env();
  for (;;) {
    auto known = sections_.find(owner);
    if (known == sections_.end())
      break;
    auto have = known->second.lock();
    if (have && have->count > 0) {
      bool lost = !have->held.safe() && !CLIENT_MUTANT(recursion_enters_lost);
      if (lost)
        co_return error(outcome::refused, reason::session, "an outer lock of this owner was lost");
      ++have->count;
      co_return level(std::move(have));
    }
    // The first lease is being acquired, or the last one released.
    if (whole.over(env.now()))
      co_return whole.error();
    have = nullptr;
    co_await sleep_until(env, whole.at(), whole.stop(), &acquiring_moved_);
  }
  asking_mark mark(*this, owner);
  result<lease> held = co_await lock_.acquire(whole);
  if (!held)
    co_return held.error();
  auto made = std::make_shared<section>(*this, owner, std::move(*held));
  sections_[owner] = made;
  co_return level(std::move(made));
}

recursive_mutex::level& recursive_mutex::level::operator=(level&& other) noexcept {
  std::swap(section_, other.section_);
  return *this;
}

std::uint64_t recursive_mutex::level::fence() const noexcept {
  return section_ ? section_->held.fence() : 0;
}

instant recursive_mutex::level::safe_until() const noexcept {
  return section_ ? section_->held.safe_until() : instant();
}

bool recursive_mutex::level::safe() const {
  return section_ && section_->held.safe();
}

std::size_t recursive_mutex::level::depth() const noexcept {
  return section_ ? section_->count : 0;
}

void recursive_mutex::level::drop() noexcept {
  auto mine = std::move(section_);
  if (mine && (--mine->count == 0 || CLIENT_MUTANT(recursion_uncounted)))
    mine->held.drop();
}

task<status> recursive_mutex::level::release(deadline limit) {
  auto mine = std::move(section_);
  if (!mine)
    co_return nothing();
  --mine->count;
  bool last = mine->count == 0 || CLIENT_MUTANT(recursion_uncounted);
  if (last) {
    status released = co_await mine->held.release(limit);
    co_return released;
  }
  if (mine->held.safe())
    co_return nothing();
  co_return error(outcome::refused, reason::session, "it was lost before it was released");
}

} // namespace v0
} // namespace belay
