#pragma once
// Encoding of the values that are in the log on disk and in frames between peers.
//
//   entry          u8 version (1) | u8 kind | u64 index | u64 term | u64 cluster time | varint length | data
//   hard_state     u8 version (1) | u64 term | u64 voted_for
//   snapshot_meta  u8 version (1) | u64 index | u64 term | u64 cluster time | varint length | configuration
//
// Integers are little-endian. raft::encode has the layout of configurations; length 0: empty.

#include "protocol/base/bytes.hpp"
#include "protocol/raft/types.hpp"

namespace belay::wire {

/// @pre data is not null
void encode_entry(byte_writer& w, const raft::entry& e);
/// Upper bound of the bytes that encode_entry appends.
std::size_t entry_bytes_max(const raft::entry& e);
/// @returns false, and the reader failed, if the bytes are truncated, of unknown
/// version or kind, or the index is zero. `e.data` is a copy, never null.
bool decode_entry(byte_reader& r, raft::entry& e);

void encode_hard_state(byte_writer& w, const raft::hard_state& h);
bool decode_hard_state(byte_reader& r, raft::hard_state& h);

void encode_snapshot_meta(byte_writer& w, const raft::snapshot_meta& m);
bool decode_snapshot_meta(byte_reader& r, raft::snapshot_meta& m);

} // namespace belay::wire
