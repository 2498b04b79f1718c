#pragma once
// Runs checks on an Asio loop: HTTP, gRPC and TCP with sockets, scripts as child processes.
// Non-blocking (docs/contract/09, section 3).

#include "actors/agent/probes.hpp"
#include "actors/names/name_lookups.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace belay::actors {

/// One run of a check that has not ended.
class running_probe {
public:
  virtual ~running_probe() = default;
  virtual void start() = 0;
  /// Frees its resources and kills its process. No result is reported.
  virtual void abandon() = 0;
  /// Whether its result was reported, and its process has not ended yet.
  virtual bool lingers() const { return false; }
};

/// Networks (CIDR) to which HTTP checks may connect. Null: everywhere.
using http_networks_ptr = std::shared_ptr<const std::vector<std::string>>;

/// Call start() and stop() on the loop's thread, or before it runs.
class asio_probes final : public probe_runner {
public:
  /// @param look_up may block as long as it needs, on threads that outlive this object
  explicit asio_probes(boost::asio::io_context& loop, http_networks_ptr http_allowed = nullptr,
                       name_lookups::lookup look_up = name_lookups::system_lookup());
  ~asio_probes() override { stop(); }

  void start(const agent::check_definition& check, finished then) override;
  void stop() override;

private:
  boost::asio::io_context& loop_;
  boost::asio::ssl::context tls_;
  http_networks_ptr http_allowed_;
  name_lookups names_;
  std::uint64_t numbers_ = 0;
  std::shared_ptr<std::map<std::uint64_t, std::shared_ptr<running_probe>>> running_;
  std::map<std::string, std::weak_ptr<running_probe>> scripts_; ///< the latest one by the ID of its check
};

std::shared_ptr<running_probe> make_tcp_probe(boost::asio::io_context& loop, name_lookups& names,
                                              const agent::check_definition& check, probe_runner::finished then);
std::shared_ptr<running_probe> make_http_probe(boost::asio::io_context& loop, name_lookups& names,
                                               boost::asio::ssl::context& tls, http_networks_ptr allowed,
                                               const agent::check_definition& check, probe_runner::finished then);
std::shared_ptr<running_probe> make_grpc_probe(boost::asio::io_context& loop, name_lookups& names,
                                               boost::asio::ssl::context& tls, const agent::check_definition& check,
                                               probe_runner::finished then);
std::shared_ptr<running_probe> make_script_probe(boost::asio::io_context& loop, const agent::check_definition& check,
                                                 probe_runner::finished then);

/// Go's text for a failed connection: `dial tcp 127.0.0.1:1: connect: connection refused`.
std::string dial_error(const std::string& address, const boost::system::error_code& why);

} // namespace belay::actors
