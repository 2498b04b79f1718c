// Situation: a server writes checkpoints, whole ones and changes, copies them, and takes a snapshot
// of its leader. Event: the power fails at any changing call; what was not synced is gone, or there
// in part. What would go wrong: a state reported as durable is lost, and the log before it is gone.

#include "storage/checkpoint/lmdb_checkpoint.hpp"
#include "tests/harness/scratch.hpp"
#include "tests/storage/power/forgetful_disk.hpp"
#include "tests/storage/stored_row.hpp"

#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <iostream>
#include <map>
#include <set>

namespace belay::tests::power {

using storage::checkpoint_delta;
using storage::lmdb_checkpoint;
using storage::stored_row;

namespace {

constexpr std::uint64_t steps = 14;

/// All rows after step `i`. Some are as large as a page, so that commits need several writes.
std::map<std::string, std::string> rows_at(std::uint64_t i) {
  std::map<std::string, std::string> rows;
  for (std::uint64_t k = 0; k < 30; ++k)
    if ((k + i) % 7 != 0)
      rows["k" + std::to_string(k)] = std::to_string(k < i ? i : 0) + std::string(k % 5 == 0 ? 3000 : 10, 'v');
  return rows;
}

checkpoint_delta delta_at(lmdb_checkpoint& store, std::uint64_t i, bool full) {
  checkpoint_delta d;
  d.meta.index = log_index{i};
  d.meta.term = term_id{1};
  d.full = full;
  const auto rows = rows_at(i);
  for (const auto& [key, value] : rows)
    d.rows.push_back(stored_row(1, key, value));
  if (!full)
    for (std::uint64_t k = 0; k < 30; ++k)
      if (const auto key = "k" + std::to_string(k); !rows.contains(key))
        d.rows.push_back({1, key, nullptr});
  return storage::with_digest(store, d);
}

/// What a server does with its disk. Reports what is durable: newest and older checkpoint.
void live(const std::string& folder, int done, std::uint64_t begin) {
  auto opened = lmdb_checkpoint::open(folder, storage::of_bytes());
  if (!opened)
    _exit(1);
  auto& store = **opened;
  for (auto i = begin + 1; i <= begin + steps; ++i) {
    if (i % 5 == 4) { // a snapshot of its own, under the next index, replaces everything
      auto d = delta_at(store, i, true);
      auto other = lmdb_checkpoint::open(folder + "-other", storage::of_bytes());
      if (!other || !(*other)->commit(d))
        _exit(2);
      const auto chunk = (*other)->read_snapshot(log_index{}, 0, 1 << 20);
      if (!chunk || !store.write_snapshot(chunk->meta, 0, *chunk->bytes, true))
        _exit(3);
    } else if (!store.commit(delta_at(store, i, i % 3 == 0))) {
      _exit(4);
    }
    if (i % 4 == 2 && !store.keep_older())
      _exit(5);
    const std::uint64_t durable[] = {i, store.older_index().value_or(log_index{}).value};
    if (::write(done, durable, sizeof durable) != sizeof durable)
      _exit(6);
  }
  _exit(0);
}

struct outcome {
  int code = 0;
  std::uint64_t newest = 0, older = 0; ///< the last values that the process reported
};

outcome run(const std::string& folder, std::uint64_t begin, std::uint64_t call, survival how, std::uint64_t seed) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const auto child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    cut_power_at(folder, call, how, seed);
    live(folder, ends[1], begin);
  }
  REQUIRE(child > 0);
  ::close(ends[1]);
  outcome o;
  std::uint64_t durable[2];
  while (::read(ends[0], durable, sizeof durable) == sizeof durable) {
    o.newest = durable[0];
    o.older = durable[1];
  }
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  o.code = WEXITSTATUS(status);
  return o;
}

} // namespace

TEST_CASE("data reported as durable is there after a power loss, complete") {
  std::uint64_t calls = 0;
  std::size_t newer = 0;
  for (const auto how : {survival::nothing, survival::some})
    for (std::uint64_t call = 1, seed = 1;; ++call, ++seed) {
      harness::scratch_folder scratch;
      const auto folder = scratch / "data";
      // A first life without loss, so that there is something to lose.
      REQUIRE(run(folder, 0, UINT64_MAX, how, 1).code == 0);
      const auto o = run(folder, steps, call, how, seed);
      if (o.code == 0)
        break; // it ended before that call
      INFO("power lost at call " << call << ", " << (how == survival::nothing ? "nothing" : "some") << " survives");
      REQUIRE(o.code == power_lost);
      calls = call;
      auto store = lmdb_checkpoint::open(folder, storage::of_bytes());
      if (!store)
        FAIL(store.error());
      const auto info = (*store)->info();
      if (!info)
        FAIL(info.error());
      REQUIRE(info->has_value());
      const auto index = (*info)->meta.index.value;
      CHECK(index >= std::max(o.newest, steps));
      CHECK(index <= std::max(o.newest, steps) + 1);
      newer += index > std::max(o.newest, steps);
      std::map<std::string, std::string> rows;
      const auto s =
          (*store)->load([&](auto, std::string_view key, std::string_view value) { rows.emplace(key, value); });
      if (!s)
        FAIL(s.error());
      CHECK(rows == rows_at(index));
      if (o.older != 0)
        CHECK((*store)->older_index().value_or(log_index{}).value >= o.older);
    }
  std::cout << "power loss below LMDB: at " << calls << " calls; " << newer
            << " times a commit that was not reported was there\n";
  CHECK(calls > 60);
  CHECK(newer > 0);
}

} // namespace belay::tests::power
