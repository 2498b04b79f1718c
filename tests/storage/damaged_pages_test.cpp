// A disk returns wrong bytes of the checkpoint's file: one bit, a page of zeros or other bytes, a
// missing end, two swapped pages, or wrong numbers in headers of pages. LMDB trusts what it reads,
// so every start would end with a signal. Instead the store reports damage, and an older checkpoint
// is used. What is loaded is always what was committed at that index; commits continue.

#include "protocol/base/random.hpp"
#include "storage/checkpoint/lmdb_pages.hpp"
#include "tests/harness/scratch.hpp"
#include "tests/storage/stored_row.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

using namespace belay;
using namespace belay::storage;

namespace {

constexpr std::size_t page_bytes = 4096;
using rows_of_index = std::map<std::string, std::string>;

std::unique_ptr<lmdb_checkpoint> open_store(const std::string& folder) {
  lmdb_checkpoint_options o;
  o.map_bytes = 4 << 20;
  o.checks_ahead = false;
  auto s = lmdb_checkpoint::open(folder, of_bytes(o));
  if (!s)
    FAIL(s.error());
  return std::move(s).value();
}

checkpoint_delta delta_of(std::uint64_t index, const rows_of_index& before, const rows_of_index& after, bool full) {
  checkpoint_delta d;
  d.meta.index = log_index{index};
  d.meta.term = term_id{1};
  d.full = full;
  for (const auto& [key, value] : after) {
    const auto at = before.find(key);
    if (full || at == before.end() || at->second != value)
      d.rows.push_back(stored_row(1, key, value));
    d.digest += *hash_of_bytes(1, key, value);
  }
  for (const auto& [key, value] : before)
    if (!full && !after.contains(key))
      d.rows.push_back({1, key, nullptr, 0});
  return d;
}

/// Replaces, removes and adds some rows; a few values need pages of their own.
rows_of_index changed(rows_of_index rows, seeded_random& chance) {
  for (int n = 0; n < 60; ++n) {
    const auto key = "key" + std::to_string(chance.below(400));
    if (chance.below(4) == 0)
      rows.erase(key);
    else
      rows[key] = std::string(chance.below(10) == 0 ? chance.below(20'000) : chance.below(200),
                              static_cast<char>('a' + chance.below(26)));
  }
  return rows;
}

void damage(const std::string& path, seeded_random& chance) {
  std::string bytes;
  {
    std::ifstream in(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  const auto pages = bytes.size() / page_bytes;
  REQUIRE(pages > 20);
  const auto page = chance.below(pages) * page_bytes;
  switch (chance.below(7)) {
  case 0: {
    auto& byte = bytes[chance.below(bytes.size())];
    byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1U << chance.below(8)));
    break;
  }
  case 1:
    for (std::size_t n = 0; n < page_bytes; ++n)
      bytes[page + n] = static_cast<char>(chance.below(256));
    break;
  case 2:
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(page), page_bytes, '\0');
    break;
  case 3:
    bytes.resize(chance.below(bytes.size()));
    break;
  case 4: {
    const auto other = chance.below(pages) * page_bytes;
    std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(page),
                     bytes.begin() + static_cast<std::ptrdiff_t>(page + page_bytes),
                     bytes.begin() + static_cast<std::ptrdiff_t>(other));
    break;
  }
  case 5: // header and offsets of nodes
    for (int n = 0; n < 3; ++n)
      bytes[page + chance.below(48)] = static_cast<char>(chance.below(256));
    break;
  default: // the first nodes, which are at the end of the page
    for (int n = 0; n < 3; ++n)
      bytes[page + page_bytes - 1 - chance.below(300)] = static_cast<char>(chance.below(256));
  }
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// Like a start: loads the newest checkpoint whose rows have their digest. @returns its index
std::uint64_t load_newest(lmdb_checkpoint& store, rows_of_index& rows) {
  for (;;) {
    const auto info = store.info();
    std::uint64_t digest = 0;
    rows.clear();
    if (info && *info) {
      const auto loaded = store.load([&](std::uint8_t table, std::string_view key, std::string_view value) {
        digest += *hash_of_bytes(table, key, value);
        rows[std::string(key)] = value;
      });
      if (loaded && digest == (*info)->digest)
        return (*info)->meta.index.value;
    }
    const auto older = store.fall_back();
    if (!older)
      FAIL(older.error());
    REQUIRE(*older);
  }
}

/// Commits at the indexes 1 to 8, with an older generation at 5. @returns their rows
std::map<std::uint64_t, rows_of_index> write_checkpoints(const std::string& folder, seeded_random& chance) {
  std::map<std::uint64_t, rows_of_index> committed;
  auto store = open_store(folder);
  for (std::uint64_t index = 1; index <= 8; ++index) {
    committed[index] = changed(committed[index - 1], chance);
    const auto s = store->commit(delta_of(index, committed[index - 1], committed[index], index == 1));
    if (!s)
      FAIL(s.error());
    if (index == 5)
      REQUIRE(store->keep_older());
  }
  committed.erase(0);
  return committed;
}

/// Starts from damaged files, and makes the next commit. @returns the index that was loaded
std::uint64_t start_and_go_on(const std::string& folder, const std::map<std::uint64_t, rows_of_index>& committed,
                              seeded_random& chance) {
  auto store = open_store(folder);
  rows_of_index rows;
  const auto index = load_newest(*store, rows);
  REQUIRE(committed.contains(index));
  REQUIRE(rows == committed.at(index));
  // The next commit, which needs free pages; a full one if the file cannot take it.
  const auto next = changed(rows, chance);
  auto s = store->commit(delta_of(index + 1, rows, next, false));
  if (!s && s.reason().kind == failure_kind::unproven)
    s = store->commit(delta_of(index + 1, rows, next, true));
  if (!s)
    FAIL(s.error());
  store.reset();
  store = open_store(folder);
  rows_of_index again;
  CHECK(load_newest(*store, again) == index + 1);
  REQUIRE(again == next);
  return index;
}

} // namespace

