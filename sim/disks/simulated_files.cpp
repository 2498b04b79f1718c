#include "sim/disks/simulated_files.hpp"

#include "protocol/base/random.hpp"

#include <algorithm>

namespace belay::sim {

namespace {

constexpr std::size_t sector_bytes = 512; // a disk writes a sector as a whole or not at all

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

void put(std::string& contents, std::uint64_t offset, std::string_view bytes) {
  if (contents.size() < offset + bytes.size())
    contents.resize(offset + bytes.size());
  contents.replace(offset, bytes.size(), bytes);
}

std::vector<byte_range> some_sectors(const unsynced_write& w, seeded_random random) {
  std::vector<byte_range> kept;
  for (std::size_t at = 0; at < w.bytes.size();) {
    const auto n = std::min<std::size_t>(w.bytes.size() - at, sector_bytes - (w.offset + at) % sector_bytes);
    if (random.below(2) == 1)
      kept.push_back({at, n});
    at += n;
  }
  return kept;
}

} // namespace

// ---- what survives

survival drawn_survival(choice c) {
  return {[c](std::size_t pending) { return static_cast<std::size_t>(c(pending + 1)); },
          [c](const unsynced_write& w) -> std::vector<byte_range> {
            switch (c(4)) {
            case 0:
              return {};
            case 1:
              return {{0, w.bytes.size()}};
            case 2:
              return {{0, static_cast<std::size_t>(c(w.bytes.size() + 1))}};
            default:
              // One choice for all its sectors: one item each would make a tape hard to shrink.
              return some_sectors(w, seeded_random(c(1u << 30)));
            }
          }};
}

survival nothing_survives() {
  return {[](std::size_t) { return std::size_t{0}; }, [](const unsynced_write&) { return std::vector<byte_range>(); }};
}

survival all_survives() {
  return {[](std::size_t pending) { return pending; },
          [](const unsynced_write& w) {
            return std::vector<byte_range>{{0, w.bytes.size()}};
          }};
}

// ---- files

class simulated_files::handle final : public storage::file {
public:
  handle(simulated_files& disk, std::string path, inode_ptr i)
      : disk_(disk), path_(std::move(path)), inode_(std::move(i)), life_(disk.life_) {}

  result<std::size_t> read_at(std::uint64_t offset, char* into, std::size_t n) override {
    if (auto f = unusable("read"))
      return *f;
    return offset >= inode_->bytes.size() ? std::size_t{0} : inode_->bytes.copy(into, n, offset);
  }

  status write_at(std::uint64_t offset, const std::vector<std::string_view>& parts) override {
    if (life_ != disk_.life_)
      return *unusable("write");
    std::string joined;
    if (parts.size() != 1)
      for (auto p : parts)
        joined.append(p);
    std::string_view bytes = parts.size() == 1 ? parts.front() : std::string_view(joined);
    const auto obstacle = disk_.next_obstacle();
    const auto old_size = inode_->bytes.size();
    const auto space = old_size + disk_.free_bytes();
    const bool full = offset + bytes.size() > space;
    if (obstacle == obstacle::failing)
      bytes = bytes.substr(0, bytes.size() / 2);
    else if (obstacle == obstacle::stopping)
      bytes = bytes.substr(0, bytes.size() * disk_.stop_part_ >> 16);
    else if (full)
      bytes = bytes.substr(0, space > offset ? space - offset : 0);
    if (const auto end = offset + bytes.size(); disk_.whole_sectors_ && obstacle != obstacle::none)
      bytes = bytes.substr(0, bytes.size() - std::min<std::size_t>(bytes.size(), end % sector_bytes));
    disk_.stop_part_ = obstacle == obstacle::stopping ? 0 : disk_.stop_part_; // later calls are not done at all
    if (!bytes.empty())
      disk_.write(*inode_, offset, bytes);
    disk_.counters_.writes += obstacle == obstacle::none && !full;
    disk_.synced();
    if (obstacle != obstacle::none)
      return failure{"cannot write " + path_ + ": " + disk_.refusal(obstacle).text};
    if (full) {
      ++disk_.counters_.full;
      return storage::no_space("cannot write " + path_ + " (simulated)");
    }
    return done{};
  }

