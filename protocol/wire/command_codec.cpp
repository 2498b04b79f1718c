#include "protocol/wire/command_codec.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/overloaded.hpp"
#include "protocol/state/command_level.hpp"
#include "protocol/state/folded_name.hpp"
#include "protocol/state/row_hash.hpp"
#include "protocol/wire/record_codec.hpp"

#include <algorithm>

// record_codec.hpp has the layout of records and members. An inner command extends to the end.
//
//   command   u8 version = 1 | u8 state::command_tag | the command, a record
//             u8 version = 2 | u16 feature level > 0 | text first version that has it | u8 tag |
// the command
//             on_behalf: instead of it, state::auth_context, a record | a command not on_behalf
//             authorized_on_behalf: state::auth_context | varint authorized_at > 0 | a command not
// on_behalf
//             once: state::once_request, a record | a command that is none of these
//             addressed: text the client's address | a command that is none of these but counting
//             counting: a command that is none of these and contains the verb `add`
//
//   reply     u8 version = 1 | u8 position in state::plain_reply | its value
//             u8 version = 1 | u8 5 | bool | lock_note, a record                   (a bool with a
// note)
//             u8 version = 1 | u8 6 | acl_row
//             u8 version = 1 | u8 7 | claim_answer, a record   or   u8 version = 1 | u8 8 |
// claim_refusal, a record
//             u8 version = 1 | u8 9 | kv_added, a record       or   u8 version = 1 | u8 10 |
// once_refusal, a record
//             u8 version = 1 | u8 128 | varint decided_at > 0 | the same from the position on
//   acl_row   u8 position in acl_row::row | the row | list of policies | list of roles, acl_link
// records
//   txn_reply list of results | list of txn_error, records
//   result    u8 position in state::txn_result | bool with value | the row, a record
//             for a key: text key | the record, its value empty unless it is shown
//
//   row       u8 version = 1 | the record, without what its key contains (as::by_key)
//             u8 version = 2 | the same | each as::later member, of which one is not absent
//             u8 version = 3 | the same, all may be absent | each as::latest, one is not absent

namespace belay::wire {

namespace {

constexpr std::uint8_t version = 1;
constexpr std::uint8_t version_with_later = 2, version_with_latest = 3;
constexpr std::uint8_t version_with_needs = 2;
constexpr std::size_t needed_version_max = 32;
constexpr std::uint8_t noted_bool = 5, decided_before = 128;
constexpr std::uint8_t first_number_after_noted = 6;
static_assert(std::is_same_v<std::variant_alternative_t<noted_bool, state::plain_reply>, state::acl_row>);

/// The number of a reply's position in state::plain_reply, and its inverse.
constexpr std::uint8_t number_of_alternative(std::size_t alternative) {
  return static_cast<std::uint8_t>(alternative < noted_bool ? alternative : alternative + 1);
}
constexpr std::size_t alternative_of_number(std::uint8_t number) {
  return number < first_number_after_noted ? number : std::size_t{number} - 1;
}

// ---- commands

template <class Command>
void put(byte_writer& w, const Command& c) {
  // Space for the fixed part and the longest varints, so that the value is copied exactly once.
  if constexpr (std::is_same_v<Command, state::kv_write>)
    w.out().reserve(w.out().size() + 64 + c.op.key.size() + c.op.session.size() +
                    (c.op.value ? c.op.value->size() : 0));
  if constexpr (constexpr auto level = state::level_of(Command::tag); level == 0)
    w.u8(version);
  else
    w.raw(encode_needs({level, std::string(state::first_version_of(level))}));
  w.u8(static_cast<std::uint8_t>(c.tag));
  write_record(w, c);
}

void put_tag(byte_writer& w, state::command_tag tag, state::feature_level level) {
  PRECONDITION(level >= state::level_of(tag)); // older servers must not take the command for one they know
  w.raw(encode_needs({level, std::string(state::first_version_of(level))}));
  w.u8(static_cast<std::uint8_t>(tag));
}

constexpr std::size_t client_address_max = 64; // an IPv6 address with its zone

bool is_client_address(std::string_view text) {
  return !text.empty() && text.size() <= client_address_max &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; });
}

