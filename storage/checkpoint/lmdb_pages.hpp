#pragma once
// Checks the structure of an LMDB file before LMDB maps it. LMDB trusts the file: if it is damaged,
// LMDB reads outside the map, or aborts. Layout of version 0.9, as in LMDB's lmdb.h and mdb.c:
//
//   page header, 16 bytes   u64 page number | u16 | u16 flags | u16 lower | u16 upper   (overflow: u32 pages instead)
//   branch, leaf            u16 offset of each node, from byte 16 up to `lower`; nodes from `upper` to the end
//   node                    u16 low | u16 high | u16 flags | u16 key bytes | key | value
//                           branch: low, high, flags are the page number below; leaf: low, high are the bytes of the value
//   value of a node with flag 1   u64 number of the first overflow page
//
// Meta pages: lmdb_meta.hpp.

#include "protocol/base/result.hpp"

#include <string>

namespace belay::storage {

/// Reads the header and the nodes of each page that the newest commit uses, including the list
/// of free pages. Does not check values; rows have their own checksums.
/// @returns a failure of the kind `unproven` that names the first page that LMDB must not read
status check_lmdb_pages(const std::string& path);

} // namespace belay::storage
