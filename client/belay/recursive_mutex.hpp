#pragma once
// A mutex that its owner can take again.
//
// Promise: as of a mutex, between owners. An owner is a name that the program gives: a thread, a request, an actor. Who has it
// gets it again at once, without asking a server; it is given back when the last of its holds is. All holds of an owner have
// the fence of the first.
// Survives: as a mutex. Other owners of this process, and of others, wait for their turn.
// When it cannot: as a mutex. An owner whose hold was lost is *refused* with reason::session until it has let go of all its
// holds: what it does in the inner section would rely on an outer one that is broken.
//
// One recursive_mutex serves all owners of a process: those of two objects with the same key do not know of each other's
// counts, and wait for each other. It must outlive its holds.

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

  /// One of an owner's holds. It lets go when it goes out of scope.
  class level {
  public:
    level() = default;
    level(level&&) noexcept = default;
    level& operator=(level&& other) noexcept;
    ~level() { drop(); }

    std::uint64_t fence() const noexcept;
    instant safe_until() const noexcept;
    bool safe() const;
    /// How many holds the owner has, this one among them.
    std::size_t depth() const noexcept;
    /// The last one waits for the server's answer, as hold::release() does; the others only count.
    task<status> release(patience limit);
    void drop() noexcept;

  private:
    friend class recursive_mutex;
    explicit level(std::shared_ptr<section> s) : section_(std::move(s)) {}
    std::shared_ptr<section> section_;
  };

  task<result<level>> acquire(std::string owner, patience limit);

private:
  /// Lives as long as one of the owner's holds.
  class section {
  public:
    section(recursive_mutex& m, std::string o, hold h) : held(std::move(h)), mutex_(m), owner_(std::move(o)) {}
    ~section() { mutex_.left(owner_); }
    section(const section&) = delete;
    section& operator=(const section&) = delete;
    hold held;
    std::size_t count = 1;

  private:
    recursive_mutex& mutex_;
    std::string owner_;
  };
  /// Of an owner that asks, for as long as it does.
  class asking_mark;
  void left(const std::string& owner) noexcept;

  session& session_;
  mutex lock_;
  std::map<std::string, std::weak_ptr<section>> sections_; ///< by owner; one that is empty asks, or gives back
  stopper asked_;
};

} // namespace v0
} // namespace belay
