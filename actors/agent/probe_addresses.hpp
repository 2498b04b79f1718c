#pragma once
// Resolves the address of a check. Asio uses one thread for all lookups of a loop. So a DNS server
// that does not respond would delay all other checks, even those with numeric addresses.

#include "actors/names/name_lookups.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace belay::actors {

class probe_addresses {
public:
  using endpoints = std::vector<boost::asio::ip::tcp::endpoint>;
  /// `why` in Go's words; not empty: there is no address.
  using found = std::function<void(const endpoints& list, const std::string& why)>;

  /// @param loop,names must outlive this object
  probe_addresses(boost::asio::io_context& loop, name_lookups& names) : loop_(loop), names_(names) {}

  /// `then` is called on the loop's thread, for numeric addresses before this returns;
  /// never if the DNS server does not respond. An earlier lookup is cancelled.
  void find(const std::string& host, const std::string& port, found then);
  void cancel() { waiting_.reset(); }

private:
  boost::asio::io_context& loop_;
  name_lookups& names_;
  std::shared_ptr<name_lookups::answered> waiting_;
};

} // namespace belay::actors
