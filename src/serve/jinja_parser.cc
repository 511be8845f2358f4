#include "serve/jinja_parser.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "serve/jinja_lexer.h"

namespace ghost {
namespace {

constexpr int kDeepest = 60;       // of brackets and blocks
constexpr int kDeepestTree = 400;  // of chains: a + b + c is a tree of depth 2

[[noreturn]] void Outside(const std::string& what) {
  throw Error(ErrorKind::kUnsupported, "the chat template is outside the supported subset of Jinja",
              {.actual = what});
}

// Recursive descent, one function per level of precedence.
class ExpressionParser {
 public:
  explicit ExpressionParser(const std::vector<JinjaToken>& tokens) : tokens_(tokens) {}

  JinjaExpression Whole() {
    JinjaExpression e = Conditional();
    if (!done()) Outside("`" + Peek().text + "` after an expression");
    return e;
  }
  JinjaExpression Conditional() {
    const Depth depth(*this);
    JinjaExpression value = Or();
    if (!TakeName("if")) return value;
    JinjaExpression condition = Or();
    JinjaExpression otherwise{.value = JinjaUndefined()};
    if (TakeName("else")) otherwise = Conditional();
    return Node(JinjaKind::kIfElse, "", {std::move(value), std::move(condition), std::move(otherwise)});
  }
  JinjaExpression Or() {
    return Chain({"or"}, [this] { return And(); });
  }

  bool done() const { return at_ == tokens_.size(); }
  const JinjaToken& Peek() const {
    static const JinjaToken end;
    return done() ? end : tokens_[at_];
  }
  bool TakeName(std::string_view name) { return TakeIf(JinjaTokenKind::kName, name); }
  bool TakeOperator(std::string_view text) { return TakeIf(JinjaTokenKind::kOperator, text); }
  std::string ExpectName() {
    if (Peek().kind != JinjaTokenKind::kName) Outside("`" + Peek().text + "` where a name was expected");
    return tokens_[at_++].text;
  }
  void ExpectOperator(std::string_view text) {
    if (!TakeOperator(text)) Outside("`" + Peek().text + "` where " + std::string(text) + " was expected");
  }

 private:
  struct Depth {
    explicit Depth(ExpressionParser& parser) : owner(parser) {
      if (++owner.depth_ > kDeepest) Outside("an expression that is nested too deeply");
    }
    ~Depth() { --owner.depth_; }
    ExpressionParser& owner;
  };

  bool TakeIf(JinjaTokenKind kind, std::string_view text) {
    if (done() || Peek().kind != kind || Peek().text != text) return false;
    ++at_;
    return true;
  }
  // Long chains of operators make deep trees without deep recursion here, but not when they are evaluated.
  static JinjaExpression Node(JinjaKind kind, std::string text, std::vector<JinjaExpression> args) {
    int depth = 0;
    for (const JinjaExpression& arg : args) depth = std::max(depth, arg.depth + 1);
    if (depth > kDeepestTree) Outside("an expression that is too long");
    return {.kind = kind, .text = std::move(text), .args = std::move(args), .depth = depth};
  }
  static JinjaExpression Literal(Json value) { return {.value = std::move(value)}; }

  template <class Operand>
  JinjaExpression Chain(std::initializer_list<std::string_view> operators, Operand operand) {
    JinjaExpression left = operand();
    while (true) {
      const auto is = [&](std::string_view op) { return TakeName(op) || TakeOperator(op); };
      const auto found = std::ranges::find_if(operators, is);
      if (found == operators.end()) return left;
      left = Node(JinjaKind::kBinary, std::string(*found), {std::move(left), operand()});
    }
  }
  JinjaExpression And() {
    return Chain({"and"}, [this] { return Not(); });
  }
  JinjaExpression Not() {
    const Depth depth(*this);
    if (TakeName("not")) return Node(JinjaKind::kUnary, "not", {Not()});
    return Comparison();
  }
  JinjaExpression Comparison() {
    JinjaExpression left = Sum();
    while (true) {
      bool negated = false;
      const size_t start = at_;
      if (TakeName("not")) negated = true;
      if (TakeName("in")) {
        left = Node(JinjaKind::kBinary, "in", {std::move(left), Sum()});
      } else if (!negated && Peek().kind == JinjaTokenKind::kOperator && IsComparison(Peek().text)) {
        const std::string op = tokens_[at_++].text;
        left = Node(JinjaKind::kBinary, op, {std::move(left), Sum()});
      } else {
        at_ = start;
        return left;
      }
      if (negated) left = Node(JinjaKind::kUnary, "not", {std::move(left)});
    }
  }
  static bool IsComparison(const std::string& op) {
    return op == "==" || op == "!=" || op == "<" || op == ">" || op == "<=" || op == ">=";
  }
  JinjaExpression Sum() {
    return Chain({"+", "-", "~"}, [this] { return Product(); });
  }
  JinjaExpression Product() {
    return Chain({"*", "//", "/", "%"}, [this] { return Unary(); });
  }
  JinjaExpression Unary() {
    const Depth depth(*this);
    if (TakeOperator("-")) return Node(JinjaKind::kUnary, "-", {Unary()});
    return Postfix(Primary());
  }

