#pragma once
// A function object that combines several lambdas, for std::visit.

namespace belay {

template <class... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

} // namespace belay
