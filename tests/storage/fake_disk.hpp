#pragma once
// A disk in memory that remembers every call, can fail any of them, and can be rebuilt as a power loss would leave it.

#include "protocol/base/random.hpp"
#include "storage/file_system.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace belay::tests {

/// What one call did. Directories are not modelled: all names belong to one.
struct disk_operation {
  enum class kind : std::uint8_t { write, sync, create, rename, remove, sync_directory };
  disk_operation::kind kind = kind::write;
  std::uint64_t inode = 0;
  std::uint64_t offset = 0;
  std::string bytes;
  std::string name;
  std::string to;
};

/// How the writes and names that were not synced come through a power loss.
enum class survival : std::uint8_t {
  all,     ///< everything written is there
  nothing, ///< only what was synced
  torn,    ///< the last write up to any byte, what came before whole
  any,     ///< any sectors of any unsynced write; names up to any point
};

class fake_disk : public storage::file_system {
public:
  using inode_map = std::map<std::uint64_t, std::shared_ptr<std::string>>;

  result<std::unique_ptr<storage::file>> open(const std::string& path, storage::open_mode mode) override;
  status rename(const std::string& from, const std::string& to) override;
  status remove(const std::string& path) override;
  status sync_directory(const std::string& directory) override;
  status make_directory(const std::string&) override { return done{}; }
  result<std::vector<std::string>> list(const std::string& directory) override;
  result<std::unique_ptr<storage::file_lock>> lock(const std::string& directory) override;

  /// The n-th changing call from now (0 is the next one) fails; `for_good`: and all after it. A failing write leaves a
  /// part.
  void fail_after(std::uint64_t n, bool for_good);
  bool failed() const { return failed_; }
  /// Bytes all files together may have; writing beyond gives "no space".
  void set_capacity(std::uint64_t bytes) { capacity_ = bytes; }
  std::uint64_t bytes_used() const;

  const std::vector<disk_operation>& operations() const { return operations_; }
  std::uint64_t syncs() const { return syncs_; }
  std::uint64_t writes() const { return writes_; }

  /// The disk after a power loss when `count` of these operations had been done.
  static std::unique_ptr<fake_disk> after_power_loss(const std::vector<disk_operation>& operations, std::size_t count,
                                                     survival how, seeded_random& random);

  /// Contents of the file that ends in `name`, to be changed at will; null: none.
  std::string* contents(const std::string& name);
  std::vector<std::string> names() const;

private:
  class fake_file;

  std::optional<failure> before_change(std::uint64_t growth = 0);
  void record(disk_operation op);

  std::map<std::string, std::uint64_t> names_;
  inode_map inodes_;
  std::uint64_t next_inode_ = 1;
  std::vector<disk_operation> operations_;
  std::shared_ptr<bool> locked_ = std::make_shared<bool>(false); ///< a lock may outlive the disk in a test
  bool failing_ = false;
  bool for_good_ = false;
  bool failed_ = false;
  std::uint64_t fail_in_ = 0;
  std::uint64_t capacity_ = UINT64_MAX;
  std::uint64_t syncs_ = 0;
  std::uint64_t writes_ = 0;
};

} // namespace belay::tests
