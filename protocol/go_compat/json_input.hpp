#pragma once
// Decodes JSON bodies with the rules and error texts of Go's decoder (docs/contract/01, section 9).

#include "protocol/base/ascii_case.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/base/result.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::go_compat {

/// Limits of a text's size in memory. A value takes tens of bytes, hundreds
/// if it becomes a check or an operation, and at least two bytes of text.
struct json_bounds {
  std::size_t values_max = 0;   ///< in the whole text
  std::size_t elements_max = 0; ///< in one list or object
};
/// Limits for clients, well above what Consul's send (4,096 sessions to renew, some 1000 tags); 10
/// MB.
inline constexpr json_bounds client_json{65'536, 8'192};
/// Limits for servers of this cluster: as much as their tables contain.
inline constexpr json_bounds server_json{std::numeric_limits<std::size_t>::max(),
                                         std::numeric_limits<std::size_t>::max()};

/// The first JSON value of the text; ignores the rest. An empty text is the error `EOF`. A
/// text beyond the limits is rejected, with an error that names them, before it is parsed.
result<boost::json::value> read_json(std::string_view text, const json_bounds& bounds = client_json);
/// Reads a text that has only spaces after the value; else the error is `invalid character 'x'
/// after top-level value`.
result<boost::json::value> read_json_file(std::string_view text, const json_bounds& bounds = server_json);
/// Upper bound of the number of values in the text; only a scan.
std::size_t json_values_at_most(std::string_view text);

/// Location of a value for error texts: "RegisterRequest.Service" and "Tags".
struct json_field {
  std::string_view owner, name;
};

/// Decodes JSON values into typed fields. Keeps the first error and continues,
/// as Go does. null leaves a plain field unchanged and empties an optional one.
class json_decoder {
public:
  enum class keeps : bool { first_error, all_errors };
  /// @param errors all of them only if the text's author receives them, not for untrusted texts
  explicit json_decoder(keeps errors = keeps::first_error) : keeps_(errors) {}
  /// @param written the source of the values: errors show numbers as written there, like Go's
  explicit json_decoder(std::string_view written) : written_(written) {}

  /// The first one; empty: there is none.
  const std::string& error() const { return errors_.empty() ? none_ : errors_.front(); }
  const std::vector<std::string>& errors() const { return errors_; }
  bool ok() const { return errors_.empty(); }
  void fail(std::string text) {
    if (keeps_next())
      errors_.push_back(std::move(text));
  }

  /// @returns false: a list of `n` elements is too long, an error that names the limit
  bool fits(std::size_t n, json_field at, std::size_t elements_max);
  void text(const boost::json::value& v, json_field at, std::string& out);
  void boolean(const boost::json::value& v, json_field at, bool& out);
  void integer(const boost::json::value& v, json_field at, std::int64_t& out);
  void unsigned_integer(const boost::json::value& v, json_field at, std::uint64_t& out);
  /// A number below 256.
  void octet(const boost::json::value& v, json_field at, std::uint8_t& out);
  void index(const boost::json::value& v, json_field at, log_index& out);
  /// A float64, which is always finite.
  void real(const boost::json::value& v, json_field at, double& out);
  void reals(const boost::json::value& v, json_field at, std::vector<double>& out);
  void texts(const boost::json::value& v, json_field at, std::optional<std::vector<std::string>>& out);
  void map(const boost::json::value& v, json_field at, std::optional<std::map<std::string, std::string>>& out);
  /// Bytes: base64 as a text, or a list of numbers below 256. null: none.
  void bytes(const boost::json::value& v, json_field at, std::string& out);
  /// A Go duration as text, or a number of nanoseconds. If only the first error is
  /// kept, ignores values of other types, as the decoders of Consul's registrations do.
  void duration_ns(const boost::json::value& v, json_field at, std::int64_t& out);
  /// The same, but other types and null are errors (ReadableDuration of Consul's api package).
  void readable_duration_ns(const boost::json::value& v, json_field at, std::int64_t& out);

  /// Calls `member(lower-case name, value)` for each member; it returns false for an
  /// unknown name, which is an error unless `unknown_names_pass`. null: no members.
  template <class Member>
  void object(const boost::json::value& v, std::string_view what, Member member, bool unknown_names_pass = false) {
    if (v.is_null())
      return;
    const auto* o = v.if_object();
    if (!o) {
      wrong_type(v, what);
      return;
    }
    for (const auto& m : *o)
      if (const std::string_view name(m.key().data(), m.key().size());
          !member(lower_case(name), m.value()) && !unknown_names_pass)
        unknown(name);
  }

  /// `what` completes "json: cannot unmarshal string into Go ", e.g. "value of type api.TxnOps".
  void wrong_type(const boost::json::value& v, std::string_view what);

private:
  /// The text of an error may cost as much as reading all of the source: ask before it is made.
  bool keeps_next() const { return errors_.empty() || keeps_ == keeps::all_errors; }
  void wrong_field(const boost::json::value& v, json_field at, std::string_view type);
  void unknown(std::string_view name);
  void number_of_ns(const boost::json::value& v, json_field at, std::int64_t& out);
  std::string shown_number(const boost::json::value& v) const;

  keeps keeps_ = keeps::first_error;
  std::string_view written_;
  std::string none_;
  std::vector<std::string> errors_;
};

} // namespace belay::go_compat