void put_plain(byte_writer& w, const state::command& c) {
  if (c.once) {
    put_tag(w, state::command_tag::once, state::level_of(c));
    write_record(w, *c.once);
  }
  if (c.client_address) {
    PRECONDITION(is_client_address(*c.client_address) && state::has_client(c));
    put_tag(w, state::command_tag::addressed, state::level_of(c));
    w.text(*c.client_address);
  }
  if (state::has_add(c))
    put_tag(w, state::command_tag::counting, state::level_of(static_cast<const state::plain_command&>(c)));
  std::visit([&](const auto& each) { put(w, each); }, static_cast<const state::plain_command&>(c));
}

constexpr state::command_tag tag_on_behalf(log_index authorized_at) {
  return authorized_at.is_zero() ? state::command_tag::on_behalf : state::command_tag::authorized_on_behalf;
}
constexpr state::feature_level level_on_behalf(log_index authorized_at, state::feature_level of_plain) {
  return std::max(state::level_of(tag_on_behalf(authorized_at)), of_plain);
}

void put_on_behalf(byte_writer& w, const state::command& c) {
  if (const auto* write = std::get_if<state::kv_write>(&c))
    w.out().reserve(192 + c.by->secret.size() + c.by->datacenter.size() + write->op.key.size() +
                    write->op.session.size() + (write->op.value ? write->op.value->size() : 0));
  const auto level = level_on_behalf(c.authorized_at, state::level_of(c));
  put_tag(w, tag_on_behalf(c.authorized_at), level);
  write_record(w, *c.by);
  if (!c.authorized_at.is_zero())
    w.varint(c.authorized_at.value);
  put_plain(w, c);
}

/// @returns nullopt: not the beginning of a command
std::optional<command_needs> get_needs(byte_reader& r) {
  const auto v = r.u8();
  if (!r.ok())
    return std::nullopt;
  if (v == version)
    return command_needs{};
  command_needs needs;
  needs.level = r.u16();
  needs.version = r.text();
  const auto printable = [](char c) { return c > ' ' && c < 127; };
  if (v != version_with_needs || !r.ok() || needs.level == 0 || needs.version.size() > needed_version_max ||
      !std::all_of(needs.version.begin(), needs.version.end(), printable))
    return std::nullopt;
  return needs;
}

bool is_on_behalf(std::uint8_t tag) {
  return tag == static_cast<std::uint8_t>(state::command_tag::on_behalf) ||
         tag == static_cast<std::uint8_t>(state::command_tag::authorized_on_behalf);
}
/// The tags that may precede a command, the outermost first.
enum class around : std::uint8_t { name, once, address, counting, nothing };
around kind_of(std::uint8_t tag) {
  return is_on_behalf(tag)                                                 ? around::name
         : tag == static_cast<std::uint8_t>(state::command_tag::once)      ? around::once
         : tag == static_cast<std::uint8_t>(state::command_tag::addressed) ? around::address
         : tag == static_cast<std::uint8_t>(state::command_tag::counting)  ? around::counting
                                                                           : around::nothing;
}
/// The first tag: read in advance, so that nested auth contexts cause no recursion.
around kind_of(std::string_view bytes) {
  byte_reader r(bytes);
  if (!get_needs(r))
    return around::name;
  const auto kind = kind_of(r.u8());
  return r.ok() ? kind : around::name;
}

/// Decodes the command with this tag into `out`. @returns false: unknown tag
template <class... Commands>
bool get_command(byte_reader& r, std::uint8_t tag, std::variant<Commands...>& out) {
  return ((tag == static_cast<std::uint8_t>(Commands::tag) ? (read_record(r, out.template emplace<Commands>()), true)
                                                           : false) ||
          ...);
}

