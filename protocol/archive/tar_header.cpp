#include "protocol/archive/tar_header.hpp"

#include "protocol/base/check.hpp"

namespace belay::archive {

namespace {

constexpr tar_span mode_field{100, 8}, uid_field{108, 8}, gid_field{116, 8}, time_field{136, 12};

/// A number field: octal digits and a zero byte or, for large numbers, base 256.
void put_number(std::string& header, tar_span field, std::uint64_t value) {
  const auto digits = field.size - 1;
  if (digits * 3 < 64 && value >> (digits * 3) != 0) {
    for (std::size_t i = field.size; i-- > 1; value >>= 8)
      header[field.at + i] = static_cast<char>(value);
    header[field.at] = '\x80';
    return;
  }
  header[field.at + digits] = '\0';
  for (std::size_t i = digits; i-- > 0; value >>= 3)
    header[field.at + i] = static_cast<char>('0' + (value & 7));
}

} // namespace

std::string tar_header(std::string_view name, std::uint64_t bytes, std::uint64_t time_s) {
  PRECONDITION(!name.empty());
  PRECONDITION(name.size() <= tar_name_bytes_max);
  const bool folder = name.back() == '/';
  std::string h(tar_block, '\0');
  name.copy(h.data(), name.size());
  put_number(h, mode_field, folder ? 0700 : 0600);
  put_number(h, uid_field, 0);
  put_number(h, gid_field, 0);
  put_number(h, tar_size_field, bytes);
  put_number(h, time_field, time_s);
  h[tar_type_field.at] = folder ? '5' : '0';
  h.replace(tar_magic_field.at, tar_magic_field.size, std::string_view("ustar\00000", tar_magic_field.size));
  put_number(h, {tar_sum_field.at, tar_sum_field.size - 1}, tar_sum_of(h));
  h[tar_sum_field.at + tar_sum_field.size - 1] = ' ';
  return h;
}

std::uint64_t tar_sum_of(std::string_view header) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < tar_block; ++i)
    sum += i >= tar_sum_field.at && i < tar_sum_field.at + tar_sum_field.size ? ' '
                                                                              : static_cast<unsigned char>(header[i]);
  return sum;
}

} // namespace belay::archive
