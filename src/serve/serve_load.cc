// Measures a running `ghost serve` under load: N clients that ask again as soon as they are answered. One
// thread with poll, so that the machine is left to the server. Not a test: prints figures.
//
//   build/src/serve/serve_load --port 8080 --clients 64 --seconds 600 --warmup 45 --prompt-tokens 16 --tokens
//   128
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "base/rng.h"

namespace ghost {
namespace {

using Clock = std::chrono::steady_clock;

struct LoadOptions {
  std::map<std::string, double> numbers = {{"port", 8080},       {"clients", 64}, {"seconds", 60},
                                           {"warmup", 10},       {"tokens", 64},  {"vocab", 4000},
                                           {"prompt-tokens", 32}};
  double Of(const std::string& name) const { return numbers.at(name); }
};

struct Totals {
  int64_t answers = 0, errors = 0;
  std::vector<float> gaps_ms, first_ms;
};

double Milliseconds(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

int Connect(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    std::perror("connect");
    std::exit(1);
  }
  const int yes = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return socket;
}

// One connection. Counts the events of its streams without parsing their JSON.
class LoadClient {
 public:
  LoadClient(const LoadOptions& options, uint64_t seed)
      : options_(options), rng_(seed), socket_(Connect(static_cast<int>(options.Of("port")))) {
    Ask();
  }
  int socket() const { return socket_; }

  void Read(Totals& totals) {
    char bytes[16384];
    const ssize_t got = recv(socket_, bytes, sizeof bytes, 0);
    if (got <= 0) {
      totals.errors += 1;
      close(socket_);
      socket_ = Connect(static_cast<int>(options_.Of("port")));
      return Ask();
    }
    buffer_.append(bytes, static_cast<size_t>(got));
    size_t done = 0;
    for (size_t end; (end = buffer_.find("\n\n", done)) != std::string::npos; done = end + 2) {
      const std::string_view event = std::string_view(buffer_).substr(done, end - done);
      if (event.find("\"error\"") != std::string_view::npos) totals.errors += 1;
      if (event.find("\"text\":") != std::string_view::npos) Token(totals);
      if (event.find("[DONE]") != std::string_view::npos) ended_ = true;
    }
    buffer_.erase(0, done);
    if (!ended_ || buffer_.find("0\r\n\r\n") == std::string::npos) return;
    totals.answers += 1;
    Ask();
  }

 private:
  void Ask() {
    std::string ids;
    for (int i = 0; i < static_cast<int>(options_.Of("prompt-tokens")); ++i)
      ids += fmt::format("{}{}", i ? "," : "", 1 + rng_.Bits() % static_cast<uint64_t>(options_.Of("vocab")));
    // Of different lengths, or all clients would ask at the same moments.
    const auto most = static_cast<uint64_t>(options_.Of("tokens"));
    const uint64_t tokens = most - rng_.Bits() % (most / 2 + 1);
    const std::string body = fmt::format(
        R"({{"prompt":[{}],"max_tokens":{},"temperature":0,"stream":true,"ignore_eos":true}})", ids, tokens);
    const std::string request =
        fmt::format("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}",
                    body.size(), body);
    buffer_.clear();
    ended_ = false;
    last_ = {};
    asked_ = Clock::now();
    if (send(socket_, request.data(), request.size(), MSG_NOSIGNAL) < 0) std::perror("send");
  }
  void Token(Totals& totals) {
    const Clock::time_point now = Clock::now();
    if (last_ == Clock::time_point{}) {
      totals.first_ms.push_back(static_cast<float>(Milliseconds(now - asked_)));
    } else {
      totals.gaps_ms.push_back(static_cast<float>(Milliseconds(now - last_)));
    }
    last_ = now;
  }

  const LoadOptions& options_;
  Rng rng_;
  int socket_;
  std::string buffer_;
  bool ended_ = false;
  Clock::time_point asked_, last_;
};

double Quantile(std::vector<float>& values, double share) {
  if (values.empty()) return 0.0;
  const auto at = static_cast<size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(at), values.end());
  return values[at];
}

// What the server says of itself.
struct ServerFigures {
  double megabytes = 0.0, generated = 0.0, computed = 0.0;  // tokens
};

ServerFigures AskServer(int port) {
  const int socket = Connect(port);
  const std::string request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  std::string text;
  char bytes[8192];
  if (send(socket, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
    for (ssize_t got; (got = recv(socket, bytes, sizeof bytes, 0)) > 0;)
      text.append(bytes, static_cast<size_t>(got));
  }
  close(socket);
  const auto value = [&](const std::string& name) {
    const size_t line = text.rfind("\nghost_" + name), space = text.find(' ', line);
    return line == std::string::npos || space == std::string::npos ? 0.0 : std::atof(text.c_str() + space);
  };
  return {value("anonymous_memory_bytes") / 1e6, value("generated_tokens_total{"),
          value("prompt_tokens_total{")};
}

void RunFor(std::vector<LoadClient>& clients, double seconds, Totals& totals) {
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(seconds * 1e3));
  while (Clock::now() < end) {
    std::vector<pollfd> sockets;
    for (const LoadClient& client : clients) sockets.push_back({client.socket(), POLLIN, 0});
    poll(sockets.data(), sockets.size(), 100);
    for (size_t i = 0; i < clients.size(); ++i) {
      if (sockets[i].revents != 0) clients[i].Read(totals);
    }
  }
}

int Main(int argc, char** argv) {
  LoadOptions options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = std::string(argv[i]).substr(std::min<size_t>(2, std::string(argv[i]).size()));
    if (!options.numbers.contains(name)) {
      fmt::print(stderr, "unknown option --{}\n", name);
      return 64;
    }
    options.numbers[name] = std::atof(argv[i + 1]);
  }
  std::vector<LoadClient> clients;
  const auto count = static_cast<size_t>(options.Of("clients"));
  clients.reserve(count);
  for (size_t i = 0; i < count; ++i) clients.emplace_back(options, i);
  Totals ignored, totals;
  RunFor(clients, options.Of("warmup"), ignored);
  const int port = static_cast<int>(options.Of("port"));
  const ServerFigures before = AskServer(port);
  const Clock::time_point begun = Clock::now();
  RunFor(clients, options.Of("seconds"), totals);
  const double seconds = Milliseconds(Clock::now() - begun) / 1e3;
  const ServerFigures after = AskServer(port);
  fmt::print("{} clients, {:.0f} s: {} answers, {} errors, {:.1f} generated and {:.1f} prompt tokens/s\n",
             count, seconds, totals.answers, totals.errors + ignored.errors,
             (after.generated - before.generated) / seconds, (after.computed - before.computed) / seconds);
  fmt::print(
      "first token ms: median {:.0f}, p99 {:.0f}; between tokens ms: median {:.1f}, p99 {:.1f}, most "
      "{:.0f}\n",
      Quantile(totals.first_ms, 0.5), Quantile(totals.first_ms, 0.99), Quantile(totals.gaps_ms, 0.5),
      Quantile(totals.gaps_ms, 0.99), Quantile(totals.gaps_ms, 1.0));
  fmt::print("server memory MB: {:.1f} after the warm-up, {:.1f} at the end\n", before.megabytes,
             after.megabytes);
  return 0;
}

}  // namespace
}  // namespace ghost

int main(int argc, char** argv) { return ghost::Main(argc, argv); }
