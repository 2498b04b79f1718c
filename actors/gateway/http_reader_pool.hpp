#pragma once
// Pools readers that are between two requests: an idle connection needs none.

#include "actors/gateway/http_reader.hpp"

#include <memory>
#include <vector>

namespace belay::actors {

class http_reader_pool {
public:
  explicit http_reader_pool(http_reader_rules rules) : rules_(std::move(rules)) {}
  http_reader_pool(const http_reader_pool&) = delete; // readers refer to its rules
  http_reader_pool& operator=(const http_reader_pool&) = delete;

  std::unique_ptr<http_reader> take() {
    if (spare_.empty())
      return std::make_unique<http_reader>(rules_);
    auto r = std::move(spare_.back());
    spare_.pop_back();
    return r;
  }
  void give_back(std::unique_ptr<http_reader> reader) {
    if (spare_.size() >= spare_max)
      return;
    reader->reset();
    spare_.push_back(std::move(reader));
  }
  void clear() { spare_.clear(); }

private:
  static constexpr std::size_t spare_max = 64;

  http_reader_rules rules_;
  std::vector<std::unique_ptr<http_reader>> spare_;
};

} // namespace belay::actors
