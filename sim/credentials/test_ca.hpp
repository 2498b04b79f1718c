#pragma once
// A test CA for simulated servers: real certificates of a few authorities, and the settings that
// name them. The files are in memory; only this process sees them.

#include "actors/tls/certificate_maker.hpp"
#include "actors/tls/credentials.hpp"
#include "sim/credentials/credential_model.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace belay::sim {

class test_ca {
public:
  test_ca() = default;
  ~test_ca();
  test_ca(const test_ca&) = delete;
  test_ca& operator=(const test_ca&) = delete;

  /// The configuration of a server with these credentials. Each certificate is made on first use.
  tls::credential_settings settings_of(const credential_facts& f);

private:
  struct files {
    std::string certificate, key;
  };

  const tls::certificate_and_key& authority(char name);
  const files& files_of(const ordered_certificate& c);
  std::string file_of(const std::set<char>& authorities);
  std::string make_file(const std::string& content);

  std::map<char, tls::certificate_and_key> authorities_;
  std::map<ordered_certificate, files> certificates_;
  std::map<std::set<char>, std::string> bundles_;
  std::vector<int> open_;
};

} // namespace belay::sim
