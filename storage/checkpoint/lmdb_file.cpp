#include "storage/checkpoint/lmdb_file.hpp"

#include "storage/checkpoint/lmdb_pages.hpp"

#include <algorithm>
#include <utility>

namespace belay::storage {

namespace {

constexpr std::uint64_t map_step = 1u << 20;
// Space for the pages that a change copies from its leaf to the root, and for the list of free
// pages.
constexpr std::uint64_t map_slack = 512u << 10;
// LMDB stores values above half a page on separate pages: at worst two pages for just over one.
constexpr std::uint64_t page_waste = 3;
// For adjacent rows LMDB may copy a page each: ten times as much.
constexpr std::uint64_t memory_kept = 1u << 20;

/// A sector that the disk cannot read is an error here. Where the file is mapped, it ends the
/// process (SIGBUS).
status read_through(file& f, std::uint64_t bytes) {
  std::string buffer(1u << 20, '\0');
  for (std::uint64_t offset = 0; offset < bytes; offset += buffer.size())
    if (auto got = f.read_at(offset, buffer.data(), buffer.size()); !got)
      return failure{got.error(), failure_kind::unproven};
  return done{};
}

} // namespace

status as_status(int code, const std::string& what, const std::string& path) {
  if (code != 0)
    return lmdb_failure(what, path, code);
  return done{};
}

lmdb_file::lmdb_file(file_system& files, std::string directory, std::string name, std::string new_name, limits l)
    : files_(files), directory_(std::move(directory)), name_(std::move(name)), new_name_(std::move(new_name)),
      limits_(l) {}

failure lmdb_file::die(const std::string& why) {
  dead_ = name_ + " in " + directory_ + " failed: " + why;
  return failure{dead_};
}

status lmdb_file::remove_leftover() {
  auto names = files_.list(directory_);
  if (!names)
    return names.reason();
  if (std::find(names->begin(), names->end(), new_name_) != names->end())
    return files_.remove(new_path());
  return done{};
}

result<bool> lmdb_file::open_if_there(pages p) {
  const auto path = directory_ + "/" + name_;
  auto names = files_.list(directory_);
  if (!names)
    return names.reason();
  if (std::find(names->begin(), names->end(), name_) == names->end())
    return false;
  auto f = files_.open(path, open_mode::existing);
  if (!f)
    return f.reason();
  auto bytes = (*f)->size();
  if (!bytes)
    return bytes.reason();
  if (p == pages::checked) {
    if (auto s = read_through(**f, *bytes); !s)
      return s.reason();
    if (auto s = check_lmdb_pages(path); !s)
      return s.reason();
  }
  auto env =
      lmdb_env::open(path, lmdb_use::live, std::max(limits_.map_bytes, *bytes + *bytes / 2 / map_step * map_step));
  if (!env)
    return env.reason();
  env_ = std::move(env).value();
  return true;
}

status lmdb_file::open_or_create() {
  auto there = open_if_there(pages::trusted);
  if (!there)
    return there.reason();
  if (*there)
    return done{};
  // LMDB does not create a file atomically; a rename does.
  return replace_with(0, [](lmdb_transaction&) { return status(done{}); });
}

status lmdb_file::grow_map(std::uint64_t more) {
  const auto now = env_->map_bytes();
  const auto wanted = std::max(2 * now, (now + more + map_step - 1) / map_step * map_step);
  if (now >= limits_.map_bytes_max)
    return no_space(name_ + " must not use more than " + std::to_string(limits_.map_bytes_max) + " bytes");
  return env_->resize(std::min(wanted, limits_.map_bytes_max));
}

/// Opens the new environment before it closes the old one: if that fails, nothing changes. (Two may
/// be open because there is no lock file, MDB_NOLOCK: closing the first would release its locks.)
void lmdb_file::give_back_memory() {
  if (auto fresh = lmdb_env::open(env_->path(), lmdb_use::live, env_->map_bytes()))
    env_ = std::move(fresh).value();
}

status lmdb_file::commit(std::uint64_t bytes_estimate, const std::function<int(lmdb_transaction&)>& write,
                         const std::function<status()>& prove) {
  PRECONDITION(is_open());
  PRECONDITION(dead_.empty());
  const auto more = page_waste * bytes_estimate + map_slack;
  if (env_->used_bytes() > env_->map_bytes() / 10 * 7)
    // At the limit of the map there may still be free pages inside: try it.
    if (auto s = grow_map(more); !s && s.reason().kind != failure_kind::no_space)
      return s;
  const auto attempt = [&] {
    lmdb_transaction txn;
    int rc = txn.begin(*env_, true);
    if (rc == 0)
      rc = write(txn);
    return rc == 0 ? txn.commit() : rc;
  };
  auto rc = attempt();
  if (rc == MDB_MAP_FULL) {
    if (auto s = grow_map(more); !s)
      return s;
    rc = attempt();
  }
  auto s = as_status(rc, "cannot commit to", env_->path());
  if (s) {
    reverted_.reset();
    // Before the memory is freed: a new environment has to map each page again.
    if (prove)
      s = prove();
    if (bytes_estimate > memory_kept)
      give_back_memory();
    return s;
  }
  if (rc != MDB_MAP_FULL && s.reason().kind == failure_kind::no_space) {
    // The file still contains the last commit: LMDB writes new pages only to free space, and the
    // page that activates them last. A new environment shares no memory with the failed attempt.
    env_.reset();
    if (auto reopened = open_or_create(); !reopened)
      return die(reopened.error());
  }
  return s;
}

status lmdb_file::discard_new(failure why) {
  (void)files_.remove(new_path()); // if this fails, the next start removes it
  return why;
}

result<bool> lmdb_file::revert() {
  const auto path = directory_ + "/" + name_;
  auto f = files_.open(path, open_mode::existing);
  if (!f)
    return f.reason();
  env_.reset();
  auto before = revert_newest_commit(**f);
  if (!before)
    return before.reason();
  reverted_ = std::move(*before);
  if (!reverted_)
    return false;
  if (auto there = open_if_there(pages::checked); !there)
    return there.reason();
  return true;
}

status lmdb_file::undo_revert() {
  if (!reverted_)
    return done{};
  env_.reset();
  auto f = files_.open(directory_ + "/" + name_, open_mode::existing);
  if (!f)
    return f.reason();
  const auto before = *std::exchange(reverted_, std::nullopt);
  return storage::undo_revert(**f, before);
}

status lmdb_file::replace_with(std::uint64_t bytes_estimate, const std::function<status(lmdb_transaction&)>& fill,
                               const std::function<status(lmdb_env&)>& prove) {
  const auto path = new_path();
  const auto map =
      std::max(limits_.map_bytes, (page_waste * bytes_estimate + 2 * map_slack) / map_step * map_step + map_step);
  if (map > limits_.map_bytes_max)
    return no_space(name_ + " must not use more than " + std::to_string(limits_.map_bytes_max) + " bytes");
  {
    auto env = lmdb_env::open(path, lmdb_use::build, map);
    if (!env)
      return discard_new(env.reason());
    {
      lmdb_transaction txn;
      auto s = as_status(txn.begin(**env, true), "cannot write", path);
      if (s)
        s = fill(txn);
      if (s)
        s = as_status(txn.commit(), "cannot commit to", path);
      if (!s)
        return discard_new(s.reason());
    }
    if (auto s = (*env)->sync(); !s)
      return discard_new(s.reason());
    if (auto s = prove ? prove(**env) : status(done{}); !s)
      return discard_new(s.reason());
  }
  return put_in_force();
}

status lmdb_file::put_in_force() {
  // Until env_ is replaced it uses the old file, although that has no name then.
  if (auto s = files_.rename(new_path(), directory_ + "/" + name_); !s)
    return discard_new(s.reason());
  if (auto s = files_.sync_directory(directory_); !s)
    return die(s.error());
  env_.reset();
  reverted_.reset();
  if (auto s = open_or_create(); !s)
    return die(s.error());
  INVARIANT(is_open());
  return done{};
}

} // namespace belay::storage
