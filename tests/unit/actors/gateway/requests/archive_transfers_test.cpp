// Snapshots of operators: requests to actors, and what the client gets when something fails.

#include "actors/gateway/requests/archive_transfers.hpp"
#include "protocol/wire/command_codec.hpp"
#include "tests/unit/actors/gateway/requests/requested.hpp"

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using namespace std::chrono_literals;

namespace {

struct transfers_fixture : requested_fixture {
  archive_transfers transfers{out, pending, times};

  exchange& save() {
    auto& e = client->asks(http::snapshot_save{});
    transfers.begin_save(e, {}, false, now);
    return e;
  }
  /// The leader's checkpoint exists, and the first piece was requested.
  pack_archive checkpointed(exchange& e) {
    const auto q = out.take<read_query>();
    REQUIRE(pending.settle(q.id) == &e);
    read_result r;
    r.id = q.id;
    transfers.read_answered(e, r, now);
    return out.take<pack_archive>();
  }
  void packed(request_id id, std::string bytes, bool last, std::string error = {}) {
    archive_packed p{id, log_index{9}, std::move(bytes), last, std::move(error)};
    transfers.packed(p);
  }

  exchange& restore(std::string first_bytes, bool complete) {
    auto& e = client->asks(http::snapshot_restore{});
    e.transfer = std::make_unique<snapshot_transfer>();
    e.transfer->body = std::move(first_bytes);
    e.transfer->body_complete = complete;
    transfers.begin_restore(e, "restore-id", now);
    return e;
  }
  void unpacked(const unpack_archive& requested, const char* command, bool last, std::string error = {}) {
    archive_unpacked u;
    u.id = requested.id;
    u.command = command != nullptr ? make_payload(command) : nullptr;
    u.last = last;
    u.error = std::move(error);
    transfers.unpacked(u, now);
  }
  void decided(const propose_write& requested, wire::call_outcome outcome, state::reply reply = true,
               std::string text = "some reason") {
    auto* e = pending.settle(requested.id);
    REQUIRE(e != nullptr);
    write_result r{requested.id, outcome, std::move(reply), log_index{12}, std::move(text)};
    transfers.part_decided(*e, r, now);
  }
  /// The response reaches the client at once, so that it may retry.
  void check_calls_when_aborted(exchange& e, const std::string& text, int status = 500) {
    CHECK_FALSE(e.answer);
    const auto w = out.take<propose_write>();
    const auto abort = wire::decode_command(*w.command);
    REQUIRE(abort);
    CHECK(std::get<state::restore_abort>(*abort).id == "restore-id");
    decided(w, wire::call_outcome::unknown);
    REQUIRE(e.answer);
    CHECK(e.answer->status == status);
    CHECK(e.answer->body == text);
    CHECK(out.take<close_archive>().archive == e.transfer->archive);
    CHECK(out.list.empty());
  }
  /// Everything of a restore is dropped, on this node and in the log.
  void check_aborted(request_id archive) {
    CHECK(out.take<close_archive>().archive == archive);
    const auto abort = wire::decode_command(*out.take<propose_write>().command);
    REQUIRE(abort);
    CHECK(std::get<state::restore_abort>(*abort).id == "restore-id");
    CHECK(out.list.empty());
  }
};

} // namespace

TEST_CASE("archive_transfers: a download is a consistent read, then piece after piece") {
  transfers_fixture f;
  auto& e = f.save();
  CHECK(e.deadline == f.now + 67s);
  const auto& requested = std::get<read_query>(f.out.list.front());
  CHECK(requested.archive);
  CHECK(requested.request.mode == http::consistency::consistent);
  const auto first = f.checkpointed(e);
  CHECK(first.archive == e.transfer->archive);
  CHECK_FALSE(e.answer);

  f.packed(first.id, "abc", false);
  REQUIRE(e.answer);
  CHECK(e.answer->status == 200);
  CHECK(e.transfer->streaming);
  CHECK(e.transfer->piece == "abc");
  CHECK_FALSE(e.transfer->ended);

  e.transfer->piece.clear(); // written
  f.transfers.next_piece(e);
  const auto second = f.out.take<pack_archive>();
  CHECK(second.archive == first.archive);
  CHECK(e.transfer->requested);
  f.packed(second.id, "def", true);
  CHECK_FALSE(e.transfer->requested);
  CHECK(e.transfer->ended);
  CHECK(f.out.list.empty());
}

TEST_CASE("archive_transfers: stale downloads need no leader, others are refused when there is none") {
  transfers_fixture f;
  auto& refused = f.client->asks(http::snapshot_save{});
  f.transfers.begin_save(refused, {false}, true, f.now);
  REQUIRE(refused.answer);
  CHECK(refused.answer->status == 500);
  CHECK(refused.answer->body == "No cluster leader");
  CHECK(f.out.list.empty());

  auto& stale = f.client->asks(http::snapshot_save{true});
  f.transfers.begin_save(stale, {true}, true, f.now);
  CHECK(f.out.take<read_query>().request.mode == http::consistency::stale);
}

