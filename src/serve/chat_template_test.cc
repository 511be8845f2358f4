#include "serve/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace ghost {
namespace {

const std::vector<ChatMessage> kTalk = {
    {"system", "Be brief."}, {"user", "Hi "}, {"assistant", " Hello"}, {"user", "Why?"}};

std::string RenderWith(const std::string& source, bool prompt = true) {
  const ChatTemplate chat(source, "<s>", "</s>");
  EXPECT_EQ(chat.why_not(), "");
  return chat.Render(kTalk, prompt);
}

// The forms below are those that published templates use, written for this test.
TEST(ChatTemplate, TagsAroundEveryMessage) {
  const std::string source =
      "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + "
      "'<|im_end|>' + "
      "'\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";
  EXPECT_EQ(
      RenderWith(source),
      "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi <|im_end|>\n<|im_start|>assistant\n "
      "Hello<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_THAT(RenderWith(source, false), testing::EndsWith("Why?<|im_end|>\n"));
}

TEST(ChatTemplate, SystemMessageTakenOutAndTurnsChecked) {
  const std::string source = R"({%- if messages[0]['role'] == 'system' -%}
    {%- set system_message = messages[0]['content'] | trim + '\n\n' -%}
    {%- set messages = messages[1:] -%}
{%- else -%}
    {%- set system_message = '' -%}
{%- endif -%}
{{- bos_token -}}
{%- for message in messages -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{- raise_exception('roles must alternate') -}}
    {%- endif -%}
    {%- if loop.index0 == 0 -%}
        {%- set content = system_message + message['content'] -%}
    {%- else -%}
        {%- set content = message['content'] -%}
    {%- endif -%}
    {%- if message.role == 'user' -%}
        {{- '[INST] ' + content.strip() + ' [/INST]' -}}
    {%- elif message.role == 'assistant' -%}
        {{- ' ' ~ content | trim ~ ' ' ~ eos_token -}}
    {%- endif -%}
{%- endfor -%})";
  EXPECT_EQ(RenderWith(source), "<s>[INST] Be brief.\n\nHi [/INST] Hello </s>[INST] Why? [/INST]");
  const ChatTemplate chat(source, "", "");
  EXPECT_THROW(chat.Render({{"assistant", "x"}}, true), Error);
}

TEST(ChatTemplate, NamespacesOutliveLoops) {
  EXPECT_EQ(
      RenderWith("{% set ns = namespace(found=false, n=0) %}{% for m in messages %}{% if m.role == 'user' "
                 "%}{% set ns.found = true %}{% set ns.n = ns.n + 1 %}{% endif %}{% set x = 3 %}{% endfor %}"
                 "{{ ns.found }} {{ ns.n }} {{ x is defined }}"),
      "True 2 False");
}

TEST(ChatTemplate, ExpressionsAndFilters) {
  EXPECT_EQ(RenderWith("{{ messages | length }} {{ messages[-1].content }} {{ 'a' if none else 'b' }}"),
            "4 Why? b");
  EXPECT_EQ(RenderWith("{{ tools is defined and tools }}|{{ tools | default('no') }}"), "False|no");
  EXPECT_EQ(RenderWith("{{ 'user' in ['user', 'x'] }} {{ 'z' not in 'abc' }} {{ not true or 1 < 2 }}"),
            "True True True");
  EXPECT_EQ(RenderWith("{{ messages[0] | tojson }}"), "{\"content\":\"Be brief.\",\"role\":\"system\"}");
  EXPECT_EQ(RenderWith("{{ 'a-b'.split('-') | join('+') }} {{ 'x y'.upper().replace('X', 'z') }}"),
            "a+b z Y");
  EXPECT_EQ(
      RenderWith("{% for m in messages if m.role == 'user' %}{{ loop.index }}{{ '.' if loop.last else ',' "
                 "}}{% endfor %}"),
      "1,2.");
  EXPECT_EQ(RenderWith("{% for k, v in {'a': 1}.items() %}{{ k }}={{ v }}{% endfor %}"), "a=1");
  EXPECT_EQ(RenderWith("{{ 7 // 2 * 3 - 1 }} {{ -7 % 3 }} {{ 'ab'[:1] }}"), "8 2 a");
}

// As transformers sets it: a statement takes its line with it.
TEST(ChatTemplate, WhiteSpaceAroundStatements) {
  EXPECT_EQ(RenderWith("a\n  {% if true %}\n  b\n  {% endif %}\nc"), "a\n  b\nc");
  EXPECT_EQ(RenderWith("a {#- comment -#} b {{- 'c' -}}\n d"), "abcd");
  EXPECT_EQ(RenderWith("{% if true %}x{% endif %} y\n"), "x y\n");
}

TEST(ChatTemplate, WhatIsOutsideTheSubsetIsRefusedAtOnce) {
  for (const char* source : {"{% macro f() %}{% endmacro %}", "{{ x | sort }}", "{{ strftime_now('%d') }}",
                             "{{ x.__class__() }}", "{% include 'x' %}", "{{ x is callable }}", "{% if x %}",
                             "{{ x", "{{ 1 + }}", "{{ a @ b }}", "{% for x %}", "{{ 'unended }}"}) {
    const ChatTemplate chat(source, "", "");
    EXPECT_NE(chat.why_not(), "") << source;
    EXPECT_THROW(chat.Render(kTalk, true), Error) << source;
  }
  // Deep nesting is refused, not run into.
  EXPECT_NE(
      ChatTemplate("{{ " + std::string(5000, '(') + "1" + std::string(5000, ')') + " }}", "", "").why_not(),
      "");
  EXPECT_NE(ChatTemplate("{{ " + std::string(5000, '-') + "1 }}", "", "").why_not(), "");
}

std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// Chains of operators are trees as deep as they are long.
TEST(ChatTemplate, LongChainsAreRefused) {
  for (const std::string& source :
       {"{{ 1" + Repeated(" + 1", 100000) + " }}", "{{ a" + Repeated(".b", 100000) + " }}",
        "{{ a" + Repeated(" | trim", 100000) + " }}",
        "{% if a %}" + Repeated("{% elif a %}", 100000) + "{% endif %}"}) {
    EXPECT_NE(ChatTemplate(source, "", "").why_not(), "") << source.substr(0, 20);
  }
  EXPECT_EQ(RenderWith("{{ 1" + Repeated(" + 1", 200) + " }}"), "201");
}

TEST(ChatTemplate, TooMuchWorkIsRefused) {
  for (const std::string& source : {
           std::string(
               "{% for a in range(10000) %}{% for b in range(10000) %}{{ 'x' }}{% endfor %}{% endfor %}"),
           "{% set x = 'ab' %}" + Repeated("{% set x = x ~ x %}", 60),
           "{% set x = ['ab'] %}" + Repeated("{% set x = x + x %}", 60),
           "{% set x = ['ab'] %}" + Repeated("{% set x = [x, x] %}", 60),
           "{% set x = [1] %}" + Repeated("{% set x = [x] %}", 2000),
           "{% set x = 'ab' %}" + Repeated("{% set x = x.replace('a', x) %}", 60),
           "{% set x = 'ab' %}" + Repeated("{% set x = [x, x] | join(x) %}", 60),
       }) {
    const ChatTemplate chat(source, "", "");
    EXPECT_EQ(chat.why_not(), "");
    EXPECT_THROW(chat.Render(kTalk, true), Error) << source.substr(0, 40);
  }
}

// A client chooses the messages: looking at them must not cost a copy of all.
TEST(ChatTemplate, ManyMessagesAreLinear) {
  const ChatTemplate chat(
      "{% for m in messages %}{% if messages[0].role == 'system' and messages | length > 2 %}"
      "{{ messages[loop.index0].content }}{% endif %}{% endfor %}",
      "", "");
  std::vector<ChatMessage> messages(10000, {"system", std::string(100, 'x')});
  EXPECT_EQ(chat.Render(messages, true).size(), 1000000u);
}

// A user's text is data: nothing in it is a tag.
TEST(ChatTemplate, MessagesAreNotTemplates) {
  const ChatTemplate chat("{{ messages[0].content }}", "", "");
  EXPECT_EQ(chat.Render({{"user", "{{ 1 + 1 }}{% raise %}"}}, true), "{{ 1 + 1 }}{% raise %}");
}

TEST(ChatTemplate, WithoutOneADialogue) {
  const ChatTemplate chat;
  EXPECT_EQ(chat.Render(kTalk, true), "Be brief.\n\nUser: Hi \nAssistant:  Hello\nUser: Why?\nAssistant:");
  EXPECT_THAT(chat.stops(), testing::ElementsAre("\nUser:"));
}

}  // namespace
}  // namespace ghost
