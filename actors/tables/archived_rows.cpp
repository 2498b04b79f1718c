#include "actors/tables/archived_rows.hpp"

#include "protocol/state/row_hash.hpp"
#include "protocol/wire/command_codec.hpp"

namespace belay::actors {

std::string archived_rows::take(std::string_view state, const std::function<void(state::dirty_row)>& row) {
  const auto parsed = parser_.take(state, [&](const storage::row_view& r) { return check(r, row); });
  return parsed ? std::string() : parsed.error();
}

status archived_rows::check(const storage::row_view& row, const std::function<void(state::dirty_row)>& restored) {
  const auto bytes = row.key.size() + row.value.size();
  if (bytes > state::row_bytes_max)
    return failure{"it has a row of " + std::to_string(bytes) + " bytes, more than " +
                   std::to_string(state::row_bytes_max)};
  bytes_ += bytes;
  auto decoded = wire::decode_row(row.table, row.key, row.value);
  if (!decoded)
    return failure{"it has a row that cannot be read"};
  written_.note(*decoded);
  digest_ += state::row_hash(*decoded);
  // Rows that another restore had staged when the archive was written are not restored.
  if (decoded->table == state::table::staging)
    return done{};
  if (auto why = state::complaint_of(*decoded))
    return failure{"it has a row that no request could have written, in table " + std::string(name_of(decoded->table)) +
                   " " + *why};
  if (services_.admits(*decoded))
    restored(std::move(*decoded));
  return done{};
}

std::string archived_rows::finish() {
  if (const auto whole = parser_.finish(); !whole)
    return whole.error();
  const auto compared = written_.compare(parser_.info()->digest, digest_);
  fault_of_0_2_0_ = compared == state::stored_digest::comparison::fault_of_0_2_0;
  return compared == state::stored_digest::comparison::different
             ? "the digest of its rows differs from the recorded one"
             : "";
}

} // namespace belay::actors
