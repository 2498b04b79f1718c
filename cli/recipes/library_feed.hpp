#pragma once
// Changes below a prefix, by the client library: belay::changes, and belay::place_in_file.

#include "cli/recipes/library_end.hpp"
#include "cli/recipes/told_changes.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <string>

namespace belay::cli {

struct api_target;

class library_feed {
public:
  /// @param scope what is added to each query, as `dc=dc2`
  /// @param place where to go on. Empty: the keys as they are come first; `now`: with what happens from now on
  library_feed(const boost::asio::any_io_executor& executor, const api_target& target, std::string scope,
               std::string prefix, std::string place);
  ~library_feed();
  library_feed(const library_feed&) = delete;
  library_feed& operator=(const library_feed&) = delete;

  /// command_world::on_trouble()
  void on_trouble(std::function<void(const std::string& what)> told);
  /// Waits for the next changes, however long servers are away.
  boost::asio::awaitable<library_end> next(told_changes& out);
  /// While next() waits: everything up to there was told. Empty at other times, and as long as it is not known.
  std::string place_reached() const;
  /// Ends next().
  void stop();

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

struct loaded_place {
  std::string place;     ///< empty: there is no such file
  std::string complaint; ///< not empty: the file cannot be read, or has no place in it
};
loaded_place load_place(const std::string& path);
/// @returns what is wrong; empty: it is written
std::string store_place(const std::string& path, const std::string& place);

} // namespace belay::cli
