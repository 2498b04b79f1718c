#include "storage/read_only_files.hpp"

#include <utility>

namespace belay::storage {

namespace {

/// A new file, or an existing one for reading.
class unchanged_file final : public file {
public:
  explicit unchanged_file(std::unique_ptr<file> of) : of_(std::move(of)) {}

  result<std::size_t> read_at(std::uint64_t offset, char* into, std::size_t n) override {
    return of_ != nullptr ? of_->read_at(offset, into, n) : result<std::size_t>(std::size_t{0});
  }
  status write_at(std::uint64_t, const std::vector<std::string_view>&) override { return done{}; }
  status sync() override { return done{}; }
  void begin_writeback(std::uint64_t, std::uint64_t) override {}
  result<std::uint64_t> size() override {
    return of_ != nullptr ? of_->size() : result<std::uint64_t>(std::uint64_t{0});
  }

private:
  std::unique_ptr<file> of_; ///< null: a new one
};

} // namespace

result<std::unique_ptr<file>> read_only_files::open(const std::string& path, open_mode mode) {
  std::unique_ptr<file> f;
  if (mode == open_mode::existing) {
    auto opened = files_.open(path, mode);
    if (!opened)
      return opened.reason();
    f = std::move(opened).value();
  }
  return std::unique_ptr<file>(std::make_unique<unchanged_file>(std::move(f)));
}

} // namespace belay::storage
