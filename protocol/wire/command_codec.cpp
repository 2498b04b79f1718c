#include "protocol/wire/command_codec.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/overloaded.hpp"
#include "protocol/state/folded_name.hpp"
#include "protocol/wire/record_codec.hpp"

// Layout of a command, little-endian, "text" = varint length + bytes, "list" = varint count + elements:
//
//   u8 version = 1 | u8 kind = place in state::command, from 0 | body
//
//   0 kv_write            kv_op
//   1 txn                 list of { u8 0 kv_op | u8 1 verb node | u8 2 verb service | u8 3 verb check }
//   2 session_create      session
//   3 session_destroy     list of text ids, text cause
//   4 catalog_register    node, bool skip, bool has service, [service], list of check
//   5 catalog_deregister  text node, text service, text check
//   6 tombstone_reap      varint index
//   7 restore_begin       text id, varint index of the archive
//   8 restore_rows        text id, varint number, list of { u8 table | text key | text row }
//   9 restore_commit      text id, varint number of batches
//  10 restore_abort       text id
//  11 autopilot_set       settings, bool has check, [varint check]
//
// A reply: u8 version = 1 | u8 kind = place in state::reply | body. Kind 5 is a bool with a note:
//   bool | u8 why | text holder | varint retry after | varint fence
// A row: u8 version = 1 | record without its key. Version 2, of keys that are locked: the same | varint fence.
// The records are drawn in record_codec.cpp.

