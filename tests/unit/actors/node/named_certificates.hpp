#pragma once
// Files for configurations that name certificates: decoding them opens the files.

#include "tests/unit/actors/tls/certificate_files.hpp"

#include <filesystem>
#include <string>

namespace belay::actors {

/// `ca.pem`; `c.pem` and its key `k.pem`; the same as `c2.pem` and `k2.pem`; `cas`: a CA folder.
class named_certificates {
public:
  named_certificates() {
    const auto authority = tls::authority_named("ca");
    const auto made = files_.signed_by(authority, "made");
    for (const auto& [from, to] : {std::pair{made.ca_file, "ca.pem"},
                                   {made.cert_file, "c.pem"},
                                   {made.cert_file, "c2.pem"},
                                   {made.key_file, "k.pem"},
                                   {made.key_file, "k2.pem"}})
      std::filesystem::copy_file(from, at(to));
    std::filesystem::create_directory(at("cas"));
    std::filesystem::copy_file(made.ca_file, at("cas/ca.pem"));
  }

  std::string at(const std::string& name) const { return files_.folder() + "/" + name; }
  /// Replaces each `FILES` by the folder of the files.
  std::string named_in(std::string text) const {
    constexpr std::string_view placeholder = "FILES";
    for (auto i = text.find(placeholder); i != text.npos; i = text.find(placeholder, i))
      text.replace(i, placeholder.size(), files_.folder());
    return text;
  }

private:
  tls::certificate_files files_;
};

/// Created once: it takes a while.
inline const named_certificates& certificates() {
  static const named_certificates made;
  return made;
}

} // namespace belay::actors
