#pragma once
// From a text in HCL 1, or in the JSON that HCL 1 takes instead, to a document. Consul 1.8.7 reads policies and configuration files with
// hashicorp/hcl at revision 65a6292f0157; what is accepted, what comes out of it and what is said of anything else are as there, with the
// oddities that docs/hcl.md lists. Debian 12 has no library for HCL 1 in C or C++ (`apt-cache search hcl` finds some in Go and one in Python).

#include "protocol/hcl/document.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace belay::hcl {

/// What a stranger's text may cost. Consul has no such limits.
struct limits {
  std::size_t text_bytes_max = 1024 * 1024; ///< far above any policy or configuration file
  /// Braces and brackets open at once, and an item's labels, which stand for braces. At most 1,000: each costs stack.
  std::size_t nesting_max = 100;
  /// Memory for the names and labels that JSON says once and the document repeats (json_flattening.hpp), in bytes.
  std::size_t label_bytes_max = std::size_t{16} * 1024 * 1024;
};

struct error {
  /// How hcl writes the place of an error: it depends on which of its parts finds it.
  enum class placed : std::uint8_t {
    after_at, ///< "At 1:11: object expected closing RBRACE got: EOF"
    plain,    ///< "1:11: illegal char": in the characters of JSON
    left_out, ///< "expected: STRING got: EOF": in the grammar of JSON
  };

  position at;
  std::string text; ///< without the place
  placed how = placed::after_at;
};

/// An error as Consul shows it, for example behind `Failed to parse ACL rules: `.
std::string shown(const error& e);

/// What parsing took: both grow linearly with the text.
struct steps {
  std::uint64_t characters = 0; ///< looked at
  std::uint64_t tokens = 0;
};

/// The text is JSON if its first character that is no white space is `{`, and HCL otherwise. `taken`, unless null, is added to.
/// @pre limits.nesting_max <= 1000
std::variant<object, error> parse(std::string_view text, const limits& allowed = {}, steps* taken = nullptr);

} // namespace belay::hcl
