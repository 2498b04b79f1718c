#pragma once
// Finds the chunk of a key in an ordered map: a tree of two levels, nodes searched like chunks.

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/state/maps/key_heads.hpp"

#include <boost/container/static_vector.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::state {

/// Chunks by separator key. A chunk has the keys from its separator to the next. The first
/// separator is empty and its chunk stays, so every key belongs to a chunk. A node has up to
/// `node_max` chunks; the list of nodes is the root. A shared chunk is immutable: it is copied
/// before a change.
template <class Chunk, std::size_t node_max = 256>
class separator_tree {
public:
  /// Valid until the next insertion or erasure.
  class position {
  public:
    const std::string& separator() const { return node().separators[at_]; }
    const Chunk& chunk() const { return *node().chunks[at_]; }
    const std::shared_ptr<Chunk>& shared() const { return node().chunks[at_]; }
    /// The chunk, for changes.
    Chunk& own() const { return owned(node().chunks[at_]); }
    position& operator++() {
      if (++at_ == node().separators.size()) {
        ++node_;
        at_ = 0;
      }
      return *this;
    }
    position next() const { return ++position(*this); }
    bool operator==(const position&) const = default;

    position() = default;

  private:
    friend separator_tree;
    position(const separator_tree* tree, std::size_t node, std::size_t at) : tree_(tree), node_(node), at_(at) {}
    auto& node() const { return *tree_->nodes_[node_]; }

    const separator_tree* tree_ = nullptr;
    std::size_t node_ = 0, at_ = 0;
  };

  separator_tree() {
    nodes_.push_back(std::make_unique<node>());
    nodes_.front()->separators.emplace_back();
    nodes_.front()->chunks.push_back(std::make_shared<Chunk>());
  }

  /// Copies the chunk first if it is shared.
  static Chunk& owned(std::shared_ptr<Chunk>& c) {
    if (c.use_count() > 1 && !MUTANT(chunk_changed_under_its_readers))
      c = std::make_shared<Chunk>(*c);
    std::atomic_thread_fence(std::memory_order_acquire); // after the reads of the last one that shared it
    return *c;
  }

  position begin() const { return {this, 0, 0}; }
  position end() const { return {this, nodes_.size(), 0}; }
  position last() const { return {this, nodes_.size() - 1, nodes_.back()->separators.size() - 1}; }

  /// The chunk whose range has that key.
  position holding(std::string_view key) const {
    const auto n = nodes_.size() == 1 ? 0 : behind(heads_.find(key, first_separators()));
    return {this, n, behind(nodes_[n]->heads.find(key, separators_after_first(*nodes_[n])))};
  }

