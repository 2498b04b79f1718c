#pragma once
// The compiled rules for names of one resource: a radix tree in flat
// arrays. A look-up walks along the name, whatever the number of rules.

#include "protocol/acl/rules.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::acl {

/// Immutable, and independent of the rules it was built from.
class rule_tree {
public:
  rule_tree() : rule_tree(std::span<const rule* const>{}) {}
  /// Rules of one resource; `prevailing` decides between rules with the same
  /// match and name. Time and memory are proportional to the bytes of the names.
  explicit rule_tree(std::span<const rule* const> all);

  /// A name at which rules start to differ. Names below begin with the same bytes.
  /// Kept small, as a thousand tokens have trees of hundreds of nodes each.
  struct node {
    std::size_t edge_at = 0; ///< in the text of all edges: the extension of the parent's name
    std::uint32_t edge_bytes = 0;
    std::uint32_t first_child = 0; ///< children are adjacent
    std::uint16_t children = 0;    ///< at most 256: their edges begin with different bytes
    bool only_write = true;        ///< all rules of this name and below are write
    std::optional<permission> exact;
    std::optional<permission> prefix;

    bool operator==(const node&) const = default;
  };

  /// Whether both decide the same.
  bool operator==(const rule_tree&) const = default;

  /// The rule that applies to `name`: the one for exactly this
  /// name, else that for its longest prefix; nullopt: none.
  std::optional<permission> of(std::string_view name) const;

  /// The rule for the longest prefix of `name`, ignoring one for exactly `name`.
  std::optional<permission> of_prefix(std::string_view name) const;

  /// Whether all rules whose name begins with `prefix` are `write`, or there are none.
  bool only_write_under(std::string_view prefix) const;

  /// Calls visit(const node&, bool whole) for each node whose name is a prefix
  /// of `name`, the shortest first; `whole` is true for the node that has the whole name. The
  /// number of calls is at most the length of the name plus one, however many rules there are.
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
  std::string first_bytes_; ///< first byte of each node's edge, by the node's index
  std::string edges_;
};

} // namespace belay::acl
