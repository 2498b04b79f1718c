#include "protocol/wire/entry_codec.hpp"

#include "protocol/base/check.hpp"
#include "protocol/raft/configuration.hpp"

namespace belay::wire {

namespace {

constexpr std::uint8_t version = 1;

/// @returns r.ok(); later reads of a failed reader return zeros.
bool read_version(byte_reader& r) {
  if (r.u8() != version)
    r.fail();
  return r.ok();
}

} // namespace

void encode_entry(byte_writer& w, const raft::entry& e) {
  PRECONDITION(e.data != nullptr);
  PRECONDITION(!e.index.is_zero());
  [[maybe_unused]] const auto before = w.out().size();
  w.u8(version);
  w.u8(static_cast<std::uint8_t>(e.kind));
  w.u64(e.index.value);
  w.u64(e.term.value);
  w.u64(e.time.value);
  w.text(*e.data);
  INVARIANT_IN_DEVELOPMENT(w.out().size() - before <= entry_bytes_max(e));
}

std::size_t entry_bytes_max(const raft::entry& e) {
  return 2 + 3 * 8 + 10 + e.data->size();
}

bool decode_entry(byte_reader& r, raft::entry& e) {
  read_version(r);
  const auto kind = r.u8();
  e.index = log_index{r.u64()};
  e.term = term_id{r.u64()};
  e.time = cluster_time{r.u64()};
  const auto data = r.text();
  if (kind > static_cast<std::uint8_t>(raft::entry_kind::configuration))
    r.fail();
  if (e.index.is_zero())
    r.fail();
  e.kind = r.ok() ? static_cast<raft::entry_kind>(kind) : raft::entry_kind::noop;
  e.data = make_payload(data);
  return r.ok();
}

void encode_hard_state(byte_writer& w, const raft::hard_state& h) {
  w.u8(version);
  w.u64(h.term.value);
  w.u64(h.voted_for.value);
}

bool decode_hard_state(byte_reader& r, raft::hard_state& h) {
  if (!read_version(r))
    return false;
  h.term = term_id{r.u64()};
  h.voted_for = node_id{r.u64()};
  return r.ok();
}

void encode_snapshot_meta(byte_writer& w, const raft::snapshot_meta& m) {
  // decode_snapshot_meta() takes no other: a checkpoint could not be read again.
  PRECONDITION(m.config == raft::configuration{} || raft::well_formed(m.config));
  w.u8(version);
  w.u64(m.index.value);
  w.u64(m.term.value);
  w.u64(m.time.value);
  w.text(m.config == raft::configuration{} ? std::string{} : raft::encode(m.config));
}

bool decode_snapshot_meta(byte_reader& r, raft::snapshot_meta& m) {
  if (!read_version(r))
    return false;
  m.index = log_index{r.u64()};
  m.term = term_id{r.u64()};
  m.time = cluster_time{r.u64()};
  const auto config = r.text();
  m.config = {};
  if (r.ok() && !config.empty()) {
    if (auto c = raft::decode_configuration(config))
      m.config = std::move(*c);
    else
      r.fail();
  }
  return r.ok();
}

} // namespace belay::wire
