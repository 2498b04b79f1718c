#include "storage/checkpoint/lmdb_env.hpp"

#include "storage/advice.hpp"
#include "storage/file_system.hpp"
#include "storage/paced_writeback.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>

namespace belay::storage {

namespace {

constexpr off_t dropped_from_bytes = 1 << 20;        // fewer are not worth searching for the map
constexpr std::uint64_t full_below_bytes = 1u << 20; // others may have freed a little meanwhile

/// How much the file can still grow, by the file system and the limit of this process.
std::uint64_t space_for(const std::string& path) {
  std::uint64_t space = UINT64_MAX;
  struct statvfs disk {};
  if (::statvfs(path.c_str(), &disk) == 0)
    space = static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize;
  rlimit limit{};
  struct stat file {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && ::stat(path.c_str(), &file) == 0)
    space = std::min<std::uint64_t>(space, limit.rlim_cur - std::min<rlim_t>(limit.rlim_cur, file.st_size));
  return space;
}

bool means_no_space(int code, const std::string& path) {
  // LMDB 0.9 returns EIO after a partial write, which is how a disk becomes full.
  return code == ENOSPC || code == EDQUOT || code == EFBIG || code == MDB_MAP_FULL ||
         (code == EIO && space_for(path) < full_below_bytes);
}

/// Excludes errors of the system: missing permission, a failing or full disk.
bool means_damage(int code) {
  return code == MDB_CORRUPTED || code == MDB_INVALID || code == MDB_PAGE_NOTFOUND || code == MDB_VERSION_MISMATCH;
}

MDB_val val(std::string_view s) {
  return {s.size(), const_cast<char*>(s.data())};
}

} // namespace

failure lmdb_failure(const std::string& what, const std::string& path, int code) {
  auto text = what + " " + path + ": " + mdb_strerror(code);
  if (means_damage(code))
    text += std::string(". Check the disk, then ") + start_empty;
  return means_no_space(code, path) ? no_space(text) : failure{std::move(text)};
}

result<std::unique_ptr<lmdb_env>> lmdb_env::open(const std::string& path, lmdb_use use, std::uint64_t map_bytes) {
  MDB_env* raw = nullptr;
  if (int rc = mdb_env_create(&raw); rc != 0)
    return lmdb_failure("cannot create an environment for", path, rc);
  std::unique_ptr<lmdb_env> env(new lmdb_env(raw, path));
  if (int rc = mdb_env_set_mapsize(raw, map_bytes); rc != 0)
    return lmdb_failure("cannot set the map size of", path, rc);
  // NOLOCK: the directory has its own lock, and no reader runs beside a writer or becomes stale.
  const unsigned flags = MDB_NOSUBDIR | MDB_NOTLS | MDB_NOLOCK | (use == lmdb_use::build ? MDB_NOSYNC : 0);
  if (int rc = mdb_env_open(raw, path.c_str(), flags, 0600); rc != 0)
    return lmdb_failure("cannot open", path, rc);
  mdb_filehandle_t data = -1; // the only file that LMDB does not open close-on-exec
  if (mdb_env_get_fd(raw, &data) == 0)
    ::fcntl(data, F_SETFD, FD_CLOEXEC);
  return env;
}

lmdb_env::~lmdb_env() {
  mdb_env_close(env_);
}

std::uint64_t lmdb_env::used_bytes() const {
  MDB_envinfo info;
  MDB_stat stat;
  mdb_env_info(env_, &info);
  mdb_env_stat(env_, &stat);
  return (static_cast<std::uint64_t>(info.me_last_pgno) + 1) * stat.ms_psize;
}

std::uint64_t lmdb_env::map_bytes() const {
  MDB_envinfo info;
  mdb_env_info(env_, &info);
  return info.me_mapsize;
}

status lmdb_env::resize(std::uint64_t map_bytes) {
  if (int rc = mdb_env_set_mapsize(env_, map_bytes); rc != 0)
    return lmdb_failure("cannot map " + std::to_string(map_bytes) + " bytes of", path_, rc);
  return done{};
}

status lmdb_env::sync() {
  if (int rc = mdb_env_sync(env_, 1); rc != 0)
    return lmdb_failure("cannot sync", path_, rc);
  return done{};
}

int lmdb_env::begin_writeback() {
  mdb_filehandle_t fd;
  return mdb_env_get_fd(env_, &fd) == 0 ? write_back(fd, 0, 0) : 0;
}

void lmdb_env::drop_pages() {
  mdb_filehandle_t fd;
  struct stat file {};
  if (mdb_env_get_fd(env_, &fd) != 0 || ::fstat(fd, &file) != 0 || file.st_size < dropped_from_bytes)
    return;
  // LMDB does not expose its map: first-last rights offset major:minor inode path.
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long first = 0, last = 0, inode = 0;
    unsigned device_major = 0, device_minor = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %*s %x:%x %lu", &first, &last, &device_major, &device_minor, &inode) ==
            5 &&
        inode == file.st_ino && makedev(device_major, device_minor) == file.st_dev)
      ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED); // a shared map of a file: nothing is lost
  }
}

