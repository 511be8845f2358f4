#include "paper/tables.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "prune/method.h"

namespace ghost {
namespace {

TEST(PaperTables, AskForWhatEachMethodNeeds) {
  for (const char* id : {"T1", "T2", "T3", "T4", "T5", "T6", "T7", "T8", "T9"}) {
    const PaperTable table = MakePaperTable(id);
    EXPECT_EQ(table.id, id);
    for (const PaperRow& row : table.rows) {
      EXPECT_EQ(row.cells.size(), table.across_models ? 1 : table.columns.size()) << id << row.label;
      EXPECT_EQ(row.paper.size(), table.columns.size()) << id << row.label;
      for (const Measurement& cell : row.cells) {
        const PruneSetting& setting = cell.pruning;
        if (setting.method.empty()) continue;
        const Method& method = FindMethod(setting.method);
        EXPECT_EQ(setting.seeded, method.seeded);
        EXPECT_EQ(setting.source.empty(), !method.needs_calibration()) << id << row.label;
      }
    }
  }
  EXPECT_THROW(MakePaperTable("T10"), Error);
}

TEST(PaperTables, NamesOfSettingsSayWhatTheResultDependsOn) {
  EXPECT_EQ(PruneSetting{}.Name(), "dense");
  EXPECT_EQ((PruneSetting{.method = "magnitude"}).Name(), "magnitude-50");
  EXPECT_EQ((PruneSetting{.method = "random", .seed = 3, .seeded = true}).Name(), "random-50-seed3");
  EXPECT_EQ((PruneSetting{.method = "ghost", .sparsity = 0.1, .source = "piqa"}).Name(),
            "ghost-10-piqa-128x2048-seed42");
}

}  // namespace
}  // namespace ghost
