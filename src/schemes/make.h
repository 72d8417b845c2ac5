#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "schemes/list.h"
#include "schemes/registry.h"

namespace residual::schemes {

template <Arithmetic A>
struct Maker {
  std::string name;
  std::unique_ptr<Scheme<A>> (*make)(A&, const Stack&, const Choice&);
};

template <class S, Arithmetic A>
Maker<A> maker_of() {
  return {S::text().name,
          [](A& a, const Stack& stack, const Choice& choice) -> std::unique_ptr<Scheme<A>> {
            return std::make_unique<typename S::template On<A>>(a, stack, options_of<S>(choice));
          }};
}

template <Arithmetic A, class... S>
std::vector<Maker<A>> makers_of(List<S...> /*list*/) {
  return {maker_of<S, A>()...};
}

template <Arithmetic A>
std::vector<Maker<A>>& makers() {
  static std::vector<Maker<A>> all = makers_of<A>(Schemes{});
  return all;
}

template <Arithmetic A>
std::unique_ptr<Scheme<A>> make(A& a, const Stack& stack, const Choice& choice) {
  const Choice resolved = resolve(choice);
  const auto found = std::ranges::find(makers<A>(), resolved.name, &Maker<A>::name);
  require(found != makers<A>().end(), "{}: was not added for this arithmetic", resolved.name);
  return found->make(a, stack, resolved);
}

// Adds a scheme that is not in the list, for the arithmetics named. A program that does so links
// the libraries that use it; call it first in main(), or from a static initialiser.
template <class S, Arithmetic... A>
void add_scheme() {
  add_entry(entry_of<S>());
  (makers<A>().push_back(maker_of<S, A>()), ...);
}

}  // namespace residual::schemes
