#include "cli/recipes/library_calls.hpp"

#include "cli/recipes/command_world.hpp"

#include <belay/counter.hpp>

#include <boost/asio/io_context.hpp>

namespace belay::cli {

namespace {

task<void> ask_counter(world& w, const counter_call& call, bool adds, patience limit, counted& out) {
  counter c(w, call.key, call.least, call.most);
  task<belay::v0::result<std::int64_t>> asking = adds ? c.add(call.n, limit) : c.read(limit);
  belay::v0::result<std::int64_t> got = co_await asking;
  out.done = got.done();
  out.unknown = got.unknown();
  if (got)
    out.number = *got;
  else
    out.why = got.why().text();
}

counted count(const api_target& target, const std::string& scope, const counter_call& call, bool adds,
              std::chrono::milliseconds within) {
  boost::asio::io_context loop;
  command_world sockets(loop.get_executor(), target, scope);
  counted out;
  auto asking = ask_counter(sockets, call, adds, patience(sockets.now() + within), out);
  asking.start();
  while (!asking.done() && loop.run_one() != 0) {
  }
  return out;
}

} // namespace

counted add_to_counter(const api_target& target, const std::string& scope, const counter_call& call,
                       std::chrono::milliseconds within) {
  return count(target, scope, call, true, within);
}

counted read_counter(const api_target& target, const std::string& scope, const counter_call& call,
                     std::chrono::milliseconds within) {
  return count(target, scope, call, false, within);
}

} // namespace belay::cli