lmdb_transaction::~lmdb_transaction() {
  if (txn_ != nullptr)
    mdb_txn_abort(txn_);
}

int lmdb_transaction::begin(lmdb_env& env, bool write) {
  PRECONDITION(txn_ == nullptr);
  env_ = &env;
  if (int rc = mdb_txn_begin(env.raw(), nullptr, write ? 0 : MDB_RDONLY, &txn_); rc != 0) {
    txn_ = nullptr;
    return rc;
  }
  return mdb_dbi_open(txn_, nullptr, 0, &dbi_);
}

int lmdb_transaction::get(std::string_view key, std::string_view& value) {
  auto k = val(key);
  MDB_val v;
  const int rc = mdb_get(txn_, dbi_, &k, &v);
  if (rc == 0)
    value = {static_cast<const char*>(v.mv_data), v.mv_size};
  return rc;
}

int lmdb_transaction::reserve(std::string_view key, std::size_t value_bytes, unsigned flags, char*& buffer) {
  auto k = val(key);
  MDB_val v{value_bytes, nullptr};
  const int rc = mdb_put(txn_, dbi_, &k, &v, flags | MDB_RESERVE);
  buffer = static_cast<char*>(v.mv_data);
  return rc;
}

int lmdb_transaction::remove(std::string_view key) {
  auto k = val(key);
  return mdb_del(txn_, dbi_, &k, nullptr);
}

int lmdb_transaction::entries(std::uint64_t& n) {
  PRECONDITION(txn_ != nullptr);
  MDB_stat stat;
  const int rc = mdb_stat(txn_, dbi_, &stat);
  n = rc == 0 ? stat.ms_entries : 0;
  return rc;
}

int lmdb_transaction::commit() {
  PRECONDITION(txn_ != nullptr); // LMDB does not check it
  auto* t = txn_;
  txn_ = nullptr; // LMDB frees it in any case
  return mdb_txn_commit(t);
}

int lmdb_transaction::commit_and_go_on() {
  if (int rc = commit(); rc != 0)
    return rc;
  if (int rc = env_->begin_writeback(); rc != 0)
    return rc;
  return begin(*env_, true);
}

lmdb_cursor::~lmdb_cursor() {
  if (cursor_ != nullptr)
    mdb_cursor_close(cursor_);
}

int lmdb_cursor::open(lmdb_transaction& txn) {
  PRECONDITION(cursor_ == nullptr);
  PRECONDITION(txn.raw() != nullptr);
  return mdb_cursor_open(txn.raw(), txn.dbi(), &cursor_);
}

int lmdb_cursor::seek(std::string_view from) {
  key_ = val(from);
  return mdb_cursor_get(cursor_, &key_, &value_, MDB_SET_RANGE);
}

int lmdb_cursor::last() {
  return mdb_cursor_get(cursor_, &key_, &value_, MDB_LAST);
}

int lmdb_cursor::remove() {
  return mdb_cursor_del(cursor_, 0);
}

int lmdb_cursor::next() {
  return mdb_cursor_get(cursor_, &key_, &value_, MDB_NEXT);
}

} // namespace belay::storage
