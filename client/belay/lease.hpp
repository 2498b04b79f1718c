#pragma once
// What a client holds: a lock, permits or a leadership. Out of scope it releases itself: the
// session sends the request until a response, or its own end. release() waits for the response.
// Use it on the loop of its session; clients with threads return a client_lease instead.

#include <belay/session.hpp>

#include <cstdint>
#include <string>

namespace belay {
inline namespace v0 {

/// Which mechanism of the server a lock uses.
enum class recipe : std::uint8_t {
  automatic, ///< claims if the server supports them
  claims,    ///< refused if the server does not support them
  keys,      ///< locked keys, as Consul's clients use them
};

/// Checks fencing tokens for a protected resource: remembers the largest token and rejects smaller
/// ones. Keep it with the resource, for as long as the resource exists.
class fencing_token_checker {
public:
  explicit fencing_token_checker(std::uint64_t largest = 0) noexcept : largest_(largest) {}
  /// Whether an action with this token is permitted. Remembers it if it is the largest.
  bool admits(std::uint64_t fence) noexcept;
  std::uint64_t largest() const noexcept { return largest_; }

private:
  std::uint64_t largest_;
};

class lease {
public:
  lease() = default;
  /// Created by a recipe before its first request: from now on something may have to be released.
  lease(v0::session& s, detail::pending_release how, v0::session::ticket t);
  lease(lease&& other) noexcept;
  lease& operator=(lease&& other) noexcept;
  ~lease() { drop(); }

  /// The fencing token. It grows with every grant of that name. Send it with each action under the
  /// lock, so that the resource can reject late ones. Zero: this server gives none.
  std::uint64_t fence() const noexcept { return fence_; }
  /// No other client holds it before that time. Each renewal extends it.
  instant safe_until() const noexcept;
  /// Whether safe_until() is in the future. Check it before each step that must not be done twice.
  bool safe() const;
  /// Stops when it is lost.
  stop_source& ended() noexcept { return session_->ended(); }
  v0::session& session() noexcept { return *session_; }
  /// Empty if it is not held by a claim.
  const std::string& claim_id() const noexcept { return claim_id_; }

  /// @returns refused if it was lost; unknown if no response came: the session keeps retrying
  task<status> release(deadline limit);
  /// Releases it without waiting.
  void drop() noexcept;
  /// Call it when another client holds it now: there is nothing to release.
  void forget() noexcept;
  /// Sets whether a transfer is in progress. Meanwhile it is not safe().
  void transferring(bool now) noexcept { transferring_ = now; }

  /// The request that releases it, unless its key has changed.
  void release_by(request q) { pending_.begin_with(std::move(q)); }
  void granted(std::uint64_t fence, std::string claim_id = {});
  /// Call it when it was certainly not granted: there is nothing to release.
  void not_granted() noexcept { forget(); }

private:
  bool same_session() const;

  v0::session* session_ = nullptr;
  std::string session_id_;
  detail::pending_release pending_;
  v0::session::ticket ticket_;
  std::uint64_t fence_ = 0;
  std::string claim_id_;
  bool granted_ = false;
  bool transferring_ = false;
};

} // namespace v0
} // namespace belay