// Once the head is sent, its status is final: only the end of the connection reports the failure.
TEST_CASE("archive_transfers: a download that fails is a 500 before its first piece, and truncated after it") {
  transfers_fixture f;
  auto& early = f.save();
  f.packed(f.checkpointed(early).id, "", false, "disk is gone");
  REQUIRE(early.answer);
  CHECK(early.answer->status == 500);
  CHECK(early.answer->body == "disk is gone");
  CHECK_FALSE(early.transfer->streaming);

  auto& late = f.save();
  f.packed(f.checkpointed(late).id, "abc", false);
  f.transfers.next_piece(late);
  f.packed(f.out.take<pack_archive>().id, "", false, "disk is gone");
  CHECK(late.answer->status == 200);
  CHECK(late.transfer->failed);
}

TEST_CASE("archive_transfers: a client that disconnects during a download is dropped by the workers for it") {
  transfers_fixture f;
  auto& e = f.save();
  f.checkpointed(e);
  f.transfers.abandon(e);
  CHECK(f.out.take<close_archive>().archive == e.transfer->archive);
  CHECK(f.out.take<cancel_query>().id == e.transfer->archive);
  CHECK(f.out.list.empty()); // nothing is in the log
}

TEST_CASE("archive_transfers: an upload becomes commands, one after the other") {
  transfers_fixture f;
  auto& e = f.restore("abc", false);
  auto u = f.out.take<unpack_archive>();
  CHECK(u.bytes == "abc");
  CHECK_FALSE(u.last);
  CHECK(u.restore_id == "restore-id");
  const auto archive = u.archive;

  f.unpacked(u, "first command", false);
  auto w = f.out.take<propose_write>();
  CHECK(*w.command == "first command");
  // More arrives while the command is in the log.
  e.transfer->body = "def";
  f.transfers.body_arrived(e, f.now);
  CHECK(f.out.list.empty());
  f.decided(w, wire::call_outcome::done);
  u = f.out.take<unpack_archive>();
  CHECK(u.bytes == "def");
  CHECK(u.archive == archive);

  // All bytes were consumed and gave no command: it waits for the client. The connection detects
  // stalls.
  f.unpacked(u, nullptr, false);
  CHECK(e.transfer->starved);
  CHECK(e.deadline == monotonic_time::max());
  CHECK(f.out.list.empty());
  e.transfer->body = "ghi";
  e.transfer->body_complete = true;
  f.transfers.body_arrived(e, f.now);
  u = f.out.take<unpack_archive>();
  CHECK(u.last);
  CHECK(e.deadline == f.now + 67s);
  f.unpacked(u, "commit", true);
  f.decided(f.out.take<propose_write>(), wire::call_outcome::done);
  REQUIRE(e.answer);
  CHECK(e.answer->status == 200);
  REQUIRE(e.answer->headers.size() == 1);
  CHECK(e.answer->headers[0].first == "X-Belay-Index");
  CHECK(e.answer->headers[0].second == "12");
  CHECK(f.out.list.empty());
}

// A restore through another server may be in progress, which only the tables show.
TEST_CASE("archive_transfers: the start of a restore is checked before it is proposed, even on a retry") {
  transfers_fixture f;
  auto& e = f.restore("abc", true);
  e.by = state::auth_context{"secret", false, "dc1"};
  archive_unpacked u;
  u.id = f.out.take<unpack_archive>().id;
  u.begins = state::restore_begin{"restore-id", log_index{7}};
  u.command = make_payload(wire::encode_command(*u.begins));
  f.transfers.unpacked(u, f.now);
  const auto respond = [&](wire::call_outcome outcome, state::reply reply) {
    const auto q = f.out.take<read_query>(); // this server may not know yet that one has ended
    CHECK(q.request.mode == http::consistency::consistent);
    CHECK_FALSE(q.archive);
    REQUIRE(f.pending.settle(q.id) == &e);
    read_result caught_up;
    caught_up.id = q.id;
    f.transfers.read_answered(e, caught_up, f.now);
    const auto w = f.out.take<check_write>();
    CHECK(std::get<state::restore_begin>(w.command).id == "restore-id");
    CHECK(w.command.by == e.by); // a server that lags behind may have authorized the client
    auto* requested = f.pending.settle(w.id);
    REQUIRE(requested == &e);
    write_result r{w.id, outcome, std::move(reply), {}, "some reason"};
    f.transfers.part_decided(e, r, f.now);
  };
  respond(wire::call_outcome::unknown, true);
  SECTION("it is going on") {
    respond(wire::call_outcome::done, state::refusal{"another one is going on"});
    f.check_calls_when_aborted(e, "another one is going on");
  }
  SECTION("its token is gone, or has lost the permission") {
    const auto* why = GENERATE("ACL not found", "Permission denied");
    respond(wire::call_outcome::done, state::refusal{why});
    f.check_calls_when_aborted(e, why, 403);
  }
  SECTION("nobody knows") {
    const auto q = f.out.take<read_query>();
    REQUIRE(f.pending.settle(q.id) == &e);
    read_result r;
    r.answer = failure{"No cluster leader"};
    f.transfers.read_answered(e, r, f.now);
    CHECK(e.answer->body == "No cluster leader");
    f.check_aborted(e.transfer->archive);
  }
  SECTION("it is not") {
    respond(wire::call_outcome::done, true);
    f.unpacked(f.out.take<unpack_archive>(), "rows", false);
    CHECK(*f.out.take<propose_write>().command == "rows");
  }
}

