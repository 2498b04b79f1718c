#include "storage/checkpoint/checked_values.hpp"

#include "protocol/base/bytes.hpp"

#include <cstring>

namespace belay::storage {

namespace {

constexpr std::uint8_t version = 1;
constexpr std::size_t header_bytes = 5; // version, CRC

} // namespace

int put_checked(lmdb_transaction& txn, std::string_view key, std::initializer_list<std::string_view> parts,
                unsigned flags) {
  auto n = header_bytes;
  auto crc = crc32c(key);
  for (auto p : parts) {
    n += p.size();
    crc = crc32c(p, crc);
  }
  char* buffer = nullptr;
  if (int rc = txn.reserve(key, n, flags, buffer); rc != 0)
    return rc;
  *buffer++ = static_cast<char>(version);
  for (int i = 0; i < 4; ++i)
    *buffer++ = static_cast<char>(crc >> (8 * i));
  for (auto p : parts) {
    if (!p.empty())
      std::memcpy(buffer, p.data(), p.size());
    buffer += p.size();
  }
  return 0;
}

std::string_view checked_before(std::string_view value) {
  return value.substr(header_bytes);
}

std::optional<std::string_view> checked(std::string_view key, std::string_view value) {
  byte_reader r(value);
  const auto v = r.u8();
  const auto crc = r.u32();
  if (!r.ok() || v != version)
    return std::nullopt;
  const auto rest = value.substr(header_bytes);
  if (crc32c(rest, crc32c(key)) != crc)
    return std::nullopt;
  return rest;
}

} // namespace belay::storage
