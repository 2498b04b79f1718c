#include "actors/tables/snapshot_archives.hpp"

#include "actors/telemetry/log.hpp"
#include "protocol/state/counters.hpp"
#include "protocol/wire/command_codec.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

// One piece takes a few milliseconds to pack, so that checkpoints and followers do not wait longer.
constexpr std::size_t piece_bytes = 256u << 10;
// Larger entries cost little less per byte, and with one large row more these stay below 1 MB.
constexpr std::size_t batch_bytes = 256u << 10;

constexpr auto not_ours = "failed to restore snapshot: state.bin is not one of this server's: ";

archive::archive_meta meta_of(const raft::snapshot_meta& m, std::uint64_t state_bytes) {
  archive::archive_meta out;
  out.index = m.index;
  out.term = m.term;
  out.time_ms = m.time.value;
  out.state_bytes = state_bytes;
  for (const auto& member : m.config.members)
    out.servers.push_back({member.uuid, member.address, m.config.is_voter(member.id)});
  return out;
}

} // namespace

archive_packed snapshot_archives::pack(const pack_archive& p) {
  archive_packed answer;
  answer.id = p.id;
  auto& s = saving_[p.archive];
  auto chunk = store_.read_snapshot(s.meta.index, s.offset, piece_bytes);
  if (!chunk) {
    answer.error = chunk.error();
    saving_.erase(p.archive);
    return answer;
  }
  if (s.writer == nullptr) {
    s.meta = chunk->meta;
    s.writer = std::make_unique<archive::archive_writer>(meta_of(chunk->meta, chunk->total_bytes));
    s.writer->begin(answer.bytes);
  }
  if (answer.error = prove(s, *chunk); !answer.error.empty()) {
    log::error("checkpointer", "archive truncated: the data differs from the digest of the checkpoint",
               {{"index", s.meta.index.value},
                {"error", answer.error},
                {"advice", "check the disk of this server, and save the archive from another server"}});
    saving_.erase(p.archive);
    return answer;
  }
  answer.index = s.meta.index;
  s.writer->add(*chunk->bytes, answer.bytes);
  s.offset += chunk->bytes->size();
  if (chunk->last) {
    s.writer->finish(answer.bytes);
    answer.last = true;
    saving_.erase(p.archive);
  }
  return answer;
}

std::string snapshot_archives::prove(saving& s, const storage::checkpoint_store::chunk& piece) {
  auto parsed = s.parser.take(*piece.bytes, [&](const storage::row_view& row) { return s.sum.add(row); });
  if (parsed && piece.last)
    parsed = s.parser.finish();
  if (!parsed)
    return parsed.error();
  if (piece.last && s.sum.compare(s.parser.info()->digest) == state::stored_digest::comparison::different)
    return "the digest of its rows differs from that of the checkpoint";
  return {};
}

/// @returns what is wrong; empty: nothing
std::string snapshot_archives::parse(restoring& r) {
  const auto why = r.all.take(r.state, [&](state::dirty_row row) {
    const auto* c = std::get_if<state::counter>(&row.row);
    r.bootstrap_closed =
        r.bootstrap_closed || (c != nullptr && c->name == name_of(state::index_kind::acl_bootstrap) && c->value > 0);
    r.rows->push_back(std::move(row));
  });
  r.state.clear();
  return why.empty() ? why : not_ours + why;
}

void snapshot_archives::end_batch(restoring& r, archive_unpacked& answer) {
  answer.command = make_payload(wire::encode_command(state::restore_rows{r.id, r.batches, r.rows}));
  ++r.batches;
  r.rows = std::make_shared<std::vector<state::dirty_row>>();
  r.batched_bytes = r.all.bytes();
}

/// An archive from before ACLs would open acl/bootstrap to everyone again. A client that restores
/// on behalf of a token has ACLs in force, and a token with all permissions. The mark is a row
/// of the log, so that servers of all versions apply the same; a restore lowers the index.
void snapshot_archives::close_bootstrap(restoring& r) {
  const std::string name(name_of(state::index_kind::acl_bootstrap));
  r.bootstrap_closed = true;
  r.rows->push_back(
      {state::table::counters, name, state::counter{name, std::max<std::uint64_t>(1, r.all.info()->meta.index.value)}});
}

/// Unpacks what has arrived until a batch of rows is full. The answer has the next command to
/// propose: the beginning of the restore, a batch of rows, or, after the last byte and with all
/// checksums right, the commit.
archive_unpacked snapshot_archives::unpack(unpack_archive& u) {
  archive_unpacked answer;
  answer.id = u.id;
  auto& r = restoring_[u.archive];
  r.id = u.restore_id;
  r.input += u.bytes;
  const auto fail = [&](std::string why) {
    answer.error = std::move(why);
    restoring_.erase(u.archive);
    return answer;
  };
  std::string_view rest = r.input;
  bool all_taken = false;
  const auto batch_is_full = [&] { return r.all.bytes() - r.batched_bytes >= batch_bytes; };
  while (!batch_is_full() && !all_taken) {
    if (auto why = r.reader.take(rest, r.state, piece_bytes))
      return fail(std::move(*why));
    all_taken = r.state.size() < piece_bytes;
    if (auto why = parse(r); !why.empty())
      return fail(std::move(why));
  }
  r.input.erase(0, r.input.size() - rest.size());
  if (!r.begun && r.all.info()) {
    r.begun = true;
    answer.begins = state::restore_begin{r.id, r.all.info()->meta.index};
    answer.command = make_payload(wire::encode_command(*answer.begins));
    return answer;
  }
  if (batch_is_full()) {
    end_batch(r, answer);
    return answer;
  }
  if (!u.last)
    return answer;
  // The archive is complete: nothing of it is applied unless all its checksums are right.
  if (auto why = r.reader.finish())
    return fail(std::move(*why));
  if (auto why = r.all.finish(); !why.empty())
    return fail(not_ours + why);
  if (u.by && !r.bootstrap_closed)
    close_bootstrap(r);
  if (!r.rows->empty()) {
    end_batch(r, answer);
    return answer;
  }
  if (r.all.has_fault_of_0_2_0())
    log::warn(
        "checkpointer", "archive accepted, although its digest differs from that of its rows",
        {{"index", r.all.info()->meta.index.value},
         {"reason", "a server of 0.2.0 wrote it, with the stored outcome of a transaction that shows a locked key"}});
  state::command commit = state::restore_commit{r.id, r.batches};
  commit.by = u.by;
  answer.command = make_payload(wire::encode_command(commit));
  answer.last = true;
  restoring_.erase(u.archive);
  return answer;
}

} // namespace belay::actors
