#pragma once
// A row of a checkpoint, and a change that is kept beside it, that are given by their bytes.

#include "storage/checkpoint_store.hpp"

#include <string>
#include <utility>

namespace belay::storage {

inline row_change stored_row(std::uint8_t table, std::string key, std::string value) {
  const auto bytes = value.size();
  return {table, std::move(key), [value = std::move(value)](std::string& out) { out += value; }, bytes};
}

inline kept_row stored_change(log_index index, std::uint64_t effect, std::string value) {
  const auto bytes = value.size();
  return {index, effect, [value = std::move(value)](std::string& out) { out += value; }, bytes};
}

} // namespace belay::storage
