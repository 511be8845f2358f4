#include "base/json_edit.h"

#include <gtest/gtest.h>

#include <array>

#include "base/error.h"

namespace ghost {
namespace {

std::string Set(std::string_view text, std::string_view key, std::string_view value) {
  const std::array path = {key};
  return SetJsonField(text, path, value, "f");
}

TEST(JsonEdit, ReplacesOneValueAndNothingElse) {
  EXPECT_EQ(Set("{\"a\": [1, {\"n\": 2}],\n \"n\" : 128 , \"z\": Infinity}\n", "n", "64"),
            "{\"a\": [1, {\"n\": 2}],\n \"n\" : 64 , \"z\": Infinity}\n");
  EXPECT_EQ(Set("{\"n\":[1,\"]}\\\"\"]}", "n", "3"), "{\"n\":3}");
  EXPECT_EQ(Set("{\"x\":\"n\\\\\",\"\\u006e\":-1e3}", "n", "3"), "{\"x\":\"n\\\\\",\"\\u006e\":3}");
}

TEST(JsonEdit, AddsAFieldInTheStyleOfTheOthers) {
  EXPECT_EQ(Set("{}", "n", "1"), "{\"n\": 1}");
  EXPECT_EQ(Set("{\n}", "n", "1"), "{\"n\": 1\n}");
  EXPECT_EQ(Set("{\n    \"a\": 2\n}", "n", "1"), "{\n    \"n\": 1,\n    \"a\": 2\n}");
  EXPECT_EQ(Set("{\"a\": 2}", "n", "1"), "{\"n\": 1, \"a\": 2}");
}

TEST(JsonEdit, RemovesOneFieldAndNothingElse) {
  const auto remove = [](std::string_view text, std::string_view key) {
    const std::array path = {key};
    return RemoveJsonField(text, path, "f");
  };
  EXPECT_EQ(remove("{\n  \"n\": [1, {\"a\": 2}],\n  \"a\": Infinity\n}\n", "n"), "{\n  \"a\": Infinity\n}\n");
  EXPECT_EQ(remove("{\"a\" : 1 , \"n\" : \",\" , \"b\": 2}", "n"), "{\"a\" : 1 , \"b\": 2}");
  EXPECT_EQ(remove("{\n  \"a\": 1,\n  \"n\": 2\n}", "n"), "{\n  \"a\": 1\n}");
  EXPECT_EQ(remove("{\"n\": 1}", "n"), "{}");
  EXPECT_EQ(remove("{\"a\": {\"n\": 1}}", "n"), "{\"a\": {\"n\": 1}}");
  for (const std::string text : {"{}", "{\n}", "{\"a\": 2}", "{\n    \"a\": 2\n}", "{ \"a\":2}"})
    EXPECT_EQ(remove(Set(text, "n", "[3]"), "n"), text);
  const std::array<std::string_view, 2> path = {"ssm_cfg", "d_state"};
  EXPECT_EQ(RemoveJsonField("{\"ssm_cfg\": {\"d_state\": 1}}", path, "f"), "{\"ssm_cfg\": {}}");
  EXPECT_EQ(RemoveJsonField("{\"d_state\": 1}", path, "f"), "{\"d_state\": 1}");
  EXPECT_THROW(remove("{\"n\": ", "n"), Error);
}

TEST(JsonEdit, FollowsAPath) {
  const std::array<std::string_view, 2> path = {"ssm_cfg", "d_state"};
  EXPECT_EQ(SetJsonField("{\"d_state\": 1, \"ssm_cfg\": {\"layer\": \"Mamba2\"}}", path, "64", "f"),
            "{\"d_state\": 1, \"ssm_cfg\": {\"d_state\": 64, \"layer\": \"Mamba2\"}}");
  EXPECT_TRUE(HasJsonField("{\"ssm_cfg\": {\"d_state\": NaN}}", path, "f"));
  EXPECT_FALSE(HasJsonField("{\"ssm_cfg\": {}}", path, "f"));
  EXPECT_FALSE(HasJsonField("{\"other\": {}}", path, "f"));
  EXPECT_THROW(SetJsonField("{\"ssm_cfg\": 3}", path, "64", "f"), Error);
  EXPECT_THROW(SetJsonField("{}", path, "64", "f"), Error);
  EXPECT_THROW(SetJsonField("{\"ssm_cfg\": ", path, "64", "f"), Error);
}

}  // namespace
}  // namespace ghost
