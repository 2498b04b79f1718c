// Archives of operators: a restore brings back what was saved, and rejects anything damaged.

#include "actors/tables/checkpointer.hpp"
#include "actors/tables/snapshot_archives.hpp"
#include "protocol/base/bytes.hpp"
#include "protocol/state/catalog/catalog_table.hpp"
#include "protocol/state/folded_name.hpp"
#include "protocol/wire/command_codec.hpp"
#include "sim/disks/simulated_checkpoints.hpp"
#include "tests/storage/stored_row.hpp"

#include <catch2/catch.hpp>

#include <limits>

using namespace belay;
using namespace belay::actors;

namespace {

/// A checkpoint of this many keys.
using checkpoint_ptr = std::unique_ptr<sim::simulated_checkpoints>;

/// Commits the rows, in whatever form they come.
void commit(sim::simulated_checkpoints& store, storage::checkpoint_delta all) {
  all.digest = 0;
  std::string buffer;
  for (const auto& r : all.rows)
    all.digest += wire::row_hash_of(r.table, r.key, value_of(r, buffer)).value();
  const auto s = store.commit(all);
  if (!s)
    FAIL(s.error());
}

checkpoint_ptr checkpoint_of(std::size_t keys, std::size_t value_bytes) {
  state::machine machine;
  state::effects changed;
  for (std::size_t i = 1; i <= keys; ++i) {
    state::kv_op op;
    op.key = "key/" + std::to_string(i);
    op.value = make_payload(std::string(value_bytes, static_cast<char>('a' + i % 26)));
    machine.apply(log_index{i}, cluster_time{i}, state::kv_write{std::move(op)}, changed);
  }
  storage::checkpoint_delta all;
  all.meta.index = log_index{keys};
  all.meta.term = term_id{3};
  const auto rows = machine.take_dirty();
  for (const auto& row : rows)
    all.rows.push_back(row_change_of(row));
  auto store = std::make_unique<sim::simulated_checkpoints>();
  commit(*store, all);
  return store;
}

/// A checkpoint with that row alone, as it is.
checkpoint_ptr checkpoint_with(state::row_value row, state::table table, std::string key) {
  storage::checkpoint_delta all;
  all.meta.index = log_index{5};
  all.meta.term = term_id{3};
  const state::dirty_row dirty{table, std::move(key), std::move(row)};
  all.rows.push_back(row_change_of(dirty));
  auto store = std::make_unique<sim::simulated_checkpoints>();
  commit(*store, all);
  return store;
}

const std::string uuid = "5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01";

std::string saved(snapshot_archives& archives) {
  std::string whole;
  for (std::uint64_t i = 1;; ++i) {
    const auto p = archives.pack({request_id{i}, request_id{77}});
    REQUIRE(p.error.empty());
    CHECK(p.id == request_id{i});
    whole += p.bytes;
    if (p.last)
      return whole;
  }
}

struct restored {
  std::vector<state::command> commands;
  std::string error;
};

/// Uploads the archive in pieces of `piece_bytes`. Sends a piece when all commands of the earlier
/// ones have been proposed.
restored restore(snapshot_archives& archives, const std::string& archive, std::size_t piece_bytes,
                 const std::optional<state::auth_context>& by = std::nullopt) {
  restored r;
  std::size_t given = 0;
  for (;;) {
    unpack_archive u{request_id{1}, request_id{88}, "restore-id", by, archive.substr(given, piece_bytes), false};
    given += u.bytes.size();
    u.last = given == archive.size();
    const auto answer = archives.unpack(u);
    r.error = answer.error;
    if (!r.error.empty())
      return r;
    if (answer.command != nullptr) {
      auto command = wire::decode_command(*answer.command);
      REQUIRE(command);
      r.commands.push_back(std::move(*command));
    }
    if (answer.last)
      return r;
    REQUIRE(r.commands.size() < 1000);
  }
}

} // namespace

