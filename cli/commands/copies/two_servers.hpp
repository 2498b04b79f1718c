#pragma once
// What commands for two servers have in common.

#include "cli/api/command_environment.hpp"
#include "cli/flags/options.hpp"

#include <string>

namespace belay::cli {

/// The operands `ORIGINAL COPY [PREFIX [COPY_PREFIX]]`.
struct copy_operands {
  std::string original, copy, prefix, copy_prefix;
};

/// @param prefix_needed whether PREFIX is required
copy_operands copy_operands_of(const options& o, bool prefix_needed, terminal t);

/// The text of an error of a call to both servers. It names the server that rejected the call, if
/// that is known.
std::string text_of(const v0::error& why, const command_environment& original, const command_environment& copy);

} // namespace belay::cli
