#pragma once
// A node with only those parts that a reload changes.

#include "actors/node/reloader.hpp"
#include "actors/telemetry/log.hpp"
#include "tests/harness/scratch.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace belay::actors {

class reloading_node {
public:
  explicit reloading_node(const std::string& settings) {
    write(settings);
    auto begun = read();
    REQUIRE(begun.ok());
    auto loaded = peer_credentials_of(begun->config);
    REQUIRE(loaded.ok());
    credentials->replace(*loaded);
    REQUIRE(log::configure(begun->config.log).empty());
    reloads_.emplace(
        *begun, [this] { return read(); },
        reloader::parts{credentials, nullptr, http, peers,
                        [this](const acl_config& next) { default_token = next.of_requests; },
                        [this](const node_config& next) -> status {
                          if (!definitions_fail.empty())
                            return failure{definitions_fail};
                          defined = next;
                          return done{};
                        }});
  }
  ~reloading_node() {
    log::settings quiet;
    quiet.to_stdout = false;
    log::configure(quiet);
  }

  /// @param log_file empty: one in the folder
  void write(const std::string& settings, const std::string& log_file = {}) {
    folder.write("c.json", R"({"server":true,"bind_addr":"127.0.0.1","data_dir":")" + folder.path().string() +
                               R"(","log_file":")" + (log_file.empty() ? folder / "log" : log_file) + "\"" + settings +
                               "}");
  }
  std::string reload() {
    auto s = reloads_->reload();
    return s ? "reloaded" : s.error();
  }
  std::string logged() const {
    std::ifstream in(folder / "log");
    return {std::istreambuf_iterator<char>(in), {}};
  }

  harness::scratch_folder folder;
  std::shared_ptr<tls::credential_store> credentials = std::make_shared<tls::credential_store>();
  live_limit http{200}, peers{100};
  std::optional<node_config> defined;
  std::string definitions_fail;
  std::string default_token;

private:
  result<parsed_command_line> read() {
    auto r = parse_agent_arguments({"-config-file", folder / "c.json"});
    if (auto* e = std::get_if<config_error>(&r))
      return failure{e->text};
    return std::get<parsed_command_line>(std::move(r));
  }

  std::optional<reloader> reloads_;
};

} // namespace belay::actors