TEST_CASE("snapshot_archives: the restored data equals the saved data, whatever the pieces", "[actors]") {
  auto store = checkpoint_of(700, 1000); // several pieces, several batches
  snapshot_archives archives(*store);
  const auto archive = saved(archives);
  for (const std::size_t piece_bytes : {archive.size(), std::size_t{4096}}) {
    const auto r = restore(archives, archive, piece_bytes);
    REQUIRE(r.error.empty());
    REQUIRE(r.commands.size() > 3);
    const auto& begin = std::get<state::restore_begin>(r.commands.front());
    CHECK(begin.id == "restore-id");
    CHECK(begin.archive_index == log_index{700});
    std::size_t keys = 0;
    for (std::size_t i = 1; i + 1 < r.commands.size(); ++i) {
      const auto& batch = std::get<state::restore_rows>(r.commands[i]);
      CHECK(batch.number == i - 1);
      for (const auto& row : *batch.rows)
        keys += row.table == state::table::kv ? 1 : 0;
    }
    CHECK(keys == 700);
    CHECK(std::get<state::restore_commit>(r.commands.back()).batches == r.commands.size() - 2);
  }
}

// A truncated upload must not be applied, although all that arrived was valid.
TEST_CASE("snapshot_archives: an archive that ends too early, or is none, is refused", "[actors]") {
  auto store = checkpoint_of(10, 100);
  snapshot_archives archives(*store);
  const auto archive = saved(archives);
  for (const auto& damaged : {archive.substr(0, archive.size() / 2), archive.substr(0, archive.size() - 1),
                              std::string("this is no archive"), std::string()}) {
    const auto r = restore(archives, damaged, 64);
    CHECK_FALSE(r.error.empty());
    for (const auto& c : r.commands)
      CHECK_FALSE(std::holds_alternative<state::restore_commit>(c));
  }
  CHECK(restore(archives, archive, 64).error.empty()); // none of them is left over
}

TEST_CASE("snapshot_archives: without a checkpoint there is nothing to save, and the next attempt starts over",
          "[actors]") {
  sim::simulated_checkpoints empty;
  snapshot_archives archives(empty);
  CHECK_FALSE(archives.pack({request_id{1}, request_id{77}}).error.empty());
  CHECK_FALSE(archives.pack({request_id{2}, request_id{77}}).error.empty());
}

