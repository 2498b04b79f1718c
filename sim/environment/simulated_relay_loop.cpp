#include "sim/environment/simulated_relay_loop.hpp"

#include "protocol/base/host_port.hpp"

#include <boost/asio/error.hpp>

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include <arpa/inet.h>

#include <algorithm>
#include <map>
#include <utility>

namespace belay::sim {

using boost::system::error_code;

/// What was posted and has not been called.
struct simulated_relay_loop::queue {
  std::map<std::uint64_t, std::function<void()>> waiting;
  std::uint64_t numbers = 0;
  std::function<void(caf::execution_unit*)>* begins = nullptr;

  void call(std::uint64_t number) {
    if (const auto found = waiting.extract(number); !found.empty())
      found.mapped()();
  }
};

namespace {

/// The text from which names_.find() makes an endpoint: an IP address and a port.
std::string text_of(const actors::socket_endpoint& e) {
  const auto port = ntohs(reinterpret_cast<const sockaddr_in*>(&e.bytes)->sin_port);
  return join_host_port(actors::host_text(e), port);
}

} // namespace

class simulated_relay_loop::socket final : public actors::relay_socket {
public:
  socket(simulated_relay_loop& loop)
      : connections_(loop.connections_), agent_(loop.agent_), end_(std::make_shared<end>(loop)) {}
  ~socket() override { socket::close(); }

  void connect(const actors::socket_endpoint& to, done then) override {
    end_->connecting = std::move(then);
    connection_ = connections_.dial(agent_, text_of(to), end_);
  }
  void write(const std::string& bytes, done then) override {
    connections_.send(connection_, bytes);
    end_->post([then = std::move(then)] { then({}); });
  }
  void read(std::string& into, transferred then) override {
    end_->into = &into;
    end_->reading = std::move(then);
    end_->deliver();
  }
  void end_output() override {
    if (end_ != nullptr && connection_ != 0)
      connections_.end_output(connection_);
  }
  void close() override {
    if (end_ == nullptr)
      return;
    end_->loop = nullptr;
    if (connection_ != 0)
      connections_.close(connection_);
    end_.reset();
  }

private:
  /// Its callbacks run on the loop.
  struct end final : agent_connections::agent_end, std::enable_shared_from_this<end> {
    explicit end(simulated_relay_loop& l) : loop(&l) {}

    void connected(error_code e) override {
      if (connecting)
        post([then = std::exchange(connecting, nullptr), e] { then(e); });
    }
    void arrived(std::string_view bytes) override {
      came += bytes;
      deliver();
    }
    void ended(error_code e) override {
      error = e;
      deliver();
    }
    void deliver() {
      if (!reading || (came.empty() && !error))
        return;
      post([self = shared_from_this(), then = std::exchange(reading, nullptr)] {
        if (self->loop == nullptr)
          return;
        const auto n = std::min(self->came.size(), self->into->size());
        self->came.copy(self->into->data(), n);
        self->came.erase(0, n);
        then(n > 0 ? error_code() : self->error, n);
      });
    }
    void post(std::function<void()> what) {
      if (loop != nullptr)
        loop->post([self = shared_from_this(), what = std::move(what)] {
          if (self->loop != nullptr)
            what();
        });
    }

    simulated_relay_loop* loop; ///< null: it is closed
    actors::relay_socket::done connecting;
    actors::relay_socket::transferred reading;
    std::string* into = nullptr;
    std::string came;
    error_code error;
  };

  agent_connections& connections_;
  std::size_t agent_;
  std::shared_ptr<end> end_; ///< null: closed
  agent_connections::id connection_ = 0;
};

simulated_relay_loop::simulated_relay_loop(schedule& time, agent_connections& connections,
                                           std::shared_ptr<const simulated_clock> clock, std::size_t agent)
    : time_(time), connections_(connections), clock_(std::move(clock)), agent_(agent),
      queue_(std::make_shared<queue>()) {
  queue_->begins = &begins;
  actor_ = time.system().spawn([q = std::weak_ptr(queue_)](caf::event_based_actor* self) -> caf::behavior {
    return {[q, self](std::uint64_t number) {
      const auto there = q.lock();
      if (there == nullptr)
        return;
      if (*there->begins)
        (*there->begins)(self->context());
      there->call(number);
    }};
  });
}

simulated_relay_loop::~simulated_relay_loop() {
  queue_->waiting.clear();
}

std::unique_ptr<actors::relay_socket> simulated_relay_loop::open_socket() {
  return std::make_unique<socket>(*this);
}

void simulated_relay_loop::post(std::function<void()> what) {
  const auto number = ++queue_->numbers;
  queue_->waiting.emplace(number, std::move(what));
  caf::anon_send(actor_, number);
}

actors::relay_loop::timer simulated_relay_loop::after(std::chrono::milliseconds d, std::function<void()> what) {
  const auto still = std::make_shared<std::function<void()>>(std::move(what));
  const std::weak_ptr<std::function<void()>> weak = still;
  time_.after(clock_->in_system_time(d), [this, weak, q = std::weak_ptr(queue_)] {
    if (q.expired() || weak.expired())
      return;
    post([weak] {
      if (const auto wanted = weak.lock())
        (*wanted)();
    });
  });
  return still;
}

} // namespace belay::sim
