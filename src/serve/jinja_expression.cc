#include "serve/jinja_expression.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string_view>

#include "base/error.h"

namespace ghost {
namespace {

[[noreturn]] void Fail(const std::string& what) {
  throw Error(ErrorKind::kUsage, "the chat template does not accept these messages: " + what,
              {.tensor = "messages"});
}

constexpr size_t kMaxWork = size_t{64} << 20;  // bytes copied and made
constexpr size_t kMaxParts = size_t{1} << 20;  // of a string that is split
constexpr int kDeepestValue = 200;             // lists in lists: copies and destructors are recursive
constexpr size_t kMaxIndented = size_t{1} << 20;
constexpr std::string_view kSpaces = " \t\r\n\v\f";

std::string Strip(const std::string& text, std::string_view chars, bool left, bool right) {
  const size_t begin = left ? text.find_first_not_of(chars) : 0;
  if (begin == std::string::npos) return "";
  const size_t end = right ? text.find_last_not_of(chars) + 1 : text.size();
  return end > begin ? text.substr(begin, end - begin) : "";
}

// ASCII only: roles and tags.
std::string Mapped(std::string text, int (*map)(int)) {
  std::ranges::transform(text, text.begin(), [map](char c) {
    return static_cast<unsigned char>(c) < 128 ? static_cast<char>(map(c)) : c;
  });
  return text;
}

[[noreturn]] void FailTooLarge() { Fail("it makes too much of them"); }

std::string Replace(const std::string& text, const std::string& from, const std::string& to) {
  if (from.empty()) return text;
  std::string out;
  size_t at = 0;
  for (size_t found; (found = text.find(from, at)) != std::string::npos; at = found + from.size()) {
    if (out.append(text, at, found - at).append(to).size() > kJinjaMaxText) FailTooLarge();
  }
  return out.append(text, at);
}

std::string Capitalized(std::string text, bool every_word) {
  text = Mapped(text, std::tolower);
  bool first = true;
  for (char& c : text) {
    if (first && static_cast<unsigned char>(c) < 128) c = static_cast<char>(std::toupper(c));
    first = every_word && !std::isalnum(static_cast<unsigned char>(c));
  }
  return text;
}

const std::string& StringOf(const Json& value) {
  if (!value.is_string()) Fail("a string was expected, not " + JinjaText(value));
  return value.get_ref<const std::string&>();
}

Json Split(const std::string& text, const Json* separator) {
  Json parts = Json::array();
  if (separator && separator->is_string() && !StringOf(*separator).empty()) {
    const std::string& by = StringOf(*separator);
    size_t at = 0;
    for (size_t found; (found = text.find(by, at)) != std::string::npos; at = found + by.size()) {
      parts.push_back(text.substr(at, found - at));
      if (parts.size() > kMaxParts) FailTooLarge();
    }
    parts.push_back(text.substr(at));
    return parts;
  }
  for (size_t at = text.find_first_not_of(kSpaces); at != std::string::npos;) {
    const size_t end = std::min(text.find_first_of(kSpaces, at), text.size());
    parts.push_back(text.substr(at, end - at));
    if (parts.size() > kMaxParts) FailTooLarge();
    at = text.find_first_not_of(kSpaces, end);
  }
  return parts;
}

using Args = std::vector<Json>;
const Json* ArgAt(const Args& args, size_t i) { return i < args.size() ? &args[i] : nullptr; }
std::string_view CharsOf(const Args& args) {
  return args.empty() ? kSpaces : std::string_view(StringOf(args[0]));
}

struct Method {
  std::string_view name;
  Json (*call)(const Json& self, const Args& args);
};
bool HasAffix(const Json& self, const Args& args, bool start) {
  if (args.empty()) Fail("startswith and endswith need a string");
  return start ? StringOf(self).starts_with(StringOf(args[0])) : StringOf(self).ends_with(StringOf(args[0]));
}
Json Items(const Json& self) {
  Json items = Json::array();
  if (!self.is_object()) Fail("items() needs a mapping");
  for (const auto& [key, value] : self.items()) items.push_back(Json::array({key, value}));
  return items;
}
constexpr std::array kMethods = {
    Method{"strip",
           [](const Json& s, const Args& a) -> Json { return Strip(StringOf(s), CharsOf(a), true, true); }},
    Method{"lstrip",
           [](const Json& s, const Args& a) -> Json { return Strip(StringOf(s), CharsOf(a), true, false); }},
    Method{"rstrip",
           [](const Json& s, const Args& a) -> Json { return Strip(StringOf(s), CharsOf(a), false, true); }},
    Method{"startswith", [](const Json& s, const Args& a) -> Json { return HasAffix(s, a, true); }},
    Method{"endswith", [](const Json& s, const Args& a) -> Json { return HasAffix(s, a, false); }},
    Method{"split", [](const Json& s, const Args& a) -> Json { return Split(StringOf(s), ArgAt(a, 0)); }},
    Method{"upper", [](const Json& s, const Args&) -> Json { return Mapped(StringOf(s), std::toupper); }},
    Method{"lower", [](const Json& s, const Args&) -> Json { return Mapped(StringOf(s), std::tolower); }},
    Method{"title", [](const Json& s, const Args&) -> Json { return Capitalized(StringOf(s), true); }},
    Method{"capitalize", [](const Json& s, const Args&) -> Json { return Capitalized(StringOf(s), false); }},
    Method{"replace",
           [](const Json& s, const Args& a) -> Json {
             if (a.size() < 2) Fail("replace needs two strings");
             return Replace(StringOf(s), StringOf(a[0]), StringOf(a[1]));
           }},
    Method{"items", [](const Json& s, const Args&) -> Json { return Items(s); }},
    Method{"get",
           [](const Json& s, const Args& a) -> Json {
             if (!s.is_object() || a.empty()) Fail("get() needs a mapping and a key");
             const auto it = s.find(StringOf(a[0]));
             if (it != s.end()) return *it;
             return a.size() > 1 ? a[1] : Json();
           }},
};

Json Length(const Json& v) {
  if (v.is_string()) return std::ranges::count_if(StringOf(v), [](char c) { return (c & 0xC0) != 0x80; });
  if (!v.is_structured()) Fail("it has no length: " + JinjaText(v));
  return v.size();
}
Json ToList(const Json& v) {
  if (v.is_array()) return v;
  Json list = Json::array();
  if (v.is_object()) {
    for (const auto& item : v.items()) list.push_back(item.key());
  } else {
    Fail("it is not a list: " + JinjaText(v));
  }
  return list;
}
Json Join(const Json& v, const Args& a) {
  std::string out;
  const std::string by = a.empty() ? "" : StringOf(a[0]);
  const Json list = ToList(v);
  for (size_t i = 0; i < list.size(); ++i) {
    out += (i ? by : "") + JinjaText(list[i]);
    if (out.size() > kJinjaMaxText) FailTooLarge();
  }
  return out;
}
const Json& End(const Json& v, bool first) {
  if (!v.is_array() || v.empty()) Fail("first and last need a list with something in it");
  return first ? v.front() : v.back();
}
constexpr std::array kFilters = {
    Method{"trim",
           [](const Json& s, const Args& a) -> Json { return Strip(JinjaText(s), CharsOf(a), true, true); }},
    Method{"upper", [](const Json& s, const Args&) -> Json { return Mapped(JinjaText(s), std::toupper); }},
    Method{"lower", [](const Json& s, const Args&) -> Json { return Mapped(JinjaText(s), std::tolower); }},
    Method{"title", [](const Json& s, const Args&) -> Json { return Capitalized(JinjaText(s), true); }},
    Method{"capitalize", [](const Json& s, const Args&) -> Json { return Capitalized(JinjaText(s), false); }},
    Method{"length", [](const Json& s, const Args&) -> Json { return Length(s); }},
    Method{"count", [](const Json& s, const Args&) -> Json { return Length(s); }},
    Method{"string", [](const Json& s, const Args&) -> Json { return JinjaText(s); }},
    Method{"safe", [](const Json& s, const Args&) -> Json { return s; }},
    Method{"list", [](const Json& s, const Args&) -> Json { return ToList(s); }},
    Method{"items", [](const Json& s, const Args&) -> Json { return Items(s); }},
    Method{"join", [](const Json& s, const Args& a) -> Json { return Join(s, a); }},
    Method{"first", [](const Json& s, const Args&) -> Json { return End(s, true); }},
    Method{"last", [](const Json& s, const Args&) -> Json { return End(s, false); }},
    Method{"tojson",
           [](const Json& s, const Args& a) -> Json {
             const int indent =
                 !a.empty() && a[0].is_number_integer() ? std::clamp(a[0].get<int>(), 0, 8) : -1;
             if (indent > 0 && JinjaWeight(s) > kMaxIndented) FailTooLarge();
             return s.dump(indent, ' ', false, Json::error_handler_t::replace);
           }},
    Method{"default",
           [](const Json& s, const Args& a) -> Json {
             const bool also_false = a.size() > 1 && JinjaTruth(a[1]);
             const bool absent = s.is_discarded() || (also_false && !JinjaTruth(s));
             return absent ? (a.empty() ? Json("") : a[0]) : s;
           }},
    Method{"replace",
           [](const Json& s, const Args& a) -> Json {
             if (a.size() < 2) Fail("replace needs two strings");
             return Replace(JinjaText(s), StringOf(a[0]), StringOf(a[1]));
           }},
};

struct Test {
  std::string_view name;
  bool (*holds)(const Json& value, const Args& args);
};
bool Remainder(const Json& v, int64_t wanted) {
  if (!v.is_number_integer()) Fail("odd and even need a whole number");
  return (v.get<int64_t>() & 1) == wanted;
}
constexpr std::array kTests = {
    Test{"defined", [](const Json& v, const Args&) { return !v.is_discarded(); }},
    Test{"undefined", [](const Json& v, const Args&) { return v.is_discarded(); }},
    Test{"none", [](const Json& v, const Args&) { return v.is_null(); }},
    Test{"string", [](const Json& v, const Args&) { return v.is_string(); }},
    Test{"mapping", [](const Json& v, const Args&) { return v.is_object(); }},
    Test{"iterable", [](const Json& v, const Args&) { return v.is_structured() || v.is_string(); }},
    Test{"sequence", [](const Json& v, const Args&) { return v.is_structured() || v.is_string(); }},
    Test{"number", [](const Json& v, const Args&) { return v.is_number(); }},
    Test{"integer", [](const Json& v, const Args&) { return v.is_number_integer(); }},
    Test{"boolean", [](const Json& v, const Args&) { return v.is_boolean(); }},
    Test{"true", [](const Json& v, const Args&) { return v.is_boolean() && v.get<bool>(); }},
    Test{"false", [](const Json& v, const Args&) { return v.is_boolean() && !v.get<bool>(); }},
    Test{"odd", [](const Json& v, const Args&) { return Remainder(v, 1); }},
    Test{"even", [](const Json& v, const Args&) { return Remainder(v, 0); }},
    Test{"equalto", [](const Json& v, const Args& a) { return !a.empty() && v == a[0]; }},
};

template <class Table>
auto* FindIn(const Table& table, const std::string& name) {
  const auto it = std::ranges::find(table, std::string_view(name), [](const auto& row) { return row.name; });
  return it == table.end() ? nullptr : &*it;
}

// A position in a list of `size`, counted from the end if negative.
int64_t Position(int64_t index, size_t size) {
  return index < 0 ? index + static_cast<int64_t>(size) : index;
}

// Null if there is no such part.
const Json* PartOf(const Json& object, const Json& key) {
  if (object.is_object() && key.is_string()) {
    const auto it = object.find(StringOf(key));
    return it == object.end() ? nullptr : &*it;
  }
  if (object.is_array() && key.is_number_integer()) {
    const int64_t at = Position(key.get<int64_t>(), object.size());
    return at < 0 || at >= static_cast<int64_t>(object.size()) ? nullptr : &object[static_cast<size_t>(at)];
  }
  if (object.is_discarded() || object.is_null()) Fail("a value is missing where one was to be looked up");
  return nullptr;
}

Json SliceOf(const Json& object, const Json& begin, const Json& end) {
  const auto size = static_cast<int64_t>(object.is_string() ? StringOf(object).size() : object.size());
  const auto bound = [&](const Json& value, int64_t otherwise) {
    if (!value.is_number_integer()) return otherwise;
    return std::clamp<int64_t>(Position(value.get<int64_t>(), static_cast<size_t>(size)), 0, size);
  };
  const int64_t from = bound(begin, 0), to = std::max(from, bound(end, size));
  if (object.is_string())
    return StringOf(object).substr(static_cast<size_t>(from), static_cast<size_t>(to - from));
  if (!object.is_array()) Fail("only lists and strings have slices");
  return Json(Json::array_t(object.begin() + from, object.begin() + to));
}

bool Contains(const Json& where, const Json& what) {
  if (where.is_string()) return StringOf(where).find(StringOf(what)) != std::string::npos;
  if (where.is_object()) return what.is_string() && where.contains(StringOf(what));
  if (where.is_array()) return std::ranges::find(where, what) != where.end();
  Fail("`in` needs a list, a mapping or a string");
}

Json Arithmetic(const std::string& op, const Json& a, const Json& b) {
  if (op == "+" && a.is_string() && b.is_string()) return StringOf(a) + StringOf(b);
  if (op == "+" && a.is_array() && b.is_array()) {
    Json joined = a;
    joined.insert(joined.end(), b.begin(), b.end());
    return joined;
  }
  if (!a.is_number() || !b.is_number())
    Fail("cannot compute " + JinjaText(a) + " " + op + " " + JinjaText(b));
  const bool whole = a.is_number_integer() && b.is_number_integer() && op != "/";
  if (!whole) {
    const double x = a.get<double>(), y = b.get<double>();
    if (op == "+") return x + y;
    if (op == "-") return x - y;
    if (op == "*") return x * y;
    if (op == "/" && y != 0.0) return x / y;
    Fail("cannot compute with these numbers");
  }
  const int64_t x = a.get<int64_t>(), y = b.get<int64_t>();
  int64_t result = 0;
  const bool overflow = op == "+"   ? __builtin_add_overflow(x, y, &result)
                        : op == "-" ? __builtin_sub_overflow(x, y, &result)
                        : op == "*" ? __builtin_mul_overflow(x, y, &result)
                                    : y <= 0;  // Python's rules for negative divisors are of no use here
  if (overflow) Fail("a number is out of range");
  if (op == "//") result = x / y - (x % y < 0 ? 1 : 0);
  if (op == "%") result = (x % y + y) % y;
  return result;
}

// The value of an expression without a copy where it is one of the scope's: otherwise `made` holds it, and is
// what is returned.
const Json& Refer(const JinjaExpression& e, JinjaScope& scope, Json& made) {
  if (e.kind == JinjaKind::kName) {
    if (const Json* found = scope.Find(e.text)) return *found;
    made = JinjaUndefined();
    return made;
  }
  if (e.kind == JinjaKind::kAttribute || e.kind == JinjaKind::kIndex) {
    Json inner, other;
    const Json& object = Refer(e.args[0], scope, inner);
    if (e.kind == JinjaKind::kAttribute) other = e.text;
    const Json& key = e.kind == JinjaKind::kAttribute ? other : Refer(e.args[1], scope, other);
    const Json* found = PartOf(object, key);
    if (found != nullptr && &object != &inner) return *found;
    made = found != nullptr ? Json(*found) : JinjaUndefined();
    return made;
  }
  made = EvaluateJinja(e, scope);
  return made;
}

Json Binary(const JinjaExpression& e, JinjaScope& scope) {
  Json made_left, made_right;
  const Json& left = Refer(e.args[0], scope, made_left);
  if (e.text == "and") return JinjaTruth(left) ? EvaluateJinja(e.args[1], scope) : left;
  if (e.text == "or") return JinjaTruth(left) ? left : EvaluateJinja(e.args[1], scope);
  const Json& right = Refer(e.args[1], scope, made_right);
  if (e.text == "~") return JinjaText(left) + JinjaText(right);
  if (e.text == "in") return Contains(right, left);
  if (e.text == "==") return left == right;
  if (e.text == "!=") return left != right;
  const bool ordered = (left.is_number() && right.is_number()) || (left.is_string() && right.is_string());
  if (e.text[0] == '<' || e.text[0] == '>') {
    if (!ordered) Fail("cannot compare " + JinjaText(left) + " and " + JinjaText(right));
    if (e.text == "<") return left < right;
    if (e.text == "<=") return left <= right;
    return e.text == ">" ? left > right : left >= right;
  }
  return Arithmetic(e.text, left, right);
}

constexpr int64_t kMaxRange = 10000;

Json CallFunction(const JinjaExpression& e, const Args& args, JinjaScope& scope) {
  if (e.text == "raise_exception") Fail(args.empty() ? "no reason given" : JinjaText(args[0]));
  if (e.text == "range") {
    const auto number = [&](size_t i) {
      if (!args[i].is_number_integer()) Fail("range needs whole numbers");
      return args[i].get<int64_t>();
    };
    if (args.empty() || args.size() > 2) Fail("range needs one or two numbers");
    const int64_t begin = args.size() > 1 ? number(0) : 0, end = number(args.size() - 1);
    int64_t length;
    if (__builtin_sub_overflow(end, begin, &length) || length > kMaxRange) Fail("range is too long");
    Json list = Json::array();
    for (int64_t i = begin; i < end; ++i) list.push_back(i);
    return list;
  }
  Json object = Json::object();
  for (size_t i = 0; i < e.named.size(); ++i) object[e.names[i]] = EvaluateJinja(e.named[i], scope);
  return object;
}

Json Compute(const JinjaExpression& e, JinjaScope& scope) {
  const auto operand = [&](size_t i) { return EvaluateJinja(e.args[i], scope); };
  const auto operands = [&](size_t from) {
    Args args;
    for (size_t i = from; i < e.args.size(); ++i) args.push_back(operand(i));
    return args;
  };
  Json made;
  const auto subject = [&]() -> const Json& { return Refer(e.args[0], scope, made); };
  switch (e.kind) {
    case JinjaKind::kLiteral:
      return e.value;
    case JinjaKind::kName:
    case JinjaKind::kAttribute:
    case JinjaKind::kIndex: {
      const Json& value = Refer(e, scope, made);
      if (&value != &made) return value;
      return made;
    }
    case JinjaKind::kList:
      return Json(operands(0));
    case JinjaKind::kDict: {
      Json object = Json::object();
      for (size_t i = 0; i + 1 < e.args.size(); i += 2) object[JinjaText(operand(i))] = operand(i + 1);
      return object;
    }
    case JinjaKind::kSlice:
      return SliceOf(subject(), operand(1), operand(2));
    case JinjaKind::kCall:
      return CallFunction(e, operands(0), scope);
    case JinjaKind::kMethod:
      return FindIn(kMethods, e.text)->call(subject(), operands(1));
    case JinjaKind::kFilter: {
      Args args = operands(1);
      for (const JinjaExpression& named : e.named) args.push_back(EvaluateJinja(named, scope));
      return FindIn(kFilters, e.text)->call(subject(), args);
    }
    case JinjaKind::kTest:
      return FindIn(kTests, e.text)->holds(subject(), operands(1));
    case JinjaKind::kUnary:
      return e.text == "not" ? Json(!JinjaTruth(subject())) : Arithmetic("-", Json(0), subject());
    case JinjaKind::kBinary:
      return Binary(e, scope);
    case JinjaKind::kIfElse:
      return JinjaTruth(operand(1)) ? operand(0) : operand(2);
  }
  return JinjaUndefined();
}

}  // namespace

bool IsJinjaFunction(const std::string& name) {
  return name == "raise_exception" || name == "range" || name == "namespace" || name == "dict";
}
bool IsJinjaMethod(const std::string& name) { return FindIn(kMethods, name) != nullptr; }
bool IsJinjaFilter(const std::string& name) { return FindIn(kFilters, name) != nullptr; }
bool IsJinjaTest(const std::string& name) { return FindIn(kTests, name) != nullptr; }

bool JinjaTruth(const Json& value) {
  if (value.is_discarded() || value.is_null()) return false;
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>() != 0.0;
  if (value.is_string()) return !StringOf(value).empty();
  return !value.empty();
}

std::string JinjaText(const Json& value) {
  if (value.is_discarded()) return "";
  if (value.is_null()) return "None";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json EvaluateJinja(const JinjaExpression& e, JinjaScope& scope) {
  Json value = Compute(e, scope);
  scope.Charge(JinjaWeight(value));
  return value;
}

size_t JinjaWeight(const Json& value, int depth) {
  if (depth > kDeepestValue) FailTooLarge();
  // Allocations of strings and lists, and nodes of objects with their keys.
  constexpr size_t kAllocation = 48, kNode = 96;
  size_t weight = sizeof(Json);
  if (value.is_string()) {
    weight += kAllocation + StringOf(value).size();
  } else if (value.is_object()) {
    weight += kAllocation;
    for (const auto& [key, part] : value.get_ref<const Json::object_t&>())
      weight += kNode + key.size() + JinjaWeight(part, depth + 1);
  } else if (value.is_array()) {
    weight += kAllocation;
    for (const Json& part : value) weight += JinjaWeight(part, depth + 1);
  }
  return weight;
}

Json* JinjaScope::Find(const std::string& name) {
  for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
    if (const auto it = frame->find(name); it != frame->end()) return &it->second;
  }
  return nullptr;
}

void JinjaScope::Charge(size_t bytes) {
  charged_ += bytes;
  if (charged_ > kMaxWork) FailTooLarge();
}

}  // namespace ghost
