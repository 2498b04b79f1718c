#include "actors/agent/probe_addresses.hpp"

#include <boost/asio/post.hpp>

#include <netdb.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

namespace belay::actors {

namespace {

/// Port names that Go's package net has built in, so that they work without /etc/services.
constexpr std::pair<std::string_view, std::uint16_t> named_ports[] = {
    {"ftp", 21},    {"ftps", 990}, {"gopher", 70}, {"http", 80}, {"https", 443}, {"imap2", 143}, {"imap3", 220},
    {"imaps", 993}, {"pop3", 110}, {"pop3s", 995}, {"smtp", 25}, {"ssh", 22},    {"telnet", 23},
};

std::optional<std::uint16_t> port_number(const std::string& text) {
  for (const auto& [name, number] : named_ports)
    if (text == name)
      return number;
  std::uint16_t number = 0;
  const auto* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc{} && read.ptr == end ? std::optional(number) : std::nullopt;
}

probe_addresses::endpoints asio_endpoints(const name_lookups::addresses& list, std::uint16_t port) {
  probe_addresses::endpoints result;
  for (const auto& each : list) {
    const auto e = with_port(each, port);
    boost::asio::ip::tcp::endpoint to;
    if (e.size > to.capacity())
      continue;
    std::memcpy(to.data(), &e.bytes, e.size);
    to.resize(e.size);
    result.push_back(to);
  }
  return result;
}

} // namespace

void probe_addresses::find(const std::string& host, const std::string& port, found then) {
  cancel();
  const auto number = port_number(port);
  if (!number)
    return then({}, "lookup tcp/" + port + ": unknown port");
  // An empty host is this machine, in all of its families.
  if (auto list = all_resolved(host.empty() ? nullptr : host.c_str(), "0", AI_NUMERICSERV | AI_NUMERICHOST);
      !list.empty())
    return then(asio_endpoints(list, *number), {});
  // This object owns the callback: a posted call is dropped after a cancel or a new lookup.
  auto given =
      std::make_shared<std::function<void(const endpoints&)>>([host, then = std::move(then)](const endpoints& list) {
        then(list, list.empty() ? "lookup " + host + ": no such host" : std::string());
      });
  auto question = std::make_shared<name_lookups::answered>();
  *question = [&loop = loop_, given, number = *number,
               self = std::weak_ptr(question)](const name_lookups::addresses& list) {
    boost::asio::post(loop, [given, self, list = asio_endpoints(list, number)] {
      if (const auto still_requested = self.lock())
        (*given)(list);
    });
  };
  waiting_ = question;
  names_.ask(host, question);
}

} // namespace belay::actors
