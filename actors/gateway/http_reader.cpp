#include "actors/gateway/http_reader.hpp"

#include "actors/end_of_head.hpp"
#include "protocol/base/ascii_case.hpp"

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

namespace belay::actors {

namespace beast = boost::beast;

namespace {

constexpr std::size_t reserved_bytes_max = 1u << 20;
// Each costs more memory than its bytes on the wire.
constexpr std::size_t fields_max = 4096;
// Larger buffers are freed between requests, so that readers in the pool stay small.
constexpr std::size_t kept_bytes_max = 65536;

std::string_view view(beast::string_view s) {
  return {s.data(), s.size()};
}

bool is_length(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Go's httpguts.ValidHostHeader: checks the characters only; it may be empty.
bool may_be_host(std::string_view text) {
  static constexpr std::string_view others = "!$%&'()*+,-.:;=[]_~";
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           others.find(c) != std::string_view::npos;
  });
}

/// A line continued in the next: obsolete, and proxies read it differently (RFC 9112 section 5.2).
bool has_folded_line(std::string_view lines) {
  for (auto at = lines.find("\r\n"); at != std::string_view::npos; at = lines.find("\r\n", at + 2))
    if (at + 2 < lines.size() && (lines[at + 2] == ' ' || lines[at + 2] == '\t'))
      return true;
  return false;
}

/// Whether a line of a head ends in LF alone. RFC 9112 section 2.2 permits accepting it; Go does.
bool has_bare_lf(std::string_view head) {
  std::size_t line = 0;
  for (auto end = head.find('\n'); end != std::string_view::npos; end = head.find('\n', line)) {
    if (end == line || head[end - 1] != '\r')
      return true;
    if (end == line + 1)
      return false; // the rest is the body
    line = end + 1;
  }
  return false;
}

/// Returns the same head with CR LF at the end of each line, without the body.
std::string with_cr_lf(std::string_view head) {
  std::string out;
  std::size_t line = 0;
  for (auto end = head.find('\n'); end != std::string_view::npos; end = head.find('\n', line)) {
    const bool whole = end > line && head[end - 1] == '\r';
    const auto text = head.substr(line, end - line - (whole ? 1 : 0));
    out.append(text).append("\r\n");
    line = end + 1;
    if (text.empty())
      return out;
  }
  return out.append(head.substr(line));
}

/// How many bytes of `head` became the first `n` of with_cr_lf(head).
std::size_t bytes_before_cr_lf(std::string_view head, std::size_t n) {
  std::size_t at = 0;
  for (std::size_t written = 0; written < n; ++at)
    written += head[at] == '\n' && (at == 0 || head[at - 1] != '\r') ? 2 : 1;
  return at;
}

beast::error_code stop() {
  return beast::http::make_error_code(beast::http::error::body_limit);
}

} // namespace

/// Beast's parser of request lines and headers; results go to the reader.
class http_reader::parser final : public beast::http::basic_parser<true> {
public:
  explicit parser(http_reader& r) : r_(r) {
    eager(true);
    skip(true); // bodies are read by the reader
    body_limit(boost::none);
    // Beast counts only what arrives in one piece; the reader counts itself.
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
    if (name == beast::http::field::host) {
      ++r_.hosts_;
      r_.host_is_malformed_ = r_.host_is_malformed_ || !may_be_host(view(value));
    } else if (name == beast::http::field::expect && beast::iequals(value, "100-continue"))
      r_.expects_continue_ = true;
    else if (name == beast::http::field::transfer_encoding && !may_frame(view(value)))
      return refuse(outcome::bad_request, ec); // the end of such a body is not known
    else if (name == beast::http::field::content_length && (++r_.lengths_ > 1 || !is_length(view(value))))
      return refuse(outcome::bad_request, ec); // Beast would accept lists and repetitions of one number
    const auto kept = keep(text);
    r_.fields_.emplace_back(kept, keep(value));
    check_head(ec);
  }

  void on_header_impl(beast::error_code& ec) override {
    r_.finish_head();
    r_.keep_alive_ = keep_alive();
    r_.chunked_ = chunked();
    r_.expects_continue_ = r_.expects_continue_ && !r_.old_version_;
    const auto length = content_length();
    r_.declared_ = length ? *length : 0;
    r_.limit_ = r_.rules_.body_limit(r_.request_.method, r_.request_.target);
    if (r_.hosts_ == 0 && !r_.old_version_)
      refuse(outcome::no_host, ec);
    else if (r_.hosts_ > 1)
      refuse(outcome::many_hosts, ec);
    else if (r_.host_is_malformed_)
      refuse(outcome::malformed_host, ec);
    else if (r_.declared_ > r_.limit_.bytes_max)
      refuse(outcome::body_too_large, ec);
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>&, beast::error_code&) override {}
  std::size_t on_body_impl(beast::string_view bytes, beast::error_code&) override { return bytes.size(); }
  void on_chunk_header_impl(std::uint64_t, beast::string_view, beast::error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view bytes, beast::error_code&) override {
    return bytes.size();
  }
  void on_finish_impl(beast::error_code&) override {}

