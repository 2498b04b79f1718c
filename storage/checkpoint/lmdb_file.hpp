#pragma once
// One named LMDB file that grows when necessary and can be replaced. Each commit is one synced
// transaction. A new file is synced and renamed: after a crash the old or the new one is there.

#include "storage/checkpoint/lmdb_env.hpp"
#include "storage/checkpoint/lmdb_meta.hpp"
#include "storage/file_system.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace belay::storage {

/// The failure for a code of LMDB or the system; 0: success.
status as_status(int code, const std::string& what, const std::string& path);

/// Maximum bytes of a new file per commit: LMDB keeps the pages of a transaction in memory.
inline constexpr std::size_t appended_bytes_max = 8u << 20;

/// Upper bound of the space for rows in the file.
class space_estimate {
public:
  void add(std::size_t key_bytes, std::size_t value_bytes) { bytes_ += row_overhead + key_bytes + value_bytes; }
  std::uint64_t bytes() const { return bytes_; }

private:
  static constexpr std::uint64_t row_overhead = 64; // the row's header, LMDB's node and its share of the page
  std::uint64_t bytes_ = 0;
};

class lmdb_file {
public:
  struct limits {
    std::uint64_t map_bytes;     ///< address space reserved at first
    std::uint64_t map_bytes_max; ///< beyond it commits fail for lack of space
  };
  /// @param name file in `directory`
  /// @param new_name its name while a new one is built
  lmdb_file(file_system& files, std::string directory, std::string name, std::string new_name, limits l);

  /// Removes a new file left by a crash.
  status remove_leftover();
  enum class pages : std::uint8_t {
    trusted, ///< this process wrote them
    checked, ///< check_lmdb_pages() reads them first
  };
  /// @returns false: there is none
  result<bool> open_if_there(pages p);
  status open_or_create();
  /// @pre it is open
  lmdb_env& env() const { return *env_; }
  bool is_open() const { return env_ != nullptr; }
  std::string new_path() const { return directory_ + "/" + new_name_; }

  /// One transaction. `write` returns 0 or LMDB's code; it is called again after the map has grown.
  /// After a failure of the kind no_space the file is unchanged and usable, after others unusable
  /// (dead()). `prove`, if not null, reads the durable commit; commit() returns its failure.
  status commit(std::uint64_t bytes_estimate, const std::function<int(lmdb_transaction&)>& write,
                const std::function<status()>& prove = nullptr);
  /// Creates a whole new file. `fill` writes it; `prove`, if not null, reads it once it is
  /// durable. After a failure the old one is in force, unless dead() says otherwise.
  status replace_with(std::uint64_t bytes_estimate, const std::function<status(lmdb_transaction&)>& fill,
                      const std::function<status(lmdb_env&)>& prove = nullptr);

  /// Puts the commit before the newest one in force. @returns false: there is none
  result<bool> revert();
  /// Undoes revert(), unless something was committed since.
  status undo_revert();

  /// Empty: it may be used.
  const std::string& dead() const { return dead_; }
  failure die(const std::string& why);

private:
  status grow_map(std::uint64_t more);
  /// Frees the memory of the largest transaction, which LMDB otherwise keeps until its environment
  /// is closed.
  void give_back_memory();
  status put_in_force();
  status discard_new(failure why);

  file_system& files_;
  std::string directory_, name_, new_name_;
  limits limits_;
  std::unique_ptr<lmdb_env> env_;
  std::optional<replaced_meta> reverted_;
  std::string dead_;
};

} // namespace belay::storage
