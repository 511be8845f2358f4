// The real server on a loopback port, with a small model of bytes, and clients that behave well and badly.
#include "serve/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/api_response.h"
#include "tests/support/http_client.h"
#include "tests/support/serve_testing.h"

namespace ghost {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

const Tokenizer& ByteTokens() {
  static const Tokenizer tokenizer = LoadTokenizer("tests/fixtures/byte-tokenizer");
  return tokenizer;
}

// With an id for every byte.
const Model& ByteModel() {
  static const Model model =
      MakeRandomModel(TinyConfig(/*groups=*/1, /*state_dim=*/16, ByteTokens().vocab_size()), DType::kF32, 11);
  return model;
}

struct TestServer {
  explicit TestServer(EngineOptions engine = {}, ServiceOptions options = {}, HttpOptions http = {},
                      ChatTemplate chat = {})
      : service(Models(engine, std::move(chat)), std::move(options)), server(service, AnyPort(http)) {
    server.Start();
  }
  ~TestServer() {
    service.Stop(milliseconds(0));
    server.Stop();
  }
  static std::vector<ServedModel> Models(EngineOptions engine, ChatTemplate chat) {
    engine.batch.token_limit = 256;
    engine.batch.min_prefix = 8;
    std::vector<ServedModel> models;
    models.push_back({"bytes", "print", ByteModel(), ByteTokens(), std::move(chat),
                      std::make_unique<Engine>(ByteModel(), engine)});
    return models;
  }
  static HttpOptions AnyPort(HttpOptions http) {
    http.port = 0;
    return http;
  }
  HttpReply Post(const std::string& path, const std::string& body, const std::string& headers = "") {
    HttpClient client(server.port());
    return client.Ask("POST", path, body, headers);
  }
  HttpReply Get(const std::string& path, const std::string& headers = "") {
    HttpClient client(server.port());
    return client.Ask("GET", path, "", headers);
  }
  // Until all sequences have ended: nothing is left behind.
  void ExpectIdle() {
    Engine& engine = *service.models()[0].engine;
    for (int i = 0; i < 500 && (engine.stats().active > 0 || engine.stats().queued > 0); ++i)
      std::this_thread::sleep_for(milliseconds(10));
    EXPECT_EQ(engine.stats().active, 0);
    EXPECT_EQ(engine.stats().queued, 0);
    EXPECT_EQ(engine.stats().state_bytes, 0);
  }

  Service service;
  HttpServer server;
};

std::string GreedyText(const std::string& prompt, int tokens) {
  return ByteTokens().Decode(GreedyAlone(ByteModel(), ByteTokens().Encode(prompt), tokens),
                             /*skip_special=*/true);
}

// The texts of a stream's events, joined; its last event must be [DONE].
std::string StreamedText(const HttpReply& reply) {
  std::string text;
  EXPECT_THAT(reply.body, testing::EndsWith("data: [DONE]\n\n"));
  for (size_t at = 0; (at = reply.body.find("data: {", at)) != std::string::npos; ++at) {
    const Json event =
        ParseJson(std::string_view(reply.body).substr(at + 6, reply.body.find("\n\n", at) - at - 6), "");
    for (const Json& choice : event["choices"]) {
      if (choice.contains("text")) text += choice["text"].get<std::string>();
      if (choice.contains("delta")) text += choice["delta"].value("content", "");
    }
  }
  return text;
}

TEST(HttpServer, CompletesAsGenerateDoes) {
  TestServer server;
  const HttpReply reply =
      server.Post("/v1/completions", R"({"model":"bytes","prompt":"hello","max_tokens":20,"temperature":0})");
  ASSERT_EQ(reply.status, 200) << reply.body;
  const Json answer = ParseJson(reply.body, "");
  EXPECT_EQ(answer["object"], "text_completion");
  EXPECT_EQ(answer["choices"][0]["text"], GreedyText("hello", 20));
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 5);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 20);
  const HttpReply streamed =
      server.Post("/v1/completions", R"({"prompt":"hello","max_tokens":20,"temperature":0,"stream":true})");
  EXPECT_THAT(streamed.head, HasSubstr("text/event-stream"));
  EXPECT_EQ(StreamedText(streamed), GreedyText("hello", 20));
}

