#pragma once
// A minimal disk for the segment log: files in memory, by plain name, that never fail.

#include "storage/file_system.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace belay::sim {

class memory_files : public storage::file_system {
public:
  std::map<std::string, std::shared_ptr<std::string>> contents;

  result<std::unique_ptr<storage::file>> open(const std::string& path, storage::open_mode mode) override {
    auto& bytes = contents[plain(path)];
    if (!bytes || mode == storage::open_mode::fresh)
      bytes = std::make_shared<std::string>();
    return std::unique_ptr<storage::file>(std::make_unique<memory_file>(bytes));
  }
  status rename(const std::string& from, const std::string& to) override {
    contents[plain(to)] = std::move(contents.at(plain(from)));
    contents.erase(plain(from));
    return done{};
  }
  status remove(const std::string& path) override {
    contents.erase(plain(path));
    return done{};
  }
  status sync_directory(const std::string&) override { return done{}; }
  status make_directory(const std::string&) override { return done{}; }
  result<std::vector<std::string>> list(const std::string&) override {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : contents)
      names.push_back(name);
    return names;
  }
  result<std::optional<std::string>> read_if_there(const std::string& path) override {
    const auto found = contents.find(plain(path));
    return found == contents.end() ? std::nullopt : std::optional(*found->second);
  }
  result<std::unique_ptr<storage::file_lock>> lock(const std::string&) override {
    return std::make_unique<storage::file_lock>();
  }

private:
  struct memory_file : storage::file {
    explicit memory_file(std::shared_ptr<std::string> b) : bytes(std::move(b)) {}
    result<std::size_t> read_at(std::uint64_t offset, char* into, std::size_t n) override {
      return offset >= bytes->size() ? 0 : bytes->copy(into, n, offset);
    }
    status write_at(std::uint64_t offset, const std::vector<std::string_view>& parts) override {
      for (auto p : parts) {
        if (bytes->size() < offset + p.size())
          bytes->resize(offset + p.size());
        bytes->replace(offset, p.size(), p);
        offset += p.size();
      }
      return done{};
    }
    status sync() override { return done{}; }
    void begin_writeback(std::uint64_t, std::uint64_t) override {}
    result<std::uint64_t> size() override { return std::uint64_t{bytes->size()}; }
    std::shared_ptr<std::string> bytes; ///< survives if the file is removed while it is open
  };

  static std::string plain(const std::string& path) { return path.substr(path.rfind('/') + 1); }
};

} // namespace belay::sim
