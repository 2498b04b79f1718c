#pragma once
// The world of the client library's recipes in a command: its requests go over the connections of the commands, so that all
// options about servers (certificates, sockets, datacenters) mean the same everywhere.
//
// Headers of this room that others include have names of the library in no declaration: `result` and others are also names
// of this program.

#include "cli/http/exchange_pool.hpp"

#include <belay/world.hpp>

#include <functional>
#include <memory>
#include <string>

namespace belay::cli {

class command_world : public world {
public:
  /// @param scope what is added to each query, as `dc=dc2`; empty: nothing
  command_world(const boost::asio::any_io_executor& executor, const api_target& target, std::string scope);
  /// Everything that waits is dropped.
  ~command_world() override;

  /// Calls `told` with what is wrong when requests begin to be without an answer, or the server to say that it fails, and with an
  /// empty text when one is answered again: recipes ask again by themselves, and say nothing of it.
  void on_trouble(std::function<void(const std::string& what)> told);

  /// Of the last answer; 0 before there was one.
  unsigned last_status() const;
  /// How many transactions were carried out.
  std::uint64_t transactions() const;

  instant now() override;
  std::uint64_t draw(std::uint64_t n) override;
  void sleep(operation& op, instant until) override;
  void ask(operation& op, const request& q, instant deadline) override;
  void stop(operation& op) override;
  void forget(operation& op) noexcept override;

private:
  struct parts;
  std::shared_ptr<parts> parts_;
};

} // namespace belay::cli
