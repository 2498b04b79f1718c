#pragma once
// Hashes of rows: equal content gives equal hashes on every machine, and never zero. Zero stands for "no row".

#include "protocol/state/machine.hpp"

namespace belay::state {

std::uint64_t row_hash(const kv_entry_ptr& row);
std::uint64_t row_hash(const tombstone& row);
std::uint64_t row_hash(const session_ptr& row);
std::uint64_t row_hash(const lock_delay_record& row);
std::uint64_t row_hash(const node_ptr& row);
std::uint64_t row_hash(const service_ptr& row);
std::uint64_t row_hash(const check_ptr& row);
std::uint64_t row_hash(const counter& row);
std::uint64_t row_hash(const staged_ptr& row);
std::uint64_t row_hash(const autopilot_ptr& row);

} // namespace belay::state
