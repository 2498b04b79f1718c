#include "cli/recipes/command_world.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <charconv>
#include <map>
#include <random>

namespace belay::cli {

namespace asio = boost::asio;

namespace {

/// Timers stand still while the machine is suspended, the time of sessions does not: it is looked at that often.
constexpr std::chrono::seconds timer_longest{1};
/// Of what a server says of its failure.
constexpr std::size_t text_max = 400;

/// How long that asks the server to wait for news at most; zero: not at all. Servers add up to a sixteenth.
milliseconds longest_wait(std::string_view target) {
  constexpr std::string_view name = "wait=";
  const auto at = target.find(name);
  std::int64_t ms = 0;
  if (at != target.npos)
    std::from_chars(target.data() + at + name.size(), target.data() + target.size(), ms);
  return milliseconds(ms + ms / 16);
}

} // namespace

struct command_world::parts : std::enable_shared_from_this<parts> {
  struct waiting {
    operation* op = nullptr;
    std::unique_ptr<asio::steady_timer> timer; ///< of a sleep
    instant until{};
    std::uint64_t asked = 0; ///< of a request: the pool's ticket
  };

  parts(const asio::any_io_executor& e, const api_target& target, std::string s)
      : executor(e), scope(std::move(s)), pool(e, target), random(std::random_device{}()) {}

  void arm(std::uint64_t ticket) {
    auto& w = all[ticket];
    w.timer->expires_after(std::min<std::chrono::nanoseconds>(w.until - lease_clock::now(), timer_longest));
    w.timer->async_wait([self = shared_from_this(), ticket](const boost::system::error_code& cancelled) {
      const auto found = self->all.find(ticket);
      if (cancelled || found == self->all.end())
        return;
      if (lease_clock::now() < found->second.until)
        self->arm(ticket);
      else
        self->finish(ticket, false, answer());
    });
  }

  /// No more is waited for.
  waiting take(std::map<std::uint64_t, waiting>::iterator found) {
    auto w = std::move(found->second);
    all.erase(found);
    if (w.timer)
      w.timer->cancel();
    if (w.asked != 0)
      pool.give_up(w.asked);
    return w;
  }

  void finish(std::uint64_t ticket, bool stopped, answer a) {
    if (const auto found = all.find(ticket); found != all.end())
      take(found).op->finish(stopped, std::move(a));
  }

  /// @param cut who asked has waited less long than the server was to wait: that there is no answer says nothing
  void look_for_trouble(const exchange_pool::reply& said, bool cut) {
    if (cut && said.status == 0 && said.sent)
      return;
    const bool failed = said.status == 0 || said.status >= 500;
    if (failed == troubled)
      return;
    troubled = failed;
    if (!told)
      return;
    if (!failed)
      told({});
    else if (said.status == 0)
      told(said.body);
    else
      told("Unexpected response code: " + std::to_string(said.status) + " (" + said.body.substr(0, text_max) + ")");
  }

  asio::any_io_executor executor;
  std::string scope;
  std::function<void(const std::string&)> told;
  bool troubled = false;
  unsigned last_status = 0;
  std::uint64_t transactions = 0;
  exchange_pool pool;
  std::mt19937_64 random;
  std::map<std::uint64_t, waiting> all;
  std::uint64_t last_ticket = 0;
};

command_world::command_world(const asio::any_io_executor& executor, const api_target& target, std::string scope)
    : parts_(std::make_shared<parts>(executor, target, std::move(scope))) {}

command_world::~command_world() {
  while (!parts_->all.empty())
    parts_->take(parts_->all.begin());
}

void command_world::on_trouble(std::function<void(const std::string&)> told) {
  parts_->told = std::move(told);
}

unsigned command_world::last_status() const {
  return parts_->last_status;
}

std::uint64_t command_world::transactions() const {
  return parts_->transactions;
}

instant command_world::now() {
  return lease_clock::now();
}

std::uint64_t command_world::draw(std::uint64_t n) {
  return parts_->random() % n;
}

void command_world::sleep(operation& op, instant until) {
  op.ticket = ++parts_->last_ticket;
  auto& w = parts_->all[op.ticket];
  w.op = &op;
  w.until = until;
  w.timer = std::make_unique<asio::steady_timer>(parts_->executor);
  parts_->arm(op.ticket);
}

void command_world::ask(operation& op, const request& q, instant deadline) {
  op.ticket = ++parts_->last_ticket;
  exchange_pool::question asked{.method = q.method(), .target = q.target(), .idempotency_key = {}, .body = q.body()};
  if (!parts_->scope.empty())
    asked.target += (asked.target.find('?') == std::string::npos ? "?" : "&") + parts_->scope;
  for (const auto& [name, value] : q.headers())
    if (name == "Idempotency-Key")
      asked.idempotency_key = value;
  const auto limit = std::chrono::ceil<std::chrono::milliseconds>(deadline - lease_clock::now());
  auto* const p = parts_.get();
  const bool cut = limit <= longest_wait(q.target());
  const bool transaction = q.target() == "/v1/txn";
  p->all[op.ticket].op = &op;
  p->all[op.ticket].asked =
      p->pool.ask(std::move(asked), limit, [p, ticket = op.ticket, transaction, cut](const exchange_pool::reply& said) {
        answer a =
            said.status == 0 ? answer::none(said.sent, said.body) : answer(static_cast<int>(said.status), said.body);
        for (const auto& [name, value] : said.headers)
          a.add_header(name, value);
        p->look_for_trouble(said, cut);
        p->last_status = said.status;
        p->transactions += transaction && said.status == 200 ? 1 : 0;
        p->finish(ticket, false, std::move(a));
      });
}

void command_world::stop(operation& op) {
  asio::post(parts_->executor, [p = parts_, ticket = op.ticket] { p->finish(ticket, true, answer()); });
}

void command_world::forget(operation& op) noexcept {
  if (const auto found = parts_->all.find(op.ticket); found != parts_->all.end())
    parts_->take(found);
}

} // namespace belay::cli
