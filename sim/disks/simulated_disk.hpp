#pragma once
// The disk of a simulated node: the real Raft log on simulated files, and a simulated checkpoint.
// The node owns it; it outlives the node's actors.

#include "sim/disks/simulated_checkpoints.hpp"
#include "sim/disks/simulated_files.hpp"
#include "sim/run.hpp"
#include "storage/log/log_store.hpp"

#include <map>
#include <memory>
#include <string>

namespace belay::sim {

enum class crash_kind : std::uint8_t {
  kill, ///< death of the process: what was written remains
  power ///< what was not synced may be lost
};

/// The choices of one stream.
inline choice choices_of(tape& t, stream s) {
  return [&t, s](std::uint64_t n) { return t.choose(s, n); };
}

class simulated_disk {
public:
  /// @param segment_bytes rounded up as by segment_log
  explicit simulated_disk(std::size_t segment_bytes) : segment_bytes_(segment_bytes) {}

  /// The server's directory; the log is below it.
  static constexpr auto data_directory = "data";
  /// Begins a new life of the log; call load() next. Fails if the last one did not end in crash().
  result<std::shared_ptr<storage::log_store>> open_log();
  /// As opened; null: not open.
  const std::shared_ptr<storage::log_store>& log() const { return log_; }
  const std::shared_ptr<simulated_checkpoints>& checkpoints() const { return checkpoints_; }
  simulated_files& files() { return files_; }

  // ---- ends
  /// The machine loses power in the next write, which ends in the middle or without a response.
  /// crash() must follow. @returns false: the write has not begun
  bool interrupt_next(tape& t, stream s);
  /// The users of the stores are gone. Planned faults are off; a full disk stays full.
  void crash(crash_kind how, tape& t, stream s);
  /// An empty disk of the same size. @pre the stores are not in use
  void wipe();
  /// A part of a disk that may be lost alone: the volume with the log, or the file with the
  /// identity.
  enum class part : std::uint8_t { log, identity };
  /// Lasts until bring_back(). @pre the stores are not in use
  void lose(part p);
  void bring_back() { files_.put_back(); }

  // ---- faults
  void set_full(bool full);
  bool full() const { return full_; }
  /// The n-th changing call from now fails (1: the next), separately in log and checkpoints.
  /// 0: none.
  void fail_next(std::uint64_t n);
  /// Flips a bit in used space. @returns what was hit, for the trace; empty: the disk is empty
  std::string flip_bit(tape& t, stream s);
  /// Until then writes do not finish; the schedule reads this.
  void stall_until(virtual_time when) { stalled_until_ = when; }
  virtual_time stalled_until() const { return stalled_until_; }
  /// When the last write of the log that a stall delays ends, even if the stall ends before.
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
