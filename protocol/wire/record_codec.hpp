#pragma once
// Bytes of the records that commands, replies and checkpoint rows are made of. Readers leave their error in the
// byte_reader.

#include "protocol/base/bytes.hpp"
#include "protocol/state/commands.hpp"

namespace belay::wire {

void write_record(byte_writer& w, const state::kv_op& op);
void read_record(byte_reader& r, state::kv_op& op);

/// Without the key.
void write_record(byte_writer& w, const state::kv_entry& row, bool with_value);
void read_record(byte_reader& r, state::kv_entry& row);

void write_record(byte_writer& w, const state::session_record& row);
void read_record(byte_reader& r, state::session_record& row);

void write_record(byte_writer& w, const state::node_record& row);
void read_record(byte_reader& r, state::node_record& row);

void write_record(byte_writer& w, const state::service_record& row);
void read_record(byte_reader& r, state::service_record& row);

void write_record(byte_writer& w, const state::check_record& row);
void read_record(byte_reader& r, state::check_record& row);

void write_list(byte_writer& w, const std::vector<std::string>& list);
void read_list(byte_reader& r, std::vector<std::string>& list);

/// Number of elements that follow. More than bytes are left is an error: every element takes at least one.
std::size_t read_count(byte_reader& r);

template <class Enum>
Enum read_enum(byte_reader& r, Enum last) {
  const auto v = r.u8();
  if (v > static_cast<std::uint8_t>(last))
    r.fail();
  return r.ok() ? static_cast<Enum>(v) : Enum{};
}

} // namespace belay::wire
