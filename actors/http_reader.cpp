#include "actors/http_reader.hpp"

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>

#include <limits>
#include <new>
#include <optional>

namespace belay::actors {

namespace beast = boost::beast;

namespace {

// Chunk extensions and trailers have no use here. More of them than that is an attack.
constexpr std::size_t chunk_extras_max = 16384;
// Buffers above that are given back between requests, so that readers in the pool stay small.
constexpr std::size_t kept_bytes_max = 65536;

std::string_view view(beast::string_view s) {
  return {s.data(), s.size()};
}

beast::error_code stop() {
  return beast::http::make_error_code(beast::http::error::body_limit);
}

} // namespace

/// Beast's parser of the wire format; what it finds goes to the reader.
class http_reader::parser final : public beast::http::basic_parser<true> {
public:
  explicit parser(http_reader& r) : r_(r) {
    eager(true);
    body_limit(boost::none);
    // Beast counts only what comes in one piece; the reader counts itself.
    header_limit(std::numeric_limits<std::uint32_t>::max());
  }

private:
  void on_request_impl(beast::http::verb, beast::string_view method, beast::string_view target, int version,
                       beast::error_code& ec) override {
    r_.method_ = keep(method);
    r_.target_ = keep(target);
    r_.old_version_ = version < 11;
    check_head(ec);
  }

  void on_response_impl(int, beast::string_view, int, beast::error_code&) override {}

  void on_field_impl(beast::http::field name, beast::string_view text, beast::string_view value,
                     beast::error_code& ec) override {
    if (r_.head_done_) {
      r_.trailer_bytes_ += text.size() + value.size();
      if (r_.trailer_bytes_ > chunk_extras_max)
        refuse(verdict::bad_request, ec);
      return;
    }
    if (name == beast::http::field::host)
      r_.has_host_ = true;
    else if (name == beast::http::field::expect && beast::iequals(value, "100-continue"))
      r_.expects_continue_ = true;
    const auto kept = keep(text);
    r_.fields_.emplace_back(kept, keep(value));
    check_head(ec);
  }

  void on_header_impl(beast::error_code& ec) override {
    r_.finish_head();
    r_.keep_alive_ = keep_alive();
    r_.expects_continue_ = r_.expects_continue_ && !r_.old_version_;
    const auto length = content_length();
    r_.declared_ = length ? *length : 0;
    r_.body_max_ = r_.rules_.body_bytes_max(r_.request_.method, r_.request_.target);
    if (!r_.has_host_ && !r_.old_version_)
      refuse(verdict::no_host, ec);
    else if (r_.declared_ > r_.body_max_)
      refuse(verdict::body_too_large, ec);
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>& length, beast::error_code&) override {
    if (length)
      r_.body_.reserve(static_cast<std::size_t>(*length)); // within the limit, checked with the header
  }

  std::size_t on_body_impl(beast::string_view bytes, beast::error_code& ec) override { return take(bytes, ec); }

  void on_chunk_header_impl(std::uint64_t, beast::string_view extensions, beast::error_code& ec) override {
    if (extensions.size() > chunk_extras_max)
      refuse(verdict::bad_request, ec);
  }

  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view bytes, beast::error_code& ec) override {
    return take(bytes, ec);
  }

  void on_finish_impl(beast::error_code&) override {}

  std::size_t take(beast::string_view bytes, beast::error_code& ec) {
    if (r_.body_.size() + bytes.size() > r_.body_max_) {
      refuse(verdict::body_too_large, ec);
      return 0;
    }
    r_.expects_continue_ = false; // it did not wait
    r_.body_.append(bytes.data(), bytes.size());
    return bytes.size();
  }

  span keep(beast::string_view s) {
    const span where{r_.head_.size(), s.size()};
    r_.head_.append(view(s));
    return where;
  }

  void check_head(beast::error_code& ec) {
    if (r_.head_.size() > r_.rules_.header_bytes_max)
      refuse(verdict::header_too_large, ec);
  }

  void refuse(verdict why, beast::error_code& ec) {
    r_.refused_ = why;
    ec = stop();
  }

  http_reader& r_;
};

http_reader::http_reader(const http_reader_rules& rules) : rules_(rules), parser_(std::make_unique<parser>(*this)) {}

http_reader::~http_reader() = default;

http_reader::verdict http_reader::read(std::string_view input, std::size_t& used) {
  used = 0;
  if (!started_) {
    // Old clients send an empty line behind a body; RFC 9112 section 2.2 asks servers to skip it.
    while (input.size() >= 2 && input[0] == '\r' && input[1] == '\n') {
      input.remove_prefix(2);
      used += 2;
    }
    if (input.empty() || input == "\r")
      return verdict::more;
    started_ = true;
  }
  beast::error_code ec;
  const auto n = parser_->put(boost::asio::const_buffer(input.data(), input.size()), ec);
  used += n;
  const auto left = input.size() - n;
  if (ec == beast::http::error::need_more || !ec) {
    if (parser_->is_done()) {
      request_.body = body_;
      return verdict::complete;
    }
    if (!head_done_ && head_.size() + left > rules_.header_bytes_max)
      return verdict::header_too_large;
    if (head_done_ && left > 2 * chunk_extras_max)
      return verdict::bad_request;
    return verdict::more;
  }
  return ec == stop() ? refused_ : verdict::bad_request;
}

bool http_reader::take_expectation() {
  return head_done_ && std::exchange(expects_continue_, false);
}

void http_reader::finish_head() {
  const std::string_view all = head_;
  request_.method = all.substr(method_.begin, method_.size);
  request_.target = all.substr(target_.begin, target_.size);
  request_.headers.clear();
  for (const auto& [name, value] : fields_)
    request_.headers.emplace_back(all.substr(name.begin, name.size), all.substr(value.begin, value.size));
  head_done_ = true;
}

void http_reader::reset() {
  // Beast's parser serves one message; rebuilding it in place costs no allocation.
  parser_->~parser();
  new (parser_.get()) parser(*this);
  request_ = http::raw_request{{}, {}, std::move(request_.headers), {}, {}};
  request_.headers.clear();
  fields_.clear();
  head_.clear();
  body_.clear();
  if (head_.capacity() > kept_bytes_max)
    head_.shrink_to_fit();
  if (body_.capacity() > kept_bytes_max)
    body_.shrink_to_fit();
  trailer_bytes_ = 0;
  declared_ = 0;
  refused_ = verdict::bad_request;
  head_done_ = has_host_ = expects_continue_ = old_version_ = started_ = false;
  keep_alive_ = true;
}

} // namespace belay::actors
