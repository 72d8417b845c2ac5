#pragma once

#include <string>

namespace residual::train {

// A shared library that lies beside the program or where modules are installed, and is loaded only
// when it is needed.
class Module {
 public:
  // Without the file, the error is "need: file remedy". The module's function `version` must return
  // the program's version.
  Module(const std::string& file, const std::string& need, const std::string& remedy,
         const char* version);

  template <class Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;

  std::string path_;
  void* handle_ = nullptr;  // never closed: its threads may outlive the object
};

}  // namespace residual::train
