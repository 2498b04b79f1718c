#include "storage/checkpoint/row_proof.hpp"

#include "protocol/base/hex.hpp"
#include "protocol/state/row_hash.hpp"
#include "protocol/wire/command_codec.hpp"

namespace belay::storage {

namespace {

constexpr std::size_t shown_key_bytes_max = 256;

std::string printable(std::string_view key) {
  std::string out;
  for (const char c : key.substr(0, shown_key_bytes_max))
    if (c > ' ' && c < 127 && c != '\\')
      out += c;
    else
      append_hex(out.append("\\x"), static_cast<unsigned char>(c), 2);
  return key.size() > shown_key_bytes_max ? out + "..." : out;
}

} // namespace

const row_hash_function hash_of_state_rows = wire::row_hash_of;

std::string name_of_row(std::uint8_t table, std::string_view key) {
  const bool known = table > 0 && table < state::count_of<state::table>;
  const auto in = known ? std::string(name_of(static_cast<state::table>(table))) : std::to_string(table);
  const auto type = known ? state::row_types[table] : "unknown";
  return "row of table " + in + " (" + std::string(type) + "), key " + printable(key);
}

status row_sum::add(const row_view& row) {
  const auto hash = hash_(row.table, row.key, row.value);
  if (!hash)
    return failure{name_of_row(row.table, row.key) + ": its bytes cannot be decoded", failure_kind::unproven};
  sum_ += *hash;
  if (row.table == static_cast<std::uint8_t>(state::table::outcomes) && hash_ == hash_of_state_rows)
    digest_.note(*wire::decode_row(row.table, row.key, row.value));
  return done{};
}

} // namespace belay::storage