TEST_CASE("archive_transfers: a part with an unknown outcome is proposed again, within the hold time") {
  transfers_fixture f;
  auto& e = f.restore("abc", true);
  f.unpacked(f.out.take<unpack_archive>(), "command", false);
  auto w = f.out.take<propose_write>();
  f.now += 7s - 1ns;
  f.decided(w, wire::call_outcome::unknown);
  const auto again = f.out.take<propose_write>();
  CHECK(*again.command == "command");
  CHECK(again.id != w.id);
  CHECK_FALSE(e.answer);
  f.now += 1ns;
  f.decided(again, wire::call_outcome::unknown);
  REQUIRE(e.answer);
  CHECK(e.answer->status == 500);
  CHECK(e.answer->body == "some reason");
  f.check_aborted(e.transfer->archive);
}

TEST_CASE("archive_transfers: an upload that is rejected leaves nothing behind") {
  transfers_fixture f;
  SECTION("by the log") {
    auto& e = f.restore("abc", true);
    f.unpacked(f.out.take<unpack_archive>(), "command", false);
    f.decided(f.out.take<propose_write>(), wire::call_outcome::refused);
    CHECK(e.answer->body == "some reason");
    f.check_aborted(e.transfer->archive);
  }
  SECTION("because a server is too old for its contents") {
    auto& e = f.restore("abc", true);
    f.unpacked(f.out.take<unpack_archive>(), "command", false);
    const std::string why = "server b may not have feature level 6: install Belay 0.2.0 or newer there";
    f.decided(f.out.take<propose_write>(), wire::call_outcome::refused, true, why);
    f.check_calls_when_aborted(e, why, 409);
  }
  SECTION("by the state machine") {
    auto& e = f.restore("abc", true);
    f.unpacked(f.out.take<unpack_archive>(), "command", false);
    f.decided(f.out.take<propose_write>(), wire::call_outcome::done, state::refusal{"a part is missing"});
    f.check_calls_when_aborted(e, "a part is missing");
  }
  SECTION("because it is damaged after its beginning") {
    auto& e = f.restore("abc", true);
    f.unpacked(f.out.take<unpack_archive>(), "command", false);
    f.decided(f.out.take<propose_write>(), wire::call_outcome::done);
    f.unpacked(f.out.take<unpack_archive>(), nullptr, false, "damaged");
    f.check_calls_when_aborted(e, "damaged");
  }
  SECTION("because it is no archive, before anything was proposed") {
    auto& e = f.restore("abc", true);
    f.unpacked(f.out.take<unpack_archive>(), nullptr, false, "not gzip");
    CHECK(e.answer->body == "not gzip");
    CHECK(f.out.take<close_archive>().archive == e.transfer->archive);
    CHECK(f.out.list.empty());
  }
  SECTION("because its client has disconnected; one entry says so") {
    auto& e = f.restore("abc", true);
    f.unpacked(f.out.take<unpack_archive>(), "command", false);
    f.out.take<propose_write>();
    f.transfers.abandon(e);
    f.check_aborted(e.transfer->archive);
    f.transfers.abandon(e);
    f.out.take<close_archive>();
    CHECK(f.out.list.empty());
  }
}

TEST_CASE("archive_transfers: one restore at a time, until it has ended, successfully or not") {
  transfers_fixture f;
  const auto second_is_refused = [&] {
    const auto posted = f.out.list.size();
    auto& e = f.restore("abc", true);
    if (!e.answer)
      return false;
    CHECK(e.answer->status == 500);
    CHECK(e.answer->body == "another snapshot is being restored through this server: try again when it has ended");
    CHECK(f.out.list.size() == posted); // no actor gets a message
    return true;
  };
  auto& failing = f.restore("abc", true);
  CHECK(second_is_refused());
  f.unpacked(f.out.take<unpack_archive>(), nullptr, false, "damaged");
  CHECK(failing.answer);
  f.out.list.clear();

  auto& good = f.restore("abc", true);
  CHECK_FALSE(good.answer);
  f.unpacked(f.out.take<unpack_archive>(), "commit", true);
  const auto commit = f.out.take<propose_write>();
  CHECK(second_is_refused());
  f.decided(commit, wire::call_outcome::done);
  CHECK(good.answer->status == 200);

  auto& gone = f.restore("abc", true);
  CHECK_FALSE(gone.answer);
  f.out.list.clear();
  CHECK(second_is_refused());
  gone.transfer.reset(); // its client is gone, and the exchange with it
  CHECK_FALSE(second_is_refused());
}
