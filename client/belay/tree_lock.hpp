#pragma once
// Locks of the nodes of a tree, each with everything below it.
//
// Guarantees: while the lease of a path is safe() no other client holds that path, one above it or
// one below it. Separate paths can be held at the same time. Fencing tokens of one path grow.
// Survives: as a shared_mutex. A path is locked from the root downwards, which prevents deadlocks.
// On failure: as a shared_mutex: it needs claims. A path is held as a whole or not at all.
//
// It takes a reader's claim on each node above the path (others may be below that node), and a
// writer's on the path itself. That is one request for each part of the path, and one more. A path
// above or below one that the same session holds waits until that is released.

#include <belay/lease.hpp>

#include <string>
#include <vector>

namespace belay {
inline namespace v0 {

/// A path of a tree_lock that a client holds.
class tree_lease {
public:
  tree_lease() = default;
  explicit tree_lease(std::vector<lease> claims) : claims_(std::move(claims)) {}

  /// The fencing token of the path itself.
  std::uint64_t fence() const noexcept { return claims_.empty() ? 0 : claims_.back().fence(); }
  instant safe_until() const noexcept { return claims_.empty() ? instant() : claims_.back().safe_until(); }
  bool safe() const { return !claims_.empty() && claims_.back().safe(); }
  /// Releases the path, then the nodes above it. @returns the first status that is not done
  task<status> release(deadline limit);
  void drop() noexcept;

private:
  std::vector<lease> claims_; ///< from the root to the path
};

class tree_lock {
public:
  /// @param root the name of the claim for the whole tree
  tree_lock(session& s, std::string root) : session_(s), root_(std::move(root)) {}

  /// @param path parts separated by slashes, such as `eu/berlin`; empty: the whole tree
  task<result<tree_lease>> acquire(std::string path, deadline limit);

private:
  session& session_;
  std::string root_;
};

} // namespace v0
} // namespace belay
