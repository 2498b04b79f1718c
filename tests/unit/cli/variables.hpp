#pragma once
// What a test changes in its process: environment variables and the working directory.

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace belay::cli {

/// Sets a variable for one test, and unsets it afterwards.
class variables {
public:
  explicit variables(std::vector<std::pair<std::string, std::string>> all) : all_(std::move(all)) {
    for (const auto& [name, value] : all_)
      ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~variables() {
    for (const auto& [name, value] : all_)
      ::unsetenv(name.c_str());
  }
  variables(const variables&) = delete;
  variables& operator=(const variables&) = delete;

private:
  std::vector<std::pair<std::string, std::string>> all_;
};

/// Changes to a new folder, and back afterwards: commands write into the working directory.
class working_directory {
public:
  working_directory() : before_(std::filesystem::current_path()) {
    char name[] = "/tmp/belay-cli-XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    here_ = name;
    std::filesystem::current_path(here_);
  }
  ~working_directory() {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(here_);
  }
  working_directory(const working_directory&) = delete;
  working_directory& operator=(const working_directory&) = delete;
  const std::filesystem::path& path() const { return here_; }

private:
  std::filesystem::path before_, here_;
};

} // namespace belay::cli
