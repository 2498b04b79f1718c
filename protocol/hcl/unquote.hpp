#pragma once
// The content of quoted texts and heredocs.

#include <optional>
#include <string>
#include <string_view>

namespace belay::hcl {

/// A quoted text of HCL: Go's escapes, except within ${...}, which is kept verbatim. nullopt: an
/// escape that the scanner accepts is not a byte (\400) or a character (\U00110000); hcl panics.
/// @pre the scanner reported no error
std::optional<std::string> unquoted_hcl(std::string_view quoted);
/// The same for JSON, where ${...} has no meaning.
std::optional<std::string> unquoted_json(std::string_view quoted);

/// The lines between <<EOF and EOF, with the last line feed. <<-EOF removes the white space
/// before the last EOF from all lines if all begin with it, and is like <<EOF otherwise.
/// @pre the scanner reported no error
std::string heredoc_lines(std::string_view heredoc);

} // namespace belay::hcl
