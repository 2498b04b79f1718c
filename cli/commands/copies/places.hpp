#pragma once
// What commands about two servers have in common.

#include "cli/api/command_world.hpp"
#include "cli/flags/options.hpp"

#include <string>

namespace belay::cli {

/// The words `ORIGINAL COPY [PREFIX [COPY_PREFIX]]`.
struct places_given {
  std::string original, copy, prefix, copy_prefix;
};

/// @param prefix_needed the third word has to be there
places_given places_of(const options& o, bool prefix_needed, terminal t);

/// What an error of a call to both servers says, with the name of the one that refused, if it is
/// known.
std::string text_of(const v0::error& why, const command_world& original, const command_world& copy);

} // namespace belay::cli
