// Measures the verification of a checkpoint against its commit, in CPU time of the thread:
//
//   checkpoint_proof FOLDER [KEYS [CHANGED [ROUNDS]]]   1000000 of 256-byte values, 16384, 15
//
// The first commit of a process, and one that is read as a whole, are shown separately.

#include "actors/tables/checkpointer.hpp"
#include "protocol/state/row_hash.hpp"
#include "storage/checkpoint/lmdb_checkpoint.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <random>

using namespace belay;

namespace {

double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

state::dirty_row row_of(std::size_t key, std::uint64_t index) {
  state::kv_draft d;
  char name[32];
  std::snprintf(name, sizeof name, "bench/k%08zu", key);
  d.key = name;
  d.value = make_payload(std::string(256, static_cast<char>('a' + index % 26)));
  d.create_index = log_index{1};
  d.modify_index = log_index{index};
  return {state::table::kv, d.key, state::kv_entry_ptr(d)};
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: checkpoint_proof FOLDER [KEYS [CHANGED [ROUNDS]]]\n");
    return 2;
  }
  const auto number = [&](int at, std::size_t otherwise) {
    return argc > at ? static_cast<std::size_t>(std::strtoull(argv[at], nullptr, 10)) : otherwise;
  };
  const auto keys = number(2, 1'000'000), changed = number(3, 16'384), rounds = number(4, 15);
  double written = 0, proven = 0;
  storage::lmdb_checkpoint_options options;
  options.before_proof = [&] { written = thread_seconds(); };
  options.after_proof = [&] { proven = thread_seconds(); };
  auto store = storage::lmdb_checkpoint::open(argv[1], options);
  if (!store) {
    std::fprintf(stderr, "%s\n", store.error().c_str());
    return 1;
  }
  std::vector<std::uint64_t> index_of(keys, 1);
  std::uint64_t digest = 0, index = 1;
  std::mt19937_64 chance(42);
  const auto commit = [&](const std::vector<std::size_t>& which, bool whole, const char* what) {
    storage::checkpoint_delta d;
    d.meta.index = log_index{index};
    d.meta.term = term_id{1};
    d.read_whole = whole;
    d.full = index == 1;
    std::vector<state::dirty_row> rows; // row_change_of() refers to them
    rows.reserve(which.size());
    for (const auto key : which) {
      if (!d.full)
        digest -= state::row_hash(row_of(key, index_of[key]));
      index_of[key] = index;
      const auto& row = rows.emplace_back(row_of(key, index));
      digest += state::row_hash(row);
      d.rows.push_back(actors::row_change_of(row));
    }
    d.digest = digest;
    const auto begin = thread_seconds();
    const auto done = (*store)->commit(d);
    const auto end = thread_seconds();
    if (!done) {
      std::fprintf(stderr, "%s\n", done.error().c_str());
      std::exit(1);
    }
    const double proof = proven - written, rest = end - begin - proof;
    std::printf("%-12s %8zu rows  commit %8.1f ms  proof %8.1f ms  %5.1f %%\n", what, which.size(), 1e3 * rest,
                1e3 * proof, 100 * proof / rest);
    ++index;
    return proof / rest;
  };
  std::vector<std::size_t> all(keys);
  for (std::size_t i = 0; i < keys; ++i)
    all[i] = i;
  commit(all, false, "full");
  std::vector<double> shares;
  for (std::size_t r = 0; r < rounds; ++r) {
    std::vector<std::size_t> some;
    while (some.size() < std::min(changed, keys))
      some.push_back(chance() % keys);
    std::sort(some.begin(), some.end());
    some.erase(std::unique(some.begin(), some.end()), some.end());
    const bool whole = r + 1 == rounds;
    const auto share = commit(some, whole, whole ? "read whole" : "incremental");
    if (!whole)
      shares.push_back(share);
  }
  std::sort(shares.begin(), shares.end());
  if (!shares.empty())
    std::printf("median share of the proof: %.1f %%\n", 100 * shares[shares.size() / 2]);
  return 0;
}
