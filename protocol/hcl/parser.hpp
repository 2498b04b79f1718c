#pragma once
// Parses a text in HCL 1, or JSON accepted by HCL 1, to a document. Consul 1.8.7 uses hashicorp/hcl
// at revision 65a6292f0157; accepted input, results and errors are the same, with its oddities
// (docs/reference/hcl.md). Debian 12 has no C or C++ library for HCL 1 (`apt-cache search hcl`).

#include "protocol/hcl/document.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace belay::hcl {

/// Cost limits for untrusted text. Consul has none.
struct limits {
  std::size_t text_bytes_max = 1024 * 1024; ///< far above any policy or configuration file
  /// Max nesting of braces and brackets; labels count as braces. At most 1,000: each costs stack.
  std::size_t nesting_max = 100;
  /// Memory for names and labels that the document repeats (json_flattening.hpp), in bytes.
  std::size_t label_bytes_max = std::size_t{16} * 1024 * 1024;
};

struct error {
  /// How hcl formats an error's position: depends on the component that finds it.
  enum class placed : std::uint8_t {
    after_at, ///< "At 1:11: object expected closing RBRACE got: EOF"
    plain,    ///< "1:11: illegal char": in the characters of JSON
    left_out, ///< "expected: STRING got: EOF": in the grammar of JSON
  };

  position at;
  std::string text; ///< without the position
  placed how = placed::after_at;
};

/// An error as Consul shows it, for example after `Failed to parse ACL rules: `.
std::string shown(const error& e);

/// Cost of parsing: both grow linearly with the text.
struct steps {
  std::uint64_t characters = 0; ///< examined
  std::uint64_t tokens = 0;
};

/// The text is JSON if it starts with `{` after white space, else HCL. Adds to `taken` unless null.
/// @pre limits.nesting_max <= 1000
std::variant<object, error> parse(std::string_view text, const limits& allowed = {}, steps* taken = nullptr);

} // namespace belay::hcl