bool has_fence_op(const state::txn& t) {
  return std::any_of(t.ops.begin(), t.ops.end(),
                     [](const state::txn_op& op) { return std::holds_alternative<state::fence_op>(op); });
}

// ---- replies

void put(byte_writer& w, const state::txn_result& result) {
  w.u8(static_cast<std::uint8_t>(result.row.index()));
  w.boolean(result.with_value);
  std::visit(overloaded{
                 [&](const state::kv_entry_ptr& row) {
                   w.text(row->key);
                   // Results of writes do not show the value, so it is not sent.
                   for_each_written(*row, [&](auto f, const auto& value) {
                     if constexpr (std::is_same_v<typename decltype(f)::type, payload_ref>)
                       w.text(result.with_value ? std::string_view(*value) : std::string_view());
                     else
                       write_value<f.traits>(w, value);
                   });
                 },
                 [&](const auto& row) { write_record(w, *row); },
             },
             result.row);
}

void get_row(byte_reader& r, state::kv_entry_ptr& row) {
  state::kv_entry_in_bytes entry;
  entry.key = r.text();
  read_record(r, entry);
  row = state::kv_entry_ptr(entry);
}
template <class Record>
void get_row(byte_reader& r, std::shared_ptr<const Record>& row) {
  auto record = std::make_shared<Record>();
  read_record(r, *record);
  row = std::move(record);
}

template <class... Rows>
void get_result_row(byte_reader& r, std::uint8_t alternative, std::variant<Rows...>& row) {
  std::uint8_t i = 0;
  const bool known = ((alternative == i++ ? (get_row(r, row.template emplace<Rows>()), true) : false) || ...);
  if (!known)
    r.fail();
}

void put_body(byte_writer& w, const state::txn_reply& t) {
  w.varint(t.results.size());
  for (const auto& result : t.results)
    put(w, result);
  write_value(w, t.errors);
}
void put_body(byte_writer& w, const state::acl_row& shown) {
  w.u8(static_cast<std::uint8_t>(shown.row.index()));
  std::visit([&](const auto& row) { write_record(w, *row); }, shown.row);
  write_value(w, shown.policies);
  write_value(w, shown.roles);
}
template <class Body>
void put_body(byte_writer& w, const Body& body) {
  write_value(w, body);
}

void get_body(byte_reader& r, state::txn_reply& t) {
  for (auto n = read_count(r); n > 0 && r.ok(); --n) {
    auto& result = t.results.emplace_back();
    const auto alternative = r.u8();
    result.with_value = r.boolean();
    get_result_row(r, alternative, result.row);
  }
  read_value(r, t.errors);
}
void get_body(byte_reader& r, state::acl_row& shown) {
  get_result_row(r, r.u8(), shown.row);
  read_value(r, shown.policies);
  read_value(r, shown.roles);
}
template <class Body>
void get_body(byte_reader& r, Body& body) {
  read_value(r, body);
}

template <class... Bodies>
bool get_plain(byte_reader& r, std::size_t alternative, std::variant<Bodies...>& out) {
  std::size_t i = 0;
  return ((alternative == i++ ? (get_body(r, out.template emplace<Bodies>()), true) : false) || ...);
}

// ---- rows

/// Calls `f(member)` for each member with the trait as::later or as::latest.
template <unsigned Trait, class Record, class F>
void for_each_with(Record& record, F f) {
  state::for_each_field<std::remove_const_t<Record>>([&](auto field) {
    if constexpr (field.is(Trait))
      f(record.*field.member);
  });
}

template <unsigned Trait, class Record>
bool any_with(const Record& record) {
  bool any = false;
  for_each_with<Trait>(record, [&](const auto& v) { any = any || !state::is_absent(v); });
  return any;
}

