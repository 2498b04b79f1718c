// How long do syncs of the log take beside a checkpoint that is written at once, or in slices
// (storage/paced_writeback.hpp), and without one?
//
//   log_beside_checkpoint FOLDER [ROUNDS [SECONDS [KEYS [CHANGED]]]]
//
// The defaults are 5 rounds of 4 s each, and 10,000 keys of 256 bytes that all change. Each round
// has all three in turn. One thread appends 20 entries of 300 bytes at a time to a segment_log, as
// fast as it can. Another one writes 4 KiB and calls fdatasync every 5 ms: what the disk can do. A
// third one writes checkpoints: of all keys, or of CHANGED random ones if CHANGED < KEYS / 4.

#include "protocol/base/bytes.hpp"
#include "storage/checkpoint/lmdb_checkpoint.hpp"
#include "storage/log/segment_log.hpp"
#include "storage/paced_writeback.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>

using namespace belay;
using clock_type = std::chrono::steady_clock;

namespace {

constexpr std::size_t value_bytes = 256;
constexpr int entries_of_append = 20, compacted_after = 200'000;

enum mode : int { none, at_once, paced, modes };
constexpr std::array names{"no checkpoint", "at once", "paced"};

struct times {
  std::vector<double> log_ms, disk_ms;
  std::size_t checkpoints = 0;
};

void ended_by(const status& s) {
  if (s)
    return;
  std::fprintf(stderr, "%s\n", s.error().c_str());
  std::exit(1);
}

double ms_since(clock_type::time_point begin) {
  return std::chrono::duration<double, std::milli>(clock_type::now() - begin).count();
}

std::optional<std::uint64_t> hash_of_bytes(std::uint8_t table, std::string_view key, std::string_view value) {
  return (std::uint64_t{crc32c(value, crc32c(key))} << 8) + table;
}

class checkpoints {
public:
  checkpoints(const std::string& folder, std::size_t keys, std::size_t changed)
      : keys_(keys), changed_(changed), hashes_(keys) {
    storage::lmdb_checkpoint_options o;
    o.row_hash = hash_of_bytes;
    auto opened = storage::lmdb_checkpoint::open(folder, o);
    ended_by(opened ? status(done{}) : status(opened.reason()));
    store_ = std::move(*opened);
    write();
  }
  void write() {
    storage::checkpoint_delta d;
    d.meta.index = log_index{++index_};
    d.meta.term = term_id{1};
    d.full = index_ == 1 || changed_ >= keys_ / 4;
    for (std::size_t i = 0, n = d.full ? keys_ : changed_; i < n; ++i)
      add(d, d.full ? i : chance_() % keys_);
    d.digest = digest_;
    ended_by(store_->commit(d));
  }

private:
  void add(storage::checkpoint_delta& d, std::size_t key) {
    char name[32];
    std::snprintf(name, sizeof name, "bench/k%08zu", key);
    std::string value(value_bytes, '\0');
    for (auto& c : value)
      c = static_cast<char>('a' + chance_() % 16);
    const auto hash = *hash_of_bytes(1, name, value);
    digest_ += hash - hashes_[key];
    hashes_[key] = hash;
    d.rows.push_back({1, name, [value = std::move(value)](std::string& out) { out += value; }, value_bytes});
  }

  std::size_t keys_, changed_;
  std::vector<std::uint64_t> hashes_;
  std::uint64_t digest_ = 0, index_ = 0;
  std::mt19937_64 chance_{42};
  std::unique_ptr<storage::lmdb_checkpoint> store_;
};

class log_under_load {
public:
  explicit log_under_load(const std::string& folder) {
    auto opened = storage::segment_log::open(storage::posix_file_system(), folder + "/raft");
    ended_by(opened ? status(done{}) : status(opened.reason()));
    log_ = std::move(*opened);
    const auto loaded = log_->load();
    ended_by(loaded ? status(done{}) : status(loaded.reason()));
  }
  double append() {
    raft::persist_batch b;
    for (int i = 0; i < entries_of_append; ++i)
      b.entries.push_back({log_index{++index_}, term_id{1}, {}, raft::entry_kind::command, make_payload(command_)});
    const auto begin = clock_type::now();
    ended_by(log_->append({b}));
    const auto took = ms_since(begin);
    if (index_ % compacted_after == 0)
      ended_by(log_->compact(log_index{index_}));
    return took;
  }

private:
  std::unique_ptr<storage::segment_log> log_;
  std::uint64_t index_ = 0;
  std::string command_ = std::string(300, 'c');
};

double quantile(std::vector<double>& of, double q) {
  if (of.empty())
    return 0;
  std::sort(of.begin(), of.end());
  return of[std::min(of.size() - 1, static_cast<std::size_t>(q * static_cast<double>(of.size())))];
}

void run(mode m, std::chrono::seconds how_long, log_under_load& log, checkpoints& state, int disk, times& into) {
  std::atomic<bool> over = false;
  std::thread appends([&] {
    while (!over)
      into.log_ms.push_back(log.append());
  });
  std::thread writes([&] {
    const std::string page(4096, 'p');
    while (!over) {
      const auto begin = clock_type::now();
      if (::pwrite(disk, page.data(), page.size(), 0) < 0 || ::fdatasync(disk) != 0)
        std::exit(1);
      into.disk_ms.push_back(ms_since(begin));
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  std::thread commits([&] {
    if (m == paced)
      storage::pace_this_thread();
    while (!over && m != none) {
      state.write();
      ++into.checkpoints;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  });
  std::this_thread::sleep_for(how_long);
  over = true;
  for (auto* each : {&appends, &writes, &commits})
    each->join();
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: log_beside_checkpoint FOLDER [ROUNDS [SECONDS [KEYS [CHANGED]]]]\n");
    return 2;
  }
  const auto number = [&](int at, std::size_t otherwise) {
    return argc > at ? static_cast<std::size_t>(std::strtoull(argv[at], nullptr, 10)) : otherwise;
  };
  const std::string folder = argv[1];
  const auto rounds = number(2, 5), seconds = number(3, 4), keys = number(4, 10'000), changed = number(5, keys);
  log_under_load log(folder);
  checkpoints state(folder, keys, changed);
  const int disk = ::open((folder + "/disk").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (disk < 0 || ::ftruncate(disk, 4096) != 0 || ::fsync(disk) != 0)
    return 1;
  std::array<times, modes> all;
  for (std::size_t r = 0; r < rounds; ++r)
    for (int m = 0; m < modes; ++m)
      run(static_cast<mode>((m + static_cast<int>(r)) % modes), std::chrono::seconds(seconds), log, state, disk,
          all[static_cast<std::size_t>((m + static_cast<int>(r)) % modes)]);
  std::printf(
      "| | checkpoints | appends | p50 ms | p99 ms | p99.9 ms | p99.9 by none | 4 KiB p50 ms | p99 ms | p99.9 ms |\n");
  std::printf("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
  const auto of_none = quantile(all[none].log_ms, 0.999);
  for (int m = 0; m < modes; ++m) {
    auto& t = all[static_cast<std::size_t>(m)];
    std::printf("| %s | %zu | %zu | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f |\n",
                names[static_cast<std::size_t>(m)], t.checkpoints, t.log_ms.size(), quantile(t.log_ms, 0.5),
                quantile(t.log_ms, 0.99), quantile(t.log_ms, 0.999), quantile(t.log_ms, 0.999) / of_none,
                quantile(t.disk_ms, 0.5), quantile(t.disk_ms, 0.99), quantile(t.disk_ms, 0.999));
  }
  return 0;
}
