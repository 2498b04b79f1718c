#include "sim/credentials/test_ca.hpp"

#include "protocol/base/check.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <ctime>

namespace belay::sim {

namespace {

// More than any clock of a simulated node is off.
constexpr std::chrono::hours decades{24 * 365 * 30};

} // namespace

test_ca::~test_ca() {
  for (const int fd : open_)
    ::close(fd);
}

tls::credential_settings test_ca::settings_of(const credential_facts& f) {
  tls::credential_settings s;
  s.encrypt = f.encrypt;
  s.encrypt_verify_incoming = f.encrypt_verify_incoming;
  s.encrypt_verify_outgoing = f.encrypt_verify_outgoing;
  s.verify_incoming = f.verify_incoming;
  s.verify_outgoing = f.verify_outgoing;
  s.verify_server_hostname = f.verify_server_hostname;
  if (!f.authorities.empty())
    s.ca_file = file_of(f.authorities);
  if (f.certificate) {
    const auto& own = files_of(*f.certificate);
    s.cert_file = own.certificate;
    s.key_file = own.key;
  }
  return s;
}

const tls::certificate_and_key& test_ca::authority(char name) {
  const auto known = authorities_.find(name);
  if (known != authorities_.end())
    return known->second;
  auto made = tls::make_authority(std::string("authority ") + name, {-decades, decades});
  INVARIANT(made.ok());
  return authorities_.emplace(name, std::move(*made)).first->second;
}

const test_ca::files& test_ca::files_of(const ordered_certificate& c) {
  if (const auto known = certificates_.find(c); known != certificates_.end())
    return known->second;
  const auto& signer = authority(c.authority);
  tls::certificate_request wanted;
  wanted.common_name = c.name;
  wanted.dns_names = {c.name, "localhost"};
  // The certificate's times count from the real time: try again if a second passes meanwhile.
  result<tls::certificate_and_key> made{failure{}};
  for (std::time_t before = 0; before != std::time(nullptr);) {
    before = std::time(nullptr);
    wanted.when = {std::chrono::seconds(c.begins - before), std::chrono::seconds(c.ends - before)};
    made = tls::make_certificate(signer, wanted);
    INVARIANT(made.ok());
  }
  return certificates_.emplace(c, files{make_file(made->certificate), make_file(made->key)}).first->second;
}

std::string test_ca::file_of(const std::set<char>& authorities) {
  auto& file = bundles_[authorities];
  if (file.empty()) {
    std::string all;
    for (const char name : authorities)
      all += authority(name).certificate;
    file = make_file(all);
  }
  return file;
}

std::string test_ca::make_file(const std::string& content) {
  const int fd = ::memfd_create("certificate", MFD_CLOEXEC);
  INVARIANT(fd >= 0);
  open_.push_back(fd);
  const bool written = ::write(fd, content.data(), content.size()) == static_cast<ssize_t>(content.size());
  INVARIANT(written);
  return "/proc/self/fd/" + std::to_string(fd);
}

} // namespace belay::sim
