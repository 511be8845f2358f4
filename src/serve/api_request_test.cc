#include "serve/api_request.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace ghost {
namespace {

// The parameter that a refusal names.
std::string RefusedParameter(const std::string& body, bool chat = false) {
  try {
    if (chat) {
      ParseChatRequest(body, {});
    } else {
      ParseCompletionRequest(body, {});
    }
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kUsage) << e.what();
    return e.context().tensor.empty() ? "?" : e.context().tensor;
  }
  return "";
}

TEST(ApiRequest, PromptsOfAllForms) {
  EXPECT_EQ(std::get<std::string>(ParseCompletionRequest(R"({"prompt":"a"})", {}).prompts[0]), "a");
  EXPECT_EQ(std::get<std::vector<int32_t>>(ParseCompletionRequest(R"({"prompt":[1,2]})", {}).prompts[0]),
            (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(ParseCompletionRequest(R"({"prompt":["a","b"]})", {}).prompts.size(), 2u);
  EXPECT_EQ(ParseCompletionRequest(R"({"prompt":[[1],[2,3]]})", {}).prompts.size(), 2u);
}

TEST(ApiRequest, DefaultsAreOpenAis) {
  const CompletionRequest r = ParseCompletionRequest(R"({"prompt":"a","unknown_key":1,"stop":null})", {});
  EXPECT_EQ(r.parameters.max_tokens, 16);
  EXPECT_EQ(r.parameters.temperature, 1.0);
  EXPECT_EQ(r.parameters.n, 1);
  EXPECT_EQ(r.parameters.logprobs, -1);
  EXPECT_FALSE(r.parameters.stream || r.echo || r.parameters.seed);
}

TEST(ApiRequest, MistakesNameTheParameter) {
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"max_tokens", "-1"},
                                                        {"max_tokens", "1e3"},
                                                        {"max_tokens", "99999999"},
                                                        {"temperature", "3"},
                                                        {"temperature", "\"hot\""},
                                                        {"temperature", "NaN"},
                                                        {"top_p", "-0.1"},
                                                        {"n", "0"},
                                                        {"n", "100000"},
                                                        {"stop", "[1]"},
                                                        {"stop", "\"\""},
                                                        {"stream", "1"},
                                                        {"echo", "\"yes\""},
                                                        {"logprobs", "21"},
                                                        {"seed", "1.5"},
                                                        {"logit_bias", "{\"1\":2}"},
                                                        {"presence_penalty", "0.5"},
                                                        {"best_of", "3"},
                                                        {"suffix", "\"x\""},
                                                        {"model", "7"},
                                                        {"stream_options", "3"},
                                                        {"response_format", "{\"type\":\"json_object\"}"}}) {
    EXPECT_EQ(RefusedParameter("{\"prompt\":\"a\",\"" + key + "\":" + value + "}"), key) << value;
  }
  for (const char* prompt : {"", R"("prompt":5)", R"("prompt":[])", R"("prompt":[1,"a"])", R"("prompt":[-1])",
                             R"("prompt":[1.5])", R"("prompt":[4294967296])", R"("prompt":["a",1])"}) {
    EXPECT_EQ(RefusedParameter(std::string("{") + prompt + "}"), "prompt") << prompt;
  }
}

TEST(ApiRequest, WhatIsNotJsonIsRefused) {
  for (const char* body :
       {"", "{", "[]", "3", "{\"prompt\":\"\xff\"}", "{\"prompt\":\"a\"} x", "{\"prompt\":\"\\ud800\"}"}) {
    EXPECT_NE(RefusedParameter(body), "") << body;
  }
  EXPECT_EQ(RefusedParameter(R"({"prompt":"a","prompt":"b"})"), "prompt");  // which one?
}

TEST(ApiRequest, TooManyChoices) {
  std::string body = R"({"n":64,"prompt":["a","b","c"]})";
  EXPECT_EQ(RefusedParameter(body), "prompt");
}

TEST(ApiRequest, Chat) {
  const ChatRequest r = ParseChatRequest(
      R"({"messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}],
          "max_completion_tokens":7,"logprobs":true,"top_logprobs":3})",
      {});
  ASSERT_EQ(r.messages.size(), 2u);
  EXPECT_EQ(r.messages[1].content, "ab");
  EXPECT_EQ(r.parameters.max_tokens, 7);
  EXPECT_EQ(r.parameters.logprobs, 3);
  for (const char* body :
       {R"({})", R"({"messages":[]})", R"({"messages":["hi"]})", R"({"messages":[{"content":"x"}]})",
        R"({"messages":[{"role":"user","content":[{"type":"image_url"}]}]})",
        R"({"messages":[{"role":"user","content":5}]})"}) {
    EXPECT_EQ(RefusedParameter(body, true), "messages") << body;
  }
  EXPECT_EQ(
      RefusedParameter(R"({"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function"}]})", true),
      "tools");
}

}  // namespace
}  // namespace ghost
