#include "sim/disks/simulated_checkpoints.hpp"

#include "sim/disks/lmdb_damage.hpp"
#include "sim/disks/memory_folder.hpp"

#include <utility>

namespace belay::sim {

namespace {

void flip(std::string& bytes, std::uint64_t n) {
  bytes[n / 8] = static_cast<char>(bytes[n / 8] ^ (1 << n % 8));
}

constexpr auto data_file = "/state/checkpoint.mdb";

} // namespace

simulated_checkpoints::simulated_checkpoints(storage::row_hash_function hash)
    : hash_(hash), folder_(make_memory_folder()) {}

simulated_checkpoints::~simulated_checkpoints() {
  store_.reset();
  remove_memory_folder(folder_);
}

storage::lmdb_checkpoint* simulated_checkpoints::open() const {
  if (!dead_.empty())
    return nullptr;
  if (store_ != nullptr)
    return store_.get();
  storage::lmdb_checkpoint_options o;
  o.map_bytes = 16u << 20;
  o.row_hash = hash_;
  o.always_read_whole = true;
  o.checks_ahead = false; // a thread costs more than the few rows of a simulated server
  o.before_proof = [self = const_cast<simulated_checkpoints*>(this)] {
    if (const auto n = std::exchange(self->commit_flip_, std::nullopt)) {
      ++self->counters_.commits_damaged;
      if (const auto bits = self->used_bits(); bits > 0)
        self->flip_bit(*n % bits);
    }
  };
  auto opened = storage::lmdb_checkpoint::open(folder_, o);
  if (!opened) {
    dead_ = opened.error();
    return nullptr;
  }
  store_ = std::move(opened).value();
  return store_.get();
}

// ---- contents

result<std::optional<storage::checkpoint_info>> simulated_checkpoints::info() {
  auto* s = open();
  return s != nullptr ? s->info() : result<std::optional<storage::checkpoint_info>>(failure{dead_});
}

status simulated_checkpoints::load(const std::function<void(std::uint8_t, std::string_view, std::string_view)>& row) {
  auto* s = open();
  return s != nullptr ? s->load(row) : status(failure{dead_});
}

std::optional<log_index> simulated_checkpoints::older_index() const {
  const auto* s = open();
  return s != nullptr ? s->older_index() : std::nullopt;
}

std::uint64_t simulated_checkpoints::bytes() const {
  const auto* s = open();
  return s != nullptr ? s->bytes() : 0;
}

result<std::optional<std::string>> simulated_checkpoints::fall_back() {
  auto* s = open();
  if (s == nullptr)
    return failure{dead_};
  auto found = s->fall_back();
  counters_.fallen_back += found && *found;
  return found;
}

status simulated_checkpoints::start_empty() {
  auto* s = open();
  if (s == nullptr)
    return failure{dead_};
  auto done = s->start_empty();
  counters_.fallen_back += done.ok();
  return done;
}

// ---- commit

failure simulated_checkpoints::die(std::string why) {
  dead_ = std::move(why);
  return failure{dead_};
}

std::optional<failure> simulated_checkpoints::before_change(const char* what) {
  if (open() == nullptr)
    return failure{dead_};
  if (stop_) {
    ++counters_.stopped;
    return die(std::string("cannot ") + what + ": the machine is going off (simulated)");
  }
  if (fail_in_ > 0 && --fail_in_ == 0) {
    ++counters_.failed;
    return failure{std::string("cannot ") + what + ": I/O error (simulated)"};
  }
  if (full_) {
    ++counters_.full;
    return storage::no_space("cannot " + std::string(what) + " (simulated)");
  }
  return std::nullopt;
}

status simulated_checkpoints::commit(const storage::checkpoint_delta& delta) {
  if (auto f = before_change("commit to the simulated checkpoint")) {
    if (f->kind == failure_kind::no_space)
      ++refused_;
    else if (dead_.empty())
      return die(f->text);
    return *f;
  }
  auto s = open()->commit(delta);
  if (s)
    commits_.push_back(delta.full);
  else if (s.reason().kind == failure_kind::unproven)
    ++counters_.unproven;
  return s;
}

result<std::uint64_t> simulated_checkpoints::keep_older() {
  if (auto f = before_change("copy the simulated checkpoint"))
    return *f;
  return open()->keep_older();
}

// ---- the window of changes

result<bool> simulated_checkpoints::keep_changes(const storage::checkpoint_info& next,
                                                 const storage::kept_delta& delta) {
  auto* s = open();
  return s != nullptr ? s->keep_changes(next, delta) : result<bool>(failure{dead_});
}

result<std::optional<log_index>>
simulated_checkpoints::load_changes(const std::function<void(log_index, std::uint64_t, std::string_view)>& row) {
  auto* s = open();
  return s != nullptr ? s->load_changes(row) : result<std::optional<log_index>>(failure{dead_});
}

// ---- snapshots

std::string simulated_checkpoints::on_its_way(std::string chunk) {
  if (chunk_flip_ && !chunk.empty()) {
    flip(chunk, *chunk_flip_ % (8 * chunk.size()));
    chunk_flip_.reset();
    ++counters_.chunks_flipped;
  }
  return chunk;
}

result<storage::checkpoint_store::chunk> simulated_checkpoints::read_snapshot(log_index index, std::uint64_t offset,
                                                                              std::size_t bytes_max) {
  auto* s = open();
  if (s == nullptr)
    return failure{dead_};
  if (index.is_zero()) { // the snapshot may have to be frozen first
    const auto now = s->info();
    if (now && *now && (*now)->meta.index != frozen_) {
      if (auto f = before_change("freeze a snapshot of the simulated checkpoint"))
        return *f;
      frozen_ = (*now)->meta.index;
    }
  }
  auto c = s->read_snapshot(index, offset, bytes_max);
  if (c && chunk_flip_)
    c->bytes = make_payload(on_its_way(std::string(*c->bytes)));
  return c;
}

result<std::uint64_t> simulated_checkpoints::write_snapshot(const raft::snapshot_meta& meta, std::uint64_t offset,
                                                            std::string_view bytes, bool last,
                                                            storage::snapshot_validator* validator) {
  if (auto f = before_change("write an incoming snapshot")) {
    incoming_refused_ = true;
    return *f;
  }
  if (offset == 0)
    incoming_refused_ = false;
  if (incoming_refused_)
    return failure{"no snapshot has been started"};
  auto stored = open()->write_snapshot(meta, offset, on_its_way(std::string(bytes)), last, validator);
  if (stored)
    ++chunks_written_;
  if (stored && last)
    ++installed_;
  return stored;
}

// ---- ends and faults

void simulated_checkpoints::crash() {
  store_.reset();
  dead_.clear();
  stop_ = false;
  fail_in_ = 0;
  chunk_flip_.reset();
  commit_flip_.reset();
  frozen_ = {};
  incoming_refused_ = false;
}

void simulated_checkpoints::wipe() {
  crash();
  remove_memory_folder(folder_);
  folder_ = make_memory_folder();
}

std::uint64_t simulated_checkpoints::used_bits() const {
  return open() != nullptr ? bits_of_rows(folder_ + data_file) : 0;
}

void simulated_checkpoints::flip_bit(std::uint64_t n) {
  PRECONDITION(n < used_bits());
  ++counters_.bits_flipped;
  flip_bit_of_rows(folder_ + data_file, n);
}

} // namespace belay::sim
