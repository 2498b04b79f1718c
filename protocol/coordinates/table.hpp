#pragma once
// The coordinates of nodes that a server knows: what `?near` sorts by, and what /v1/coordinate shows. It is no part of the replicated
// state (docs/adr/0015-coordinates.md): each server keeps what it has measured and heard, and they tell each other.

#include "protocol/coordinates/coordinate.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::coordinates {

// Consul recommends 5,000 agents at most in one datacenter. A row has about 400 bytes, so all of them 4 MB.
inline constexpr std::size_t rows_max = 8192;
inline constexpr std::size_t name_bytes_max = 256;   ///< of a node; DNS allows 253
inline constexpr std::size_t segment_bytes_max = 64; ///< as Consul allows

/// Where a node is, as somebody has said.
struct row {
  std::string node;
  std::string segment; ///< a part of the network (Consul Enterprise); mostly empty
  coordinate at;
  /// When it was said: milliseconds since 1970 by the server that was told, and larger than every stamp it knew. Of two rows of a node
  /// the larger one counts.
  std::uint64_t stamp = 0;

  bool operator==(const row&) const = default;
};
using row_ptr = std::shared_ptr<const row>; ///< never null

/// A node could be called so, and the numbers are numbers.
bool is_usable(const row& r);

/// A copy shares the rows.
class table {
public:
  /// By node, then by segment; without regard to the case of the node's name.
  using key = std::pair<std::string, std::string>;
  static key key_of(std::string_view node, std::string_view segment);

  /// The largest stamp that was ever put; 0: none. Never falls.
  std::uint64_t newest() const { return newest_; }
  std::size_t size() const { return rows_.size(); }
  const std::map<key, row_ptr>& rows() const { return rows_; }

  /// Null: there is none.
  row_ptr find(const key& k) const;
  /// Of all segments.
  std::vector<row_ptr> of_node(std::string_view node) const;

  void put(row_ptr r);
  void erase(const key& k) { rows_.erase(k); }

private:
  std::map<key, row_ptr> rows_;
  std::uint64_t newest_ = 0;
};
using table_ptr = std::shared_ptr<const table>;

/// Distances from one node, as Consul sorts by them (agent/consul/rtt.go, lib/rtt.go).
class distances {
public:
  /// @param t null: nothing is known. Outlives this.
  distances(const table* t, std::string_view from);

  /// nullopt: it is not known where that node is, or not in the same segment.
  std::optional<std::chrono::nanoseconds> to(std::string_view node) const;
  /// false: it is not known where the first node is, and nothing can be sorted.
  bool known() const { return !from_.empty(); }

private:
  const table* table_;
  std::vector<row_ptr> from_;
};

} // namespace belay::coordinates
