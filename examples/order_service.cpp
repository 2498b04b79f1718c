// An order needs three services. All do their part, or none: the next process undoes the rest.
//
//   order_service SERVER ORDER [STEPS]   such as: order_service http://127.0.0.1:8500 order-7
//
// With STEPS the process dies after that many steps. Keys below shop/ represent the services.
#include <belay/client.hpp>
#include <belay/keys.hpp>
#include <belay/saga.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>

namespace {

using namespace std::chrono_literals;

const char* const services[] = {"stock", "payment", "delivery"};

/// Calls a service, which accepts repeats for an order. A real one has a fencing_token_checker.
belay::task<belay::status> ask(belay::environment& env, std::string service, std::string order, std::string what,
                               std::uint64_t fence, belay::deadline limit) {
  std::cout << service << ": " << order << " " << what << ", fence " << fence << std::endl;
  co_return co_await belay::put_key(env, "shop/" + service + "/" + order, what, limit);
}

belay::task<belay::status> undo(belay::session& s, belay::saga_step step) {
  belay::deadline limit(s.env().now() + 5s);
  co_return co_await ask(s.env(), step.what, step.saga_id, "undone", step.fence, limit);
}

belay::task<belay::result<int>> place_order(belay::session& s, belay::deadline limit, std::string order,
                                            int dies_after) {
  auto how = [&s](belay::saga_step step) { return undo(s, std::move(step)); };
  belay::saga work(s, "shop/orders", how);
  auto begun = co_await work.begin(order, limit);
  if (!begun)
    co_return begun.error();
  int done = 0;
  for (const auto* service : services) {
    auto noted = co_await work.step(service, order, limit);
    if (!noted || !work.safe())
      co_return belay::error(belay::outcome::refused, belay::reason::session, "the lock was lost");
    auto ordered = co_await ask(s.env(), service, order, "ordered", work.fence(), limit);
    if (!ordered) {
      co_await work.roll_back(limit);
      co_return ordered.error();
    }
    if (++done == dies_after)
      std::_Exit(9);
  }
  auto committed = co_await work.commit(limit);
  if (!committed)
    co_return committed.error();
  co_return done;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::cerr << "usage: order_service SERVER ORDER [STEPS]\n";
    return 64;
  }
  belay::client_options options;
  options.servers = {argv[1]};
  options.session.name = "order_service";
  options.session.mode = belay::session_mode::exact; // Belay only: the next process starts after 3 s, not 45
  options.session.ttl = 3s;
  options.session.lock_delay = 0s;
  belay::client c(options);
  std::string order = argv[2];
  int dies_after = argc == 4 ? std::stoi(argv[3]) : 0;
  auto make = [&](belay::session& s, belay::deadline limit) { return place_order(s, limit, order, dies_after); };
  auto placed = c.run<int>(make, 30s);
  std::cout << order << ": " << (placed ? "placed" : placed.error().text()) << "\n";
  return placed ? 0 : 1;
}
