#include "protocol/wire/change_codec.hpp"

#include "protocol/wire/command_codec.hpp"

namespace belay::wire {

namespace {

constexpr std::uint8_t change_version = 1;
constexpr std::uint8_t has_after = 1, is_expired = 2, has_before = 4, does_go_on = 8, all_flags = 15;

std::string encode_entry(const state::kv_entry_ptr& e) {
  return *encode_row({state::table::kv, {}, e});
}

state::kv_entry_ptr decode_entry(std::string_view key, std::string_view bytes) {
  const auto row = decode_row(static_cast<std::uint8_t>(state::table::kv), key, bytes);
  return row ? std::get<state::kv_entry_ptr>(row->row) : nullptr;
}

} // namespace

void append_change(std::string& out, const state::kept_change& c) {
  const auto& [before, after, expired] = c.change;
  // Without it decode_change() could not find the key; the window of a restart would be lost.
  INVARIANT_IN_DEVELOPMENT(after || (before && !c.goes_on));
  INVARIANT_IN_DEVELOPMENT(!after || !before || after->key == before->key);
  const bool writes_before = before && !c.goes_on;
  byte_writer w(out);
  w.u8(change_version);
  w.u8(static_cast<std::uint8_t>((after ? has_after : 0) | (expired ? is_expired : 0) |
                                 (writes_before ? has_before : 0) | (c.goes_on ? does_go_on : 0)));
  w.text(after ? after->key : before->key);
  if (writes_before)
    w.text(encode_entry(before));
  if (after)
    w.text(encode_entry(after));
}

std::size_t change_bytes_max(const state::kept_change& c) {
  constexpr std::size_t numbers = 64; // version, flags, and the sizes of three texts
  auto bytes = numbers + (c.change.after ? c.change.after : c.change.before)->key.size();
  for (const auto& e : {c.change.after, c.goes_on ? nullptr : c.change.before})
    if (e)
      bytes += row_bytes_max({state::table::kv, {}, e});
  return bytes;
}

std::optional<state::kept_change> decode_change(log_index index, std::uint64_t effect, std::string_view bytes) {
  byte_reader r(bytes);
  state::kept_change c{index, effect, {}, false};
  const auto v = r.u8();
  const auto flags = r.u8();
  const auto key = r.text();
  c.goes_on = (flags & does_go_on) != 0;
  c.change.expired = (flags & is_expired) != 0;
  if (v != change_version || flags > all_flags || (c.goes_on && (flags & has_before) != 0))
    return std::nullopt;
  for (auto [flag, row] : {std::pair(has_before, &c.change.before), std::pair(has_after, &c.change.after)})
    if ((flags & flag) != 0 && (*row = decode_entry(key, r.text())) == nullptr)
      return std::nullopt;
  if (!r.complete() || (!c.change.after && (c.goes_on || !c.change.before)))
    return std::nullopt;
  return c;
}

} // namespace belay::wire
