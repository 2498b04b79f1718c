#pragma once
// Sizes, offsets and flags in files of LMDB 0.9. lmdb_meta.hpp and lmdb_pages.hpp draw the layout.

#include <cstdint>
#include <cstring>

namespace belay::storage::lmdb_layout {

inline constexpr std::uint64_t page_header_bytes = 16;
/// Offsets and flags in the header of a page.
inline constexpr std::uint64_t flags_at = 10, lower_at = 12, upper_at = 14, overflow_pages_at = 12;
inline constexpr std::uint16_t branch_flag = 1, leaf_flag = 2, overflow_flag = 4, meta_flag = 8, dirty_flag = 16;

inline constexpr std::uint64_t meta_bytes = 136;
/// Offsets in a meta.
inline constexpr std::uint64_t magic_at = 0, version_at = 4, databases_at = 24, page_size_at = 24, last_page_at = 120,
                               transaction_at = 128;
inline constexpr std::uint32_t magic = 0xBEEFC0DE, data_version = 1;

/// Two of them: the list of free pages, then the unnamed one.
inline constexpr std::uint64_t database_bytes = 48;
inline constexpr std::uint64_t database_flags_at = 4, depth_at = 6, root_at = 40, no_page = ~std::uint64_t{0};
/// Flags that determine how keys and values are compared. Lists of free pages have integer keys.
inline constexpr std::uint16_t order_flags = 0x7e, integer_keys_flag = 8;

inline constexpr std::uint64_t node_header_bytes = 8;
inline constexpr std::uint64_t node_flags_at = 4, key_bytes_at = 6;
inline constexpr std::uint16_t big_value_flag = 1;

/// @pre `bytes` has the whole number at `offset`
template <class Number>
Number number_at(const char* bytes, std::uint64_t offset) {
  Number n;
  std::memcpy(&n, bytes + offset, sizeof n);
  return n;
}

/// @param page its first page_header_bytes + meta_bytes
inline bool is_meta_page(const char* page) {
  return (number_at<std::uint16_t>(page, flags_at) & meta_flag) != 0 &&
         number_at<std::uint32_t>(page, page_header_bytes + magic_at) == magic &&
         number_at<std::uint32_t>(page, page_header_bytes + version_at) == data_version;
}

} // namespace belay::storage::lmdb_layout