// An archive is a client's input: it may only contain what requests could have made.
TEST_CASE("snapshot_archives: a row that no request could have made is refused", "[actors]") {
  const auto refusal = [](auto record, state::table table, std::string key) {
    using type = decltype(record);
    state::row_value row;
    if constexpr (std::is_same_v<type, state::kv_draft>)
      row = state::kv_entry_ptr(record);
    else
      row = std::make_shared<const type>(std::move(record));
    auto store = checkpoint_with(std::move(row), table, std::move(key));
    snapshot_archives archives(*store);
    auto error = restore(archives, saved(archives), 4096).error;
    const std::string lead = "failed to restore snapshot: state.bin is not one of this server's: ";
    return error.rfind(lead, 0) == 0 ? error.substr(lead.size()) : error;
  };
  const std::string no_request = "it has a row that no request could have written, in table ";

  const auto key = [&](auto spoil) {
    state::kv_draft e;
    e.key = "k";
    e.value = make_payload("v");
    spoil(e);
    return refusal(e, state::table::kv, e.key);
  };
  CHECK(key([](auto&) {}).empty());
  CHECK(key([](auto& e) { e.session = uuid; }).empty());
  CHECK(key([](auto& e) { e.session = "x\r\nSet-Cookie: a"; }) ==
        no_request + "kv is held by a session whose ID is no UUID");
  CHECK(key([](auto& e) { e.key = ""; }) == no_request + "kv has no key");
  CHECK(key([](auto& e) { e.value = make_payload(std::string(16u << 20, 'v')); }).empty());
  CHECK(key([](auto& e) { e.value = make_payload(std::string((16u << 20) + 1, 'v')); }) ==
        no_request + "kv has a value of more than 16777216 bytes");
  CHECK(key([](auto& e) { e.value = make_payload(std::string(18u << 20, 'v')); }).find(", more than 17825792") !=
        std::string::npos);

  const auto session = [&](auto spoil) {
    state::session_record s;
    s.id = uuid;
    s.node = "n1";
    s.ttl = "24h";
    s.ttl_ns = 24LL * 3600 * 1'000'000'000;
    spoil(s);
    return refusal(s, state::table::sessions, s.id);
  };
  CHECK(session([](auto&) {}).empty());
  CHECK(session([](auto& s) { s.id = "a\r\nb"; }) == no_request + "sessions has an ID that is no UUID");
  CHECK(session([](auto& s) { s.node = ""; }) == no_request + "sessions has no node");
  for (const std::int64_t ttl : {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(),
                                 std::int64_t{24} * 3600 * 1000000000 + 1})
    CHECK(session([&](auto& s) { s.ttl_ns = ttl; }) ==
          no_request + "sessions has a TTL below zero or of more than 24 hours");

  state::check_record check;
  check.node = "n1";
  check.check_id = "c";
  check.definition_json = "{},\"Injected\":1";
  const auto check_key = state::row_key(check.node, check.check_id);
  CHECK(refusal(check, state::table::checks, check_key) == no_request + "checks has a definition that is no JSON");
  check.definition_json = R"({"Interval":"10s"})";
  CHECK(refusal(check, state::table::checks, check_key) == no_request + "checks has no status");
  check.status = "passing";
  CHECK(refusal(check, state::table::checks, check_key).empty());
  check.check_id.clear();
  CHECK(refusal(check, state::table::checks, state::row_key("n1", "")) == no_request + "checks has no CheckID");

  const auto service = [&](auto spoil) {
    state::service_record s;
    s.node = "n1";
    s.id = s.service = "web";
    spoil(s);
    return refusal(s, state::table::services, state::row_key(s.node, s.id));
  };
  CHECK(service([](auto&) {}).empty());
  CHECK(service([](auto& s) { s.id.clear(); }) == no_request + "services has no ID");
  for (const char* address : {"0.0.0.0", "::", "[::]"})
    CHECK(service([&](auto& s) { s.address = address; }) == no_request + "services has an address that is none");

  // What requests do make: a node without address; autopilot's record as it was put.
  state::node_record node;
  node.node = "n1";
  CHECK(refusal(node, state::table::nodes, "n1").empty());
  state::autopilot_settings settings;
  settings.last_contact_threshold_ns = -1;
  CHECK(refusal(settings, state::table::operators, std::string(settings.row_key)).empty());
}

// A check with a service's ID affects that service's health. Requests cannot register one before
// the service, and it is removed with it. Every version applies the log, so it must not get there.
TEST_CASE("snapshot_archives: a check of a service that is not there is left out", "[actors]") {
  state::service_record service;
  service.node = "n1";
  service.id = service.service = "Web";
  storage::checkpoint_delta all;
  all.meta.index = log_index{5};
  all.meta.term = term_id{3};
  const auto add = [&](auto record, state::table table, std::string key) {
    const state::dirty_row row{table, std::move(key), std::make_shared<const decltype(record)>(std::move(record))};
    all.rows.push_back(storage::stored_row(static_cast<std::uint8_t>(table), row.key, *wire::encode_row(row)));
  };
  add(service, state::table::services, state::row_key("n1", "Web"));
  const auto add_check = [&](const std::string& node, const std::string& id, const std::string& service_id) {
    state::check_record c;
    c.node = node;
    c.check_id = id;
    c.status = "passing";
    c.service_id = service_id;
    add(c, state::table::checks, state::row_key(node, id));
  };
  add_check("n1", "a of the node", "");
  add_check("N1", "b of the service", "web"); // names are case-insensitive
  add_check("n1", "c of none", "db");
  add_check("n2", "d of another node's", "web");
  sim::simulated_checkpoints store;
  commit(store, all);
  snapshot_archives archives(store);
  const auto r = restore(archives, saved(archives), 4096);
  REQUIRE(r.error.empty());
  std::string checks;
  for (const auto& command : r.commands)
    if (const auto* batch = std::get_if<state::restore_rows>(&command))
      for (const auto& row : *batch->rows)
        if (const auto* check = std::get_if<state::check_ptr>(&row.row))
          checks += (*check)->check_id + ", ";
  CHECK(checks == "a of the node, b of the service, ");
}