namespace belay::wire {

namespace {

constexpr std::uint8_t version = 1;
constexpr std::uint8_t fenced_version = 2;
constexpr std::uint8_t noted_bool = 5;

void put(byte_writer& w, const state::txn_op& op) {
  w.u8(static_cast<std::uint8_t>(op.index()));
  std::visit(
      overloaded{
          [&](const state::kv_op& o) { write_record(w, o); },
          [&](const state::node_op& o) { w.u8(static_cast<std::uint8_t>(o.verb)), write_record(w, o.node); },
          [&](const state::service_op& o) { w.u8(static_cast<std::uint8_t>(o.verb)), write_record(w, o.service); },
          [&](const state::check_op& o) { w.u8(static_cast<std::uint8_t>(o.verb)), write_record(w, o.check); },
      },
      op);
}

state::txn_op get_op(byte_reader& r) {
  switch (r.u8()) {
  case 0: {
    state::kv_op o;
    read_record(r, o);
    return o;
  }
  case 1: {
    state::node_op o;
    o.verb = read_enum<state::catalog_verb>(r, state::catalog_verb::remove_cas);
    read_record(r, o.node);
    return o;
  }
  case 2: {
    state::service_op o;
    o.verb = read_enum<state::catalog_verb>(r, state::catalog_verb::remove_cas);
    read_record(r, o.service);
    return o;
  }
  case 3: {
    state::check_op o;
    o.verb = read_enum<state::catalog_verb>(r, state::catalog_verb::remove_cas);
    read_record(r, o.check);
    return o;
  }
  default:
    r.fail();
    return {};
  }
}

void put(byte_writer& w, const state::kv_write& c) {
  // Room for the fixed part and the longest varints, so that the value is copied exactly once.
  w.out().reserve(64 + c.op.key.size() + c.op.session.size() + (c.op.value ? c.op.value->size() : 0));
  w.u8(version);
  w.u8(0);
  write_record(w, c.op);
}
void put(byte_writer& w, const state::txn& c) {
  w.u8(version);
  w.u8(1);
  w.varint(c.ops.size());
  for (const auto& op : c.ops)
    put(w, op);
}
void put(byte_writer& w, const state::session_create& c) {
  w.u8(version);
  w.u8(2);
  write_record(w, c.session);
}
void put(byte_writer& w, const state::session_destroy& c) {
  w.u8(version);
  w.u8(3);
  write_list(w, c.ids);
  w.text(c.cause);
}
void put(byte_writer& w, const state::catalog_register& c) {
  w.u8(version);
  w.u8(4);
  write_record(w, c.node);
  w.boolean(c.skip_node_update);
  w.boolean(c.service.has_value());
  if (c.service)
    write_record(w, *c.service);
  w.varint(c.checks.size());
  for (const auto& check : c.checks)
    write_record(w, check);
}
void put(byte_writer& w, const state::catalog_deregister& c) {
  w.u8(version);
  w.u8(5);
  w.text(c.node);
  w.text(c.service_id);
  w.text(c.check_id);
}
void put(byte_writer& w, const state::tombstone_reap& c) {
  w.u8(version);
  w.u8(6);
  w.varint(c.up_to.value);
}

void put(byte_writer& w, const state::restore_begin& c) {
  w.u8(version);
  w.u8(7);
  w.text(c.id);
  w.varint(c.archive_index.value);
}
void put_batch(byte_writer& w, const std::vector<state::dirty_row>& rows) {
  w.varint(rows.size());
  for (const auto& row : rows) {
    const auto value = encode_row(row);
    PRECONDITION(value.has_value());
    w.u8(static_cast<std::uint8_t>(row.table));
    w.text(row.key);
    w.text(*value);
  }
}
void put(byte_writer& w, const state::restore_rows& c) {
  w.u8(version);
  w.u8(8);
  w.text(c.id);
  w.varint(c.number);
  put_batch(w, *c.rows);
}
void put(byte_writer& w, const state::restore_commit& c) {
  w.u8(version);
  w.u8(9);
  w.text(c.id);
  w.varint(c.batches);
}
void put(byte_writer& w, const state::restore_abort& c) {
  w.u8(version);
  w.u8(10);
  w.text(c.id);
}

void put_settings(byte_writer& w, const state::autopilot_settings& s) {
  w.boolean(s.cleanup_dead_servers);
  w.u64(static_cast<std::uint64_t>(s.last_contact_threshold_ns));
  w.varint(s.max_trailing_logs);
  w.varint(s.min_quorum);
  w.u64(static_cast<std::uint64_t>(s.server_stabilization_ns));
  w.text(s.redundancy_zone_tag);
  w.boolean(s.disable_upgrade_migration);
  w.text(s.upgrade_version_tag);
  w.varint(s.create_index.value);
  w.varint(s.modify_index.value);
}
state::autopilot_settings get_settings(byte_reader& r) {
  state::autopilot_settings s;
  s.cleanup_dead_servers = r.boolean();
  s.last_contact_threshold_ns = static_cast<std::int64_t>(r.u64());
  s.max_trailing_logs = r.varint();
  s.min_quorum = r.varint();
  s.server_stabilization_ns = static_cast<std::int64_t>(r.u64());
  s.redundancy_zone_tag = r.text();
  s.disable_upgrade_migration = r.boolean();
  s.upgrade_version_tag = r.text();
  s.create_index = log_index{r.varint()};
  s.modify_index = log_index{r.varint()};
  return s;
}
void put(byte_writer& w, const state::autopilot_set& c) {
  w.u8(version);
  w.u8(11);
  put_settings(w, c.wanted);
  w.boolean(c.check.has_value());
  if (c.check)
    w.varint(c.check->value);
}

state::row_batch get_batch(byte_reader& r) {
  auto rows = std::make_shared<std::vector<state::dirty_row>>();
  for (auto n = read_count(r); n > 0 && r.ok(); --n) {
    const auto table = r.u8();
    const auto key = r.text();
    const auto value = r.text();
    // Batches hold no batches: nobody writes such, and reading them would be a recursion as deep as the sender likes.
    if (table == static_cast<std::uint8_t>(state::table::staging))
      r.fail();
    auto row = r.ok() ? decode_row(table, key, value) : std::nullopt;
    if (row)
      rows->push_back(std::move(*row));
    else
      r.fail();
  }
  return rows;
}

state::command get_command(byte_reader& r) {
  switch (r.u8()) {
  case 0: {
    state::kv_write c;
    read_record(r, c.op);
    return c;
  }
  case 1: {
    state::txn c;
    const auto n = read_count(r);
    for (std::size_t i = 0; i < n && r.ok(); ++i)
      c.ops.push_back(get_op(r));
    return c;
  }
  case 2: {
    state::session_create c;
    read_record(r, c.session);
    return c;
  }
  case 3: {
    state::session_destroy c;
    read_list(r, c.ids);
    c.cause = r.text();
    return c;
  }
  case 4: {
    state::catalog_register c;
    read_record(r, c.node);
    c.skip_node_update = r.boolean();
    if (r.boolean())
      read_record(r, c.service.emplace());
    const auto n = read_count(r);
    for (std::size_t i = 0; i < n && r.ok(); ++i)
      read_record(r, c.checks.emplace_back());
    return c;
  }
  case 5: {
    state::catalog_deregister c;
    c.node = r.text();
    c.service_id = r.text();
    c.check_id = r.text();
    return c;
  }
  case 6:
    return state::tombstone_reap{log_index{r.varint()}};
  case 7: {
    state::restore_begin c;
    c.id = r.text();
    c.archive_index = log_index{r.varint()};
    return c;
  }
  case 8: {
    state::restore_rows c;
    c.id = r.text();
    c.number = r.varint();
    c.rows = get_batch(r);
    return c;
  }
  case 9: {
    state::restore_commit c;
    c.id = r.text();
    c.batches = r.varint();
    return c;
  }
  case 10:
    return state::restore_abort{std::string(r.text())};
  case 11: {
    state::autopilot_set c;
    c.wanted = get_settings(r);
    if (r.boolean())
      c.check = log_index{r.varint()};
    return c;
  }
  default:
    r.fail();
    return {};
  }
}

// ---- replies

void put(byte_writer& w, const state::txn_result& result) {
  w.u8(static_cast<std::uint8_t>(result.row.index()));
  w.boolean(result.with_value);
  std::visit(overloaded{
                 [&](const state::kv_entry_ptr& row) {
                   w.text(row->key);
                   // Results of writes do not show the value, so it need not travel.
                   write_record(w, *row, result.with_value);
                 },
                 [&](const auto& row) { write_record(w, *row); },
             },
             result.row);
}

template <class Record>
std::shared_ptr<const Record> get_row(byte_reader& r) {
  auto row = std::make_shared<Record>();
  read_record(r, *row);
  return row;
}

state::txn_result get_result(byte_reader& r) {
  state::txn_result result;
  const auto kind = r.u8();
  result.with_value = r.boolean();
  switch (kind) {
  case 0: {
    auto entry = std::make_shared<state::kv_entry>();
    entry->key = r.text();
    read_record(r, *entry);
    result.row = std::move(entry);
    break;
  }
  case 1:
    result.row = get_row<state::node_record>(r);
    break;
  case 2:
    result.row = get_row<state::service_record>(r);
    break;
  case 3:
    result.row = get_row<state::check_record>(r);
    break;
  default:
    r.fail();
  }
  return result;
}

void put_body(byte_writer&, std::monostate) {}
void put_body(byte_writer& w, bool yes) {
  w.boolean(yes);
}
void put_body(byte_writer& w, const std::string& session_id) {
  w.text(session_id);
}
void put_body(byte_writer& w, const state::refusal& why) {
  w.text(why.text);
}
void put_body(byte_writer& w, const state::txn_reply& t) {
  w.varint(t.results.size());
  for (const auto& result : t.results)
    put(w, result);
  w.varint(t.errors.size());
  for (const auto& e : t.errors) {
    w.varint(e.op_index);
    w.text(e.what);
  }
}

state::txn_reply get_txn_reply(byte_reader& r) {
  state::txn_reply t;
  for (auto n = read_count(r); n > 0 && r.ok(); --n)
    t.results.push_back(get_result(r));
  for (auto n = read_count(r); n > 0 && r.ok(); --n) {
    auto& e = t.errors.emplace_back();
    e.op_index = static_cast<std::size_t>(r.varint());
    e.what = r.text();
  }
  return t;
}

// ---- rows

void put_row(byte_writer& w, const state::kv_entry_ptr& row) {
  w.out().reserve(64 + row->session.size() + row->value->size());
  w.u8(row->fence == 0 ? version : fenced_version);
  write_record(w, *row, true);
  if (row->fence != 0)
    w.varint(row->fence);
}
void put_row(byte_writer& w, const state::tombstone& row) {
  w.u8(version);
  w.varint(row.index.value);
  w.varint(row.tree_index.value);
}
void put_row(byte_writer& w, const state::lock_delay_record& row) {
  w.u8(version);
  w.varint(row.until.value);
}
void put_row(byte_writer& w, const state::counter& row) {
  w.u8(version);
  w.varint(row.value);
}
// staging: bool is a batch | a batch: as in restore_rows; else text id | varint archive index, batches, touched | bool in
// force
void put_row(byte_writer& w, const state::staged_ptr& row) {
  w.u8(version);
  w.boolean(row->rows != nullptr);
  if (row->rows != nullptr)
    return put_batch(w, *row->rows);
  w.text(row->id);
  w.varint(row->archive_index.value);
  w.varint(row->batches);
  w.varint(row->touched.value);
  w.boolean(row->in_force);
}
// operators: settings, as in autopilot_set
void put_row(byte_writer& w, const state::autopilot_ptr& row) {
  w.u8(version);
  put_settings(w, *row);
}
state::staged_ptr get_staged(byte_reader& r, std::string_view key) {
  auto row = std::make_shared<state::staged_record>();
  row->key = key;
  if (r.boolean()) {
    row->rows = get_batch(r);
    return row;
  }
  row->id = r.text();
  row->archive_index = log_index{r.varint()};
  row->batches = r.varint();
  row->touched = cluster_time{r.varint()};
  row->in_force = r.boolean();
  return row;
}
/// The key a row is stored under, told by the record itself.
std::string own_key(const state::dirty_row& row) {
  return std::visit(overloaded{
                        [&](const auto&) { return row.key; },
                        [](const state::session_ptr& s) { return s->id; },
                        [](const state::staged_ptr& s) { return s->key; },
                        [](const state::node_ptr& n) { return state::folded(n->node); },
                        [](const state::service_ptr& s) { return state::row_key(s->node, s->id); },
                        [](const state::check_ptr& c) { return state::row_key(c->node, c->check_id); },
                    },
                    row.row);
}

template <class Record>
void put_row(byte_writer& w, const std::shared_ptr<const Record>& row) {
  w.u8(version);
  write_record(w, *row);
}

} // namespace

std::string encode_command(const state::command& c) {
  std::string out;
  byte_writer w(out);
  std::visit([&](const auto& each) { put(w, each); }, c);
  return out;
}

std::optional<state::command> decode_command(std::string_view bytes) {
  byte_reader r(bytes);
  if (r.u8() != version)
    return std::nullopt;
  auto c = get_command(r);
  if (!r.complete())
    return std::nullopt;
  return c;
}

std::string encode_reply(const state::reply& reply) {
  std::string out;
  byte_writer w(out);
  w.u8(version);
  const bool noted = reply.note != state::lock_note{};
  PRECONDITION(!noted || std::holds_alternative<bool>(reply));
  w.u8(noted ? noted_bool : static_cast<std::uint8_t>(reply.index()));
  std::visit([&](const auto& body) { put_body(w, body); }, static_cast<const state::plain_reply&>(reply));
  if (!noted)
    return out;
  w.u8(static_cast<std::uint8_t>(reply.note.why));
  w.text(reply.note.holder);
  w.varint(reply.note.retry_after_ms);
  w.varint(reply.note.fence);
  return out;
}

std::optional<state::reply> decode_reply(std::string_view bytes) {
  byte_reader r(bytes);
  if (r.u8() != version)
    return std::nullopt;
  state::reply reply;
  switch (r.u8()) {
  case 0:
    break;
  case 1:
    reply = r.boolean();
    break;
  case 2:
    reply = std::string(r.text());
    break;
  case 3:
    reply = get_txn_reply(r);
    break;
  case 4:
    reply = state::refusal{std::string(r.text())};
    break;
  case noted_bool:
    reply = r.boolean();
    reply.note.why = read_enum<state::refused_for>(r, state::refused_for::index);
    reply.note.holder = r.text();
    reply.note.retry_after_ms = r.varint();
    reply.note.fence = r.varint();
    if (reply.note == state::lock_note{})
      r.fail(); // would be kind 1: each reply has one spelling
    break;
  default:
    r.fail();
  }
  if (!r.complete())
    return std::nullopt;
  return reply;
}

std::optional<std::string> encode_row(const state::dirty_row& row) {
  if (std::holds_alternative<std::monostate>(row.row))
    return std::nullopt;
  std::string out;
  byte_writer w(out);
  std::visit(overloaded{[](std::monostate) {}, [&](const auto& each) { put_row(w, each); }}, row.row);
  return out;
}

std::optional<state::dirty_row> decode_row(std::uint8_t table, std::string_view key, std::string_view value) {
  byte_reader r(value);
  const auto row_version = r.u8();
  const bool fenced = row_version == fenced_version && table == static_cast<std::uint8_t>(state::table::kv);
  if (row_version != version && !fenced)
    return std::nullopt;
  state::dirty_row row{static_cast<state::table>(table), std::string(key), {}};
  switch (row.table) {
  case state::table::kv: {
    auto entry = std::make_shared<state::kv_entry>();
    entry->key = key;
    read_record(r, *entry);
    if (fenced)
      entry->fence = r.varint();
    if (fenced == (entry->fence == 0))
      r.fail();
    row.row = state::kv_entry_ptr(std::move(entry));
    break;
  }
  case state::table::tombstones: {
    state::tombstone t{std::string(key), {}, {}};
    t.index = log_index{r.varint()};
    t.tree_index = log_index{r.varint()};
    row.row = std::move(t);
    break;
  }
  case state::table::sessions:
    row.row = get_row<state::session_record>(r);
    break;
  case state::table::lock_delays:
    row.row = state::lock_delay_record{std::string(key), cluster_time{r.varint()}};
    break;
  case state::table::nodes:
    row.row = get_row<state::node_record>(r);
    break;
  case state::table::services:
    row.row = get_row<state::service_record>(r);
    break;
  case state::table::checks:
    row.row = get_row<state::check_record>(r);
    break;
  case state::table::counters:
    row.row = state::counter{std::string(key), r.varint()};
    break;
  case state::table::staging:
    row.row = get_staged(r, key);
    break;
  case state::table::operators:
    row.row = std::make_shared<const state::autopilot_settings>(get_settings(r));
    break;
  default:
    return std::nullopt;
  }
  if (!r.complete() || own_key(row) != key)
    return std::nullopt;
  return row;
}

} // namespace belay::wire
