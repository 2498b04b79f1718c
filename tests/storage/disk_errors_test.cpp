// Situation: the disk rejects a write or cannot read a sector, or a process ended between a rename
// and its sync. What would go wrong: a checkpoint counts as durable that the disk does not have, or
// a server ends at each start although it has an older generation and the log after it.

#include "protocol/base/check.hpp"
#include "storage/checkpoint/lmdb_checkpoint.hpp"
#include "storage/file_system.hpp"
#include "storage/paced_writeback.hpp"
#include "tests/harness/scratch.hpp"
#include "tests/storage/stored_row.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <thread>

using namespace belay;
using namespace belay::storage;

namespace {

/// The next write that a paced thread waits for is rejected with this errno; 0: it is not.
std::atomic<int> rejected{0};

} // namespace

// Replaces the C library's.
extern "C" int sync_file_range(int fd, off64_t offset, off64_t n, unsigned flags) {
  if (const int error = (flags & SYNC_FILE_RANGE_WAIT_AFTER) != 0 ? rejected.exchange(0) : 0; error != 0) {
    errno = error;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_sync_file_range, fd, offset, n, flags));
}

namespace {

/// Calls `f` on a paced thread, whose first slice the disk rejects.
template <class F>
void while_rejected(F&& f) {
  std::thread([&] {
    pace_this_thread({.slice_bytes = 64u << 10, .rest_percent = 1});
    rejected = EIO;
    f();
    CHECK(rejected == 0); // it happened
    rejected = 0;
  }).join();
}

result<std::unique_ptr<lmdb_checkpoint>> open_with(const std::string& folder, file_system* files) {
  auto options = of_bytes();
  options.files = files;
  return lmdb_checkpoint::open(folder, options);
}

std::unique_ptr<lmdb_checkpoint> opened(const std::string& folder, file_system* files = nullptr) {
  auto store = open_with(folder, files);
  REQUIRE(store);
  return std::move(*store);
}

status commit(lmdb_checkpoint& store, std::uint64_t index, bool full = true) {
  checkpoint_delta d;
  d.meta.index = log_index{index};
  d.meta.term = term_id{1};
  d.full = full;
  for (int i = 0; i < 1000; ++i)
    d.rows.push_back(stored_row(1, "key" + std::to_string(i), std::string(1000, static_cast<char>('a' + index % 26))));
  return store.commit(with_digest(store, d));
}

std::uint64_t index_of(lmdb_checkpoint& store) {
  auto info = store.info();
  REQUIRE(info);
  return *info ? (*info)->meta.index.value : 0;
}

/// The operating system's files, some of which fail.
class failing_files final : public file_system {
public:
  std::string unreadable; ///< reads of files whose names end so fail beyond their first page
  std::string unsynced;   ///< so do syncs of that directory
  std::vector<std::string> synced_directories;

  result<std::unique_ptr<file>> open(const std::string& path, open_mode mode) override {
    auto f = all_.open(path, mode);
    if (!f || unreadable.empty() || !path.ends_with(unreadable))
      return f;
    return std::unique_ptr<file>(new unreadable_file(std::move(*f)));
  }
  status rename(const std::string& from, const std::string& to) override { return all_.rename(from, to); }
  status remove(const std::string& path) override { return all_.remove(path); }
  status sync_directory(const std::string& directory) override {
    synced_directories.push_back(directory);
    return !unsynced.empty() && directory.ends_with(unsynced) ? status(failure{"cannot sync"})
                                                              : all_.sync_directory(directory);
  }
  status make_directory(const std::string& directory) override { return all_.make_directory(directory); }
  result<std::vector<std::string>> list(const std::string& directory) override { return all_.list(directory); }
  result<std::optional<std::string>> read_if_there(const std::string& path) override {
    return all_.read_if_there(path);
  }
  result<std::unique_ptr<file_lock>> lock(const std::string& directory) override { return all_.lock(directory); }

private:
  struct unreadable_file final : file {
    explicit unreadable_file(std::unique_ptr<file> whole) : f(std::move(whole)) {}
    result<std::size_t> read_at(std::uint64_t offset, char* into, std::size_t n) override {
      return offset + n > 4096 ? result<std::size_t>(failure{"cannot read: Input/output error"})
                               : f->read_at(offset, into, n);
    }
    status write_at(std::uint64_t offset, const std::vector<std::string_view>& parts) override {
      return f->write_at(offset, parts);
    }
    status sync() override { return f->sync(); }
    void begin_writeback(std::uint64_t offset, std::uint64_t n) override { f->begin_writeback(offset, n); }
    result<std::uint64_t> size() override { return f->size(); }
    std::unique_ptr<file> f;
  };