  /// Accepts `chunked` once, and not in HTTP/1.0: proxies may not know it (RFC 9112 section 6.1).
  bool may_frame(std::string_view encoding) {
    return ++r_.encodings_ == 1 && !r_.old_version_ && equal_ignoring_case(encoding, "chunked");
  }

  span keep(beast::string_view s) {
    const span where{r_.head_.size(), s.size()};
    r_.head_.append(view(s));
    return where;
  }

  void check_head(beast::error_code& ec) {
    if (r_.head_bytes() > r_.rules_.header_bytes_max || r_.fields_.size() > fields_max)
      refuse(outcome::header_too_large, ec);
  }

  void refuse(outcome why, beast::error_code& ec) {
    r_.refused_ = why;
    ec = stop();
  }

  http_reader& r_;
};

http_reader::http_reader(const http_reader_rules& rules) : rules_(rules), parser_(std::make_unique<parser>(*this)) {}

http_reader::~http_reader() = default;

http_reader::outcome http_reader::read(std::string_view input, std::size_t& used) {
  used = 0;
  if (!started_) {
    // Old clients send an empty line after a body; RFC 9112 section 2.2 asks servers to skip it.
    while (input.starts_with("\r\n") || input.starts_with('\n')) {
      const std::size_t n = input.front() == '\r' ? 2 : 1;
      input.remove_prefix(n);
      used += n;
    }
    if (input.empty() || input == "\r")
      return outcome::more;
    started_ = true;
  }
  if (!head_done_) {
    std::size_t of_head = 0;
    const auto v = read_head(input, of_head);
    used += of_head;
    if (v != outcome::complete)
      return v;
    input.remove_prefix(of_head);
    if (limit_.streamed && (chunked_ || declared_ > 0))
      return outcome::head;
  }
  std::size_t of_body = 0;
  const auto v = read_body(input, of_body);
  used += of_body;
  return v;
}

http_reader::outcome http_reader::read_head(std::string_view input, std::size_t& used) {
  // The same bytes come again with each piece, so only the new ones are searched for an empty line.
  if (searched_ != 0 && !input.starts_with('\n') && !input.starts_with("\r\n") && !end_of_head(input, searched_)) {
    searched_ = input.size();
    return head_bytes() + input.size() > rules_.header_bytes_max ? outcome::header_too_large : outcome::more;
  }
  auto v = outcome::more;
  if (!has_bare_lf(input)) {
    v = read_lines(input, used);
  } else {
    const auto lines = with_cr_lf(input);
    std::size_t of_lines = 0;
    v = read_lines(lines, of_lines);
    used = bytes_before_cr_lf(input, of_lines);
  }
  searched_ = v == outcome::more ? input.size() - used : 0;
  return v;
}

http_reader::outcome http_reader::read_lines(std::string_view input, std::size_t& used) {
  beast::error_code ec;
  used = parser_->put(boost::asio::const_buffer(input.data(), input.size()), ec);
  if (has_folded_line(input.substr(0, used)))
    return outcome::bad_request;
  if (ec == beast::http::error::need_more || !ec) {
    if (parser_->is_done())
      return outcome::complete;
    return head_bytes() + (input.size() - used) > rules_.header_bytes_max ? outcome::header_too_large : outcome::more;
  }
  return ec == stop() ? refused_ : outcome::bad_request;
}

http_reader::outcome http_reader::read_body(std::string_view input, std::size_t& used) {
  bool complete = false;
  if (chunked_) {
    switch (chunks_.decode(input, body_, limit_.bytes_max, used)) {
    case chunk_decoder::state::more:
      break;
    case chunk_decoder::state::complete:
      complete = true;
      break;
    case chunk_decoder::state::broken:
      return outcome::bad_request;
    case chunk_decoder::state::too_large:
      return outcome::body_too_large;
    }
  } else {
    // Reserves memory for the whole body, within a limit: otherwise a mere header could reserve any
    // amount.
    if (body_.empty() && !limit_.streamed)
      body_.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(declared_, reserved_bytes_max)));
    used = static_cast<std::size_t>(std::min<std::uint64_t>(input.size(), declared_ - body_taken_ - body_.size()));
    body_.append(input.substr(0, used));
    complete = body_taken_ + body_.size() == declared_;
  }
  if (used > 0)
    expects_continue_ = false; // it did not wait
  if (!complete)
    return outcome::more;
  request_.body = body_;
  return outcome::complete;
}

bool http_reader::take_expectation() {
  return head_done_ && std::exchange(expects_continue_, false);
}

std::string http_reader::take_body() {
  body_taken_ += body_.size();
  return std::exchange(body_, {});
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
  chunks_ = {};
  declared_ = body_taken_ = searched_ = 0;
  limit_ = {};
  refused_ = outcome::bad_request;
  head_done_ = chunked_ = host_is_malformed_ = expects_continue_ = old_version_ = started_ = false;
  hosts_ = lengths_ = encodings_ = 0;
  keep_alive_ = true;
}

} // namespace belay::actors
