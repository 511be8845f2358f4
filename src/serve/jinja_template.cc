#include "serve/jinja_template.h"

#include <utility>

#include "base/error.h"

namespace ghost {
namespace {

constexpr int64_t kMaxSteps = int64_t{1} << 17;  // statements

[[noreturn]] void RefuseMessages(const std::string& why) {
  throw Error(ErrorKind::kUsage, "the chat template " + why, {.tensor = "messages"});
}

class Renderer {
 public:
  explicit Renderer(std::map<std::string, Json> values) : scope_(std::move(values)) {}

  void Run(const std::vector<JinjaStatement>& statements) {
    for (const JinjaStatement& statement : statements) Run(statement);
  }
  std::string& text() { return text_; }

 private:
  void Run(const JinjaStatement& s) {
    if (++steps_ > kMaxSteps || text_.size() > kJinjaMaxText)
      RefuseMessages("does too much with these messages");
    switch (s.kind) {
      case JinjaStatement::kText:
        text_ += s.text;
        return;
      case JinjaStatement::kOutput:
        text_ += JinjaText(EvaluateJinja(s.value, scope_));
        return;
      case JinjaStatement::kSet:
        return Set(s);
      case JinjaStatement::kIf:
        return Run(JinjaTruth(EvaluateJinja(s.value, scope_)) ? s.body : s.otherwise);
      case JinjaStatement::kFor:
        return Loop(s);
    }
  }

  void Set(const JinjaStatement& s) {
    Json value = EvaluateJinja(s.value, scope_);
    if (s.attribute.empty()) return scope_.Set(s.text, std::move(value));
    Json* object = scope_.Find(s.text);
    if (object == nullptr || !object->is_object()) RefuseMessages("sets an attribute of no namespace");
    (*object)[s.attribute] = std::move(value);
  }

  void Bind(const JinjaStatement& s, const Json& item) {
    scope_.Charge(JinjaWeight(item));
    if (s.attribute.empty()) return scope_.Set(s.text, item);
    if (!item.is_array() || item.size() != 2) RefuseMessages("cannot unpack a value");
    scope_.Set(s.text, item[0]);
    scope_.Set(s.attribute, item[1]);
  }

  std::vector<Json> ItemsOf(const JinjaStatement& s) {
    Json source = EvaluateJinja(s.value, scope_);
    std::vector<Json> items;
    if (source.is_object()) {
      for (const auto& item : source.items()) items.push_back(item.key());
    } else if (source.is_array()) {
      items = std::move(source.get_ref<Json::array_t&>());
    } else if (!source.is_discarded()) {
      RefuseMessages("loops over something that is no list");
    }
    return items;
  }

  // What a loop sets is gone after it, but for attributes of namespaces that were there before.
  void Loop(const JinjaStatement& s) {
    std::vector<Json> items = ItemsOf(s);
    const JinjaScope::Frame inner(scope_);
    if (s.has_filter) {
      std::erase_if(items, [&](const Json& item) {
        Bind(s, item);
        return !JinjaTruth(EvaluateJinja(s.filter, scope_));
      });
    }
    if (items.empty()) Run(s.otherwise);
    for (size_t i = 0; i < items.size(); ++i) {
      Bind(s, items[i]);
      const Json before = i > 0 ? items[i - 1] : JinjaUndefined();
      const Json after = i + 1 < items.size() ? items[i + 1] : JinjaUndefined();
      scope_.Charge(JinjaWeight(before) + JinjaWeight(after));
      scope_.Set("loop", {{"index", i + 1},
                          {"index0", i},
                          {"first", i == 0},
                          {"last", i + 1 == items.size()},
                          {"length", items.size()},
                          {"revindex", items.size() - i},
                          {"revindex0", items.size() - i - 1},
                          {"previtem", before},
                          {"nextitem", after}});
      Run(s.body);
    }
  }

  JinjaScope scope_;
  std::string text_;
  int64_t steps_ = 0;
};

}  // namespace

std::string JinjaTemplate::Render(std::map<std::string, Json> values) const {
  Renderer renderer(std::move(values));
  renderer.Run(statements_);
  return std::move(renderer.text());
}

}  // namespace ghost
