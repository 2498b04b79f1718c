#pragma once
// Translates rules from the syntax before Consul 1.4: `PUT /v1/acl/rules/translate`.
// In the old syntax every name was a prefix. docs/contract/10, section 2.4.

#include "protocol/base/result.hpp"
#include "protocol/hcl/document.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace belay::acl {

/// Limit of nested objects and lists; rules need two levels. Consul has no limit of its own.
constexpr std::size_t legacy_nesting_max = 64;

/// The document as HCL text, with `key_prefix` for `key` etc. The form is that of Consul's printer:
/// two spaces per level, aligned `=` signs in adjacent lines, an empty line between rules, none at
/// the end. Does not validate rules. Loses comments, which the document does not have; writes
/// heredocs in quotes. @returns the error `Failed to parse rules: ...` if they are nested deeper
/// than `legacy_nesting_max`. Cost: size of the document times its depth.
result<std::string> translate_legacy(const hcl::object& document);

/// The same for a text; `Failed to parse rules: ...` with the parser's error if it is malformed.
result<std::string> translate_legacy(std::string_view text);

} // namespace belay::acl
