#pragma once
// What is held: a lock, permits of a semaphore, an office. It gives itself back when it goes out of scope: the request is
// sent by the session, until it is answered or the session ends. release() waits for that.

#include <belay/session.hpp>

#include <cstdint>
#include <string>

namespace belay {
inline namespace v0 {

/// How something is held.
enum class recipe : std::uint8_t {
  automatic, ///< claims where the server has them
  claims,    ///< refused where it has none
  keys,      ///< as Consul's clients do it
};

/// For whoever guards a resource: remembers the largest fence, and refuses smaller ones. It belongs beside the resource, and
/// has to live as long.
class fence_gate {
public:
  explicit fence_gate(std::uint64_t largest = 0) noexcept : largest_(largest) {}
  /// Whether what comes with that fence may be done.
  bool admits(std::uint64_t fence) noexcept;
  std::uint64_t largest() const noexcept { return largest_; }

private:
  std::uint64_t largest_;
};

class hold {
public:
  hold() = default;
  /// Of a recipe that begins to ask: from now on something may have to be given back.
  hold(session& s, giving_back how, session::turn t);
  hold(hold&& other) noexcept;
  hold& operator=(hold&& other) noexcept;
  ~hold() { drop(); }

  /// Grows with every grant of that name. Send it along with what is done under the lock, so that who guards the resource
  /// can refuse what comes late. Zero: this server gives none.
  std::uint64_t fence() const noexcept { return fence_; }
  /// Nobody else has it before that time. It moves on with each renewal.
  instant safe_until() const noexcept;
  /// Whether that is still to come. Ask before each step that must not be done twice.
  bool safe() const;
  /// Stops when it is lost.
  stopper& ended() noexcept { return session_->ended(); }
  session& whose() noexcept { return *session_; }
  /// Of a claim.
  const std::string& claim_id() const noexcept { return claim_id_; }

  /// Gives it back. @returns refused if it had been lost; unknown if no answer came: then the session asks on
  task<status> release(patience limit);
  /// Gives it back without waiting.
  void drop() noexcept;
  /// It is held by somebody else now: nothing is to be given back.
  void forget() noexcept;
  /// Whether somebody has been asked to give it to another: it is not safe() meanwhile.
  void passing_on(bool asked) noexcept { passing_on_ = asked; }

  /// That is what gives it back, unless something has changed.
  void give_back_by(request q) { give_back_.begin_with(std::move(q)); }
  void granted(std::uint64_t fence, std::string claim_id = {});
  /// Nothing has to be given back: it was certainly not granted.
  void not_granted() noexcept { forget(); }

private:
  bool same_session() const;

  session* session_ = nullptr;
  std::string session_id_;
  giving_back give_back_;
  session::turn turn_;
  std::uint64_t fence_ = 0;
  std::string claim_id_;
  bool granted_ = false;
  bool passing_on_ = false;
};

} // namespace v0
} // namespace belay
