#pragma once
// The rules for names of one resource, compiled: a radix tree, laid out flat. What it finds for a name costs a walk
// along the name, however many rules there are.

#include "protocol/acl/rules.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::acl {

/// Immutable, and independent of the rules it was made of.
class rule_tree {
public:
  rule_tree() : rule_tree(std::span<const rule* const>{}) {}
  /// The rules are all about one resource; `prevailing` decides among those with the same match and name. Costs time
  /// and memory in proportion to the bytes of the names.
  explicit rule_tree(std::span<const rule* const> all);

  /// A name at which rules begin to differ. The names below it begin with the same bytes. Small: a thousand tokens have a tree of
  /// hundreds of these each.
  struct node {
    std::size_t edge_at = 0; ///< in the text of all edges: what is added to the name of the node above
    std::uint32_t edge_bytes = 0;
    std::uint32_t first_child = 0; ///< children stand side by side
    std::uint16_t children = 0;    ///< at most 256: their edges begin with different bytes
    bool only_write = true;        ///< no rule of this name or below it is anything but write
    std::optional<permission> exact;
    std::optional<permission> prefix;

    bool operator==(const node&) const = default;
  };

  /// Made of rules that say the same.
  bool operator==(const rule_tree&) const = default;

  /// What counts for `name`: the rule for exactly this name, else that for its longest prefix; nothing if there is
  /// none.
  std::optional<permission> of(std::string_view name) const;

  /// What the rule for the longest prefix of `name` says, whatever is said of `name` exactly.
  std::optional<permission> of_prefix(std::string_view name) const;

  /// Whether all rules whose name begins with `prefix` are `write`, or there are none.
  bool only_write_under(std::string_view prefix) const;

  /// Calls visit(const node&, bool whole) for each node whose name `name` begins with, the shortest first; `whole` is
  /// said of the node that has exactly this name. At most one more than the name has bytes, however many rules there
  /// are.
  template <class Visit>
  void walk(std::string_view name, Visit visit) const {
    const node* at = &nodes_.front();
    for (;;) {
      visit(*at, name.empty());
      at = child(*at, name);
      if (!at || !name.starts_with(edge(*at)))
        return;
      name.remove_prefix(at->edge_bytes);
    }
  }

private:
  std::string_view edge(const node& n) const { return std::string_view(edges_).substr(n.edge_at, n.edge_bytes); }
  /// The child whose edge begins with the first byte of `rest`.
  const node* child(const node& parent, std::string_view rest) const;

  std::vector<node> nodes_; ///< the root first, whose name is empty
  std::string first_bytes_; ///< of the edge of each node, at the node's place
  std::string edges_;
};

} // namespace belay::acl
