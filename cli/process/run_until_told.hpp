#pragma once
// Commands that go on until they are told to end.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <functional>

namespace belay::cli {

/// Runs `work` and all that it starts on `loop` to the end. SIGINT and SIGTERM do not end the process meanwhile.
/// @param stop called with the number of the first such signal: `work` should come to its end soon
/// @returns what `work` returned: the exit code
int run_until_told(boost::asio::io_context& loop, const std::function<boost::asio::awaitable<int>()>& work,
                   const std::function<void(int signal)>& stop);

} // namespace belay::cli
