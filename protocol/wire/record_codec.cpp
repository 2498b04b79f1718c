#include "protocol/wire/record_codec.hpp"

// text = varint length + bytes; "int" = signed number in 8 bytes; "?" = boolean, then the value if it is 1;
// map = varint count + pairs in ascending order of their names.
//
//   kv_op     u8 verb | text key | text value | u64 flags | varint index | text session
//   kv_entry  text value | u64 flags | varint lock index | text session | varint create | varint modify
//   session   text id, name, node | int delay | u8 behaviour | text ttl | int ttl | ?list checks, node checks, service
//   checks |
//             varint create, modify
//   node      text id, node, address, datacenter | ?map addresses, meta | varint create, modify
//   service   text node, kind, id, service, address | ?list tags | ?map addresses (text, int port) | ?map meta |
//             int port, weights | bool override | text proxy, connect | varint create, modify
//   check     text node, id, name, status, notes, output, service id, service name, type | ?list tags | text definition
//   |
//             varint create, modify

namespace belay::wire {

namespace {

void write_int(byte_writer& w, std::int64_t v) {
  w.u64(static_cast<std::uint64_t>(v));
}
std::int64_t read_int(byte_reader& r) {
  return static_cast<std::int64_t>(r.u64());
}

void write_index(byte_writer& w, log_index i) {
  w.varint(i.value);
}
log_index read_index(byte_reader& r) {
  return log_index{r.varint()};
}

std::string read_text(byte_reader& r) {
  return std::string(r.text());
}

payload read_payload(byte_reader& r) {
  return make_payload(std::string(r.text()));
}

void write_optional(byte_writer& w, const std::optional<std::vector<std::string>>& list) {
  w.boolean(list.has_value());
  if (list)
    write_list(w, *list);
}
void read_optional(byte_reader& r, std::optional<std::vector<std::string>>& list) {
  list.reset();
  if (r.boolean())
    read_list(r, list.emplace());
}

void write_optional(byte_writer& w, const std::optional<state::string_map>& map) {
  w.boolean(map.has_value());
  if (!map)
    return;
  w.varint(map->size());
  for (const auto& [name, value] : *map) {
    w.text(name);
    w.text(value);
  }
}
void read_optional(byte_reader& r, std::optional<state::string_map>& map) {
  map.reset();
  if (!r.boolean())
    return;
  auto& out = map.emplace();
  for (auto n = read_count(r); n > 0 && r.ok(); --n) {
    auto name = read_text(r);
    out[std::move(name)] = r.text();
  }
}

void write_optional(byte_writer& w, const std::optional<std::map<std::string, state::service_address>>& map) {
  w.boolean(map.has_value());
  if (!map)
    return;
  w.varint(map->size());
  for (const auto& [name, where] : *map) {
    w.text(name);
    w.text(where.address);
    write_int(w, where.port);
  }
}
void read_optional(byte_reader& r, std::optional<std::map<std::string, state::service_address>>& map) {
  map.reset();
  if (!r.boolean())
    return;
  auto& out = map.emplace();
  for (auto n = read_count(r); n > 0 && r.ok(); --n) {
    auto& where = out[read_text(r)];
    where.address = r.text();
    where.port = read_int(r);
  }
}

} // namespace

std::size_t read_count(byte_reader& r) {
  const auto n = r.varint();
  if (n > r.remaining())
    r.fail();
  return r.ok() ? static_cast<std::size_t>(n) : 0;
}

void write_list(byte_writer& w, const std::vector<std::string>& list) {
  w.varint(list.size());
  for (const auto& each : list)
    w.text(each);
}

void read_list(byte_reader& r, std::vector<std::string>& list) {
  list.clear();
  for (auto n = read_count(r); n > 0 && r.ok(); --n)
    list.push_back(read_text(r));
}

void write_record(byte_writer& w, const state::kv_op& op) {
  w.u8(static_cast<std::uint8_t>(op.verb));
  w.text(op.key);
  w.text(op.value ? std::string_view(*op.value) : std::string_view());
  w.u64(op.flags);
  write_index(w, op.index);
  w.text(op.session);
}

void read_record(byte_reader& r, state::kv_op& op) {
  op.verb = read_enum(r, state::kv_verb::remove_cas);
  op.key = r.text();
  op.value = read_payload(r);
  op.flags = r.u64();
  op.index = read_index(r);
  op.session = r.text();
}

void write_record(byte_writer& w, const state::kv_entry& row, bool with_value) {
  w.text(with_value ? std::string_view(*row.value) : std::string_view());
  w.u64(row.flags);
  w.varint(row.lock_index);
  w.text(row.session);
  write_index(w, row.create_index);
  write_index(w, row.modify_index);
}

void read_record(byte_reader& r, state::kv_entry& row) {
  row.value = read_payload(r);
  row.flags = r.u64();
  row.lock_index = r.varint();
  row.session = r.text();
  row.create_index = read_index(r);
  row.modify_index = read_index(r);
}

void write_record(byte_writer& w, const state::session_record& row) {
  w.text(row.id);
  w.text(row.name);
  w.text(row.node);
  write_int(w, row.lock_delay_ns);
  w.u8(static_cast<std::uint8_t>(row.behavior));
  w.text(row.ttl);
  write_int(w, row.ttl_ns);
  write_optional(w, row.checks);
  write_optional(w, row.node_checks);
  write_optional(w, row.service_checks);
  write_index(w, row.create_index);
  write_index(w, row.modify_index);
}

void read_record(byte_reader& r, state::session_record& row) {
  row.id = r.text();
  row.name = r.text();
  row.node = r.text();
  row.lock_delay_ns = read_int(r);
  row.behavior = read_enum(r, state::session_behavior::remove);
  row.ttl = r.text();
  row.ttl_ns = read_int(r);
  read_optional(r, row.checks);
  read_optional(r, row.node_checks);
  read_optional(r, row.service_checks);
  row.create_index = read_index(r);
  row.modify_index = read_index(r);
}

void write_record(byte_writer& w, const state::node_record& row) {
  w.text(row.id);
  w.text(row.node);
  w.text(row.address);
  w.text(row.datacenter);
  write_optional(w, row.tagged_addresses);
  write_optional(w, row.meta);
  write_index(w, row.create_index);
  write_index(w, row.modify_index);
}

void read_record(byte_reader& r, state::node_record& row) {
  row.id = r.text();
  row.node = r.text();
  row.address = r.text();
  row.datacenter = r.text();
  read_optional(r, row.tagged_addresses);
  read_optional(r, row.meta);
  row.create_index = read_index(r);
  row.modify_index = read_index(r);
}

void write_record(byte_writer& w, const state::service_record& row) {
  w.text(row.node);
  w.text(row.kind);
  w.text(row.id);
  w.text(row.service);
  w.text(row.address);
  write_optional(w, row.tags);
  write_optional(w, row.tagged_addresses);
  write_optional(w, row.meta);
  write_int(w, row.port);
  write_int(w, row.weight_passing);
  write_int(w, row.weight_warning);
  w.boolean(row.enable_tag_override);
  w.text(row.proxy_json);
  w.text(row.connect_json);
  write_index(w, row.create_index);
  write_index(w, row.modify_index);
}

void read_record(byte_reader& r, state::service_record& row) {
  row.node = r.text();
  row.kind = r.text();
  row.id = r.text();
  row.service = r.text();
  row.address = r.text();
  read_optional(r, row.tags);
  read_optional(r, row.tagged_addresses);
  read_optional(r, row.meta);
  row.port = read_int(r);
  row.weight_passing = read_int(r);
  row.weight_warning = read_int(r);
  row.enable_tag_override = r.boolean();
  row.proxy_json = r.text();
  row.connect_json = r.text();
  row.create_index = read_index(r);
  row.modify_index = read_index(r);
}

void write_record(byte_writer& w, const state::check_record& row) {
  w.text(row.node);
  w.text(row.check_id);
  w.text(row.name);
  w.text(row.status);
  w.text(row.notes);
  w.text(row.output);
  w.text(row.service_id);
  w.text(row.service_name);
  w.text(row.type);
  write_optional(w, row.service_tags);
  w.text(row.definition_json);
  write_index(w, row.create_index);
  write_index(w, row.modify_index);
}

void read_record(byte_reader& r, state::check_record& row) {
  row.node = r.text();
  row.check_id = r.text();
  row.name = r.text();
  row.status = r.text();
  row.notes = r.text();
  row.output = r.text();
  row.service_id = r.text();
  row.service_name = r.text();
  row.type = r.text();
  read_optional(r, row.service_tags);
  row.definition_json = r.text();
  row.create_index = read_index(r);
  row.modify_index = read_index(r);
}

} // namespace belay::wire
