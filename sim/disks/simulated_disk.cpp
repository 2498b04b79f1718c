#include "sim/disks/simulated_disk.hpp"

#include "protocol/base/probe.hpp"
#include "storage/log/segment_log.hpp"

namespace belay::sim {

namespace {

constexpr auto log_directory = "data/raft";
// A new segment: write, sync, rename, sync of the directory; creation, filling, sync of the next.
constexpr std::uint64_t calls_of_an_append_max = 7;

} // namespace

result<std::shared_ptr<storage::log_store>> simulated_disk::open_log() {
  storage::segment_log_options o;
  o.segment_bytes = segment_bytes_;
  // Half a segment, so that most appends find the next one ready and some do not.
  o.fill_bytes = segment_bytes_ / 2;
  o.seed = ++lives_; // every life has other salts, as every process has
  auto log = storage::segment_log::open(files_, log_directory, o);
  if (!log)
    return log.reason();
  log_ = std::move(log).value();
  return log_;
}

bool simulated_disk::interrupt_next(tape& t, stream s) {
  const auto calls = t.choose(s, 1 + calls_of_an_append_max);
  if (calls == 0)
    return false;
  ++writes_interrupted_;
  files_.stop_after(calls, static_cast<std::uint16_t>(t.choose(s, 1u << 16)));
  // A commit is one step: it is not carried out, or it is carried out and the caller never learns
  // that.
  if (calls % 2 == 1)
    checkpoints_->stop_at_next();
  return true;
}

void simulated_disk::crash(crash_kind how, tape& t, stream s) {
  log_.reset();
  checkpoints_->crash();
  if (how == crash_kind::kill) {
    files_.kill();
    return;
  }
  ++power_losses_;
  const auto before = files_.counted();
  files_.lose_power(drawn_survival(choices_of(t, s)));
  const auto& after = files_.counted();
  if (after.writes_lost > before.writes_lost)
    PROBE("sim: a write that was not synced is lost");
  if (after.writes_cut > before.writes_cut)
    PROBE("sim: a write that was not synced is there in part");
  if (after.names_lost > before.names_lost)
    PROBE("sim: a file name that was not synced is lost");
}

void simulated_disk::wipe() {
  log_.reset();
  files_.wipe();
  checkpoints_->wipe();
}

void simulated_disk::lose(part p) {
  files_.take_away(p == part::log ? std::string(log_directory) + "/" : std::string(data_directory) + "/identity");
}

void simulated_disk::set_full(bool full) {
  full_ = full;
  files_.set_full(full);
  checkpoints_->set_full(full);
}

void simulated_disk::fail_next(std::uint64_t n) {
  files_.fail_next(n);
  checkpoints_->fail_next(n);
}

std::string simulated_disk::flip_bit(tape& t, stream s) {
  const auto log_bits = files_.used_bits();
  const auto all = log_bits + checkpoints_->used_bits();
  if (all == 0)
    return {};
  ++bits_flipped_;
  const auto n = t.choose(s, all);
  if (n >= log_bits) {
    checkpoints_->flip_bit(n - log_bits);
    return "checkpoint";
  }
  const auto hit = files_.flip_bit(n);
  return hit.path + " at offset " + std::to_string(hit.offset);
}

std::map<std::string, std::uint64_t> simulated_disk::counts() const {
  const auto& f = files_.counted();
  const auto& c = checkpoints_->counted();
  return {{"power losses", power_losses_},         {"writes interrupted", writes_interrupted_},
          {"unsynced writes lost", f.writes_lost}, {"unsynced writes cut", f.writes_cut},
          {"unsynced names lost", f.names_lost},   {"calls refused, full", f.full + c.full},
          {"calls failed", f.failed + c.failed},   {"bits flipped", bits_flipped_},
          {"chunks flipped", c.chunks_flipped}};
}

} // namespace belay::sim
