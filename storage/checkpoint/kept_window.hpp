#pragma once
// The window of key changes beside the checkpoint, in its own LMDB file:
//
//                LMDB's key                                    LMDB's value, as in checked_values.hpp
//   the record   u8 0                                          kept_record.hpp
//   a change     u64 index of the entry | u64 effect           bytes of protocol/wire/change_codec.hpp
//
// Integers in keys are big-endian. Changes are appended at the end and removed at the beginning.
// Servers up to 0.2.0 do not know the file and leave it unchanged.

#include "storage/checkpoint/kept_record.hpp"
#include "storage/checkpoint/lmdb_file.hpp"

#include <functional>
#include <optional>

namespace belay::storage {

class kept_window {
public:
  kept_window(file_system& files, std::string directory, lmdb_file::limits l);

  /// The file may be damaged: load() reports it, the next keep() starts over. Failure: no access.
  status open();
  /// See checkpoint_store::keep_changes. `there`: the checkpoint in force.
  result<bool> keep(const std::optional<checkpoint_info>& there, const checkpoint_info& next, const kept_delta& delta);
  /// See checkpoint_store::load_changes.
  result<std::optional<log_index>>
  load(const std::optional<checkpoint_info>& there,
       const std::function<void(log_index index, std::uint64_t effect, std::string_view value)>& row);

  /// Not empty: a commit failed, and nothing may be trusted after that.
  const std::string& dead() const { return file_.dead(); }

private:
  result<std::optional<kept_record>> record(lmdb_transaction& txn) const;
  status write_all(kept_record r, const kept_delta& delta);
  status write_changes(const kept_record& r, const kept_delta& delta);
  failure damaged(const std::string& what) const;

  lmdb_file file_;
  std::string unreadable_; ///< why; empty: it is readable, or does not exist
};

} // namespace belay::storage