  /// The same for several keys at once, except that it may find a neighbor where separators
  /// begin alike. @pre keys.size() <= searched_together, chunks has space for them
  void nearly_holding(std::span<const std::string_view> keys, std::span<const Chunk*> chunks) const {
    std::array<const node*, searched_together> in;
    std::array<typename separator_heads::search, searched_together> among;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      in[i] = nodes_[behind(heads_.find(keys[i], first_separators()))].get();
      fetch_memory(in[i]);
      in[i]->heads.fetch();
    }
    for (std::size_t i = 0; i < keys.size(); ++i)
      among[i] = in[i]->heads.search_behind(keys[i]);
    search_together(std::span(among).first(keys.size()));
    for (std::size_t i = 0; i < keys.size(); ++i)
      fetch_memory(&in[i]->chunks[among[i].index()]);
    for (std::size_t i = 0; i < keys.size(); ++i)
      chunks[i] = in[i]->chunks[among[i].index()].get();
  }

  /// Inserts after p. @pre the separator is between p's and the next
  position insert_behind(position p, std::string separator, std::shared_ptr<Chunk> chunk) {
    PRECONDITION(p.separator() < separator);
    PRECONDITION(p.next() == end() || separator < p.next().separator());
    if (nodes_[p.node_]->separators.size() == node_max)
      p = split_if_full(p);
    auto& n = *nodes_[p.node_];
    const auto at = p.at_ + 1;
    const auto offset = static_cast<std::ptrdiff_t>(at);
    n.chunks.insert(n.chunks.begin() + offset, std::move(chunk));
    const auto& put = *n.separators.insert(n.separators.begin() + offset, std::move(separator));
    n.heads.inserted(at - 1, put, separators_after_first(n));
    INVARIANT(counts_agree(n));
    return {this, p.node_, at};
  }
  /// Lowers p's separator. @pre p is not first; the new one is less, and above all keys before it
  void lower_separator(position p, std::string_view separator) {
    INVARIANT(p != begin());
    auto& n = *nodes_[p.node_];
    PRECONDITION(separator < n.separators[p.at_]);
    PRECONDITION((p.at_ > 0 ? n.separators[p.at_ - 1] : nodes_[p.node_ - 1]->separators.back()) < separator);
    n.separators[p.at_] = separator;
    if (p.at_ > 0) {
      n.heads.erased(p.at_ - 1, p.at_);
      n.heads.inserted(p.at_ - 1, separator, separators_after_first(n));
    } else {
      heads_.erased(p.node_ - 1, p.node_);
      heads_.inserted(p.node_ - 1, separator, first_separators());
    }
  }
  /// @pre p is not the first. @returns the next one
  position erase(position p) {
    INVARIANT(p != begin());
    auto& n = *nodes_[p.node_];
    const auto offset = static_cast<std::ptrdiff_t>(p.at_);
    n.separators.erase(n.separators.begin() + offset);
    n.chunks.erase(n.chunks.begin() + offset);
    if (n.separators.empty()) {
      nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(p.node_));
      heads_.erased(p.node_ - 1, p.node_);
      INVARIANT(heads_.count() + 1 == nodes_.size());
      return {this, p.node_, 0};
    }
    if (p.at_ > 0) {
      n.heads.erased(p.at_ - 1, p.at_);
    } else {
      n.heads.erased(0, 1);
      index_nodes();
    }
    INVARIANT(counts_agree(n));
    INVARIANT(nodes_.front()->separators.front().empty()); // every key belongs to a chunk
    return p.at_ < n.separators.size() ? p : position{this, p.node_ + 1, 0};
  }

  /// Removes the chunks [from, to), calls `sink(std::move(chunk))` for each, in order. O(chunks).
  /// @pre from is not the first. @returns the new position of `to`
  template <class Sink>
  position take(position from, position to, Sink&& sink) {
    if (from == to)
      return to;
    INVARIANT(from != begin());
    const bool in_one_node = from.node_ == to.node_;
    const auto nodes_end = to.at_ == 0 ? to.node_ : to.node_ + 1; // end of the nodes that lose a chunk
    for (auto n = from.node_; n < nodes_end; ++n) {
      auto& each = *nodes_[n];
      const auto first = static_cast<std::ptrdiff_t>(n == from.node_ ? from.at_ : 0);
      const auto end = static_cast<std::ptrdiff_t>(n == to.node_ ? to.at_ : each.chunks.size());
      std::for_each(each.chunks.begin() + first, each.chunks.begin() + end, [&](auto& c) { sink(std::move(c)); });
      each.chunks.erase(each.chunks.begin() + first, each.chunks.begin() + end);
      each.separators.erase(each.separators.begin() + first, each.separators.begin() + end);
      if (!each.chunks.empty())
        index(each);
    }
    const auto is_empty = [](const auto& n) { return n->chunks.empty(); };
    const auto first_empty = from.at_ == 0 && !in_one_node ? from.node_ : from.node_ + 1;
    nodes_.erase(std::remove_if(nodes_.begin() + static_cast<std::ptrdiff_t>(from.node_),
                                nodes_.begin() + static_cast<std::ptrdiff_t>(nodes_end), is_empty),
                 nodes_.begin() + static_cast<std::ptrdiff_t>(nodes_end));
    index_nodes();
    INVARIANT(nodes_.front()->separators.front().empty());
    return in_one_node ? from : position{this, first_empty, 0};
  }

private:
  using separator_heads = key_heads<boost::container::static_vector<std::uint64_t, node_max>>;
  struct node {
    std::vector<std::string> separators;
    std::vector<std::shared_ptr<Chunk>> chunks;
    separator_heads heads; ///< heads of all separators except the first
  };

  /// Number of separators at or before a key.
  template <class Found>
  static std::size_t behind(const Found& f) {
    return f.index + (f.equal ? 1 : 0);
  }

  static auto separators_after_first(const node& n) {
    return [&n](std::size_t i) -> const std::string& { return n.separators[i + 1]; };
  }
  /// Those of all nodes except the first.
  auto first_separators() const {
    return [this](std::size_t i) -> const std::string& { return nodes_[i + 1]->separators.front(); };
  }
  /// Whether each member of the node has all its chunks, and the index of nodes has all nodes.
  bool counts_agree(const node& n) const {
    return n.chunks.size() == n.separators.size() && n.heads.count() + 1 == n.separators.size() &&
           heads_.count() + 1 == nodes_.size();
  }
  static void index(node& n) { n.heads.assign(n.separators.size() - 1, separators_after_first(n)); }
  void index_nodes() { heads_.assign(nodes_.size() - 1, first_separators()); }

  /// Splits the node of that chunk. @returns the chunk's new position
  position split_if_full(position p) {
    auto& full = *nodes_[p.node_];
    INVARIANT(counts_agree(full));
    // Chunks that come in ascending order leave full nodes behind.
    const auto middle = p == last() ? node_max - 1 : node_max / 2;
    auto upper = std::make_unique<node>();
    const auto from = static_cast<std::ptrdiff_t>(middle);
    upper->separators.assign(std::make_move_iterator(full.separators.begin() + from),
                             std::make_move_iterator(full.separators.end()));
    upper->chunks.assign(std::make_move_iterator(full.chunks.begin() + from),
                         std::make_move_iterator(full.chunks.end()));
    full.separators.resize(middle);
    full.chunks.resize(middle);
    index(full);
    index(*upper);
    const auto& first = upper->separators.front();
    nodes_.insert(nodes_.begin() + static_cast<std::ptrdiff_t>(p.node_ + 1), std::move(upper));
    heads_.inserted(p.node_, first, first_separators());
    return p.at_ < middle ? p : position{this, p.node_ + 1, p.at_ - middle};
  }

  std::vector<std::unique_ptr<node>> nodes_;
  key_heads<std::vector<std::uint64_t>> heads_; ///< heads of the first separators of all nodes except the first
};

} // namespace belay::state
