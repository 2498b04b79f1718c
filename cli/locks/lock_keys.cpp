#include "cli/locks/holding.hpp"

#include "cli/output/json_text.hpp"
#include "protocol/golang/base64.hpp"
#include "protocol/golang/url.hpp"

#include <boost/json/parse.hpp>

namespace belay::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr auto answer_limit = 10s; // beyond the time that a query waits

} // namespace

lock_keys::lock_keys(asio::any_io_executor executor, const api_target& target, api_query scope,
                     const acquire_deadline& deadline)
    : executor_(executor), target_(target), scope_(std::move(scope)), deadline_(deadline),
      connection_(std::make_unique<api_connection>(executor, target)), bell_(executor) {}

void lock_keys::stop() {
  stopped_ = true;
  connection_->close();
  bell_.ring();
}

void lock_keys::restart() {
  connection_ = std::make_unique<api_connection>(executor_, target_);
  stopped_ = false;
}

asio::awaitable<lock_keys::reading> lock_keys::read(std::string key, bool below, bool consistent, std::uint64_t index,
                                                    std::chrono::milliseconds wait) {
  auto query = scope_;
  if (below)
    query.add("recurse");
  if (consistent)
    query.add("consistent");
  if (index != 0) {
    query.add("index", std::to_string(index));
    query.add("wait", std::to_string(wait.count()) + "ms");
  }
  api_request get{.method = "GET", .path = "/v1/kv/" + golang::escape_path(key), .query = query};
  get.limit = deadline_.limit(answer_limit + (index != 0 ? wait + wait / 16 : 0ms)); // servers add up to a sixteenth
  const auto answer = co_await connection_->ask(std::move(get));
  reading out;
  out.retryable = !answer || answer->status >= 500 || answer->status == 429;
  if (!answer) {
    out.complaint = answer.error();
    co_return out;
  }
  out.index = answer->number("x-consul-index").value_or(0);
  out.fence = answer->header("x-belay-fence");
  if (answer->status == 404)
    co_return out;
  if (!answer->found()) {
    out.complaint = answer->complaint();
    co_return out;
  }
  boost::system::error_code ec;
  const auto list = boost::json::parse(answer->body, ec);
  if (ec || !list.is_array()) {
    out.complaint = "the answer is not a list of keys";
    co_return out;
  }
  for (const auto& row : list.get_array()) {
    auto value = golang::decode_base64(member_text(row, "Value"));
    out.rows.push_back({member_text(row, "Key"), member_text(row, "Session"), value ? *value : "",
                        member_number(row, "Flags"), member_number(row, "ModifyIndex")});
  }
  co_return out;
}

asio::awaitable<result<bool>> lock_keys::write(std::string method, std::string key, api_query how, std::string body,
                                               api_answer* whole, std::chrono::milliseconds limit) {
  api_request change{
      .method = std::move(method), .path = "/v1/kv/" + golang::escape_path(key), .query = std::move(how)};
  change.body = std::move(body);
  change.limit = deadline_.limit(limit);
  const auto answer = co_await connection_->ask(std::move(change));
  if (answer && whole != nullptr)
    *whole = *answer;
  if (const auto complaint = complaint_about(answer); !complaint.empty())
    co_return failure{complaint};
  co_return answer->body.find("true") != std::string::npos;
}

asio::awaitable<void> key_holding::end() {
  lease_.stop();
  co_await lease_.end(keys_.deadline());
}

asio::awaitable<result<bool>> key_holding::acquire() {
  auto got = co_await take();
  if (got && *got)
    keys_.had();
  co_return got;
}

} // namespace belay::cli
