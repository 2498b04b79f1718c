#pragma once
// A row of a checkpoint that is given by its bytes.

#include "storage/checkpoint_store.hpp"

#include <string>
#include <utility>

namespace belay::storage {

inline row_change stored_row(std::uint8_t table, std::string key, std::string value) {
  const auto bytes = value.size();
  return {table, std::move(key), [value = std::move(value)](std::string& out) { out += value; }, bytes};
}

} // namespace belay::storage
