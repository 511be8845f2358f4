#include "commands/options.h"

#include <gtest/gtest.h>

#include <set>

#include "commands/bench.h"
#include "commands/convert.h"
#include "commands/evaluate.h"
#include "commands/forward.h"
#include "commands/generate.h"
#include "commands/inspect.h"
#include "commands/report.h"
#include "commands/reproduce.h"
#include "commands/tokenize.h"
#include "commands/train.h"
#include "commands/train_tokenizer.h"

namespace ghost {
namespace {

TEST(Options, EchoHoldsEveryValueUnderItsName) {
  InspectOptions options;
  options.model.model = "m";
  options.common.threads = 3;
  EXPECT_EQ(EchoOptions(options).dump(),
            R"({"MODEL":"m","norm-groups":"auto","dt-min":-1.0,"tensors":false,"json":false,)"
            R"("quiet":false,"threads":3})");
}

TEST(Options, ASettingOfALibraryHasAFlag) {
  EXPECT_EQ(FlagOf("force"), "--force");
  EXPECT_EQ(FlagOf("max_length"), "--max-length");
}

template <class Options>
class EveryVerb : public testing::Test {};
using Verbs =
    testing::Types<BenchOptions, ConvertOptions, EvalOptions, ForwardOptions, GenerateOptions, InspectOptions,
                   ReportOptions, ReproduceOptions, TokenizeOptions, TrainOptions, TrainTokenizerOptions>;
TYPED_TEST_SUITE(EveryVerb, Verbs);

// Two options of one name would overwrite each other in the echo.
TYPED_TEST(EveryVerb, NamesItsOptionsOnceAndExplainsThem) {
  TypeParam options;
  std::set<std::string> names;
  options.ForEach([&](auto&, const OptionInfo& info) {
    EXPECT_TRUE(names.insert(std::string(info.name)).second) << info.name;
    EXPECT_FALSE(info.help.empty()) << info.name;
  });
  for (const char* name : {"json", "quiet", "threads"}) EXPECT_TRUE(names.contains(name));
  EXPECT_EQ(EchoOptions(options).size(), names.size());
}

}  // namespace
}  // namespace ghost
