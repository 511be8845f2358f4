// Trainer::Save and Load: state.json (what the run is, how far it came, its history) and state.safetensors
// (weights and both moments as float32, each tensor under weights., first. or second. and its own name).
#include <cstring>
#include <map>

#include "base/atomic_directory.h"
#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "io/safetensors.h"
#include "train/trainer.h"

namespace ghost {
namespace {

constexpr const char* kSchema = "ghost.training-state/1";

[[noreturn]] void Corrupt(const std::string& file, const std::string& place, const std::string& what) {
  throw Error(
      ErrorKind::kCorrupt, "the training state is damaged: " + what,
      {.file = file, .tensor = place, .hint = "remove it and start from scratch", .setting = "resume"});
}

// Tensors that alias `memory`, which must live until they are written.
void AddTensors(const ParameterLayout& layout, const std::string& prefix, const Buffer& memory,
                std::map<std::string, Tensor>& tensors) {
  for (const ParameterRow& row : layout.rows) {
    const auto* bytes = reinterpret_cast<const std::byte*>(memory.data() + row.offset);
    const std::shared_ptr<const std::byte> alias(std::shared_ptr<const void>(), bytes);
    tensors[prefix + row.name] = Tensor(DType::kF32, row.shape, alias);
  }
}

void CopyTensors(const ParameterLayout& layout, const std::string& prefix, const TensorSet& set,
                 const std::string& file, Buffer& memory) {
  for (const ParameterRow& row : layout.rows) {
    const auto found = set.tensors.find(prefix + row.name);
    if (found == set.tensors.end()) Corrupt(file, prefix + row.name, "tensor is missing");
    const Tensor& tensor = found->second.tensor;
    if (tensor.dtype() != DType::kF32 || tensor.shape() != row.shape) {
      Corrupt(file, prefix + row.name, "wrong type or shape");
    }
    std::memcpy(memory.data() + row.offset, tensor.data(), tensor.num_bytes());
  }
}

std::vector<double> Numbers(const Json& json, const char* key, size_t count, const std::string& file) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_array() || found->size() != count) {
    Corrupt(file, key, "expected a list of " + std::to_string(count) + " numbers");
  }
  std::vector<double> values;
  for (const Json& value : *found) values.push_back(JsonToDouble(value, key, file));
  return values;
}

OrderedJson ValidationsJson(const std::vector<ValidationPoint>& points) {
  OrderedJson list = OrderedJson::array();
  for (const ValidationPoint& point : points) list.push_back({{"step", point.step}, {"nll", point.nll}});
  return list;
}

}  // namespace

void Trainer::Save(const std::string& directory, const OrderedJson& fingerprint) const {
  const HoldInterrupts hold;  // this is what an interruption leaves
  AtomicDirectory output(directory, /*overwrite=*/true);
  std::map<std::string, Tensor> tensors;
  AddTensors(layout_, "weights.", *weights_, tensors);
  AddTensors(layout_, "first.", optimizer_.first(), tensors);
  AddTensors(layout_, "second.", optimizer_.second(), tensors);
  SaveSafetensors(output.path() + "/state.safetensors", tensors, {});
  const OrderedJson json = {{"schema", kSchema},
                            {"run", fingerprint},
                            {"step", step_},
                            {"losses", history_.losses},
                            {"gradient_norms", history_.gradient_norms},
                            {"validations", ValidationsJson(history_.validations)}};
  WriteFileAtomically(output.path() + "/state.json", json.dump() + "\n");
  output.Commit();
}

void Trainer::Load(const std::string& directory, const OrderedJson& fingerprint) {
  const std::string file = directory + "/state.json", tensors_file = directory + "/state.safetensors";
  const Json json = LoadJson(file);
  if (!json.is_object() || JsonString(json, "schema", "", file) != kSchema) {
    Corrupt(file, "schema", std::string("expected ") + kSchema);
  }
  const Json run = json.value("run", Json()), wanted = Json::parse(fingerprint.dump());
  if (run != wanted) {
    const std::string difference = Json::diff(run, wanted).dump();
    throw Error(ErrorKind::kUsage, "the training state belongs to another run",
                {.file = file,
                 .actual = "changes: " + difference.substr(0, 400),
                 .hint = "resume with the settings it was started with, or start from scratch",
                 .setting = "resume"});
  }
  const int64_t step = JsonInt(json, "step", -1, 0, int64_t{1} << 40, file);
  TrainingHistory history;
  history.losses = Numbers(json, "losses", static_cast<size_t>(step), file);
  history.gradient_norms = Numbers(json, "gradient_norms", static_cast<size_t>(step), file);
  const Json points = json.value("validations", Json::array());
  if (!points.is_array()) Corrupt(file, "validations", "expected a list");
  for (const Json& point : points) {
    if (!point.is_object()) Corrupt(file, "validations", "expected objects");
    history.validations.push_back(
        {JsonInt(point, "step", 0, 0, step, file), JsonDouble(point, "nll", 0, file)});
  }
  const TensorSet set = ReadSafetensors(tensors_file);
  CopyTensors(layout_, "weights.", set, tensors_file, *weights_);
  CopyTensors(layout_, "first.", set, tensors_file, optimizer_.first());
  CopyTensors(layout_, "second.", set, tensors_file, optimizer_.second());
  model_ = Model(config_, ViewWeights(layout_, config_, weights_));
  history_ = std::move(history);
  step_ = step;
}

}  // namespace ghost