TEST_CASE("a start survives any damage to the newest checkpoint", "[storage]") {
  harness::scratch_folder original;
  seeded_random chance(4711);
  const auto committed = write_checkpoints(original.path(), chance);
  CHECK(check_lmdb_pages(original / "state/checkpoint.mdb"));
  std::map<std::uint64_t, int> started_from;
  for (int round = 0; round < 600; ++round) {
    harness::scratch_folder copy;
    std::filesystem::copy(original.path(), copy.path(),
                          std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
    damage(copy / "state/checkpoint.mdb", chance);
    CAPTURE(round);
    ++started_from[start_and_go_on(copy.path(), committed, chance)];
  }
  CHECK(started_from[8] > 0); // the damaged part is not in use
  CHECK(started_from[7] + started_from[5] > 200);
  CHECK(started_from[5] > 0);
}

TEST_CASE("a start survives each wrong bit of a meta page that LMDB believes", "[storage]") {
  // LMDB maps pages up to the last one, and aborts if the flags want other keys or values.
  constexpr std::size_t meta = 16, databases = 24, database = 48, flags = 4, last_page = 120;
  harness::scratch_folder original;
  seeded_random chance(4712);
  const auto committed = write_checkpoints(original.path(), chance);
  for (const std::size_t page : {0, 1})
    for (const auto& [field, bits] :
         {std::pair{databases + flags, 16}, std::pair{databases + database + flags, 16}, std::pair{last_page, 64}})
      for (int bit = 0; bit < bits; ++bit) {
        CAPTURE(page, field, bit);
        harness::scratch_folder copy;
        std::filesystem::copy(original.path(), copy.path(),
                              std::filesystem::copy_options::recursive |
                                  std::filesystem::copy_options::overwrite_existing);
        const auto at =
            static_cast<std::streamoff>(page * page_bytes + meta + field + static_cast<std::size_t>(bit) / 8);
        std::fstream file(copy / "state/checkpoint.mdb", std::ios::binary | std::ios::in | std::ios::out);
        file.seekg(at);
        const auto byte = static_cast<unsigned>(file.get());
        file.seekp(at);
        file.put(static_cast<char>(byte ^ (1U << (bit % 8))));
        file.close();
        REQUIRE(file);
        (void)start_and_go_on(copy.path(), committed, chance);
      }
}

TEST_CASE("pages of a valid file are accepted, and those of another program rejected", "[storage]") {
  harness::scratch_folder folder;
  CHECK_FALSE(check_lmdb_pages(folder / "missing"));
  for (const std::size_t bytes : {0, 10, 151, 4096, 8192, 65'536}) {
    std::ofstream(folder / "file", std::ios::binary | std::ios::trunc) << std::string(bytes, 'x');
    const auto s = check_lmdb_pages(folder / "file");
    REQUIRE_FALSE(s);
    CHECK(s.reason().kind == failure_kind::unproven);
  }
}
