#pragma once
// All that a node of the simulation has on its disk: the real Raft log on simulated files, and a simulated checkpoint.
// Owned by the node; outlives its actors.

#include "sim/disks/simulated_checkpoints.hpp"
#include "sim/disks/simulated_files.hpp"
#include "sim/run.hpp"
#include "storage/log/log_store.hpp"

#include <map>
#include <memory>
#include <string>

namespace belay::sim {

enum class crash_kind : std::uint8_t {
  kill, ///< of the process: what was written is there
  power ///< what was not synced may be gone
};

/// The choices of one stream.
inline choice choices_of(tape& t, stream s) {
  return [&t, s](std::uint64_t n) { return t.choose(s, n); };
}

class simulated_disk {
public:
  /// Segments of the log: rounded up as segment_log does.
  explicit simulated_disk(std::size_t segment_bytes) : segment_bytes_(segment_bytes) {}

  /// Of the server; the log is below it.
  static constexpr auto data_directory = "data";
  /// A new life of the log begins; load() comes next. Fails if the last one has not ended with crash().
  result<std::shared_ptr<storage::log_store>> open_log();
  /// As opened; null: not open.
  const std::shared_ptr<storage::log_store>& log() const { return log_; }
  const std::shared_ptr<simulated_checkpoints>& checkpoints() const { return checkpoints_; }
  simulated_files& files() { return files_; }

  // ---- ends
  /// The machine goes off while a write is going on: the next one will end in the middle, or come to its end unheard.
  /// crash() must follow. @returns false: it has not begun
  bool interrupt_next(tape& t, stream s);
  /// Who used the stores is gone. Faults to come are off; a disk that was full is full.
  void crash(crash_kind how, tape& t, stream s);
  /// An empty disk of the same size. @pre nobody uses the stores
  void wipe();
  /// What may be lost of a disk while the rest is there: the volume with the log, or the file that says whose all that is.
  enum class part : std::uint8_t { log, identity };
  /// Until bring_back(). @pre nobody uses the stores
  void lose(part p);
  void bring_back() { files_.put_back(); }

  // ---- faults
  void set_full(bool full);
  bool full() const { return full_; }
  /// The n-th changing call from now fails (1: the next one) in log and checkpoints, which count each for themselves.
  /// 0: none.
  void fail_next(std::uint64_t n);
  /// Anywhere in what is used. @returns what was hit, for the trace; empty: there is nothing on this disk
  std::string flip_bit(tape& t, stream s);
  /// Until then writes do not come to their end; for the one who schedules them.
  void stall_until(virtual_time when) { stalled_until_ = when; }
  virtual_time stalled_until() const { return stalled_until_; }
  /// The last write of the log that a stall held up: when it ends. A stall that is over sooner does not free it.
  void note_hanging_write(virtual_time until) { hanging_write_until_ = until; }
  virtual_time hanging_write_until() const { return hanging_write_until_; }
  /// The same for checkpoints only: a part of the disk that is hard to read.
  void stall_checkpoints_until(virtual_time when) { checkpoints_stalled_until_ = when; }
  virtual_time checkpoints_stalled_until() const { return std::max(stalled_until_, checkpoints_stalled_until_); }

  /// What happened to this disk, by name.
  std::map<std::string, std::uint64_t> counts() const;

private:
  std::size_t segment_bytes_;
  simulated_files files_;
  std::shared_ptr<simulated_checkpoints> checkpoints_ = std::make_shared<simulated_checkpoints>();
  std::shared_ptr<storage::log_store> log_;
  std::uint64_t lives_ = 0;
  bool full_ = false;
  virtual_time stalled_until_{0}, checkpoints_stalled_until_{0}, hanging_write_until_{0};
  std::uint64_t power_losses_ = 0, bits_flipped_ = 0, writes_interrupted_ = 0;
};

} // namespace belay::sim