  status sync() override {
    if (life_ != disk_.life_)
      return *unusable("sync");
    const auto obstacle = disk_.next_obstacle();
    auto& pending = inode_->pending;
    if (obstacle == obstacle::none) {
      ++disk_.counters_.syncs;
      const auto doubtful =
          std::find_if(pending.begin(), pending.end(), [](const pending_write& w) { return w.doubtful; });
      pending.erase(pending.begin(), doubtful);
      for (auto& w : pending)
        w.durable |= !w.doubtful;
    } else if (obstacle == obstacle::failing) {
      // Linux drops the error with the pages: the next sync succeeds, but nothing was written.
      for (auto& w : pending)
        w.doubtful |= !w.durable;
    }
    disk_.synced();
    if (obstacle != obstacle::none)
      return failure{"cannot sync " + path_ + ": " + disk_.refusal(obstacle).text};
    return done{};
  }

  void begin_writeback(std::uint64_t, std::uint64_t) override {}

  result<std::uint64_t> size() override {
    if (auto f = unusable("look at"))
      return *f;
    return std::uint64_t{inode_->bytes.size()};
  }

private:
  std::optional<failure> unusable(const char* what) const {
    if (life_ == disk_.life_ && !disk_.stopped_)
      return std::nullopt;
    return failure{std::string("cannot ") + what + " " + path_ + ": the process that opened it has ended"};
  }

