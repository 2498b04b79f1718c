// Situation: a sync of the log comes while a checkpoint is written. What would go wrong: the writes
// of LMDB's commit are not counted, 30 MB go to the disk in one piece, and the sync waits for them.

#include "storage/paced_writes.hpp"

#include "storage/checkpoint/lmdb_checkpoint.hpp"
#include "storage/file_system.hpp"
#include "tests/harness/scratch.hpp"
#include "tests/storage/stored_row.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <thread>

using namespace belay;
using namespace belay::storage;

namespace {

constexpr std::size_t slice = 64u << 10;
constexpr write_pace quick{.slice_bytes = slice, .rest_percent = 1};

/// On a thread of its own: it stays behind others.
template <class F>
std::size_t slices_of(F&& f) {
  std::size_t slices = 0;
  std::thread([&] {
    f();
    slices = paced_writes::slices_of_this_thread();
  }).join();
  return slices;
}

void write(const std::filesystem::path& path, std::size_t bytes) {
  auto f = posix_file_system().open(path.string(), open_mode::fresh);
  REQUIRE(f);
  const std::string part(16u << 10, 'x');
  for (std::size_t at = 0; at < bytes; at += part.size())
    REQUIRE((*f)->write_at(at, {part}).ok());
}

} // namespace

TEST_CASE("paced writes wait for the disk after each slice") {
  const harness::scratch_folder folder;
  CHECK(slices_of([&] {
          const paced_writes paced(quick);
          write(folder.path() / "a", 10 * slice);
        }) == 10);
  CHECK(slices_of([&] { write(folder.path() / "b", 10 * slice); }) == 0);
  CHECK(slices_of([&] {
          const paced_writes paced{write_pace()};
          write(folder.path() / "c", 10 * slice);
        }) == 0);
  CHECK(slices_of([&] {
          { const paced_writes paced(quick); }
          write(folder.path() / "d", 10 * slice);
        }) == 0);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("a checkpoint is written in slices, whole or in part, and its copy, too") {
  const harness::scratch_folder folder;
  auto store = lmdb_checkpoint::open(folder.path(), of_bytes());
  REQUIRE(store);
  std::uint64_t index = 0;
  const auto commit = [&](bool full, char value) {
    checkpoint_delta d;
    d.meta.index = log_index{++index};
    d.meta.term = term_id{1};
    d.full = full;
    for (int i = 0; i < 1000; ++i)
      d.rows.push_back(stored_row(1, "key" + std::to_string(i), std::string(1000, value)));
    REQUIRE((*store)->commit(with_digest(**store, d)).ok());
  };
  const auto paced = [&](auto&& f) {
    return slices_of([&] {
      const paced_writes slowly(quick);
      f();
    });
  };
  constexpr std::size_t slices_of_rows = 1'000'000 / (256u << 10); // LMDB writes so much at a time
  CHECK(paced([&] { commit(true, 'a'); }) >= slices_of_rows);
  CHECK(paced([&] { commit(false, 'b'); }) >= slices_of_rows);
  CHECK(paced([&] { REQUIRE((*store)->keep_older()); }) >= slices_of_rows);
  CHECK(paced([&] { REQUIRE((*store)->read_snapshot({}, 0, 1000)); }) >= slices_of_rows);
}
#endif
