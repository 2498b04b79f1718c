#pragma once
// A server, or three with or without a replica or an agent, to replay transcripts against.

#include "tests/contract/transcript.hpp"
#include "tests/harness/server_cluster.hpp"

#include <memory>
#include <string>

namespace belay::contract {

/// The management token of the `acl` profiles.
inline constexpr const char* root_token = "6d1f1c5e-2d0b-4c0c-9a8a-51f0f3a4b7c9";

/// What a profile adds to the configuration. @throws problem for an unknown one
json::object profile_config(const std::string& profile);

enum class target_node { leader, follower, replica, agent };

class replay_server {
public:
  /// Starts the servers and waits until they are ready.
  /// @throws problem if that fails, with the ends of their logs
  replay_server(const harness::server_command& command, std::string profile, std::size_t nodes, target_node via);

  /// The port to which requests are sent.
  std::uint16_t port() const { return port_; }
  /// Variables that every transcript on this server may use: node, nodeid, addr, dc, root.
  const variables& facts() const { return facts_; }
  /// The newest index that can be read; 0 if nothing can.
  std::uint64_t newest_index() const;
  /// Writes the key start/`tag`. @returns its ModifyIndex: all indexes up to it are old now
  std::uint64_t write_start_key(const std::string& tag) const;
  /// Sends a transcript's request. The reference puts "rpc error making call: " into its errors
  /// where a follower has forwarded a request. This prefix is removed from the reference's errors;
  /// Belay must not write it.
  harness::http_reply send(harness::http_connection& connection, const harness::http_request& request,
                           harness::milliseconds limit) const;
  /// Whether the leadership has changed since this object was created. Then transcripts do not
  /// apply: they expect one leader, which every node always knows.
  bool leader_changed() const { return leadership() != leadership_; }
  void stop() { cluster_->stop_all(); }

private:
  harness::http_reply ask(const std::string& method, const std::string& target,
                          std::optional<std::string> body = {}) const;
  void start(const harness::server_command& command, std::size_t nodes, target_node via);
  std::string not_ready();
  std::string acl_not_ready() const;
  /// The leader, and the term of the target.
  std::string leadership() const;
  std::string nodes_not_healthy() const;

  std::string profile_;
  bool strips_forwarding_ = false;
  std::unique_ptr<harness::server_cluster> cluster_;
  std::uint16_t port_ = 0;
  std::string leadership_;
  variables facts_;
};

} // namespace belay::contract
