#pragma once
// Bytes in a fixed little-endian layout: writer, reader, checksum for log, checkpoint and frames.

#include "protocol/base/payload.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace belay {

/// CRC32C (Castagnoli) of `bytes`, continued from `seed` (CRC of the bytes before; 0 at the start).
std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed = 0);

/// Appends integers (little-endian) and length-prefixed texts to a string.
class byte_writer {
public:
  explicit byte_writer(std::string& out) : out_(out) {}

  void u8(std::uint8_t v) { out_.push_back(static_cast<char>(v)); }
  void u16(std::uint16_t v) { fixed(v); }
  void u32(std::uint32_t v) { fixed(v); }
  void u64(std::uint64_t v) { fixed(v); }
  /// LEB128, 1 to 10 bytes.
  void varint(std::uint64_t v);
  void boolean(bool v) { u8(v ? 1 : 0); }
  /// varint length, then the bytes.
  void text(std::string_view v);
  /// The bytes alone.
  void raw(std::string_view v) { out_.append(v); }

  std::string& out() { return out_; }

private:
  template <class Int>
  void fixed(Int v) {
    char b[sizeof(Int)];
    for (std::size_t i = 0; i < sizeof(Int); ++i)
      b[i] = static_cast<char>(v >> (8 * i));
    out_.append(b, sizeof(Int));
  }

  std::string& out_;
};

/// Reads what byte_writer wrote. After the first read past the end, or a malformed varint, `ok()`
/// stays false and every further read returns 0 or an empty text. So check once at the end.
class byte_reader {
public:
  explicit byte_reader(std::string_view in) : in_(in) {}

  std::uint8_t u8() { return static_cast<std::uint8_t>(fixed<std::uint8_t>()); }
  std::uint16_t u16() { return fixed<std::uint16_t>(); }
  std::uint32_t u32() { return fixed<std::uint32_t>(); }
  std::uint64_t u64() { return fixed<std::uint64_t>(); }
  std::uint64_t varint();
  /// True only for 1; any byte other than 0 and 1 is an error.
  bool boolean();
  /// A view into the input.
  std::string_view text();
  /// The next `n` bytes, a view into the input.
  std::string_view raw(std::size_t n);

  bool ok() const { return ok_; }
  /// Whether everything was read, without an error.
  bool complete() const { return ok_ && pos_ == in_.size(); }
  std::size_t position() const { return pos_; }
  std::size_t remaining() const { return in_.size() - pos_; }
  void fail() { ok_ = false; }

private:
  template <class Int>
  Int fixed() {
    auto bytes = raw(sizeof(Int));
    Int v = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      v = static_cast<Int>(v | (static_cast<Int>(static_cast<unsigned char>(bytes[i])) << (8 * i)));
    return v;
  }

  std::string_view in_;
  std::size_t pos_ = 0;
  bool ok_ = true;
};

} // namespace belay
