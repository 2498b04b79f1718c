#pragma once
// Keys of two servers, by the client library: belay::diff and belay::mirror.

#include "cli/recipes/library_end.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace belay::cli {

struct api_target;

/// What is compared, or copied. Targets outlive the call, or the object that is made with it.
struct two_places {
  const api_target& original;
  std::string prefix;
  const api_target& copy;
  std::string copy_prefix;
};

struct told_difference {
  std::string kind; ///< `MissingDelete`, `PhantomUndelete`, `OtherValue`: client/belay/diff.hpp
  std::string key;  ///< without the prefix
};

struct compared {
  library_end end;
  std::vector<told_difference> differences; ///< in order of keys
};

/// @param settle what is different for less than that does not count @param within how long it may take
/// @param waiting called several times a second meanwhile
compared compare(const two_places& places, std::chrono::milliseconds settle, std::chrono::milliseconds within,
                 const std::function<void()>& waiting);

/// Whether the servers of a copy and its original are of one cluster.
enum class cluster_relation : std::uint8_t { unknown, one, two };

class library_mirror {
public:
  /// @param name of what is noted beside the copy
  library_mirror(const boost::asio::any_io_executor& executor, const two_places& places, std::string name);
  ~library_mirror();
  library_mirror(const library_mirror&) = delete;
  library_mirror& operator=(const library_mirror&) = delete;

  /// command_world::on_trouble() of both; @param told gets which of them it is, `original` or `copy`, too
  void on_trouble(const std::function<void(const std::string& where, const std::string& what)>& told);
  /// Copies the next changes, and waits for some. Ends with a failure that asking again cannot change, or by stop().
  boost::asio::awaitable<library_end> step();
  /// Copies what there is, and waits for nothing.
  boost::asio::awaitable<library_end> catch_up();
  /// Compares all keys, and writes what the copy has otherwise although it was copied.
  boost::asio::awaitable<library_end> repair();
  /// Keys that were written or erased so far.
  std::uint64_t written() const;
  /// Up to where the copy is known to be; empty: nothing was copied yet.
  std::string place() const;
  /// Keys of the original that are not copied, and why.
  const std::map<std::string, std::string>& left_out() const;
  /// Asks both servers which cluster they are of.
  boost::asio::awaitable<library_end> find_out_clusters();
  /// What it has found out. Of two servers that name no history (0.2.0, Consul) the IDs of nodes in
  /// their catalogs say it.
  cluster_relation clusters() const;
  void stop();

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace belay::cli