/// The lowest version that can encode the whole record: the encoding of a row is unique.
template <class Record>
std::uint8_t version_of(const Record& record) {
  return any_with<state::as::latest>(record)  ? version_with_latest
         : any_with<state::as::later>(record) ? version_with_later
                                              : version;
}

template <class Record>
void put_row(byte_writer& w, const Record& record) {
  if constexpr (std::is_same_v<Record, state::kv_entry>)
    w.out().reserve(64 + record.session.size() + record.value->size());
  const auto row_version = version_of(record);
  const auto put_value = [&](const auto& v) { write_value(w, v); };
  w.u8(row_version);
  write_record(w, record);
  if (row_version >= version_with_later)
    for_each_with<state::as::later>(record, put_value);
  if (row_version >= version_with_latest)
    for_each_with<state::as::latest>(record, put_value);
}

template <class Record>
void get_record(byte_reader& r, std::uint8_t row_version, Record& record) {
  const auto get_value = [&](auto& v) { read_value(r, v); };
  read_record(r, record);
  if (row_version >= version_with_later)
    for_each_with<state::as::later>(record, get_value);
  if (row_version >= version_with_latest)
    for_each_with<state::as::latest>(record, get_value);
  if (row_version != version_of(record))
    r.fail();
}

/// @returns false: rows of this kind do not have this version
template <class Record>
bool get_row_of(byte_reader& r, std::uint8_t row_version, std::string_view key, Record& out) {
  const bool known = row_version == version ||
                     (row_version == version_with_later && state::has_fields<Record>(state::as::later)) ||
                     (row_version == version_with_latest && state::has_fields<Record>(state::as::latest));
  if (!known)
    return false;
  state::for_each_field<Record>([&](auto f) {
    if constexpr (f.is(state::as::by_key))
      out.*f.member = key;
  });
  get_record(r, row_version, out);
  return true;
}
template <state::record_pointer Pointer>
bool get_row_of(byte_reader& r, std::uint8_t row_version, std::string_view key, Pointer& out) {
  auto record = std::make_shared<state::record_type<Pointer>>();
  const bool known = get_row_of(r, row_version, key, *record);
  out = std::move(record);
  return known;
}
bool get_row_of(byte_reader& r, std::uint8_t row_version, std::string_view key, state::kv_entry_ptr& out) {
  state::kv_entry_in_bytes entry;
  const bool known = get_row_of(r, row_version, key, entry);
  out = state::kv_entry_ptr(entry);
  return known;
}

/// Decodes the row of the table with this number into `out`. @returns false: unknown
template <class... Rows>
bool get_row_value(byte_reader& r, std::uint8_t table, std::uint8_t row_version, std::string_view key,
                   std::variant<std::monostate, Rows...>& out) {
  return ((table == static_cast<std::uint8_t>(state::record_type<Rows>::in)
               ? get_row_of(r, row_version, key, out.template emplace<Rows>())
               : false) ||
          ...);
}

} // namespace

void write_batch(byte_writer& w, const state::row_batch& rows) {
  w.varint(rows->size());
  for (const auto& row : *rows) {
    const auto value = encode_row(row);
    PRECONDITION(value.has_value());
    w.u8(static_cast<std::uint8_t>(row.table));
    w.text(row.key);
    w.text(*value);
  }
}

void read_batch(byte_reader& r, state::row_batch& out) {
  auto rows = std::make_shared<std::vector<state::dirty_row>>();
  for (auto n = read_count(r); n > 0 && r.ok(); --n) {
    const auto table = r.u8();
    const auto key = r.text();
    const auto value = r.text();
    // Batches contain no batches: none are written, and decoding them could recurse without limit.
    if (table == static_cast<std::uint8_t>(state::table::staging))
      r.fail();
    auto row = r.ok() ? decode_row(table, key, value) : std::nullopt;
    if (row)
      rows->push_back(std::move(*row));
    else
      r.fail();
  }
  out = std::move(rows);
}