  JinjaExpression Primary() {
    if (done()) Outside("a tag that ends too early");
    const JinjaToken token = tokens_[at_++];
    switch (token.kind) {
      case JinjaTokenKind::kString: {
        std::string text = token.text;
        while (Peek().kind == JinjaTokenKind::kString) text += tokens_[at_++].text;
        return Literal(std::move(text));
      }
      case JinjaTokenKind::kNumber:
        if (token.text.size() > 15) Outside("the number " + token.text);
        if (token.text.find('.') != std::string::npos) return Literal(std::atof(token.text.c_str()));
        return Literal(static_cast<int64_t>(std::atoll(token.text.c_str())));
      case JinjaTokenKind::kName:
        return NameOrCall(token.text);
      default:
        break;
    }
    if (token.text == "(") {
      JinjaExpression inner = Conditional();
      ExpectOperator(")");
      return inner;
    }
    if (token.text == "[") return Node(JinjaKind::kList, "", Items("]"));
    if (token.text == "{") return Dict();
    Outside("`" + token.text + "` where a value was expected");
  }

  JinjaExpression NameOrCall(const std::string& name) {
    if (name == "true" || name == "True") return Literal(true);
    if (name == "false" || name == "False") return Literal(false);
    if (name == "none" || name == "None") return Literal(nullptr);
    if (!TakeOperator("(")) return Node(JinjaKind::kName, name, {});
    if (!IsJinjaFunction(name)) Outside("the function " + name);
    JinjaExpression call = Node(JinjaKind::kCall, name, {});
    Arguments(call);
    return call;
  }
  std::vector<JinjaExpression> Items(std::string_view close) {
    std::vector<JinjaExpression> items;
    while (!TakeOperator(close)) {
      items.push_back(Conditional());
      if (!TakeOperator(",")) {
        ExpectOperator(close);
        break;
      }
    }
    return items;
  }
  JinjaExpression Dict() {
    std::vector<JinjaExpression> items;
    while (!TakeOperator("}")) {
      items.push_back(Conditional());
      ExpectOperator(":");
      items.push_back(Conditional());
      if (!TakeOperator(",")) {
        ExpectOperator("}");
        break;
      }
    }
    return Node(JinjaKind::kDict, "", std::move(items));
  }
  void Arguments(JinjaExpression& call) {
    while (!TakeOperator(")")) {
      const bool named = Peek().kind == JinjaTokenKind::kName && at_ + 1 < tokens_.size() &&
                         tokens_[at_ + 1].kind == JinjaTokenKind::kOperator && tokens_[at_ + 1].text == "=";
      if (named) {
        call.names.push_back(ExpectName());
        ExpectOperator("=");
        call.named.push_back(Conditional());
        call.depth = std::max(call.depth, call.named.back().depth + 1);
      } else {
        call.args.push_back(Conditional());
        call.depth = std::max(call.depth, call.args.back().depth + 1);
      }
      if (!TakeOperator(",")) {
        ExpectOperator(")");
        break;
      }
    }
  }

  JinjaExpression Postfix(JinjaExpression value) {
    while (true) {
      if (TakeOperator(".")) {
        const std::string name = ExpectName();
        if (TakeOperator("(")) {
          if (!IsJinjaMethod(name)) Outside("the method " + name);
          value = Node(JinjaKind::kMethod, name, {std::move(value)});
          Arguments(value);
        } else {
          value = Node(JinjaKind::kAttribute, name, {std::move(value)});
        }
      } else if (TakeOperator("[")) {
        value = Subscript(std::move(value));
      } else if (TakeOperator("|")) {
        const std::string name = ExpectName();
        if (!IsJinjaFilter(name)) Outside("the filter " + name);
        value = Node(JinjaKind::kFilter, name, {std::move(value)});
        if (TakeOperator("(")) Arguments(value);
      } else if (TakeName("is")) {
        const bool negated = TakeName("not");
        const std::string name = ExpectName();
        if (!IsJinjaTest(name)) Outside("the test " + name);
        value = Node(JinjaKind::kTest, name, {std::move(value)});
        if (TakeOperator("(")) Arguments(value);
        if (negated) value = Node(JinjaKind::kUnary, "not", {std::move(value)});
      } else {
        return value;
      }
    }
  }
  JinjaExpression Subscript(JinjaExpression object) {
    JinjaExpression begin = Literal(nullptr);
    const bool slice_first = Peek().kind == JinjaTokenKind::kOperator && Peek().text == ":";
    if (!slice_first) begin = Conditional();
    if (!TakeOperator(":")) {
      ExpectOperator("]");
      return Node(JinjaKind::kIndex, "", {std::move(object), std::move(begin)});
    }
    JinjaExpression end = Literal(nullptr);
    if (!TakeOperator("]")) {
      end = Conditional();
      ExpectOperator("]");
    }
    return Node(JinjaKind::kSlice, "", {std::move(object), std::move(begin), std::move(end)});
  }

