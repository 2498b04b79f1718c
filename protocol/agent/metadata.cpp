#include "protocol/agent/metadata.hpp"

namespace belay::agent {

namespace {

// Consul's limits (agent/structs, ValidateMetadata).
constexpr std::size_t pairs_max = 64, key_max = 128, value_max = 512;
constexpr std::string_view reserved_prefix = "consul-";

bool is_key(std::string_view key) {
  return key.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == key.npos;
}

} // namespace

std::optional<std::string> metadata_pair_complaint(const std::string& key, const std::string& value) {
  const auto lead = "Couldn't load metadata pair ('" + key + "', '" + value + "'): ";
  if (key.empty())
    return lead + "Key cannot be blank";
  if (!is_key(key))
    return lead + "Key contains invalid characters";
  if (key.size() > key_max)
    return lead + "Key is too long (limit: " + std::to_string(key_max) + " characters)";
  if (key.starts_with(reserved_prefix))
    return lead + "Key prefix 'consul-' is reserved for internal use";
  if (value.size() > value_max)
    return lead + "Value is too long (limit: " + std::to_string(value_max) + " characters)";
  return std::nullopt;
}

std::optional<std::string> metadata_size_complaint(const state::string_map& meta) {
  if (meta.size() > pairs_max)
    return "Node metadata cannot contain more than " + std::to_string(pairs_max) + " key/value pairs";
  return std::nullopt;
}

std::optional<std::string> metadata_complaint(const state::string_map& meta) {
  if (auto why = metadata_size_complaint(meta))
    return why;
  for (const auto& [key, value] : meta)
    if (auto why = metadata_pair_complaint(key, value))
      return why;
  return std::nullopt;
}

} // namespace belay::agent
