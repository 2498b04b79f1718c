#include "tests/storage/log_story.hpp"

#include <catch2/catch.hpp>

namespace belay::tests {

void each_version() {
  begun_version = GENERATE(storage::segment_version::aligned_frames, storage::segment_version::sectors);
}

raft::entry make_entry(std::uint64_t index, std::uint64_t term, std::string data, raft::entry_kind kind) {
  return {log_index{index}, term_id{term}, cluster_time{1000 + index}, kind, make_payload(std::move(data))};
}

raft::persist_batch batch_of(std::vector<raft::entry> entries) {
  raft::persist_batch b;
  b.entries = std::move(entries);
  return b;
}

bool same_entry(const raft::entry& a, const raft::entry& b) {
  return a.index == b.index && a.term == b.term && a.time == b.time && a.kind == b.kind && *a.data == *b.data;
}

void expected_log::apply(const raft::persist_batch& b) {
  if (b.hard)
    hard = *b.hard;
  if (b.restart_after) {
    entries.clear();
    next_index = b.restart_after->index.value + 1;
    first_kept = std::max(first_kept, next_index);
  }
  if (b.truncate_from) {
    entries.erase(entries.lower_bound(b.truncate_from->value), entries.end());
    next_index = b.truncate_from->value;
  }
  for (const auto& e : b.entries) {
    entries[e.index.value] = e;
    next_index = e.index.value + 1;
  }
}

std::string expected_log::difference(const storage::loaded_log& found) const {
  if (!(found.hard == hard))
    return "hard state: term " + to_string(found.hard.term) + " instead of " + to_string(hard.term);
  auto at = entries.end();
  for (auto e = found.entries.rbegin(); e != found.entries.rend(); ++e) {
    if (at == entries.begin())
      return "entry " + to_string(e->index) + " is too much";
    --at;
    if (!same_entry(at->second, *e))
      return "entry " + to_string(e->index) + " where " + std::to_string(at->first) + " belongs, or changed";
  }
  if (at != entries.begin() && std::prev(at)->first >= first_kept)
    return "entry " + std::to_string(std::prev(at)->first) + " is missing";
  return {};
}

std::vector<raft::persist_batch> draw_batches(const expected_log& log, seeded_random& random) {
  static constexpr std::size_t sizes[] = {0, 1, 20, 300, 300, 700, 2000, 5000};
  auto now = log;
  std::vector<raft::persist_batch> batches;
  const auto count = 1 + random.below(3);
  for (std::uint64_t i = 0; i < count; ++i) {
    raft::persist_batch b;
    b.token = i;
    if (random.below(4) == 0)
      b.hard = raft::hard_state{term_id{now.hard.term.value + 1}, node_id{random.below(4)}};
    if (random.below(40) == 0)
      b.restart_after.emplace().index = log_index{now.next_index + random.below(50)};
    else if (random.below(6) == 0 && now.next_index > now.first_kept)
      b.truncate_from = log_index{now.first_kept + random.below(now.next_index - now.first_kept + 1)};
    now.apply(b);
    const auto entries = random.below(5);
    for (std::uint64_t e = 0; e < entries; ++e) {
      // Zeros look like bytes that were never written: they are the hard case.
      const char fill = random.below(3) == 0 ? '\0' : static_cast<char>('a' + random.below(26));
      b.entries.push_back(make_entry(now.next_index + e, now.hard.term.value,
                                     std::string(sizes[random.below(std::size(sizes))], fill),
                                     static_cast<raft::entry_kind>(random.below(3))));
    }
    now.apply(b);
    batches.push_back(std::move(b));
  }
  return batches;
}

} // namespace belay::tests