// A megabyte that unpacks to a gigabyte must not be buffered before its checksum can be verified.
TEST_CASE("snapshot_archives: a block with a huge length is rejected before it is read", "[actors]") {
  auto store = checkpoint_of(10, 100);
  const auto chunk = store->read_snapshot(log_index{0}, 0, 1u << 20); // the newest
  REQUIRE(chunk);
  auto state = std::string(*chunk->bytes);
  const auto length_of_header = byte_reader(std::string_view(state).substr(12)).u32();
  for (const std::uint32_t claimed : {(64u << 20) + 1, 1u << 30, 0xffffffffu}) {
    std::string length;
    byte_writer(length).u32(claimed);
    state.replace(20 + length_of_header, 4, length);
    archive::archive_meta meta;
    meta.index = log_index{10};
    meta.state_bytes = state.size();
    archive::archive_writer writer(meta);
    std::string archive;
    writer.begin(archive);
    writer.add(state, archive);
    writer.finish(archive);
    snapshot_archives archives(*store);
    CHECK(restore(archives, archive, 4096).error.find("is too long") != std::string::npos);
  }
}

// An archive from before ACLs has no management token: anyone could create the first one.
TEST_CASE("snapshot_archives: where ACLs are in force, an archive does not open acl/bootstrap again", "[actors][B26]") {
  const state::auth_context by{"the master's", false, "dc1"};
  const auto bootstrapped = [](const restored& r) {
    state::machine machine;
    state::effects changed;
    std::uint64_t index = 1000;
    for (const auto& c : r.commands) {
      auto plain = c;
      plain.by.reset(); // whether it is permitted is not tested here
      ++index;
      machine.apply(log_index{index}, cluster_time{index}, plain, changed);
    }
    ++index;
    const state::acl_bootstrap first{uuid, "5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a02", 1, {}};
    const auto answer = machine.apply(log_index{index}, cluster_time{index}, first, changed);
    return std::holds_alternative<state::refusal>(answer);
  };
  for (const std::size_t keys : {std::size_t{3}, std::size_t{700}}) {
    auto store = checkpoint_of(keys, 1000);
    snapshot_archives archives(*store);
    const auto archive = saved(archives);
    const auto closed = restore(archives, archive, 4096, by);
    REQUIRE(closed.error.empty());
    CHECK(bootstrapped(closed));
    CHECK(std::get<state::restore_commit>(closed.commands.back()).batches == closed.commands.size() - 2);
    // Where ACLs are off, bootstrap was never closed.
    const auto open = restore(archives, archive, 4096);
    REQUIRE(open.error.empty());
    CHECK_FALSE(bootstrapped(open));
  }
  // A value in the archive takes precedence.
  auto store = checkpoint_with(state::counter{"acl-bootstrap", 4}, state::table::counters, "acl-bootstrap");
  snapshot_archives archives(*store);
  const auto own = restore(archives, saved(archives), 4096, by);
  REQUIRE(own.error.empty());
  std::size_t indexes = 0;
  for (const auto& c : own.commands)
    if (const auto* rows = std::get_if<state::restore_rows>(&c))
      for (const auto& row : *rows->rows)
        if (const auto* mark = std::get_if<state::counter>(&row.row)) {
          CHECK(mark->value == 4);
          ++indexes;
        }
  CHECK(indexes == 1);
}
