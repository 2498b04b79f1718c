#pragma once
// Rules in the syntax from before Consul 1.4, written anew in the present one: `PUT /v1/acl/rules/translate`. In the
// old syntax every name was a prefix. docs/contract/10, section 2.4.

#include "protocol/base/result.hpp"
#include "protocol/hcl/document.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace belay::acl {

/// Of objects and lists within each other; rules need two levels. Consul has no limit of its own.
constexpr std::size_t legacy_nesting_max = 64;

/// The document as HCL text in the form of Consul's printer (two blanks for each level, `=` signs of adjacent lines
/// below each other, an empty line between rules, none at the end), with `key_prefix` for `key` and so on. Whether
/// the rules mean anything is not asked. Comments are lost, since the document does not have them; a text is in
/// quotes even if it was a heredoc. The failure is `Failed to parse rules: ...`, for a document that is nested deeper
/// than `legacy_nesting_max`. Costs time in proportion to the document, times the depth of its nesting.
result<std::string> translate_legacy(const hcl::object& document);

/// The same of a text; `Failed to parse rules: ...` with the parser's complaint if it is neither HCL nor JSON.
result<std::string> translate_legacy(std::string_view text);

} // namespace belay::acl
