#pragma once
// A file system that changes nothing: reads go to another one, changes succeed without effect.
// It allows inspecting the data of a stopped server with the code that starts it.

#include "storage/file_system.hpp"

namespace belay::storage {

class read_only_files final : public file_system {
public:
  explicit read_only_files(file_system& files) : files_(files) {}

  result<std::unique_ptr<file>> open(const std::string& path, open_mode mode) override;
  status rename(const std::string&, const std::string&) override { return done{}; }
  status remove(const std::string&) override { return done{}; }
  status sync_directory(const std::string&) override { return done{}; }
  status make_directory(const std::string&) override { return done{}; }
  result<std::vector<std::string>> list(const std::string& directory) override { return files_.list(directory); }
  result<std::optional<std::string>> read_if_there(const std::string& path) override {
    return files_.read_if_there(path);
  }
  /// A real lock: no process may change what is being read.
  result<std::unique_ptr<file_lock>> lock(const std::string& directory) override { return files_.lock(directory); }

private:
  file_system& files_;
};

} // namespace belay::storage
