#include <belay/tree_lock.hpp>

#include "client/core/mutants.hpp"
#include "client/recipes/claim.hpp"

namespace belay {
inline namespace v0 {

namespace {

/// The names of the claims from the root to the path. They end in a slash: `a` is not above `ab`,
/// and no name equals an action of the API.
std::vector<std::string> nodes_to(const std::string& root, const std::string& path) {
  std::vector<std::string> out = {root + "/"};
  std::size_t from = 0;
  while (from < path.size()) {
    auto end = path.find('/', from);
    if (end == path.npos)
      end = path.size();
    if (end > from)
      out.push_back(out.back() + path.substr(from, end - from) + "/");
    from = end + 1;
  }
  return out;
}

} // namespace

void tree_lease::drop() noexcept {
  auto claims = std::move(claims_);
  while (!claims.empty())
    claims.pop_back();
}

task<status> tree_lease::release(deadline limit) {
  status out = nothing();
  std::vector<lease> claims = std::move(claims_);
  while (!claims.empty()) {
    status released = co_await claims.back().release(limit);
    claims.pop_back();
    if (!released && out)
      out = std::move(released);
  }
  co_return out;
}

task<result<tree_lease>> tree_lock::acquire(std::string path, deadline limit) {
  if (!session_.has_claims())
    co_return error(outcome::refused, reason::unsupported, "this requires claims, which the server does not support");
  auto nodes = nodes_to(root_, path);
  if (nodes.size() > 1 && CLIENT_MUTANT(tree_without_root))
    nodes.erase(nodes.begin());
  std::vector<lease> claims;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    detail::claim wanted(nodes[i], "rw");
    wanted.mode = i + 1 < nodes.size() ? "shared" : "exclusive";
    result<lease> held = co_await detail::take(session_, wanted, limit);
    if (!held)
      co_return held.error();
    claims.push_back(std::move(*held));
  }
  if (!claims.empty() && !claims.front().safe())
    co_return error(outcome::refused, reason::session, "the session was lost meanwhile");
  co_return tree_lease(std::move(claims));
}

} // namespace v0
} // namespace belay
