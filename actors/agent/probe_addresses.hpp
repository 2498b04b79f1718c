#pragma once
// Where a check connects to. Asio has one thread for all names of a loop, so that one name whose server does not answer would hold up
// the checks of all others, and those of addresses in figures, too.

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
  /// `why` as Go words it; not empty: there is none.
  using found = std::function<void(const endpoints& list, const std::string& why)>;

  /// @param loop,names outlive it
  probe_addresses(boost::asio::io_context& loop, name_lookups& names) : loop_(loop), names_(names) {}

  /// `then` is called on the thread of the loop, for addresses before this returns; for a name whose server never answers not at all.
  /// An earlier question is forgotten.
  void find(const std::string& host, const std::string& port, found then);
  void cancel() { waiting_.reset(); }

private:
  boost::asio::io_context& loop_;
  name_lookups& names_;
  std::shared_ptr<name_lookups::answered> waiting_;
};

} // namespace belay::actors