void write_answer(byte_writer& w, const kept_answer& answer) {
  INVARIANT_IN_DEVELOPMENT(answer == nullptr || answer->decided_at.is_zero()); // read_answer() takes no other
  w.boolean(answer != nullptr);
  if (answer != nullptr)
    w.text(encode_reply(*answer));
}

void read_answer(byte_reader& r, kept_answer& out) {
  if (!r.boolean())
    return;
  auto answer = decode_reply(r.text());
  if (!answer || !answer->decided_at.is_zero())
    r.fail();
  else
    out = std::make_shared<const state::reply>(std::move(*answer));
}

std::string encode_command(const state::command& c) {
  if (const auto* plain = std::get_if<state::txn>(&c))
    PRECONDITION(!has_fence_op(*plain));           // else it must be a fenced_txn
  PRECONDITION(c.by || c.authorized_at.is_zero()); // it is encoded beside the name
  std::string out;
  byte_writer w(out);
  c.by ? put_on_behalf(w, c) : put_plain(w, c);
  return out;
}

namespace {

/// Also decodes an address that only the tags around the bytes may permit (has_client).
std::optional<state::command> decode_any(std::string_view bytes);

std::optional<state::command> decode_on_behalf(byte_reader& r, const command_needs& needs, bool authorized) {
  state::auth_context by;
  read_record(r, by);
  const log_index authorized_at{authorized ? r.varint() : 0};
  if (authorized && authorized_at.is_zero())
    return std::nullopt;
  const auto plain = r.raw(r.remaining());
  // The inner command must have no auth context: nested ones are invalid.
  const auto inner = r.ok() ? needs_of(plain) : std::nullopt;
  if (!inner || level_on_behalf(authorized_at, inner->level) != needs.level)
    return std::nullopt;
  auto c = kind_of(plain) == around::name ? std::nullopt : decode_any(plain);
  if (c) {
    c->by = std::move(by);
    c->authorized_at = authorized_at;
  }
  return c;
}

std::optional<state::command> decode_once(byte_reader& r, const command_needs& needs) {
  state::once_request once_part;
  read_record(r, once_part);
  const auto plain = r.raw(r.remaining());
  auto c = r.ok() && kind_of(plain) > around::once ? decode_any(plain) : std::nullopt;
  if (!c)
    return std::nullopt;
  c->once = std::move(once_part);
  return state::level_of(*c) == needs.level ? std::move(c) : std::nullopt;
}

std::optional<state::command> decode_addressed(byte_reader& r, const command_needs& needs) {
  auto address = r.text();
  const auto plain = r.raw(r.remaining());
  auto c = r.ok() && kind_of(plain) > around::address ? decode_any(plain) : std::nullopt;
  if (!c || !is_client_address(address))
    return std::nullopt;
  c->client_address = std::move(address);
  return state::level_of(*c) == needs.level ? std::move(c) : std::nullopt;
}

/// Without tags around it.
/// @param counting it follows that tag
std::optional<state::command> decode_plain(std::string_view bytes, bool counting) {
  byte_reader r(bytes);
  const auto needs = get_needs(r);
  const auto tag = r.u8();
  state::command c;
  if (!needs || !get_command(r, tag, static_cast<state::plain_command&>(c)) || !r.complete() ||
      state::level_of(static_cast<state::command_tag>(tag)) != needs->level)
    return std::nullopt;
  // Content that older servers do not know must be announced by a tag.
  const auto* transaction = std::get_if<state::txn>(&c);
  if ((transaction != nullptr && has_fence_op(*transaction)) || state::has_add(c) != counting)
    return std::nullopt;
  return c;
}

std::optional<state::command> decode_any(std::string_view bytes) {
  byte_reader r(bytes);
  const auto needs = get_needs(r);
  if (!needs || needs->level > state::own_level)
    return std::nullopt;
  if (needs->level != 0 && needs->version != state::first_version_of(needs->level))
    return std::nullopt;
  const auto tag = r.u8();
  switch (kind_of(tag)) {
  case around::name:
    return decode_on_behalf(r, *needs, tag == static_cast<std::uint8_t>(state::command_tag::authorized_on_behalf));
  case around::once:
    return decode_once(r, *needs);
  case around::address:
    return decode_addressed(r, *needs);
  case around::counting: {
    auto c = decode_plain(r.raw(r.remaining()), true);
    return c && state::level_of(*c) == needs->level ? std::move(c) : std::nullopt;
  }
  case around::nothing:
    break;
  }
  return decode_plain(bytes, false);
}

} // namespace

