#include "actors/gateway/requests/http_date.hpp"

#include <ctime>

namespace belay::actors {

std::string_view http_date::at(std::int64_t second) {
  if (second != second_) {
    second_ = second;
    const std::time_t t = second;
    std::tm utc{};
    gmtime_r(&t, &utc);
    char text[40];
    text_.assign(text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc));
  }
  return text_;
}

} // namespace belay::actors
