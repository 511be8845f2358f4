// Expressions of the subset of Jinja that chat templates are written in: syntax tree and evaluation. Values
// are JSON; a template can read nothing but what it is given.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace ghost {

// The value of an unknown name.
inline Json JinjaUndefined() { return Json(Json::value_t::discarded); }

inline constexpr size_t kJinjaMaxText = size_t{16} << 20;  // of one string

// Bytes of a value, about: what a copy of it costs. Error(kUsage) for one that is nested too deeply.
size_t JinjaWeight(const Json& value, int depth = 0);

// Names and their values, in nested frames: what is set goes into the innermost and ends with it. Also counts
// the bytes that a template copies or makes, so that none can keep a server busy or fill its memory.
class JinjaScope {
 public:
  explicit JinjaScope(std::map<std::string, Json> values) { frames_.push_back(std::move(values)); }

  // Null for an unknown name. Valid until that name is set again.
  Json* Find(const std::string& name);
  void Set(const std::string& name, Json value) { frames_.back()[name] = std::move(value); }
  // Error(kUsage) when the template has done too much.
  void Charge(size_t bytes);

  // A frame that lasts as long as this.
  struct Frame {
    explicit Frame(JinjaScope& of) : scope(of) { scope.frames_.emplace_back(); }
    ~Frame() { scope.frames_.pop_back(); }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;
    JinjaScope& scope;
  };

 private:
  std::vector<std::map<std::string, Json>> frames_;
  size_t charged_ = 0;
};

enum class JinjaKind {
  kLiteral,    // value
  kName,       // text
  kList,       // args
  kDict,       // args: key, value, key, value
  kAttribute,  // args[0].text
  kIndex,      // args[0][args[1]]
  kSlice,      // args[0][args[1]:args[2]], an absent bound is a null literal
  kCall,       // text(args..., named...)
  kMethod,     // args[0].text(args[1]...)
  kFilter,     // args[0] | text(args[1]..., named...)
  kTest,       // args[0] is text(args[1]...)
  kUnary,      // text: not, -
  kBinary,     // text: or and == != < > <= >= in ~ + - * / // %
  kIfElse,     // args: value, condition, otherwise
};

struct JinjaExpression {
  JinjaKind kind = JinjaKind::kLiteral;
  std::string text;
  Json value;
  std::vector<JinjaExpression> args;
  std::vector<std::string> names;
  std::vector<JinjaExpression> named;  // one per name
  int depth = 0;                       // of the tree below
};

// Names that the evaluator knows, checked when a template is parsed.
bool IsJinjaFunction(const std::string& name);
bool IsJinjaMethod(const std::string& name);
bool IsJinjaFilter(const std::string& name);
bool IsJinjaTest(const std::string& name);

// Error(kUsage) for what the template itself raises (raise_exception) and for values of the wrong type.
Json EvaluateJinja(const JinjaExpression& expression, JinjaScope& scope);
bool JinjaTruth(const Json& value);
std::string JinjaText(const Json& value);  // as {{ value }} prints it

}  // namespace ghost
