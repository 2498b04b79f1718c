#pragma once
// A file system in memory that knows what is synced. It can lose power, fill up, fail, or stop.
//
// Contents are durable once their file was synced, names once their directory was, as in POSIX.
// Directories are durable at once. Opening an existing name `fresh` makes a new file under it.

#include "storage/file_system.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace belay::sim {

/// @returns a number below n. 0 is the least eventful choice.
using choice = std::function<std::uint64_t(std::uint64_t n)>;

/// A write that was not synced before the power loss.
struct unsynced_write {
  std::uint64_t offset = 0;
  std::string_view bytes;
  bool last = false; ///< the last write of all before the power loss
};

/// Bytes of one write, from its beginning.
struct byte_range {
  std::size_t from = 0, n = 0;
};

/// What survives of unsynced changes.
struct survival {
  /// How many of the pending name changes in one directory survive: the first ones. Every
  /// journaling file system keeps their order.
  std::function<std::size_t(std::size_t pending)> names;
  std::function<std::vector<byte_range>(const unsynced_write& w)> bytes;
};

/// All is lost if all choices are 0. Else each write is lost, kept, cut, or there in some sectors.
survival drawn_survival(choice c);
survival nothing_survives();
survival all_survives();

class simulated_files final : public storage::file_system {
public:
  simulated_files() = default;
  simulated_files(const simulated_files&) = delete;
  simulated_files& operator=(const simulated_files&) = delete;

  result<std::unique_ptr<storage::file>> open(const std::string& path, storage::open_mode mode) override;
  /// Within one directory.
  status rename(const std::string& from, const std::string& to) override;
  status remove(const std::string& path) override;
  status sync_directory(const std::string& directory) override;
  status make_directory(const std::string& directory) override;
  result<std::vector<std::string>> list(const std::string& directory) override;
  result<std::optional<std::string>> read_if_there(const std::string& path) override;
  result<std::unique_ptr<storage::file_lock>> lock(const std::string& directory) override;

  // ---- ends of the process: open files are unusable, locks released, planned faults off
  /// The system continues: all that was written remains, and what was not synced is still not.
  void kill();
  void lose_power(const survival& how);
  void wipe();

  /// A volume is not mounted: paths with that prefix are absent until put_back(), which hides what
  /// was written there meanwhile. Call both between two lives of the process, for one volume.
  void take_away(const std::string& path);
  void put_back();

  static constexpr std::uint64_t unlimited = std::uint64_t{1} << 60; // offsets can be added to it

  // ---- faults. A "changing call" is a write, a sync, or a change of names.
  /// Limit for the bytes of all files. Beyond it calls fail; a write first does the part that fits.
  void set_capacity(std::uint64_t bytes) { capacity_ = bytes; }
  /// No new space at all.
  void set_full(bool full) { set_capacity(full ? 0 : unlimited); }
  /// The n-th changing call from now fails (1: the next); of a write, the first half is done. 0:
  /// none.
  void fail_next(std::uint64_t n);
  /// The n-th changing call from now (1: the next) is not done, except the first `part` / 65536 of
  /// a write; nor is anything after it, until kill() or lose_power(). 0: none.
  void stop_after(std::uint64_t n, std::uint16_t part);
  bool stopped() const { return stopped_; }
  /// Writes that fail or are stopped end with a sector, as on every disk.
  void set_whole_sectors(bool whole) { whole_sectors_ = whole; }

  struct flipped {
    std::string path;
    std::uint64_t offset = 0;
  };
  /// Bits of all files up to their last byte that is not zero.
  std::uint64_t used_bits() const;
  /// @pre n < used_bits()
  flipped flip_bit(std::uint64_t n);

  // ---- observers
  struct counters {
    std::uint64_t writes = 0, syncs = 0;
    std::uint64_t changes = 0;                       ///< changing calls, including rejected ones
    std::uint64_t full = 0, failed = 0, stopped = 0; ///< rejected calls
    std::uint64_t writes_lost = 0, writes_cut = 0;   ///< by lose_power(): wholly, partly
    std::uint64_t names_lost = 0;                    ///< name changes lost by lose_power()
  };
  const counters& counted() const { return counters_; }
  std::uint64_t bytes_used() const;
  std::vector<std::string> paths() const;
  /// The bytes of a file, for tests that damage them; null: no such file. Keeps what is synced.
  std::string* contents(const std::string& path);
  /// The same contents, synced or not; without faults, limits, locks and open files.
  std::unique_ptr<simulated_files> copy() const;
  /// Called after each changing call.
  std::function<void()> changed;

private:
  class handle;
  class held_lock;

  struct pending_write {
    std::uint64_t number = 0;
    std::uint64_t offset = 0;
    std::size_t n = 0;
    std::string before; ///< what it overwrote
    std::size_t size_before = 0;
    bool doubtful = false; ///< a sync failed since: no later one makes it durable
    bool durable = false;  ///< kept only because a doubtful one is below it
  };
  struct inode {
    std::string bytes;
    std::vector<pending_write> pending; ///< oldest first
  };
  using inode_ptr = std::shared_ptr<inode>;
  using name_map = std::map<std::string, inode_ptr>;

  /// A name change. Without inode, `path` is removed or becomes `to`.
  struct pending_name {
    std::string path, to;
    inode_ptr created;
  };

  enum class obstacle : std::uint8_t { none, failing, stopping };
  obstacle next_obstacle();
  failure refusal(obstacle o);
  status change_name(pending_name change);
  void synced() const;
  static void apply(name_map& names, const pending_name& change);
  std::uint64_t free_bytes() const;
  void write(inode& into, std::uint64_t offset, std::string_view bytes);
  void settle(inode& i, const survival& how);
  void end_life();
  void remove_below(const std::string& path);

  name_map names_;
  name_map away_; ///< what is not mounted
  std::string away_path_;
  name_map durable_names_;
  std::map<std::string, std::vector<pending_name>> pending_names_; ///< by directory, oldest first
  std::map<std::string, std::shared_ptr<bool>> locks_;             ///< by directory; true while held
  std::uint64_t life_ = 0;
  std::uint64_t last_write_ = 0;
  std::uint64_t capacity_ = unlimited;
  std::uint64_t fail_in_ = 0, stop_in_ = 0; ///< 0: not
  std::uint16_t stop_part_ = 0;
  bool stopped_ = false, whole_sectors_ = false;
  counters counters_;
};

} // namespace belay::sim
