#include "sim/disks/lmdb_damage.hpp"

#include "protocol/base/check.hpp"
#include "storage/checkpoint/lmdb_env.hpp"
#include "storage/file_system.hpp"

#include <cstdio>
#include <fstream>
#include <functional>

namespace belay::sim {

namespace {

constexpr std::uint64_t map_bytes = 16u << 20;

/// Calls `part` with the bytes of each key and value in LMDB's map, until it returns false.
void each_part(const std::string& file, const std::function<bool(std::string_view)>& part) {
  auto env = storage::lmdb_env::open(file, storage::lmdb_use::live, map_bytes);
  if (!env)
    return;
  storage::lmdb_transaction txn;
  storage::lmdb_cursor c;
  if (txn.begin(**env, false) != 0 || c.open(txn) != 0)
    return;
  for (int rc = c.seek(std::string_view("\0", 1)); rc == 0; rc = c.next())
    if (!part(c.key()) || !part(c.value()))
      return;
}

/// Converts an address in a mapping of the file to an offset in the file.
std::uint64_t offset_in_file(const char* address) {
  const auto at = reinterpret_cast<unsigned long>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long first = 0, end = 0, offset = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx", &first, &end, &offset) == 3 && first <= at && at < end)
      return offset + (at - first);
  }
  INVARIANT(false);
  return 0;
}

} // namespace

std::uint64_t bits_of_rows(const std::string& file) {
  std::uint64_t n = 0;
  each_part(file, [&](std::string_view bytes) {
    n += 8 * bytes.size();
    return true;
  });
  return n;
}

void flip_bit_of_rows(const std::string& file, std::uint64_t n) {
  std::uint64_t offset = 0;
  each_part(file, [&](std::string_view bytes) {
    if (n >= 8 * bytes.size()) {
      n -= 8 * bytes.size();
      return true;
    }
    offset = offset_in_file(bytes.data() + n / 8);
    return false;
  });
  PRECONDITION(offset != 0);
  auto f = storage::posix_file_system().open(file, storage::open_mode::existing);
  INVARIANT(f.ok());
  char byte = 0;
  const auto got = (*f)->read_at(offset, &byte, 1);
  INVARIANT(got.ok());
  byte = static_cast<char>(byte ^ (1 << n % 8));
  const auto written = (*f)->write_at(offset, {std::string_view(&byte, 1)});
  INVARIANT(written.ok());
}

} // namespace belay::sim
