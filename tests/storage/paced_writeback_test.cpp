// Situation: a sync of the log begins while a checkpoint is written. What would go wrong: LMDB's
// commit syncs in one piece, 30 MB go to the disk at once, and the sync waits for them.

#include "storage/paced_writeback.hpp"

#include "storage/checkpoint/lmdb_checkpoint.hpp"
#include "storage/file_system.hpp"
#include "tests/harness/scratch.hpp"
#include "tests/storage/stored_row.hpp"

#include <catch2/catch.hpp>

#include <thread>

using namespace belay;
using namespace belay::storage;

namespace {

constexpr std::size_t slice = 64u << 10;
constexpr write_pace quick{.slice_bytes = slice, .rest_percent = 1};

/// Calls `f` on a thread of its own, which is paced or not.
template <class F>
std::size_t slices_of(bool paced, F&& f) {
  std::size_t slices = 0;
  std::thread([&] {
    if (paced)
      pace_this_thread(quick);
    f();
    slices = slices_of_this_thread();
  }).join();
  return slices;
}

} // namespace

TEST_CASE("a paced thread waits for each slice of a file that it syncs, others for none") {
  const harness::scratch_folder folder;
  const auto write = [&](const char* name, bool hint) {
    auto f = posix_file_system().open((folder.path() / name).string(), open_mode::fresh);
    REQUIRE(f);
    // Linux writes back in pieces that are at most as large as a write was.
    const std::string bytes(slice, 'x');
    for (std::size_t i = 0; i < 10; ++i)
      REQUIRE((*f)->write_at(i * slice, {bytes}).ok());
    if (hint)
      (*f)->begin_writeback(0, 10 * slice);
    REQUIRE((*f)->sync().ok());
  };
  CHECK(slices_of(true, [&] { write("synced", false); }) >= 10);
  CHECK(slices_of(true, [&] { write("written back", true); }) >= 10);
  CHECK(slices_of(false, [&] { write("at once", true); }) == 0);
}

TEST_CASE("a checkpoint is written back in slices, whole or in part, and its copy, too") {
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
  constexpr std::size_t slices_of_rows = 1'000'000 / (256u << 10); // LMDB and snapshots write so much at a time
  CHECK(slices_of(true, [&] { commit(true, 'a'); }) >= slices_of_rows);
  CHECK(slices_of(true, [&] { commit(false, 'b'); }) >= slices_of_rows);
  CHECK(slices_of(true, [&] { REQUIRE((*store)->keep_older()); }) >= slices_of_rows);
  CHECK(slices_of(true, [&] { REQUIRE((*store)->read_snapshot({}, 0, 1000)); }) >= slices_of_rows);
}
