#pragma once
// The window of changes beside the checkpoint, in an LMDB file of its own:
//
//                LMDB's key                                    LMDB's value, as in checked_values.hpp
//   the record   u8 0                                          kept_record.hpp
//   a change     u64 index of the entry | u64 effect           bytes of protocol/wire/change_codec.hpp
//
// Integers in keys are big-endian. Changes come at the end and leave at the beginning. The file is one that servers up to 0.2.0 do not know and
// leave as it is.

#include "storage/checkpoint/kept_record.hpp"
#include "storage/checkpoint/lmdb_file.hpp"

#include <functional>
#include <optional>

namespace belay::storage {

class kept_window {
public:
  kept_window(file_system& files, std::string directory, lmdb_file::limits l);

  /// What is there may be damaged: then load() says so, and the next keep() begins anew. A failure: the directory cannot be read.
  status open();
  /// As checkpoint_store::keep_changes. `there`: the checkpoint that is in force.
  result<bool> keep(const std::optional<checkpoint_info>& there, const checkpoint_info& next, const kept_delta& delta);
  /// As checkpoint_store::load_changes.
  result<std::optional<log_index>>
  load(const std::optional<checkpoint_info>& there,
       const std::function<void(log_index index, std::uint64_t effect, std::string_view value)>& row);

  /// Not empty: a commit failed, and nothing may be trusted any more.
  const std::string& dead() const { return file_.dead(); }

private:
  result<std::optional<kept_record>> record(lmdb_transaction& txn) const;
  status write_all(kept_record r, const kept_delta& delta);
  status write_changes(const kept_record& r, const kept_delta& delta);
  failure damaged(const std::string& what) const;

  lmdb_file file_;
  std::string unreadable_; ///< why; empty: it can be read, or is not there
};

} // namespace belay::storage
