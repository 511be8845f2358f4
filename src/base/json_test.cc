#include "base/json.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace ghost {
namespace {

TEST(Json, PythonInfinityAndTransformers5FormMeanTheSame) {
  const Json four =
      ParseJson(R"({"limit": [0.0, Infinity], "name": "Infinity NaN \" Infinity"})", "config.json");
  const Json five = ParseJson(R"({"limit": [0.0, {"__float__": "Infinity"}]})", "config.json");
  EXPECT_TRUE(std::isinf(JsonToDouble(four["limit"][1], "limit", "f")));
  EXPECT_TRUE(std::isinf(JsonToDouble(five["limit"][1], "limit", "f")));
  EXPECT_EQ(four["name"], "Infinity NaN \" Infinity");
  EXPECT_TRUE(std::isnan(JsonToDouble(ParseJson("NaN", "f"), "x", "f")));
  EXPECT_EQ(JsonToDouble(ParseJson("-Infinity", "f"), "x", "f"), -INFINITY);
}

TEST(Json, RefusesDuplicatesDepthAndGarbage) {
  for (const std::string& text :
       {std::string(R"({"a": 1, "a": 2})"), std::string(R"({"a": {"b": 1, "b": 1}})"), std::string(200, '['),
        std::string(""), std::string("{"), std::string("{} x"), std::string("{\"a\": \"\xff\"}"),
        std::string(R"({"a": 1e999})"), std::string("{}\0 x", 5)}) {
    try {
      ParseJson(text, "header.json");
      ADD_FAILURE() << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kCorrupt) << text;
      EXPECT_EQ(e.context().file, "header.json") << text;
    }
  }
}

TEST(Json, TypedLookupsNameTheKey) {
  const Json object =
      ParseJson(R"({"n": 128, "f": 1.5, "s": "x", "z": null, "big": 18446744073709551615})", "c");
  EXPECT_EQ(JsonInt(object, "n", 1, 1, 1000, "c"), 128);
  EXPECT_EQ(JsonInt(object, "z", 7, 1, 1000, "c"), 7);
  EXPECT_EQ(JsonDouble(object, "missing", 2.5, "c"), 2.5);
  EXPECT_THROW(JsonInt(object, "f", 1, 0, 10, "c"), Error);
  EXPECT_THROW(JsonInt(object, "n", 1, 0, 10, "c"), Error);
  EXPECT_THROW(JsonInt(object, "big", 1, 0, 10, "c"), Error);
  EXPECT_THROW(JsonBool(object, "n", true, "c"), Error);
  try {
    JsonString(object, "n", "", "config.json");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.context().tensor, "n");
    EXPECT_EQ(e.context().file, "config.json");
  }
}

}  // namespace
}  // namespace ghost
