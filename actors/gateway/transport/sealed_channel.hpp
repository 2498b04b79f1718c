#pragma once
// TLS as a connection sees it. The peer is an HTTPS client, or a client agent on the server port.

#include "actors/tls/channel.hpp"
#include "actors/tls/https_channel.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace belay::actors {

/// After a failure only output() may be used.
class sealed_channel {
public:
  virtual ~sealed_channel() = default;

  /// @see tls::https_channel
  virtual status feed(std::string_view wire, const tls::https_channel::listener& on_plaintext) = 0;
  virtual status write(std::string_view plaintext) = 0;
  virtual void end() = 0;
  virtual std::string& output() = 0;
  virtual bool established() const = 0;
  virtual bool ended_by_client() const = 0;
};

class https_client_channel final : public sealed_channel {
public:
  explicit https_client_channel(tls::https_credentials_ptr mine) : channel_(std::move(mine)) {}

  status feed(std::string_view wire, const tls::https_channel::listener& on_plaintext) override {
    return channel_.feed(wire, on_plaintext);
  }
  status write(std::string_view plaintext) override { return channel_.write(plaintext); }
  void end() override { channel_.end(); }
  std::string& output() override { return channel_.output(); }
  bool established() const override { return channel_.established(); }
  bool ended_by_client() const override { return channel_.ended_by_client(); }

private:
  tls::https_channel channel_;
};

/// A connection of peers that is already established.
class client_agent_channel final : public sealed_channel {
public:
  explicit client_agent_channel(tls::channel channel) : channel_(std::move(channel)) { channel_.take_output(output_); }

  status feed(std::string_view wire, const tls::https_channel::listener& on_plaintext) override {
    auto s = channel_.feed(wire, opened_);
    channel_.take_output(output_);
    if (!opened_.empty()) {
      on_plaintext(opened_);
      opened_.clear();
    }
    return s;
  }
  status write(std::string_view plaintext) override {
    auto s = channel_.write(plaintext);
    channel_.take_output(output_);
    return s;
  }
  void end() override {}
  std::string& output() override { return output_; }
  bool established() const override { return true; }
  bool ended_by_client() const override { return false; }

private:
  tls::channel channel_;
  std::string output_, opened_;
};

} // namespace belay::actors