  file_system& all_ = posix_file_system();
};

} // namespace

TEST_CASE("a write that the disk rejects between two slices fails the next sync of that file, and all later ones") {
  const harness::scratch_folder folder;
  while_rejected([&] {
    auto f = posix_file_system().open((folder.path() / "file").string(), open_mode::fresh);
    REQUIRE(f);
    REQUIRE((*f)->write_at(0, {std::string(1u << 20, 'x')}).ok());
    (*f)->begin_writeback(0, 1u << 20);
    CHECK_FALSE((*f)->sync().ok());
    CHECK_FALSE((*f)->sync().ok());
  });
  while_rejected([&] { // in the sync itself
    auto f = posix_file_system().open((folder.path() / "other").string(), open_mode::fresh);
    REQUIRE(f);
    REQUIRE((*f)->write_at(0, {std::string(1u << 20, 'x')}).ok());
    CHECK_FALSE((*f)->sync().ok());
  });
}

TEST_CASE("a checkpoint that the disk rejects in part does not come into force, nor does a copy or a snapshot") {
  const harness::scratch_folder folder;
  auto store = opened(folder.path());
  REQUIRE(commit(*store, 1));
  REQUIRE(store->keep_older());
  REQUIRE(commit(*store, 2));
  while_rejected([&] { CHECK_FALSE(store->keep_older()); });
  CHECK(store->older_index() == log_index{1});

  const harness::scratch_folder other;
  auto leader = opened(other.path());
  REQUIRE(commit(*leader, 9));
  auto chunk = leader->read_snapshot({}, 0, 16u << 20);
  REQUIRE(chunk);
  while_rejected([&] { CHECK_FALSE(store->write_snapshot(chunk->meta, 0, *chunk->bytes, true)); });
  CHECK(index_of(*store) == 2);
  CHECK(store->older_index() == log_index{1});
  REQUIRE(store->write_snapshot(chunk->meta, 0, *chunk->bytes, true));
  CHECK(index_of(*store) == 9);

  while_rejected([&] { CHECK_FALSE(commit(*store, 10)); }); // the process stops then
  store.reset();
  CHECK(index_of(*opened(folder.path())) == 9);
}

TEST_CASE("a start with a checkpoint that the disk cannot read falls back to the older generation") {
  const harness::scratch_folder folder;
  {
    auto store = opened(folder.path());
    REQUIRE(commit(*store, 1));
    REQUIRE(store->keep_older());
    REQUIRE(commit(*store, 2));
  }
  failing_files files;
  files.unreadable = "state/checkpoint.mdb";
  auto store = opened(folder.path(), &files);
  const auto info = store->info();
  REQUIRE_FALSE(info.ok());
  CHECK(info.error().find("Input/output error") != std::string::npos);
  files.unreadable.clear();
  REQUIRE(store->fall_back());
  CHECK(index_of(*store) == 1);
}

TEST_CASE("names that a start finds are made durable before it relies on them") {
  const harness::scratch_folder folder;
  failing_files files;
  opened(folder.path(), &files).reset();
  files.synced_directories.clear();
  opened(folder.path(), &files).reset();
  const auto state = (folder.path() / "state").string();
  CHECK(std::count(files.synced_directories.begin(), files.synced_directories.end(), state) > 0);
  files.unsynced = "/state";
  CHECK_FALSE(open_with(folder.path(), &files));
}

TEST_CASE("the log after the previous copy is needed until the name of the next one is durable") {
  const harness::scratch_folder folder;
  failing_files files;
  auto store = opened(folder.path(), &files);
  REQUIRE(commit(*store, 1));
  REQUIRE(store->keep_older());
  REQUIRE(commit(*store, 2));
  files.unsynced = "/state";
  CHECK_FALSE(store->keep_older());
  CHECK(store->older_index() == log_index{1});
}