  const std::vector<JinjaToken>& tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

// Statements up to one of the words that end a block; that statement's tokens are left for the caller.
class BlockParser {
 public:
  explicit BlockParser(std::vector<JinjaPiece> pieces) : pieces_(std::move(pieces)) {}

  std::vector<JinjaStatement> Block(std::initializer_list<std::string_view> ends, std::string& end) {
    if (++depth_ > kDeepest) Outside("blocks that are nested too deeply");
    std::vector<JinjaStatement> statements;
    end.clear();
    while (at_ < pieces_.size()) {
      const JinjaPiece& piece = pieces_[at_];
      if (piece.kind == JinjaPiece::kText) {
        statements.push_back({.kind = JinjaStatement::kText, .text = piece.text});
        ++at_;
      } else if (piece.kind == JinjaPiece::kOutput) {
        statements.push_back(
            {.kind = JinjaStatement::kOutput, .value = ExpressionParser(piece.tokens).Whole()});
        ++at_;
      } else {
        const std::string word = piece.tokens.empty() ? "" : piece.tokens[0].text;
        if (std::ranges::find(ends, std::string_view(word)) != ends.end()) {
          end = word;
          break;
        }
        statements.push_back(Statement(word));
      }
    }
    if (end.empty() && ends.size() > 0) Outside("a block that does not end");
    --depth_;
    return statements;
  }

 private:
  std::vector<JinjaToken> Rest() const {
    const std::vector<JinjaToken>& tokens = pieces_[at_].tokens;
    return {tokens.begin() + 1, tokens.end()};
  }

  JinjaStatement Statement(const std::string& word) {
    if (word == "set") return Set();
    if (word == "for") return For();
    if (word == "if") return If();
    Outside("the statement " + word);
  }
  JinjaStatement Set() {
    const std::vector<JinjaToken> tokens = Rest();
    ++at_;
    ExpressionParser parser(tokens);
    JinjaStatement set{.kind = JinjaStatement::kSet, .text = parser.ExpectName()};
    if (parser.TakeOperator(".")) set.attribute = parser.ExpectName();
    parser.ExpectOperator("=");
    set.value = parser.Whole();
    return set;
  }
  JinjaStatement For() {
    const std::vector<JinjaToken> tokens = Rest();
    ++at_;
    ExpressionParser parser(tokens);
    JinjaStatement loop{.kind = JinjaStatement::kFor, .text = parser.ExpectName()};
    if (parser.TakeOperator(",")) loop.attribute = parser.ExpectName();
    if (!parser.TakeName("in")) Outside("a loop without `in`");
    loop.value = parser.Or();
    if (parser.TakeName("if")) {
      loop.has_filter = true;
      loop.filter = parser.Or();
    }
    if (!parser.done()) Outside("`" + parser.Peek().text + "` in a loop");
    std::string end;
    loop.body = Block({"endfor", "else"}, end);
    ++at_;
    if (end == "else") {
      loop.otherwise = Block({"endfor"}, end);
      ++at_;
    }
    return loop;
  }
  // An elif is an if in the else of the one before.
  JinjaStatement If(int elifs = 0) {
    if (elifs > kDeepestTree) Outside("an if with too many branches");
    JinjaStatement branch{.kind = JinjaStatement::kIf};
    const std::vector<JinjaToken> tokens = Rest();
    branch.value = ExpressionParser(tokens).Whole();
    ++at_;
    std::string end;
    branch.body = Block({"elif", "else", "endif"}, end);
    if (end == "elif") {
      branch.otherwise.push_back(If(elifs + 1));
      return branch;
    }
    ++at_;
    if (end == "else") {
      branch.otherwise = Block({"endif"}, end);
      ++at_;
    }
    return branch;
  }

  std::vector<JinjaPiece> pieces_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::vector<JinjaStatement> ParseJinja(std::string_view source) {
  std::string end;
  return BlockParser(CutJinja(source)).Block({}, end);
}

}  // namespace ghost