std::optional<state::command> decode_command(std::string_view bytes) {
  auto c = decode_any(bytes);
  return c && (!c->client_address || state::has_client(*c)) ? std::move(c) : std::nullopt;
}

std::optional<std::string> without_authorization(std::string_view bytes) {
  byte_reader r(bytes);
  if (!get_needs(r) || r.u8() != static_cast<std::uint8_t>(state::command_tag::authorized_on_behalf))
    return std::nullopt;
  auto c = decode_command(bytes);
  if (!c)
    return std::nullopt;
  c->authorized_at = {};
  return encode_command(*c);
}

std::optional<std::string> without_client_address(std::string_view bytes) {
  auto c = decode_command(bytes);
  if (!c || !c->client_address)
    return std::nullopt;
  c->client_address.reset();
  return encode_command(*c);
}

std::optional<std::string> as_session_destroy(std::string_view bytes) {
  byte_reader r(bytes);
  if (!get_needs(r) || r.u8() != static_cast<std::uint8_t>(state::command_tag::session_expire))
    return std::nullopt;
  auto c = decode_command(bytes);
  auto* expiry = c ? std::get_if<state::session_expire>(&*c) : nullptr;
  if (expiry == nullptr)
    return std::nullopt;
  return encode_command(state::session_destroy{std::move(expiry->ids), "ttl"});
}

std::optional<command_needs> needs_of(std::string_view bytes) {
  byte_reader r(bytes);
  auto needs = get_needs(r);
  if (!needs || needs->level != 0 || r.u8() != static_cast<std::uint8_t>(state::command_tag::restore_rows))
    return needs;
  const auto rows = decode_command(bytes);
  const auto level = rows ? state::level_of(*rows) : state::feature_level{0};
  return level == 0 ? needs : command_needs{level, std::string(state::first_version_of(level))};
}

std::string too_new(const command_needs& needs, std::string_view whom) {
  return "command of feature level " + std::to_string(needs.level) + ", and " + std::string(whom) + " has level " +
         std::to_string(state::own_level) + ": install Belay " + needs.version + " or newer";
}

std::string encode_needs(const command_needs& needs) {
  std::string out;
  byte_writer w(out);
  w.u8(version_with_needs);
  w.u16(needs.level);
  w.text(needs.version);
  return out;
}

std::string encode_reply(const state::reply& reply) {
  std::string out;
  byte_writer w(out);
  w.u8(version);
  const bool noted = reply.note != state::lock_note{};
  PRECONDITION(!noted || std::holds_alternative<bool>(reply));
  if (!reply.decided_at.is_zero()) {
    w.u8(decided_before);
    w.varint(reply.decided_at.value);
  }
  w.u8(noted ? noted_bool : number_of_alternative(reply.index()));
  std::visit([&](const auto& body) { put_body(w, body); }, static_cast<const state::plain_reply&>(reply));
  if (noted)
    write_record(w, reply.note);
  return out;
}

