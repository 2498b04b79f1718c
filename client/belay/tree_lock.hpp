#pragma once
// Locks of the nodes of a tree, each with all that is below it.
//
// Promise: while the hold of a path is safe() nobody else holds that path, one above it or one below it. Paths beside each
// other are held at the same time. Fences of one path grow.
// Survives: as a shared_mutex. A path is locked from the root downwards, so that nobody waits in a circle.
// When it cannot: as a shared_mutex: it needs claims. It is held as a whole or not at all.
//
// On each node above the path it takes a reader's claim (others may be below that node, too), on the path itself a writer's:
// as many requests as the path has parts, and one. Who holds a path may not ask for one above or below it with the same session:
// that waits until the first one is given back.

#include <belay/hold.hpp>

#include <string>
#include <vector>

namespace belay {
inline namespace v0 {

/// A path of a tree_lock that is held.
class tree_hold {
public:
  tree_hold() = default;
  explicit tree_hold(std::vector<hold> claims) : claims_(std::move(claims)) {}

  /// Of the path itself.
  std::uint64_t fence() const noexcept { return claims_.empty() ? 0 : claims_.back().fence(); }
  instant safe_until() const noexcept { return claims_.empty() ? instant() : claims_.back().safe_until(); }
  bool safe() const { return !claims_.empty() && claims_.back().safe(); }
  /// Gives the path back, then what is above it. @returns the first that is not done
  task<status> release(patience limit);
  void drop() noexcept;

private:
  std::vector<hold> claims_; ///< from the root to the path
};

class tree_lock {
public:
  /// @param root the name of the claim of the whole tree
  tree_lock(session& s, std::string root) : session_(s), root_(std::move(root)) {}

  /// @param path parts with slashes between them, such as `eu/berlin`; empty: the whole tree
  task<result<tree_hold>> acquire(std::string path, patience limit);

private:
  session& session_;
  std::string root_;
};

} // namespace v0
} // namespace belay
