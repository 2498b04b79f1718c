#pragma once
// Source locations in a configuration: of values in one text, and of keys in all sources.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace belay::actors {

/// Both count from 1, columns in UTF-8 characters; 0: not known.
struct file_location {
  std::uint32_t line = 0, column = 0;
};

/// The locations in one text, structured like its values. Some are left out (see
/// file_locations_max).
struct file_locations {
  file_location at;                              ///< location of the key, or of an element of a list
  std::map<std::string, file_locations> members; ///< by the keys as written
  std::vector<file_locations> elements;

  /// nullptr: there is none
  const file_locations* member(std::string_view key) const;
  const file_locations* element(std::size_t i) const { return i < elements.size() ? &elements[i] : nullptr; }
};

/// Limit for one text. Later values have no location: a large file costs no more than its values.
inline constexpr std::size_t file_locations_max = 100'000;

/// Counts lines and characters while it moves forward through a text.
class text_position {
public:
  explicit text_position(std::string_view text) : text_(text) {}
  /// @pre not smaller than the last offset
  file_location at(std::size_t offset);

private:
  std::string_view text_;
  std::size_t offset_ = 0;
  file_location location_{1, 1};
};

/// Location of a setting: a file, a text on the command line, a flag.
struct source_location {
  std::string source; ///< a path, `-hcl`, or a flag with its dash; empty: none
  file_location at;   ///< not known for flags

  /// `FILE:LINE:COLUMN`, `-http-port`, or nothing.
  std::string shown() const;
};

/// Keyed by the path of a key (`ports.http`), or of an element of a list (`retry_join[2]`).
using source_locations = std::map<std::string, source_location, std::less<>>;

/// `retry_join[2]`
std::string element_path(std::string_view path, std::size_t i);

} // namespace belay::actors
