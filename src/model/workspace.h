// The memory of a pass, by the type that knows what is in it.
#pragma once

#include <memory>
#include <typeindex>
#include <unordered_map>

namespace ghost {

// Holds one object of every type asked for, made when it is first asked for. Each part keeps its activations
// in a type of its own, so parts of one kind that share a workspace overwrite each other's activations
// (inference), and parts with a workspace each keep them (training). One thread uses a Workspace at a time.
class Workspace {
 public:
  template <class T>
  T& Get() {
    std::shared_ptr<void>& slot = objects_[std::type_index(typeid(T))];
    if (!slot) slot = std::make_shared<T>();
    return *static_cast<T*>(slot.get());
  }

 private:
  std::unordered_map<std::type_index, std::shared_ptr<void>> objects_;
};

}  // namespace ghost
