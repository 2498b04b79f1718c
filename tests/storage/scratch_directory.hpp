#pragma once

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace belay::tests {

/// A new folder, removed at the end.
struct scratch_directory {
  std::string path;
  explicit scratch_directory(const std::filesystem::path& below = std::filesystem::temp_directory_path())
      : path((below / "belay-storage-XXXXXX").string()) {
    REQUIRE(mkdtemp(path.data()) != nullptr);
  }
  ~scratch_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;
};

} // namespace belay::tests
