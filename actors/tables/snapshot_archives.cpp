#include "actors/tables/snapshot_archives.hpp"

#include "actors/telemetry/log.hpp"
#include "protocol/state/row_hash.hpp"
#include "protocol/wire/command_codec.hpp"

namespace belay::actors {

namespace {

// One piece of an archive takes a few milliseconds to pack, so that checkpoints and followers do not wait longer.
constexpr std::size_t piece_bytes = 256u << 10;
// Entries of this size cost little more per byte than larger ones, and with one large row more they stay below 1 MB.
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

/// @returns what is wrong; empty: nothing
std::string snapshot_archives::parse(restoring& r) {
  const auto parsed = r.parser.take(r.state, [&](const storage::row_view& row) -> status {
    const auto bytes = row.key.size() + row.value.size();
    if (bytes > state::row_bytes_max)
      return failure{"it has a row of " + std::to_string(bytes) + " bytes, more than " +
                     std::to_string(state::row_bytes_max)};
    r.row_bytes += bytes; // of those that are left out, too: so much was unpacked in one go
    auto decoded = wire::decode_row(row.table, row.key, row.value);
    if (!decoded)
      return failure{"it has a row that cannot be read"};
    r.written.note(*decoded);
    r.digest += state::row_hash(*decoded);
    // What another restore had gathered when the archive was written is no state to come back to.
    if (decoded->table == state::table::staging)
      return done{};
    if (auto why = state::complaint_of(*decoded))
      return failure{"it has a row that no request could have made: one of table " +
                     std::string(name_of(decoded->table)) + " " + *why};
    if (r.services.admits(*decoded))
      r.rows->push_back(std::move(*decoded));
    return done{};
  });
  r.state.clear();
  return parsed ? std::string() : not_ours + parsed.error();
}

void snapshot_archives::end_batch(restoring& r, archive_unpacked& answer) {
  answer.command = make_payload(wire::encode_command(state::restore_rows{r.id, r.batches, r.rows}));
  ++r.batches;
  r.rows = std::make_shared<std::vector<state::dirty_row>>();
  r.row_bytes = 0;
}

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
  while (r.row_bytes < batch_bytes && !all_taken) {
    if (auto why = r.reader.take(rest, r.state, piece_bytes))
      return fail(std::move(*why));
    all_taken = r.state.size() < piece_bytes;
    if (auto why = parse(r); !why.empty())
      return fail(std::move(why));
  }
  r.input.erase(0, r.input.size() - rest.size());
  if (!r.begun && r.parser.info()) {
    r.begun = true;
    answer.begins = state::restore_begin{r.id, r.parser.info()->meta.index};
    answer.command = make_payload(wire::encode_command(*answer.begins));
    return answer;
  }
  if (r.row_bytes >= batch_bytes) {
    end_batch(r, answer);
    return answer;
  }
  if (!u.last)
    return answer;
  // The whole archive is there: nothing of it comes into force unless all its checksums are right.
  if (auto why = r.reader.finish())
    return fail(std::move(*why));
  if (auto whole = r.parser.finish(); !whole)
    return fail(not_ours + whole.error());
  using verdict = state::stored_digest::verdict;
  const auto compared = r.written.compare(r.parser.info()->digest, r.digest);
  if (compared == verdict::different)
    return fail(not_ours + std::string("its rows do not have the digest it was written with"));
  if (!r.rows->empty()) {
    end_batch(r, answer);
    return answer;
  }
  if (compared == verdict::fault_of_0_2_0)
    log::warn("checkpointer", "archive accepted, although its digest differs from that of its rows",
              {{"index", r.parser.info()->meta.index.value},
               {"reason", "a server of 0.2.0 wrote it, with the answer of a keyed transaction that shows a locked key"}});
  state::command commit = state::restore_commit{r.id, r.batches};
  commit.by = u.by;
  answer.command = make_payload(wire::encode_command(commit));
  answer.last = true;
  restoring_.erase(u.archive);
  return answer;
}

} // namespace belay::actors
