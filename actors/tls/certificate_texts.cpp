#include "actors/tls/certificate_texts.hpp"

#include "actors/tls/openssl_handles.hpp"

namespace belay::tls {

std::string written_time(const ASN1_TIME* t) {
  const bio_ptr out(BIO_new(BIO_s_mem()));
  ASN1_TIME_print(out.get(), t);
  return text_of(out.get());
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

void certificate_refusal::note(X509_STORE_CTX* store) {
  if (error != X509_V_OK)
    return;
  error = X509_STORE_CTX_get_error(store);
  if (auto* certificate = X509_STORE_CTX_get_current_cert(store); certificate != nullptr)
    detail =
        error == X509_V_ERR_CERT_HAS_EXPIRED ? written_time(X509_get0_notAfter(certificate)) : name_of(certificate);
}

std::string certificate_refusal::text(const std::string& whose) const {
  const auto certificate = "certificate of " + whose;
  switch (error) {
  case X509_V_ERR_CERT_HAS_EXPIRED:
    return certificate + " has expired: " + detail;
  case X509_V_ERR_CERT_NOT_YET_VALID:
    return certificate + " is not valid yet; check the clocks";
  case X509_V_ERR_INVALID_PURPOSE:
    return certificate + " does not allow this use (extended key usage): " + detail;
  case X509_V_ERR_PERMITTED_VIOLATION:
  case X509_V_ERR_EXCLUDED_VIOLATION:
    return certificate + " has a name that its CA is not allowed to sign: " + detail;
  default:
    return is_of_unknown_authority(error) ? certificate + " is not signed by ca_file: " + detail
                                          : certificate + " is not accepted: " + X509_verify_cert_error_string(error);
  }
}

bool is_of_unknown_authority(int error) {
  switch (error) {
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
  case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
  case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
  case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
  case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    return true;
  default:
    return false;
  }
}

} // namespace belay::tls
