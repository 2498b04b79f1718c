#include "actors/tls/certificate_texts.hpp"

#include "actors/tls/openssl_handles.hpp"

namespace belay::tls {

std::string written_time(const ASN1_TIME* t) {
  const bio_ptr out(BIO_new(BIO_s_mem()));
  ASN1_TIME_print(out.get(), t);
  char text[64];
  const int n = BIO_read(out.get(), text, sizeof text);
  return {text, n > 0 ? static_cast<std::size_t>(n) : 0};
}

std::string name_of(X509* certificate) {
  std::string found;
  auto* names = static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; names != nullptr && found.empty() && i < sk_GENERAL_NAME_num(names); ++i)
    if (const auto* n = sk_GENERAL_NAME_value(names, i); n->type == GEN_DNS)
      found.assign(reinterpret_cast<const char*>(ASN1_STRING_get0_data(n->d.dNSName)),
                   static_cast<std::size_t>(ASN1_STRING_length(n->d.dNSName)));
  GENERAL_NAMES_free(names);
  if (found.empty()) {
    char text[256] = {};
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, text, sizeof text);
    found = text;
  }
  return found;
}

bool names_host(X509* certificate, const std::string& name) {
  constexpr unsigned exactly = X509_CHECK_FLAG_NO_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;
  return X509_check_host(certificate, name.data(), name.size(), exactly, nullptr) == 1;
}

} // namespace belay::tls
