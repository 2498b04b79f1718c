#pragma once
// What the metadata of a service or a node may be, in Consul's words: at most 64 pairs; keys of letters, digits, - and _, at most 128, that
// do not begin with `consul-`; values of at most 512 bytes.

#include "protocol/state/records.hpp"

#include <optional>
#include <string>

namespace belay::agent {

/// Of one pair. @returns nullopt: it is right
std::optional<std::string> metadata_pair_complaint(const std::string& key, const std::string& value);
/// That there are too many pairs. @returns nullopt: there are not
std::optional<std::string> metadata_size_complaint(const state::string_map& meta);
/// The first of all that is wrong. @returns nullopt: nothing
std::optional<std::string> metadata_complaint(const state::string_map& meta);

} // namespace belay::agent
