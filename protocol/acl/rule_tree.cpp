#include "protocol/acl/rule_tree.hpp"

#include "protocol/base/check.hpp"

#include <algorithm>
#include <utility>

namespace belay::acl {
namespace {

/// A node while rules are added: children by number; edges are parts of the rules' names.
struct growing_node {
  std::string_view edge;
  std::vector<std::size_t> children; ///< in the order of the first bytes of their edges
  std::optional<permission> exact, prefix;
};

void add(std::optional<permission>& known, permission policy) {
  known = known ? prevailing(*known, policy) : policy;
}

class growing_tree {
public:
  growing_tree() : nodes_(1) {}

  void insert(const rule& r) {
    auto& n = nodes_[node_index(r.name)];
    add(r.by == match::exact ? n.exact : n.prefix, r.policy);
  }

  const std::vector<growing_node>& nodes() const { return nodes_; }

private:
  /// The node with this name, created if missing.
  std::size_t node_index(std::string_view name) {
    std::size_t at = 0;
    while (!name.empty()) {
      auto& children = nodes_[at].children;
      const auto slot = std::lower_bound(children.begin(), children.end(), name.front(), [&](std::size_t c, char byte) {
        return static_cast<unsigned char>(nodes_[c].edge.front()) < static_cast<unsigned char>(byte);
      });
      if (slot == children.end() || nodes_[*slot].edge.front() != name.front()) {
        const auto added = nodes_.size();
        children.insert(slot, added);
        nodes_.push_back({name, {}, {}, {}});
        return added;
      }
      at = *slot;
      const auto edge = nodes_[at].edge;
      const auto common = static_cast<std::size_t>(
          std::mismatch(edge.begin(), edge.end(), name.begin(), name.end()).first - edge.begin());
      if (common < edge.size())
        split(at, common);
      name.remove_prefix(common);
    }
    return at;
  }

  /// The node keeps its index and the first bytes of its edge; the rest moves to a new node below.
  void split(std::size_t at, std::size_t bytes) {
    const auto edge = nodes_[at].edge;
    growing_node below = std::move(nodes_[at]);
    below.edge = edge.substr(bytes);
    nodes_[at] = {edge.substr(0, bytes), {nodes_.size()}, {}, {}};
    nodes_.push_back(std::move(below));
  }

  std::vector<growing_node> nodes_;
};

bool is_write_or_nothing(std::optional<permission> policy) {
  return !policy || *policy == permission::write;
}

} // namespace

rule_tree::rule_tree(std::span<const rule* const> all) {
  growing_tree tree;
  for (const auto* r : all)
    tree.insert(*r);

  // Level by level, so that the children of a node are adjacent, and after it.
  const auto& grown = tree.nodes();
  std::vector<std::size_t> order = {0};
  nodes_.reserve(grown.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& from = grown[order[i]];
    nodes_.push_back({edges_.size(), static_cast<std::uint32_t>(from.edge.size()),
                      static_cast<std::uint32_t>(order.size()), static_cast<std::uint16_t>(from.children.size()),
                      is_write_or_nothing(from.exact) && is_write_or_nothing(from.prefix), from.exact, from.prefix});
    first_bytes_ += from.edge.empty() ? '\0' : from.edge.front();
    edges_ += from.edge;
    order.insert(order.end(), from.children.begin(), from.children.end());
  }
  INVARIANT(nodes_.size() == grown.size());
  for (auto i = nodes_.size(); i-- > 0;)
    for (std::size_t c = 0; c < nodes_[i].children; ++c)
      nodes_[i].only_write = nodes_[i].only_write && nodes_[nodes_[i].first_child + c].only_write;
}

const rule_tree::node* rule_tree::child(const node& parent, std::string_view rest) const {
  if (rest.empty() || parent.children == 0)
    return nullptr;
  const auto bytes = std::string_view(first_bytes_).substr(parent.first_child, parent.children);
  const auto found = bytes.find(rest.front());
  return found == std::string_view::npos ? nullptr : &nodes_[parent.first_child + found];
}

std::optional<permission> rule_tree::of(std::string_view name) const {
  std::optional<permission> found;
  walk(name, [&](const node& n, bool whole) {
    if (n.prefix)
      found = n.prefix;
    if (whole && n.exact)
      found = n.exact;
  });
  return found;
}

std::optional<permission> rule_tree::of_prefix(std::string_view name) const {
  std::optional<permission> found;
  walk(name, [&](const node& n, bool) {
    if (n.prefix)
      found = n.prefix;
  });
  return found;
}

bool rule_tree::only_write_under(std::string_view prefix) const {
  const node* at = &nodes_.front();
  while (!prefix.empty()) {
    at = child(*at, prefix);
    if (!at)
      return true;
    const auto step = edge(*at);
    if (step.starts_with(prefix)) // all names below this edge begin with the prefix, which ends within it
      return at->only_write;
    if (!prefix.starts_with(step))
      return true;
    prefix.remove_prefix(step.size());
  }
  return at->only_write;
}

} // namespace belay::acl
