#include "actors/tls/certificate_ends.hpp"

#include "actors/tls/openssl_handles.hpp"

#include <algorithm>
#include <ctime>

namespace belay::tls {

namespace {

constexpr std::int64_t seconds_per_day = 86400;

std::string subject_of(X509* certificate) {
  const bio_ptr out(BIO_new(BIO_s_mem()));
  if (!out || X509_NAME_print_ex(out.get(), X509_get_subject_name(certificate), 0, XN_FLAG_ONELINE) < 0)
    return "?";
  const auto text = text_of(out.get());
  return text.empty() ? "?" : text;
}

void add_end(std::vector<certificate_end>& all, X509* certificate, bool of_auth_context) {
  std::tm at{};
  if (certificate == nullptr || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &at) != 1)
    return;
  certificate_end c{subject_of(certificate), ::timegm(&at), of_auth_context};
  if (std::find(all.begin(), all.end(), c) == all.end())
    all.push_back(std::move(c));
}

certificate_watch::urgency urgency_of(std::int64_t days) {
  using enum certificate_watch::urgency;
  return days < 0                                 ? over
         : days <= certificate_watch::urgent_days ? urgent
         : days <= certificate_watch::warn_days   ? soon
                                                  : none;
}

} // namespace

std::vector<certificate_end> certificate_ends(ssl_ctx_st* context) {
  std::vector<certificate_end> all;
  if (context == nullptr)
    return all;
  add_end(all, SSL_CTX_get0_certificate(context), false);
  STACK_OF(X509)* chain = nullptr;
  if (SSL_CTX_get0_chain_certs(context, &chain) == 1)
    for (int i = 0; i < sk_X509_num(chain); ++i)
      add_end(all, sk_X509_value(chain, i), false);
  const auto* trusted = X509_STORE_get0_objects(SSL_CTX_get_cert_store(context));
  for (int i = 0; i < sk_X509_OBJECT_num(trusted); ++i)
    add_end(all, X509_OBJECT_get0_X509(sk_X509_OBJECT_value(trusted, i)), true);
  return all;
}

std::int64_t days_left(const certificate_end& c, std::int64_t now_seconds) {
  const auto left = c.at - now_seconds;
  return left >= 0 ? left / seconds_per_day : -1 - (-left - 1) / seconds_per_day;
}

std::vector<certificate_watch::news> certificate_watch::look(const std::vector<certificate_end>& all,
                                                             std::int64_t now_seconds) {
  std::vector<news> found;
  decltype(reported_) reported;
  for (const auto& c : all) {
    const auto days = days_left(c, now_seconds);
    const auto how = urgency_of(days);
    const auto key = std::pair(c.name, c.at);
    const auto before = reported_.find(key);
    if (how > (before == reported_.end() ? urgency::none : before->second))
      found.push_back({c, how, days});
    reported[key] = how;
  }
  reported_ = std::move(reported);
  return found;
}

} // namespace belay::tls
