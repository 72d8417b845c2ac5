#pragma once

#include <any>
#include <string>
#include <utility>
#include <vector>

#include "schemes/choice.h"
#include "schemes/init.h"
#include "schemes/scheme.h"

// The schemes by name, without an arithmetic; make.h makes them on one.
namespace residual::schemes {

struct Entry : Text {
  Init (*init)(Role, const Stack&, const Choice&);
  void (*fields)(ConfigVisitor&, Choice&);    // the scheme's own options
  std::vector<Part> (*parts)(const Choice&);  // of the output; empty: it has one stream
};

// In the order of the list, then those that were added.
const std::vector<Entry>& registry();

// An Error with a suggestion if there is none of that name.
const Entry& find(const std::string& name);

// The choice with the default variant filled in; an Error if there is no such scheme or variant.
Choice resolve(Choice choice);

// The scheme's own options as they stand in TOML: {"eta", "1.0"}.
std::vector<std::pair<std::string, std::string>> option_values(Choice choice);

// REQUIRES: nothing reads the registry meanwhile.
void add_entry(Entry entry);

// What a header of a scheme has to have, besides the class template On<A>: a Scheme<A> that is
// made from an A&, a Stack and Options.
template <class S>
concept Describes = requires(Role role, const Stack& stack, const typename S::Options& options,
                             typename S::Options& read, ConfigVisitor& visit) {
  { S::text() } -> std::same_as<Text>;
  { S::init(role, stack, options) } -> std::same_as<Init>;
  fields(visit, read);
};

template <class S>
typename S::Options options_of(const Choice& choice) {
  const auto* given = std::any_cast<typename S::Options>(&choice.options);
  auto options = given != nullptr ? *given : typename S::Options{};
  if constexpr (requires { options.variant; }) {
    options.variant = choice.variant.empty() ? S::text().variants.at(0) : choice.variant;
  }
  return options;
}

template <Describes S>
Entry entry_of() {
  return {S::text(),
          [](Role role, const Stack& stack, const Choice& choice) {
            return S::init(role, stack, options_of<S>(choice));
          },
          [](ConfigVisitor& visit, Choice& choice) {
            auto options = options_of<S>(choice);
            fields(visit, options);
            choice.options = std::move(options);
          },
          [](const Choice& choice) {
            std::vector<Part> parts;
            if constexpr (requires { S::parts(options_of<S>(choice)); })
              parts = S::parts(options_of<S>(choice));
            return parts;
          }};
}

}  // namespace residual::schemes
