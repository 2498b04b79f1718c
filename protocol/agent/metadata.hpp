#pragma once
// Validates metadata of a service or node, in Consul's words: at most 64 pairs; keys of
// letters, digits, - and _, at most 128, without prefix `consul-`; values of at most 512 bytes.

#include "protocol/state/records.hpp"

#include <optional>
#include <string>

namespace belay::agent {

/// Error in one pair. @returns nullopt: none
std::optional<std::string> metadata_pair_complaint(const std::string& key, const std::string& value);
/// Error if there are too many pairs. @returns nullopt: there are not
std::optional<std::string> metadata_size_complaint(const state::string_map& meta);
/// The first of all errors. @returns nullopt: none
std::optional<std::string> metadata_complaint(const state::string_map& meta);

} // namespace belay::agent
