#include "tests/harness/server_node.hpp"

#include "tests/harness/scratch.hpp"

#include <csignal>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

namespace belay::harness {

namespace json = boost::json;

bool server_command::is_reference() const {
  auto first = text.substr(0, text.find(' '));
  return first.substr(first.rfind('/') + 1) == "consul";
}

server_command server_command::from_environment(const std::string& build_folder) {
  auto program = environment("BELAY_BINARY", build_folder + "/belay");
  return {environment("BELAY_SERVER", program + " agent -config-file {config}")};
}

server_node::server_node(server_command command, std::string name, std::filesystem::path folder)
    : command_(std::move(command)), name_(std::move(name)), folder_(std::move(folder)) {
  change_ports();
}

void server_node::change_ports() {
  kill_hard();
  auto ports = free_ports(3);
  http_port_ = ports[0];
  server_port_ = ports[1];
  serf_port_ = ports[2];
}

std::string server_node::join_address() const {
  return "127.0.0.1:" + std::to_string(command_.is_reference() ? serf_port_ : server_port_);
}

void server_node::configure(const json::object& config) {
  std::filesystem::create_directories(data_folder());
  json::object all = {
      {"node_name", name_},
      {"datacenter", "dc1"},
      {"server", true},
      {"data_dir", data_folder().string()},
      {"bind_addr", "127.0.0.1"},
      {"client_addr", "127.0.0.1"},
      {"log_level", "err"},
      {"disable_update_check", true},
      {"performance", {{"raft_multiplier", std::stoi(environment("BELAY_RAFT_MULTIPLIER", "1"))}}},
      {"ports",
       {{"http", http_port_},
        {"server", server_port_},
        {"serf_lan", serf_port_},
        {"serf_wan", -1},
        {"dns", -1},
        {"grpc", -1},
        {"https", -1}}},
  };
  if (const auto http_threads = environment("BELAY_HTTP_THREADS", "");
      !http_threads.empty() && !command_.is_reference())
    all["http_config"] = json::object{{"threads", std::stoi(http_threads)}};
  for (const auto& [key, value] : config) {
    if (key == "ports" || key == "performance" || (key == "http_config" && all.contains(key))) {
      for (const auto& [inner, number] : value.as_object())
        all[key].as_object()[inner] = number;
    } else {
      all[key] = value;
    }
  }
  std::ofstream(config_file()) << json::serialize(all) << "\n";
}

void server_node::start() {
  const std::map<std::string, std::string> values = {
      {"{config}", config_file().string()},
      {"{data_dir}", data_folder().string()},
      {"{http}", "127.0.0.1:" + std::to_string(http_port_)},
      {"{http_port}", std::to_string(http_port_)},
      {"{server_port}", std::to_string(server_port_)},
      {"{node_name}", name_},
  };
  std::vector<std::string> words;
  std::istringstream in(command_.text);
  for (std::string word; in >> word;) {
    for (const auto& [name, value] : values)
      for (auto at = word.find(name); at != word.npos; at = word.find(name, at + value.size()))
        word.replace(at, name.size(), value);
    words.push_back(word);
  }
  process_.reset();
  paused_ = false;
  process_ = std::make_unique<child_process>(words, log_file().string());
}

void server_node::kill_hard() {
  if (process_) {
    process_->signal(SIGKILL);
    process_->wait(milliseconds{10000});
  }
  paused_ = false;
}

process_end server_node::stop(milliseconds limit) {
  if (!process_)
    return {};
  if (paused_)
    resume();
  process_->signal(SIGTERM);
  if (auto end = process_->wait(limit))
    return *end;
  kill_hard();
  return process_->wait(milliseconds{0}).value_or(process_end{});
}

void server_node::pause() {
  process_->signal(SIGSTOP);
  paused_ = true;
  // A thread stops when it next enters or leaves the kernel; /proc shows when all have.
  auto stat = "/proc/" + std::to_string(process_->pid()) + "/stat";
  for (int i = 0; i < 500; ++i) {
    std::ifstream in(stat);
    std::string line;
    std::getline(in, line);
    auto at = line.rfind(") ");
    if (at != line.npos && line[at + 2] == 'T')
      return;
    std::this_thread::sleep_for(milliseconds{2});
  }
}

void server_node::resume() {
  process_->signal(SIGCONT);
  paused_ = false;
}

void server_node::wipe() {
  std::filesystem::remove_all(data_folder());
  std::filesystem::create_directories(data_folder());
}

bool server_node::running() {
  return process_ && process_->running();
}

http_reply server_node::get(const std::string& target, milliseconds limit) const {
  return http_get(http_port_, target, limit);
}

http_reply server_node::put(const std::string& target, std::string body, milliseconds limit) const {
  return http_put(http_port_, target, std::move(body), limit);
}

} // namespace belay::harness