  simulated_files& disk_;
  std::string path_;
  inode_ptr inode_;
  std::uint64_t life_;
};

void simulated_files::write(inode& into, std::uint64_t offset, std::string_view bytes) {
  pending_write w;
  w.number = ++last_write_;
  w.offset = offset;
  w.n = bytes.size();
  w.size_before = into.bytes.size();
  if (offset < w.size_before)
    w.before = into.bytes.substr(offset, bytes.size());
  put(into.bytes, offset, bytes);
  into.pending.push_back(std::move(w));
}

// ---- names

class simulated_files::held_lock final : public storage::file_lock {
public:
  explicit held_lock(std::shared_ptr<bool> held) : held_(std::move(held)) { *held_ = true; }
  ~held_lock() override { *held_ = false; }

private:
  std::shared_ptr<bool> held_;
};

void simulated_files::apply(name_map& names, const pending_name& change) {
  if (change.created) {
    names[change.path] = change.created;
    return;
  }
  const auto found = names.find(change.path);
  INVARIANT(found != names.end());
  auto i = found->second;
  names.erase(found);
  if (!change.to.empty())
    names[change.to] = std::move(i);
}

status simulated_files::change_name(pending_name change) {
  if (!change.created && !names_.contains(change.path))
    return failure{"cannot rename or remove " + change.path + ": no such file"};
  const auto obstacle = next_obstacle();
  if (obstacle == obstacle::none) {
    apply(names_, change);
    pending_names_[directory_of(change.path)].push_back(std::move(change));
  }
  synced();
  if (obstacle != obstacle::none)
    return refusal(obstacle);
  return done{};
}

result<std::unique_ptr<storage::file>> simulated_files::open(const std::string& path, storage::open_mode mode) {
  if (mode == storage::open_mode::fresh)
    if (auto s = change_name({path, {}, std::make_shared<inode>()}); !s)
      return failure{"cannot create " + path + ": " + s.error()};
  if (stopped_)
    return failure{"cannot open " + path + ": " + refusal(obstacle::stopping).text};
  const auto found = names_.find(path);
  if (found == names_.end())
    return failure{"cannot open " + path + ": no such file"};
  return std::unique_ptr<storage::file>(std::make_unique<handle>(*this, path, found->second));
}

status simulated_files::rename(const std::string& from, const std::string& to) {
  PRECONDITION(directory_of(from) == directory_of(to));
  return change_name({from, to, nullptr});
}

status simulated_files::remove(const std::string& path) {
  return change_name({path, {}, nullptr});
}

status simulated_files::sync_directory(const std::string& directory) {
  const auto obstacle = next_obstacle();
  if (obstacle == obstacle::none) {
    for (const auto& change : pending_names_[directory])
      apply(durable_names_, change);
    pending_names_.erase(directory);
  }
  synced();
  if (obstacle != obstacle::none)
    return failure{"cannot sync " + directory + ": " + refusal(obstacle).text};
  return done{};
}

status simulated_files::make_directory(const std::string& directory) {
  if (stopped_)
    return failure{"cannot create " + directory + ": " + refusal(obstacle::stopping).text};
  return done{};
}

result<std::vector<std::string>> simulated_files::list(const std::string& directory) {
  if (stopped_)
    return failure{"cannot list " + directory + ": " + refusal(obstacle::stopping).text};
  std::vector<std::string> all; // sorted, as the paths are
  const auto below = directory + "/";
  for (auto it = names_.lower_bound(below); it != names_.end() && it->first.starts_with(below); ++it) {
    auto name = it->first.substr(below.size());
    name.resize(std::min(name.find('/'), name.size()));
    if (all.empty() || all.back() != name)
      all.push_back(std::move(name));
  }
  return all;
}

result<std::optional<std::string>> simulated_files::read_if_there(const std::string& path) {
  if (stopped_)
    return failure{refusal(obstacle::stopping).text};
  const auto found = names_.find(path);
  return found == names_.end() ? std::nullopt : std::optional(found->second->bytes);
}

result<std::unique_ptr<storage::file_lock>> simulated_files::lock(const std::string& directory) {
  auto& held = locks_[directory];
  if (!held)
    held = std::make_shared<bool>(false);
  if (*held)
    return failure{directory + " is in use"};
  return std::unique_ptr<storage::file_lock>(std::make_unique<held_lock>(held));
}

// ---- the end of a life

void simulated_files::end_life() {
  ++life_;
  locks_.clear();
  fail_in_ = stop_in_ = 0;
  stopped_ = false;
}

void simulated_files::kill() {
  end_life();
}

void simulated_files::take_away(const std::string& path) {
  away_path_ = path;
  for (auto it = names_.lower_bound(path); it != names_.end() && it->first.starts_with(path); ++it) {
    it->second->pending.clear(); // a volume is unmounted in order: everything is synced
    away_.insert(*it);
  }
  remove_below(path);
}

void simulated_files::put_back() {
  if (away_path_.empty())
    return;
  remove_below(away_path_); // the volume hides what was written meanwhile
  for (const auto& [path, i] : away_) {
    names_[path] = i;
    durable_names_[path] = i;
  }
  away_.clear();
  away_path_.clear();
}

void simulated_files::remove_below(const std::string& path) {
  const auto below = [&](const auto& item) { return item.first.starts_with(path); };
  std::erase_if(names_, below);
  std::erase_if(durable_names_, below);
  for (auto& [directory, changes] : pending_names_)
    std::erase_if(changes, [&](const pending_name& c) { return c.path.starts_with(path); });
}

void simulated_files::wipe() {
  end_life();
  away_.clear();
  away_path_.clear();
  names_.clear();
  durable_names_.clear();
  pending_names_.clear();
}

void simulated_files::lose_power(const survival& how) {
  end_life();
  for (const auto& [directory, pending] : pending_names_) {
    const auto kept = how.names(pending.size());
    INVARIANT(kept <= pending.size());
    for (std::size_t i = 0; i < kept; ++i)
      apply(durable_names_, pending[i]);
    counters_.names_lost += pending.size() - kept;
  }
  pending_names_.clear();
  names_ = durable_names_;
  for (const auto& [path, i] : names_)
    settle(*i, how);
}

void simulated_files::settle(inode& i, const survival& how) {
  // Back to what was synced, write by write; then forward again with what survives of each.
  std::vector<std::string> written;
  for (auto w = i.pending.rbegin(); w != i.pending.rend(); ++w) {
    written.push_back(i.bytes.substr(w->offset, w->n));
    put(i.bytes, w->offset, w->before);
    i.bytes.resize(w->size_before);
  }
  for (const auto& w : i.pending) {
    const auto bytes = std::move(written.back());
    written.pop_back();
    if (w.durable) {
      put(i.bytes, w.offset, bytes);
      continue;
    }
    std::size_t kept = 0;
    for (const auto& r : how.bytes({w.offset, bytes, w.number == last_write_})) {
      put(i.bytes, w.offset + r.from, std::string_view(bytes).substr(r.from, r.n));
      kept += r.n;
    }
    counters_.writes_lost += kept == 0;
    counters_.writes_cut += kept != 0 && kept != bytes.size();
  }
  i.pending.clear();
}

// ---- faults

void simulated_files::fail_next(std::uint64_t n) {
  fail_in_ = n;
}

void simulated_files::stop_after(std::uint64_t n, std::uint16_t part) {
  stop_in_ = n;
  stop_part_ = part;
}

simulated_files::obstacle simulated_files::next_obstacle() {
  ++counters_.changes;
  if (stop_in_ > 0 && --stop_in_ == 0)
    stopped_ = true;
  if (stopped_) {
    ++counters_.stopped;
    return obstacle::stopping;
  }
  if (fail_in_ > 0 && --fail_in_ == 0) {
    ++counters_.failed;
    return obstacle::failing;
  }
  return obstacle::none;
}

failure simulated_files::refusal(obstacle o) {
  return failure{o == obstacle::failing ? "I/O error (simulated)" : "the machine is going off (simulated)"};
}

void simulated_files::synced() const {
  if (changed)
    changed();
}

std::uint64_t simulated_files::used_bits() const {
  std::uint64_t n = 0;
  for (const auto& [path, i] : names_)
    n += i->bytes.find_last_not_of('\0') + 1; // npos + 1 is 0
  return 8 * n;
}

simulated_files::flipped simulated_files::flip_bit(std::uint64_t n) {
  for (const auto& [path, i] : names_) {
    const auto used = 8 * std::uint64_t{i->bytes.find_last_not_of('\0') + 1};
    if (n < used) {
      auto& byte = i->bytes[n / 8];
      byte = static_cast<char>(byte ^ (1 << n % 8));
      return {path, n / 8};
    }
    n -= used;
  }
  PRECONDITION(!"n < used_bits()");
  return {};
}

// ---- observers

std::uint64_t simulated_files::bytes_used() const {
  std::uint64_t n = 0;
  for (const auto& [path, i] : names_)
    n += i->bytes.size();
  return n;
}

std::uint64_t simulated_files::free_bytes() const {
  if (capacity_ == unlimited)
    return unlimited;
  return capacity_ - std::min(capacity_, bytes_used());
}

std::vector<std::string> simulated_files::paths() const {
  std::vector<std::string> all;
  for (const auto& [path, i] : names_)
    all.push_back(path);
  return all;
}

std::string* simulated_files::contents(const std::string& path) {
  const auto found = names_.find(path);
  return found == names_.end() ? nullptr : &found->second->bytes;
}

std::unique_ptr<simulated_files> simulated_files::copy() const {
  auto other = std::make_unique<simulated_files>();
  std::map<const inode*, inode_ptr> copies;
  const auto copy_of = [&](const inode_ptr& i) {
    auto& c = copies[i.get()];
    if (i && !c)
      c = std::make_shared<inode>(*i);
    return c;
  };
  for (const auto& [path, i] : names_)
    other->names_[path] = copy_of(i);
  for (const auto& [path, i] : durable_names_)
    other->durable_names_[path] = copy_of(i);
  for (const auto& [directory, pending] : pending_names_)
    for (const auto& p : pending)
      other->pending_names_[directory].push_back({p.path, p.to, copy_of(p.created)});
  other->last_write_ = last_write_;
  return other;
}

} // namespace belay::sim
