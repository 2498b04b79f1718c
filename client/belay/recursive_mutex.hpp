#pragma once
// A mutex that its owner can acquire again.
//
// Guarantees: as a mutex, between owners. An owner is a name chosen by the program: a thread, a
// request, an actor. An owner that has the lock acquires it again at once, without a request. The
// lock is released when the owner has released it as often as it acquired it. Nested acquires
// return the same fencing token.
// Survives: as a mutex. Other owners, in this process and in others, wait for their turn.
// On failure: as a mutex. An owner that has lost the lock is *refused* with reason::session until
// it has released all its nested acquires. Otherwise its inner section would rely on a broken outer
// one.
//
// Use one recursive_mutex for all owners of a process: two objects with the same key do not share
// their counts, and wait for each other. It must outlive its leases.

#include <belay/mutex.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace belay {
inline namespace v0 {

class recursive_mutex {
  class section;

public:
  recursive_mutex(session& s, std::string key, mutex_options options = mutex_options());
  recursive_mutex(const recursive_mutex&) = delete;
  recursive_mutex& operator=(const recursive_mutex&) = delete;

  /// One of an owner's leases. It is released when it goes out of scope.
  class level {
  public:
    level() = default;
    level(level&&) noexcept = default;
    level& operator=(level&& other) noexcept;
    ~level() { drop(); }

    std::uint64_t fence() const noexcept;
    instant safe_until() const noexcept;
    bool safe() const;
    /// Number of leases of the owner, this one included.
    std::size_t depth() const noexcept;
    /// The last one waits for the server's response; the others only decrement the count.
    task<status> release(deadline limit);
    void drop() noexcept;

  private:
    friend class recursive_mutex;
    explicit level(std::shared_ptr<section> s) : section_(std::move(s)) {}
    std::shared_ptr<section> section_;
  };

  task<result<level>> acquire(std::string owner, deadline limit);

private:
  /// Lives as long as one of the owner's leases.
  class section {
  public:
    section(recursive_mutex& m, std::string o, lease h) : held(std::move(h)), mutex_(m), owner_(std::move(o)) {}
    ~section() { mutex_.left(owner_); }
    section(const section&) = delete;
    section& operator=(const section&) = delete;
    lease held;
    std::size_t count = 1;

  private:
    recursive_mutex& mutex_;
    std::string owner_;
  };
  /// Marks an owner whose request is in progress.
  class asking_mark;
  void left(const std::string& owner) noexcept;

  session& session_;
  mutex lock_;
  std::map<std::string, std::weak_ptr<section>> sections_; ///< by owner; an empty one is being acquired or released
  stop_source acquiring_moved_;
};

} // namespace v0
} // namespace belay