std::optional<state::reply> decode_reply(std::string_view bytes) {
  byte_reader r(bytes);
  if (r.u8() != version)
    return std::nullopt;
  state::reply reply;
  auto alternative = r.u8();
  if (alternative == decided_before) {
    reply.decided_at.value = r.varint();
    if (reply.decided_at.is_zero())
      r.fail();
    alternative = r.u8();
  }
  if (alternative == noted_bool) {
    static_cast<state::plain_reply&>(reply) = r.boolean();
    read_record(r, reply.note);
    if (reply.note == state::lock_note{})
      r.fail(); // would be a plain bool: the encoding of a reply is unique
  } else if (!get_plain(r, alternative_of_number(alternative), static_cast<state::plain_reply&>(reply)))
    r.fail();
  if (!r.complete())
    return std::nullopt;
  return reply;
}

std::optional<std::string> encode_row(const state::dirty_row& row) {
  if (std::holds_alternative<std::monostate>(row.row))
    return std::nullopt;
  std::string out;
  append_row(out, row);
  return out;
}

void append_row(std::string& out, const state::dirty_row& row) {
  byte_writer w(out);
  std::visit(overloaded{[](std::monostate) {}, [&](const auto& each) { put_row(w, state::record_of(each)); }}, row.row);
}

std::size_t row_bytes_max(const state::dirty_row& row) {
  // Space in a key's row for the version, flags, and at most ten bytes for each other number.
  constexpr std::size_t numbers = 128;
  if (const auto* e = std::get_if<state::kv_entry_ptr>(&row.row))
    return (*e)->value->size() + (*e)->session.size() + numbers;
  std::string out;
  append_row(out, row);
  return out.size();
}

std::optional<std::string> own_key(const state::dirty_row& row) {
  using text = std::optional<std::string>;
  return std::visit(
      overloaded{
          [](const auto&) { return text(); },
          [](const state::session_ptr& s) { return text(s->id); },
          [](const state::node_ptr& n) { return text(state::folded(n->node)); },
          [](const state::service_ptr& s) { return text(state::row_key(s->node, s->id)); },
          [](const state::check_ptr& c) { return text(state::row_key(c->node, c->check_id)); },
          [](const state::acl_policy_ptr& p) { return text(p->id); },
          [](const state::acl_role_ptr& p) { return text(p->id); },
          [](const state::acl_token_ptr& p) { return text(state::folded(p->accessor)); },
          [](const state::claim_ptr& c) { return text(state::claim_key(c->of.space, c->of.name, c->id)); },
          [](const state::claim_resource_ptr& c) { return text(state::resource_key(c->of.space, c->of.name)); },
          [](const state::claim_ghost_ptr& g) { return text(state::ghost_key(g->of.space, g->of.name, g->fence)); },
          [](const state::outcome_ptr& o) { return text(state::outcome_key(o->scope, o->id)); },
          [](const state::claim_end_ptr& c) { return text(state::claim_key(c->of.space, c->of.name, c->id)); },
      },
      row.row);
}

std::optional<state::dirty_row> decode_row(std::uint8_t table, std::string_view key, std::string_view value) {
  byte_reader r(value);
  const auto row_version = r.u8();
  state::dirty_row row{static_cast<state::table>(table), std::string(key), {}};
  if (!get_row_value(r, table, row_version, key, row.row))
    return std::nullopt;
  // A token is found in any case of its accessor.
  const bool any_case = std::holds_alternative<state::acl_token_ptr>(row.row);
  if (const auto own = own_key(row); !r.complete() || (own && *own != (any_case ? state::folded(key) : key)))
    return std::nullopt;
  return row;
}

std::optional<std::uint64_t> row_hash_of(std::uint8_t table, std::string_view key, std::string_view value) {
  if (table != static_cast<std::uint8_t>(state::table::kv)) {
    const auto row = decode_row(table, key, value);
    return row ? std::optional(state::row_hash(*row)) : std::nullopt;
  }
  byte_reader r(value);
  const auto row_version = r.u8();
  state::kv_entry_in_bytes entry;
  if (!get_row_of(r, row_version, key, entry) || !r.complete())
    return std::nullopt;
  return state::row_hash(entry);
}

} // namespace belay::wire
