// Translates lines with libresidual: translate MODEL [SETTINGS] < lines > translations

#include <iostream>
#include <residual/residual.hpp>

int main(int argc, char** argv) try {
  if (argc < 2) throw residual::Error("usage: translate MODEL [SETTINGS]");
  const residual::Translator translator(argv[1], argc > 2 ? argv[2] : "");
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << translator.translate(line) << '\n';
  }
} catch (const residual::Error& error) {
  std::cerr << "translate: " << error.what() << '\n';
  return 1;
}
