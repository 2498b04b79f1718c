#pragma once
// What texts in quotes and heredocs say.

#include <optional>
#include <string>
#include <string_view>

namespace belay::hcl {

/// A text of HCL with its quotes: Go's escapes, but for what stands in ${...}, which is kept as it is. nullopt: an escape that the
/// scanner lets through stands for no byte (\400) or no character (\U00110000); hcl panics there.
/// @pre the scanner had no complaint
std::optional<std::string> unquoted_hcl(std::string_view quoted);
/// The same of JSON, where ${...} is nothing special.
std::optional<std::string> unquoted_json(std::string_view quoted);

/// The lines between <<EOF and EOF, with the last line feed. <<-EOF takes the white space before the last EOF away from all lines if all
/// of them begin with it, and is like <<EOF otherwise.
/// @pre the scanner had no complaint
std::string heredoc_lines(std::string_view heredoc);

} // namespace belay::hcl
