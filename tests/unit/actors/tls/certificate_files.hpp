#pragma once
// Certificates created for one test, as files in a folder that is removed afterwards.

#include "actors/tls/certificate_maker.hpp"
#include "actors/tls/credentials.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <stdlib.h>
#include <string>

namespace belay::tls {

class certificate_files {
public:
  certificate_files() {
    char name[] = "/tmp/belay-tls-XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    folder_ = name;
  }
  ~certificate_files() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  certificate_files(const certificate_files&) = delete;
  certificate_files& operator=(const certificate_files&) = delete;

  std::string write(const std::string& name, const std::string& text) const {
    const auto path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  /// Certificate, key and CA of a server, by default named `server.dc1.consul`.
  credential_settings signed_by(const certificate_and_key& authority, const std::string& prefix,
                                const std::string& name = "server.dc1.consul",
                                validity when = {std::chrono::hours(-1), std::chrono::hours(1)}) const {
    certificate_request r;
    r.common_name = name;
    r.dns_names = {name, "localhost"};
    r.addresses = {"127.0.0.1"};
    r.when = when;
    auto made = make_certificate(authority, r);
    REQUIRE(made.ok());
    credential_settings s;
    s.ca_file = write(prefix + "-ca.pem", authority.certificate);
    s.cert_file = write(prefix + ".pem", made->certificate);
    s.key_file = write(prefix + "-key.pem", made->key);
    s.verify_incoming = s.verify_outgoing = true;
    return s;
  }
  const std::string& folder() const { return folder_; }

private:
  std::string folder_;
};

inline certificate_and_key authority_named(const std::string& name) {
  auto made = make_authority(name, {std::chrono::hours(-2), std::chrono::hours(2)});
  REQUIRE(made.ok());
  return *made;
}

inline credentials_ptr loaded(const credential_settings& s) {
  auto c = credentials::load(s);
  if (!c)
    FAIL(c.error());
  return *c;
}

} // namespace belay::tls