TEST(HttpServer, ManyClientsAtOnceGetWhatEachGetsAlone) {
  TestServer server;
  std::vector<std::thread> clients;
  for (int c = 0; c < 24; ++c) {
    clients.emplace_back([&, c] {
      const std::string prompt =
          "client " + std::to_string(c * 7919) + std::string(static_cast<size_t>(c) * 9, 'x');
      const bool stream = c % 2 == 0;
      const HttpReply reply = server.Post(
          "/v1/completions",
          Dump({{"prompt", prompt}, {"max_tokens", 10 + c % 5}, {"temperature", 0}, {"stream", stream}}));
      ASSERT_EQ(reply.status, 200) << reply.body;
      const std::string text =
          stream ? StreamedText(reply) : ParseJson(reply.body, "")["choices"][0]["text"].get<std::string>();
      EXPECT_EQ(text, GreedyText(prompt, 10 + c % 5)) << c;
    });
  }
  for (std::thread& client : clients) client.join();
  server.ExpectIdle();
}

TEST(HttpServer, ListsOfPromptsAndSeveralChoices) {
  TestServer server;
  const Json answer = ParseJson(
      server.Post("/v1/completions", R"({"prompt":["ab","cd"],"n":2,"max_tokens":4,"seed":3})").body, "");
  ASSERT_EQ(answer["choices"].size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(answer["choices"][i]["index"], i);
  EXPECT_NE(answer["choices"][0]["text"], answer["choices"][1]["text"]);  // seeds differ by choice
  const Json again = ParseJson(
      server.Post("/v1/completions", R"({"prompt":["ab","cd"],"n":2,"max_tokens":4,"seed":3})").body, "");
  EXPECT_EQ(answer["choices"], again["choices"]);
}

// As lm-evaluation-harness asks: the prompt back with log-probabilities, and one token more.
TEST(HttpServer, EchoWithLogprobs) {
  TestServer server;
  for (const int extra : {0, 1}) {
    const Json answer = ParseJson(
        server
            .Post("/v1/completions", Dump({{"prompt", OrderedJson::array({104, 101, 108, 108, 111})},
                                           {"max_tokens", extra},
                                           {"temperature", 0},
                                           {"logprobs", 1},
                                           {"echo", true}}))
            .body,
        "");
    const Json& choice = answer["choices"][0];
    EXPECT_EQ(choice["text"], "hello" + (extra ? GreedyText("hello", 1) : std::string()));
    const Json& logprobs = choice["logprobs"];
    const size_t count = 5 + static_cast<size_t>(extra);
    for (const char* list : {"tokens", "token_logprobs", "top_logprobs", "text_offset"})
      EXPECT_EQ(logprobs[list].size(), count) << list;
    EXPECT_TRUE(logprobs["token_logprobs"][0].is_null());
    EXPECT_EQ(logprobs["tokens"][1], "e");
    EXPECT_EQ(logprobs["text_offset"][4], 4);
    for (size_t i = 1; i < count; ++i) {
      EXPECT_LT(logprobs["token_logprobs"][i].get<double>(), 0.0);
      EXPECT_LE(logprobs["top_logprobs"][i].size(), 2u);  // the best, and the one that is there
    }
    EXPECT_EQ(answer["usage"]["completion_tokens"], extra);
  }
}

TEST(HttpServer, StopStringsEndTheText) {
  TestServer server;
  const std::string text = GreedyText("stop here", 40);
  const std::string stop = text.substr(10, 3);
  const Json answer = ParseJson(
      server
          .Post("/v1/completions",
                Dump({{"prompt", "stop here"}, {"max_tokens", 40}, {"temperature", 0}, {"stop", stop}}))
          .body,
      "");
  EXPECT_EQ(answer["choices"][0]["text"], text.substr(0, text.find(stop)));
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
}

TEST(HttpServer, ChatsByTheTemplate) {
  TestServer server({}, {}, {},
                    ChatTemplate("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}", "", ""));
  const std::string body = R"({"messages":[{"role":"user","content":"hey"}],"max_tokens":12,"temperature":0)";
  const Json answer = ParseJson(server.Post("/v1/chat/completions", body + "}").body, "");
  EXPECT_EQ(answer["object"], "chat.completion");
  EXPECT_EQ(answer["choices"][0]["message"]["role"], "assistant");
  EXPECT_EQ(answer["choices"][0]["message"]["content"], GreedyText("<user>hey", 12));
  EXPECT_EQ(StreamedText(server.Post("/v1/chat/completions", body + R"(,"stream":true})")),
            GreedyText("<user>hey", 12));
}

TEST(HttpServer, ATemplateOutsideTheSubsetAnswers400) {
  TestServer server({}, {}, {}, ChatTemplate("{% macro x() %}{% endmacro %}", "", ""));
  const HttpReply reply =
      server.Post("/v1/chat/completions", R"({"messages":[{"role":"user","content":"hey"}]})");
  EXPECT_EQ(reply.status, 400);
  EXPECT_THAT(reply.body, HasSubstr("macro"));
}

TEST(HttpServer, OtherEndpoints) {
  TestServer server;
  EXPECT_THAT(server.Get("/v1/models").body, HasSubstr("\"id\":\"bytes\""));
  EXPECT_EQ(server.Get("/health").status, 200);
  EXPECT_THAT(server.Get("/metrics").body, HasSubstr("ghost_sequences_active{model=\"bytes\"} 0"));
  EXPECT_THAT(server.Get("/").body, HasSubstr("<!doctype html>"));
  EXPECT_THAT(server.Get("/status").body, HasSubstr("sequences_that_fit"));
  for (const char* path : {"/v1/nothing", "/etc/passwd", "/../../etc/passwd", "/%2e%2e/x"}) {
    const HttpReply reply = server.Get(path);
    EXPECT_EQ(reply.status, 404) << path;
    EXPECT_EQ(ParseJson(reply.body, "")["error"]["type"], "not_found_error");
  }
  EXPECT_EQ(server.Get("/v1/completions").status, 405);
  EXPECT_EQ(server.Post("/v1/completions", R"({"model":"other","prompt":"a"})").status, 404);
}

TEST(HttpServer, MalformedRequestsAreAnsweredWith400AndAReason) {
  HttpOptions http;
  http.read_timeout = milliseconds(300);
  TestServer server({}, {}, http);
  for (const char* body :
       {"", "{", "[1,2]", "{\"prompt\":\"\xff\xfe\"}", "{\"prompt\":\"a\",\"max_tokens\":\"x\"}",
        "{\"prompt\":[999999]}", "{\"prompt\":\"a\",\"temperature\":9}"}) {
    const HttpReply reply = server.Post("/v1/completions", body);
    EXPECT_EQ(reply.status, 400) << body;
    EXPECT_FALSE(ParseJson(reply.body, "")["error"]["message"].get<std::string>().empty());
  }
  for (const char* raw :
       {"nonsense\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\x16\x03\x01\x02\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n", "POST /v1/completions HTTP/1.1\r\nContent-Length: x\r\n\r\n{}",
        "POST /v1/completions HTTP/1.1\r\nContent-Length: -1\r\n\r\n{}",
        "POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
        "POST /v1/completions HTTP/1.1\r\nContent-Length: 9\r\n\r\n{", "GET / HTTP/1.1\r\n"}) {
    HttpClient client(server.server.port());
    client.Send(raw);
    const HttpReply reply = client.Receive();
    EXPECT_EQ(reply.status, 400) << raw;
    EXPECT_THAT(reply.body, HasSubstr("\"message\"")) << raw;
  }
  EXPECT_EQ(server.Get("/health").status, 200);  // still there
}

TEST(HttpServer, LargeRequestsAreAnsweredWith413) {
  HttpOptions http;
  http.max_request_bytes = 1000;
  TestServer server({}, {}, http);
  const HttpReply reply = server.Post("/v1/completions", "{\"prompt\":\"" + std::string(2000, 'a') + "\"}");
  EXPECT_EQ(reply.status, 413);
  EXPECT_THAT(reply.body, HasSubstr("1000 bytes"));
  // Without a length, in chunks.
  HttpClient client(server.server.port());
  client.Send("POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 20; ++i) client.Send("64\r\n" + std::string(100, 'a') + "\r\n");
  client.Send("0\r\n\r\n");
  EXPECT_EQ(client.Receive().status, 413);
  // A packed body could unpack to anything.
  EXPECT_EQ(server.Post("/v1/completions", "x", "Content-Encoding: gzip\r\n").status, 415);
}

// A client that sends all of a large request before it reads sees the answer, not a reset connection.
TEST(HttpServer, ARefusalArrivesWhateverElseIsSent) {
  HttpOptions http;
  http.max_request_bytes = 1000;
  TestServer server({}, {}, http);
  for (int i = 0; i < 5; ++i) {
    const HttpReply reply = server.Post("/v1/completions", std::string(4000000, 'a'));
    EXPECT_EQ(reply.status, 413);
    EXPECT_THAT(reply.body, HasSubstr("1000 bytes"));
  }
}

TEST(HttpServer, AnswersAreLimitedInSize) {
  ServiceOptions options;
  options.limits.max_prompt = options.limits.max_tokens = 1000;
  options.limits.max_answer = 2000;
  TestServer server({}, options);
  EXPECT_EQ(server.Post("/v1/completions", R"({"prompt":"a","max_tokens":100,"n":10,"seed":1})").status, 200);
  for (const char* body :
       {R"({"prompt":"a","max_tokens":100,"n":30})", R"({"prompt":"a","max_tokens":100,"n":2,"logprobs":20})",
        R"({"prompt":["aaaaaaaaaa","a"],"max_tokens":0,"n":20,"logprobs":20,"echo":true})"}) {
    const HttpReply reply = server.Post("/v1/completions", body);
    EXPECT_EQ(reply.status, 400) << body;
    EXPECT_THAT(reply.body, HasSubstr("too large")) << body;
  }
}

// Sent whole, an answer may be longer than what a stream may leave unread.
TEST(HttpServer, AWholeAnswerIsNotAStream) {
  ServiceOptions options;
  options.stream_bytes = 100;
  TestServer server({}, options);
  const Json answer = ParseJson(
      server
          .Post("/v1/completions",
                R"({"prompt":"hello","max_tokens":200,"temperature":0,"logprobs":5,"ignore_eos":true})")
          .body,
      "");
  EXPECT_EQ(answer["usage"]["completion_tokens"], 200);
  EXPECT_EQ(answer["choices"][0]["logprobs"]["tokens"].size(), 200u);
}

TEST(HttpServer, UsageTellsWhatWasKnown) {
  TestServer server;
  const std::string body = R"({"prompt":"a prompt that is long enough","max_tokens":2})";
  for (const int known : {0, 28}) {
    const Json answer = ParseJson(server.Post("/v1/completions", body).body, "");
    EXPECT_EQ(answer["usage"]["prompt_tokens_details"]["cached_tokens"], known);
  }
}

TEST(HttpServer, ApiKeys) {
  ServiceOptions options;
  options.api_key = "secret";
  TestServer server({}, options);
  EXPECT_EQ(server.Get("/health").status, 200);
  EXPECT_EQ(server.Get("/v1/models").status, 401);
  for (const char* wrong : {"Bearer secre", "Bearer secrets", "Bearer", "secret", "bearer secret", ""}) {
    EXPECT_EQ(server.Get("/v1/models", std::string("Authorization: ") + wrong + "\r\n").status, 401) << wrong;
  }
  EXPECT_EQ(server.Get("/v1/models", "Authorization: Bearer secret\r\n").status, 200);
  EXPECT_EQ(server.Post("/v1/completions", R"({"prompt":"a"})").status, 401);
}

TEST(HttpServer, AFullQueueAnswers429) {
  EngineOptions engine;
  engine.batch.max_sequences = 1;
  engine.max_queued = 1;
  ServiceOptions options;
  options.limits.max_tokens = 100000000;
  TestServer server(engine, options);
  HttpClient first(server.server.port()), second(server.server.port());
  const std::string endless = R"({"prompt":"a","max_tokens":100000000,"stream":true,"ignore_eos":true})";
  first.SendRequest("POST", "/v1/completions", endless);
  Engine& running = *server.service.models()[0].engine;
  while (running.stats().active == 0) std::this_thread::sleep_for(milliseconds(1));
  second.SendRequest("POST", "/v1/completions", endless);
  while (running.stats().queued == 0) std::this_thread::sleep_for(milliseconds(1));
  const HttpReply reply = server.Post("/v1/completions", endless);
  EXPECT_EQ(reply.status, 429);
  EXPECT_THAT(reply.head, HasSubstr("Retry-After"));
  first.Close();
  second.Close();
  server.ExpectIdle();
  EXPECT_EQ(server.service.counts().rate_limited, 1);
}

TEST(HttpServer, ClientsThatLeaveAreCancelled) {
  ServiceOptions options;
  options.limits.max_tokens = 100000000;
  TestServer server({}, options);
  for (const char* stream : {"true", "false"}) {
    HttpClient client(server.server.port());
    client.SendRequest(
        "POST", "/v1/completions",
        std::string(R"({"prompt":"a","max_tokens":100000000,"ignore_eos":true,"stream":)") + stream + "}");
    while (server.service.models()[0].engine->stats().active == 0)
      std::this_thread::sleep_for(milliseconds(1));
    client.Close();
    server.ExpectIdle();
  }
  EXPECT_EQ(server.service.counts().cancelled, 2);
}

// Also before there is anything to send to them.
TEST(HttpServer, ClientsThatLeaveTheQueueAreCancelled) {
  EngineOptions engine;
  engine.batch.max_sequences = 1;
  ServiceOptions options;
  options.limits.max_tokens = 100000000;
  TestServer server(engine, options);
  Engine& running = *server.service.models()[0].engine;
  HttpClient first(server.server.port());
  const std::string endless = R"({"prompt":"a","max_tokens":100000000,"ignore_eos":true,"stream":)";
  first.SendRequest("POST", "/v1/completions", endless + "false}");  // a stream would have to be read
  while (running.stats().active == 0) std::this_thread::sleep_for(milliseconds(1));
  for (const char* stream : {"true}", "false}"}) {
    HttpClient waiting(server.server.port());
    waiting.SendRequest("POST", "/v1/completions", endless + stream);
    while (running.stats().queued == 0) std::this_thread::sleep_for(milliseconds(1));
    waiting.Close();
    for (int i = 0; i < 500 && running.stats().queued > 0; ++i) std::this_thread::sleep_for(milliseconds(10));
    EXPECT_EQ(running.stats().queued, 0) << stream;
    EXPECT_EQ(running.stats().active, 1);
  }
}

// Its stream ends, and what waits for it stays small.
TEST(HttpServer, AClientThatDoesNotReadHoldsNoMemory) {
  ServiceOptions options;
  options.limits.max_tokens = 100000000;
  options.limits.max_answer = int64_t{1} << 40;
  options.stream_bytes = 20000;
  HttpOptions http;
  http.write_timeout = milliseconds(300);
  http.send_buffer = 4096;
  TestServer server({}, options, http);
  HttpClient client(server.server.port(), /*receive_buffer=*/2048);
  client.SendRequest("POST", "/v1/completions",
                     R"({"prompt":"a","max_tokens":100000000,"ignore_eos":true,"stream":true,"logprobs":5})");
  // It may have ended before anybody looks.
  while (server.service.models()[0].engine->stats().generated_tokens == 0)
    std::this_thread::sleep_for(milliseconds(1));
  server.ExpectIdle();  // although the client is still there
}

TEST(HttpServer, RequestsHaveADeadline) {
  ServiceOptions options;
  options.limits.max_tokens = 100000000;
  options.request_timeout = milliseconds(50);
  TestServer server({}, options);
  const std::string body = R"({"prompt":"a","max_tokens":100000000,"ignore_eos":true)";
  EXPECT_EQ(server.Post("/v1/completions", body + "}").status, 504);
  EXPECT_THAT(server.Post("/v1/completions", body + R"(,"stream":true})").body,
              HasSubstr("longer than the server allows"));
  EXPECT_EQ(server.service.counts().timed_out, 2);
  server.ExpectIdle();
}

TEST(HttpServer, RequestsThatTrickleInAreDropped) {
  HttpOptions http;
  http.read_timeout = milliseconds(100);
  TestServer server({}, {}, http);
  HttpClient client(server.server.port());
  client.Send("POST /v1/completions HTTP/1.1\r\nContent-Length: 100\r\n\r\n{");
  EXPECT_NE(client.Receive().status, 200);  // an answer or the end, but no thread for ever
}

TEST(HttpServer, ConnectionsAreUsedAgain) {
  TestServer server;
  HttpClient client(server.server.port());
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(client.Ask("POST", "/v1/completions", R"({"prompt":"a","max_tokens":2})").status, 200) << i;
  }
}

TEST(HttpServer, StopsWhileClientsAreStreaming) {
  ServiceOptions options;
  options.limits.max_tokens = 100000000;
  auto server = std::make_unique<TestServer>(EngineOptions{}, options);
  HttpClient client(server->server.port());
  client.SendRequest("POST", "/v1/completions",
                     R"({"prompt":"a","max_tokens":100000000,"ignore_eos":true,"stream":true})");
  client.ReceiveSome();
  server.reset();
  EXPECT_THAT(client.Receive().body, HasSubstr("being stopped"));
}

TEST(HttpServer, Addresses) {
  HttpOptions options;
  ParseListen("127.0.0.1:0", options);
  EXPECT_EQ(options.port, 0);
  ParseListen("[::1]:99", options);
  EXPECT_EQ(options.host, "::1");
  ParseListen(":80", options);
  EXPECT_EQ(options.host, "0.0.0.0");
  EXPECT_TRUE(IsLoopback("127.0.0.1") && IsLoopback("::1") && IsLoopback("localhost"));
  EXPECT_FALSE(IsLoopback("0.0.0.0") || IsLoopback("::") || IsLoopback("192.168.1.2"));
  for (const char* bad : {"", "8080", "host", "host:", "host:x", "host:65536", "host:-1"})
    EXPECT_THROW(ParseListen(bad, options), Error) << bad;
}

}  // namespace
}  // namespace ghost
