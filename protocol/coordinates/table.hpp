#pragma once
// The nodes' coordinates that a server knows, for `?near` and /v1/coordinate. Not
// replicated (docs/internals/adr/0015-coordinates.md): servers measure, receive and exchange them.

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

// Consul recommends at most 5,000 agents in a datacenter. A row has about 400 bytes: in all 4 MB.
inline constexpr std::size_t rows_max = 8192;
inline constexpr std::size_t name_bytes_max = 256;   ///< limit for a node's name; DNS allows 253
inline constexpr std::size_t segment_bytes_max = 64; ///< as Consul allows

/// A node's reported coordinate.
struct row {
  std::string node;
  std::string segment; ///< a part of the network (Consul Enterprise); mostly empty
  coordinate at;
  /// Time of the report in ms since 1970, by the clock of the server that received it. That server
  /// raises it above every stamp that it knows. Of two rows of a node, the one with the larger
  /// stamp counts.
  std::uint64_t stamp = 0;

  bool operator==(const row&) const = default;
};
using row_ptr = std::shared_ptr<const row>; ///< never null

/// Whether the node name is possible and the numbers are finite.
bool is_usable(const row& r);

/// A copy shares the rows.
class table {
public:
  /// By node, then by segment; ignores the case of the node's name.
  using key = std::pair<std::string, std::string>;
  static key key_of(std::string_view node, std::string_view segment);

  /// The largest stamp ever inserted; 0: none. Never decreases.
  std::uint64_t newest() const { return newest_; }
  std::size_t size() const { return rows_.size(); }
  const std::map<key, row_ptr>& rows() const { return rows_; }

  /// Null: there is none.
  row_ptr find(const key& k) const;
  /// The node's rows in all segments.
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
  /// @param t null: no coordinates. Outlives this.
  distances(const table* t, std::string_view from);

  /// nullopt: that node has no coordinate, or not in the same segment.
  std::optional<std::chrono::nanoseconds> to(std::string_view node) const;
  /// false: the first node has no coordinate, so nothing can be sorted.
  bool known() const { return !from_.empty(); }

private:
  const table* table_;
  std::vector<row_ptr> from_;
};

} // namespace belay::coordinates
