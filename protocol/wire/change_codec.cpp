#include "protocol/wire/change_codec.hpp"

#include "protocol/base/bytes.hpp"
#include "protocol/wire/command_codec.hpp"

#include <cstring>

namespace belay::wire {

namespace {

constexpr std::uint8_t change_version = 1, version_with_place = 2;
constexpr std::uint8_t has_after = 1, is_expired = 2, has_before = 4, does_go_on = 8, all_flags = 15;

std::string encode_entry(const state::kv_entry_ptr& e) {
  return *encode_row({state::table::kv, {}, e});
}

state::kv_entry_ptr decode_entry(std::string_view key, std::string_view bytes) {
  const auto row = decode_row(static_cast<std::uint8_t>(state::table::kv), key, bytes);
  return row ? std::get<state::kv_entry_ptr>(row->row) : nullptr;
}

state::kv_entry_ptr with_value(const state::kv_entry_ptr& row, std::string_view value) {
  const auto e = *row;
  return state::kv_entry_ptr(state::kv_entry_in_bytes{e.key, value, e.flags, e.lock_index, e.session, e.create_index,
                                                      e.modify_index, e.fence});
}

} // namespace

std::optional<value_place> find_value(const state::kept_change& c, std::string_view command) {
  if (!c.change.after)
    return std::nullopt;
  const auto row = *c.change.after;
  const std::string_view value = *row.value;
  if (value.size() < placed_value_bytes_min)
    return std::nullopt;
  // In linear time, whatever clients write. std::string_view::find() is not.
  const void* at = ::memmem(command.data(), command.size(), value.data(), value.size());
  if (at == nullptr)
    return std::nullopt;
  const auto offset = static_cast<const char*>(at) - command.data();
  return value_place{static_cast<std::uint64_t>(offset), value.size(), crc32c(value)};
}

void append_change(std::string& out, const state::kept_change& c, const std::optional<value_place>& value) {
  const auto& [before, after, expired] = c.change;
  const bool writes_before = before && !c.goes_on;
  byte_writer w(out);
  w.u8(value ? version_with_place : change_version);
  w.u8(static_cast<std::uint8_t>((after ? has_after : 0) | (expired ? is_expired : 0) |
                                 (writes_before ? has_before : 0) | (c.goes_on ? does_go_on : 0)));
  w.text(after ? after->key : before->key);
  if (writes_before)
    w.text(encode_entry(before));
  if (after)
    w.text(encode_entry(value ? with_value(after, {}) : after));
  if (!value)
    return;
  w.varint(value->offset);
  w.varint(value->bytes);
  w.u32(value->crc);
}

std::size_t change_bytes_max(const state::kept_change& c) {
  constexpr std::size_t numbers = 64; // version, flags, and the sizes of three texts
  auto bytes = numbers + (c.change.after ? c.change.after : c.change.before)->key.size();
  for (const auto& e : {c.change.after, c.goes_on ? nullptr : c.change.before})
    if (e)
      bytes += row_bytes_max({state::table::kv, {}, e});
  return bytes;
}

std::optional<state::kept_change> decode_change(log_index index, std::uint64_t effect, std::string_view bytes,
                                                std::optional<value_place>* value) {
  byte_reader r(bytes);
  state::kept_change c{index, effect, {}, false};
  const auto v = r.u8();
  const auto flags = r.u8();
  const auto key = r.text();
  c.goes_on = (flags & does_go_on) != 0;
  c.change.expired = (flags & is_expired) != 0;
  const bool has_place = v == version_with_place && value != nullptr;
  if ((v != change_version && !has_place) || flags > all_flags || (c.goes_on && (flags & has_before) != 0))
    return std::nullopt;
  for (auto [flag, row] : {std::pair(has_before, &c.change.before), std::pair(has_after, &c.change.after)})
    if ((flags & flag) != 0 && (*row = decode_entry(key, r.text())) == nullptr)
      return std::nullopt;
  if (has_place) {
    value_place place;
    place.offset = r.varint();
    place.bytes = r.varint();
    place.crc = r.u32();
    if (!c.change.after || place.bytes == 0 || !c.change.after->value->empty())
      return std::nullopt;
    *value = place;
  }
  if (!r.complete() || (!c.change.after && (c.goes_on || !c.change.before)))
    return std::nullopt;
  return c;
}

bool take_value(state::kept_change& c, const value_place& value, std::string_view command) {
  if (value.offset > command.size() || value.bytes > command.size() - value.offset)
    return false;
  const auto bytes = command.substr(value.offset, value.bytes);
  if (crc32c(bytes) != value.crc)
    return false;
  c.change.after = with_value(c.change.after, bytes);
  return true;
}

} // namespace belay::wire
