#pragma once
// A copy of an earlier checkpoint as a flat file (snapshot_file.hpp), for when the newest one is
// damaged. The log must reach back to it. In the folder of the checkpoint:
//
//   older.snapshot   the copy
//   older.new        the next one under construction; renamed once it is durable and proven
//
// Servers up to 0.2.0 do not know these files and leave them unchanged.

#include "storage/checkpoint/row_proof.hpp"
#include "storage/checkpoint/snapshot_file.hpp"

#include <memory>
#include <optional>
#include <string>

namespace belay::storage {

class older_generation {
public:
  older_generation(file_system& files, std::string directory, row_hash_function hash)
      : files_(files), directory_(std::move(directory)), hash_(hash) {}

  /// Removes leftovers of a crash, and reads the index of the copy. A damaged one counts as none.
  status open();
  /// nullopt: there is no copy.
  const std::optional<checkpoint_info>& info() const { return info_; }
  /// Whether there is a file, damaged or not.
  bool is_there() const { return is_there_; }
  std::string path() const { return directory_ + "/older.snapshot"; }

  /// Makes a new copy of the rows from `each_row`. After a failure the previous copy remains.
  /// @returns its bytes
  using row_receiver = std::function<status(const row_view&)>;
  result<std::uint64_t> keep(const checkpoint_info& info, const std::function<status(const row_receiver&)>& each_row);
  /// Uses a file that is already proven, with the same layout, instead of a copy.
  status adopt(const std::string& file, const checkpoint_info& info);
  /// Removes the copy: the log does not reach back to it.
  void forget();
  /// @pre info() has a value
  result<std::unique_ptr<file>> open_file() { return files_.open(path(), open_mode::existing); }

private:
  std::string new_path() const { return directory_ + "/older.new"; }
  status put_in_place(const std::string& file, const checkpoint_info& info);

  file_system& files_;
  std::string directory_;
  row_hash_function hash_;
  std::optional<checkpoint_info> info_;
  bool is_there_ = false;
};

/// Writes the rows as one flat file, without sync. @returns its bytes
result<std::uint64_t> write_flat(file& f, const checkpoint_info& info,
                                 const std::function<status(const older_generation::row_receiver&)>& each_row);
/// Reads it back. @returns a failure of the kind `unproven` if damaged, or for a wrong digest
status prove_flat(file& f, const checkpoint_info& info, row_hash_function hash);

} // namespace belay::storage
