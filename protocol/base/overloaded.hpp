#pragma once
// One function object out of several lambdas, for std::visit.

namespace belay {

template <class... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

} // namespace belay
