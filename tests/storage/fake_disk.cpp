#include "tests/storage/fake_disk.hpp"

#include <algorithm>

namespace belay::tests {

namespace {

std::string plain(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

void write_into(std::string& contents, std::uint64_t offset, std::string_view bytes) {
  if (contents.size() < offset + bytes.size())
    contents.resize(offset + bytes.size());
  contents.replace(offset, bytes.size(), bytes);
}

void rename_in(std::map<std::string, std::uint64_t>& names, const disk_operation& op) {
  using kind = enum disk_operation::kind;
  if (op.kind == kind::create)
    names[op.name] = op.inode;
  if (op.kind == kind::remove)
    names.erase(op.name);
  if (op.kind == kind::rename) {
    const auto inode = names.at(op.name);
    names.erase(op.name);
    names[op.to] = inode;
  }
}

} // namespace

class fake_disk::fake_file : public storage::file {
public:
  fake_file(fake_disk& disk, std::uint64_t inode, std::shared_ptr<std::string> contents)
      : disk_(disk), inode_(inode), contents_(std::move(contents)) {}

  result<std::size_t> read_at(std::uint64_t offset, char* into, std::size_t n) override {
    if (offset >= contents_->size())
      return std::size_t{0};
    return contents_->copy(into, n, offset);
  }

  status write_at(std::uint64_t offset, const std::vector<std::string_view>& parts) override {
    std::string bytes;
    for (auto p : parts)
      bytes.append(p);
    const auto end = offset + bytes.size();
    const auto refused = disk_.before_change(end > contents_->size() ? end - contents_->size() : 0);
    if (refused)
      bytes.resize(bytes.size() / 2);
    ++disk_.writes_;
    write_into(*contents_, offset, bytes);
    disk_operation op;
    op.kind = disk_operation::kind::write;
    op.inode = inode_;
    op.offset = offset;
    op.bytes = std::move(bytes);
    disk_.record(std::move(op));
    if (refused)
      return *refused;
    return done{};
  }

  status sync() override {
    if (auto f = disk_.before_change())
      return *f;
    ++disk_.syncs_;
    disk_operation op;
    op.kind = disk_operation::kind::sync;
    op.inode = inode_;
    disk_.record(std::move(op));
    return done{};
  }

