// Many client agents in one process, as servers see them. Each has its own connections, reports
// every second, requests the servers every 10 s, registers its node with a service, and compares
// its rows once a minute. Connections are real (actors/relay). Not a test: see client_agents.py.
//
//   agent_crowd HOST:PORT... --agents N   the server ports of the servers
//
// Prints "ready" when all are registered. Then reads commands: "drop I" kills agent I, "count"
// prints how many reach the cluster.

#include "actors/relay/asio_relay_loop.hpp"
#include "actors/relay/server_relay.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/base/host_port.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/streambuf.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace {

namespace asio = boost::asio;
using namespace belay;
using namespace belay::actors;

constexpr std::chrono::seconds looks_at_its_rows{60}; // as actors/agent does

class crowd_agent final : public answer_listener {
public:
  crowd_agent(asio::io_context& loop, std::size_t number, const std::vector<std::string>& servers)
      : timer_(loop), node_actors_(loop), random_(number + 1), name_("agent-" + std::to_string(number)) {
    char uuid[37];
    std::snprintf(uuid, sizeof uuid, "00000000-0000-4000-8000-0000%08x", static_cast<unsigned>(number));
    uuid_ = uuid;
    server_relay_settings s;
    s.hello.self = {node_id{0x100000 + number}, uuid_, name_, "127.0.0.1:8300"};
    s.hello.datacenter = "dc1";
    s.hello.client_agent = true;
    s.servers = servers;
    s.seed = number + 1;
    s.cluster_answers = [this](bool answers) { answers_ = answers; };
    relay_.emplace(node_actors_, std::move(s));
    wait(std::chrono::milliseconds(random_.below(1000)), [this] {
      relay_->start();
      step_ = step::registers;
      ask("PUT", "/v1/catalog/register",
          R"({"Node":")" + name_ + R"(","ID":")" + uuid_ +
              R"(","Address":"127.0.0.1","NodeMeta":{"consul-network-segment":""},"Service":{"Service":"web","Port":80}})");
    });
  }

  bool ready() const { return registered_ && answers_; }
  bool answers() const { return answers_; }

  void on_head(int status, header_list) override { status_ = status; }
  void on_body(std::string_view) override {}
  void on_end() override { answered(status_ == 200); }
  void on_failure(std::string, bool) override { answered(false); }

private:
  enum class step { registers, reads_services, reads_checks };

  void wait(std::chrono::milliseconds d, std::function<void()> then) {
    timer_.expires_after(d);
    timer_.async_wait([then = std::move(then)](boost::system::error_code e) {
      if (!e)
        then();
    });
  }
  void ask(std::string method, std::string target, std::string body) {
    call_ = relay_->begin({std::move(method), std::move(target), {}, std::move(body), false}, *this);
  }
  void answered(bool ok) {
    if (step_ == step::registers && ok)
      registered_ = true;
    if (!ok)
      return wait(std::chrono::seconds(1), [this] { next(step_); });
    if (step_ == step::reads_services)
      return wait({}, [this] { next(step::reads_checks); });
    const auto ms = std::chrono::milliseconds(looks_at_its_rows).count();
    wait(std::chrono::milliseconds(
             registered_at_ ? ms : static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(ms)))),
         [this] { next(step::reads_services); });
    registered_at_ = true;
  }
  void next(step s) {
    step_ = s;
    if (s == step::registers)
      ask("PUT", "/v1/catalog/register",
          R"({"Node":")" + name_ + R"(","ID":")" + uuid_ + R"(","Address":"127.0.0.1"})");
    else
      ask("GET", (s == step::reads_services ? "/v1/catalog/node/" : "/v1/health/node/") + name_, "");
  }

  asio::steady_timer timer_;
  asio_relay_loop node_actors_;
  seeded_random random_;
  std::string name_, uuid_;
  bool answers_ = false, registered_ = false, registered_at_ = false;
  step step_ = step::registers;
  int status_ = 0;
  std::optional<server_relay> relay_;
  std::unique_ptr<relayed_call> call_;
};

class crowd {
public:
  crowd(asio::io_context& loop, std::size_t agents, const std::vector<std::string>& servers)
      : timer_(loop), orders_(loop, ::dup(STDIN_FILENO)) {
    for (std::size_t i = 0; i < agents; ++i)
      agents_.push_back(std::make_unique<crowd_agent>(loop, i, servers));
    watch();
    read_order();
  }

private:
  void watch() {
    timer_.expires_after(std::chrono::milliseconds(100));
    timer_.async_wait([this](boost::system::error_code) {
      for (const auto& a : agents_)
        if (!a->ready())
          return watch();
      std::cout << "ready" << std::endl;
    });
  }
  void read_order() {
    asio::async_read_until(orders_, text_, '\n', [this](boost::system::error_code e, std::size_t) {
      if (e)
        std::exit(0);
      std::istream in(&text_);
      std::string word;
      std::size_t number = 0;
      in >> word;
      if (word == "drop" && in >> number && number < agents_.size())
        agents_.erase(agents_.begin() + static_cast<std::ptrdiff_t>(number));
      if (word == "count") {
        std::size_t n = 0;
        for (const auto& a : agents_)
          n += a->answers() ? 1 : 0;
        std::cout << n << std::endl;
      }
      in.ignore(1000, '\n');
      read_order();
    });
  }

  asio::steady_timer timer_;
  asio::posix::stream_descriptor orders_;
  asio::streambuf text_;
  std::vector<std::unique_ptr<crowd_agent>> agents_;
};

} // namespace

int main(int argc, char** argv) {
  std::size_t agents = 1000;
  std::vector<std::string> servers;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--agents" && i + 1 < argc)
      agents = std::strtoul(argv[++i], nullptr, 10);
    else if (split_host_port(arg).number() != 0)
      servers.push_back(arg);
    else
      servers.clear(), i = argc;
  }
  if (servers.empty() || agents == 0) {
    std::fprintf(stderr, "usage: agent_crowd HOST:PORT... --agents N\n");
    return 64;
  }
  // No one reads the logs of a thousand agents; they would fill the pipe, until all agents block.
  log::settings silent;
  silent.to_stdout = false;
  log::configure(silent);
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  asio::io_context loop{1};
  crowd all(loop, agents, servers);
  loop.run();
}