  void begin_writeback(std::uint64_t, std::uint64_t) override {}
  result<std::uint64_t> size() override { return std::uint64_t{contents_->size()}; }

private:
  fake_disk& disk_;
  std::uint64_t inode_;
  std::shared_ptr<std::string> contents_;
};

namespace {

class fake_lock : public storage::file_lock {
public:
  explicit fake_lock(std::shared_ptr<bool> held) : held_(std::move(held)) { *held_ = true; }
  ~fake_lock() override { *held_ = false; }

private:
  std::shared_ptr<bool> held_;
};

} // namespace

std::optional<failure> fake_disk::before_change(std::uint64_t growth) {
  if (failing_ && fail_in_ == 0) {
    failed_ = true;
    failing_ = for_good_;
    return failure{"I/O error (made by the test)"};
  }
  if (failing_)
    --fail_in_;
  if (growth > 0 && bytes_used() + growth > capacity_)
    return failure{std::string(storage::no_space) + " (made by the test)"};
  return std::nullopt;
}

void fake_disk::record(disk_operation op) {
  operations_.push_back(std::move(op));
}

void fake_disk::fail_after(std::uint64_t n, bool for_good) {
  failing_ = true;
  for_good_ = for_good;
  fail_in_ = n;
}

std::uint64_t fake_disk::bytes_used() const {
  std::uint64_t n = 0;
  for (const auto& [name, inode] : names_)
    n += inodes_.at(inode)->size();
  return n;
}

result<std::unique_ptr<storage::file>> fake_disk::open(const std::string& path, storage::open_mode mode) {
  const auto name = plain(path);
  auto found = names_.find(name);
  if (mode == storage::open_mode::existing && found == names_.end())
    return failure{"cannot open " + path + ": no such file"};
  if (mode == storage::open_mode::fresh) {
    if (auto f = before_change())
      return *f;
    disk_operation op;
    op.kind = disk_operation::kind::create;
    op.inode = next_inode_;
    op.name = name;
    record(std::move(op));
    inodes_[next_inode_] = std::make_shared<std::string>();
    found = names_.insert_or_assign(name, next_inode_++).first;
  }
  return std::unique_ptr<storage::file>(std::make_unique<fake_file>(*this, found->second, inodes_.at(found->second)));
}

status fake_disk::rename(const std::string& from, const std::string& to) {
  if (auto f = before_change())
    return *f;
  if (names_.count(plain(from)) == 0)
    return failure{"cannot rename " + from + ": no such file"};
  disk_operation op;
  op.kind = disk_operation::kind::rename;
  op.name = plain(from);
  op.to = plain(to);
  rename_in(names_, op);
  record(std::move(op));
  return done{};
}

status fake_disk::remove(const std::string& path) {
  if (auto f = before_change())
    return *f;
  if (names_.count(plain(path)) == 0)
    return failure{"cannot remove " + path + ": no such file"};
  disk_operation op;
  op.kind = disk_operation::kind::remove;
  op.name = plain(path);
  rename_in(names_, op);
  record(std::move(op));
  return done{};
}

status fake_disk::sync_directory(const std::string&) {
  if (auto f = before_change())
    return *f;
  disk_operation op;
  op.kind = disk_operation::kind::sync_directory;
  record(std::move(op));
  return done{};
}

result<std::vector<std::string>> fake_disk::list(const std::string&) {
  return names();
}

result<std::unique_ptr<storage::file_lock>> fake_disk::lock(const std::string& directory) {
  if (*locked_)
    return failure{directory + " is in use"};
  return std::unique_ptr<storage::file_lock>(std::make_unique<fake_lock>(locked_));
}

std::string* fake_disk::contents(const std::string& name) {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : inodes_.at(found->second).get();
}

std::vector<std::string> fake_disk::names() const {
  std::vector<std::string> all;
  for (const auto& [name, inode] : names_)
    all.push_back(name);
  return all;
}

std::unique_ptr<fake_disk> fake_disk::after_power_loss(const std::vector<disk_operation>& operations, std::size_t count,
                                                       survival how, seeded_random& random) {
  using kind = enum disk_operation::kind;
  auto disk = std::make_unique<fake_disk>();
  std::map<std::uint64_t, std::string> contents;
  std::vector<const disk_operation*> pending_writes;
  std::vector<const disk_operation*> pending_names;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& op = operations[i];
    switch (op.kind) {
    case kind::write:
      pending_writes.push_back(&op);
      break;
    case kind::sync: {
      const auto mine = [&](const disk_operation* w) { return w->inode == op.inode; };
      for (const auto* w : pending_writes)
        if (mine(w))
          write_into(contents[op.inode], w->offset, w->bytes);
      std::erase_if(pending_writes, mine);
      break;
    }
    case kind::create:
      contents[op.inode];
      [[fallthrough]];
    case kind::rename:
    case kind::remove:
      pending_names.push_back(&op);
      break;
    case kind::sync_directory:
      for (const auto* n : pending_names)
        rename_in(disk->names_, *n);
      pending_names.clear();
      break;
    }
  }
  // Names change in order: every journalling file system keeps that, and sync_directory() ends each step that needs it.
  std::size_t names_kept = pending_names.size();
  if (how == survival::nothing)
    names_kept = 0;
  if (how == survival::any)
    names_kept = random.below(pending_names.size() + 1);
  for (std::size_t i = 0; i < names_kept; ++i)
    rename_in(disk->names_, *pending_names[i]);
  for (const auto* w : pending_writes) {
    auto& into = contents[w->inode];
    if (how == survival::all || (how == survival::torn && w != pending_writes.back())) {
      write_into(into, w->offset, w->bytes);
    } else if (how == survival::torn) {
      write_into(into, w->offset, std::string_view(w->bytes).substr(0, random.below(w->bytes.size() + 1)));
    } else if (how == survival::any) {
      // Each sector by itself; of a file that grew, missing ones are zeros.
      const auto chance = random.below(5);
      std::string_view rest = w->bytes;
      for (auto at = w->offset; !rest.empty();) {
        const auto n = std::min<std::size_t>(rest.size(), 512 - at % 512);
        if (random.below(4) < chance)
          write_into(into, at, rest.substr(0, n));
        rest.remove_prefix(n);
        at += n;
      }
    }
  }
  // What survived is durable: the new disk's own history begins with it, so that a second power loss can follow.
  for (auto& [inode, bytes] : contents) {
    disk_operation w;
    w.inode = inode;
    w.bytes = bytes;
    disk->record(std::move(w));
    disk_operation s;
    s.kind = kind::sync;
    s.inode = inode;
    disk->record(std::move(s));
    disk->inodes_[inode] = std::make_shared<std::string>(std::move(bytes));
    disk->next_inode_ = std::max(disk->next_inode_, inode + 1);
  }
  for (const auto& [name, inode] : disk->names_) {
    disk_operation c;
    c.kind = kind::create;
    c.inode = inode;
    c.name = name;
    disk->record(std::move(c));
  }
  disk_operation names;
  names.kind = kind::sync_directory;
  disk->record(std::move(names));
  return disk;
}

} // namespace belay::tests
