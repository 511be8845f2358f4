// The only file that knows cpp-httplib. Its own sockets have no limit on how long a request may trickle in,
// and cannot tell a handler that the client has left; so connections are ours (Connection) and the library
// parses and writes HTTP on them.
#include "serve/http_server.h"

#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "serve/api_response.h"
#include "serve/http_head.h"

namespace ghost {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kHeadBytes = 64 << 10;  // of request line and headers
constexpr int kBacklog = 512;
constexpr int kWriteTimeouts = 4;
constexpr milliseconds kSlice(100);  // how often idle threads look whether the server stops
// What is read and dropped of a refused request before its connection is closed: closing with unread bytes
// resets the connection, and the client would never see the answer.
constexpr milliseconds kLinger(1000);
constexpr size_t kLingerBytes = size_t{64} << 20;

// Waits for `events` on a socket. False when the time is over or the socket is broken.
bool WaitFor(int socket, short events, milliseconds patience) {
  pollfd entry{socket, events, 0};
  int result;
  do {
    result = poll(&entry, 1, static_cast<int>(std::max<int64_t>(0, patience.count())));
  } while (result < 0 && errno == EINTR);
  return result > 0 && (entry.revents & (events | POLLHUP)) != 0;
}

// True when the peer has closed its end; bytes that wait to be read do not count.
bool PeerIsGone(int socket) {
  char byte;
  const ssize_t got = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

void AddressOf(const sockaddr_storage& address, std::string& ip, int& port) {
  char host[NI_MAXHOST], service[NI_MAXSERV];
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&address), sizeof address, host, sizeof host, service,
                  sizeof service, NI_NUMERICHOST | NI_NUMERICSERV) == 0) {
    ip = host;
    port = std::atoi(service);
  }
}

// A socket with limits in bytes and time for every request.
class Connection : public httplib::Stream {
 public:
  Connection(int socket, const HttpOptions& options) : socket_(socket), options_(options) {}

  // The next request may take as long and be as large as the options say.
  void BeginRequest() {
    deadline_ = Clock::now() + options_.read_timeout;
    bytes_left_ = kHeadBytes + options_.max_request_bytes;
  }
  bool HasBuffered() const { return begin_ < buffer_.size(); }
  // The request line and headers, which stay to be read; empty if they do not arrive, or are too long.
  std::string_view PeekHead() {
    while (std::string_view(buffer_).substr(begin_).starts_with("\r\n")) begin_ += 2;  // after a body
    size_t end;
    while ((end = buffer_.find("\r\n\r\n", begin_)) == std::string::npos) {
      if (buffer_.size() - begin_ > kHeadBytes || !Fill()) return {};
    }
    return std::string_view(buffer_).substr(begin_, end - begin_);
  }
  // An answer without the library.
  void RefuseHead(const std::string& message) {
    const std::string body = Dump(ErrorAnswer(400, message));
    const std::string answer =
        "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: "
        "close\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body;
    write(answer.data(), answer.size());
    Linger();
  }
  // Tells the client that no more comes, and reads what it still sends for a while.
  void Linger() {
    shutdown(socket_, SHUT_WR);
    const Clock::time_point end = Clock::now() + kLinger;
    char bytes[4096];
    for (size_t dropped = 0; dropped < kLingerBytes && Clock::now() < end;) {
      const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
      const ssize_t got = WaitFor(socket_, POLLIN, left) ? recv(socket_, bytes, sizeof bytes, 0) : 0;
      if (got <= 0) return;
      dropped += static_cast<size_t>(got);
    }
  }

  bool is_readable() const override { return HasBuffered() || WaitFor(socket_, POLLIN, milliseconds(0)); }
  bool is_writable() const override { return !PeerIsGone(socket_); }

  ssize_t read(char* data, size_t size) override {
    if (!HasBuffered() && !Fill()) return -1;
    const size_t count = std::min(size, buffer_.size() - begin_);
    std::copy_n(buffer_.data() + begin_, count, data);
    begin_ += count;
    return static_cast<ssize_t>(count);
  }

  // Some progress within every write_timeout, and all of it within a few of them.
  ssize_t write(const char* data, size_t size) override {
    const Clock::time_point end = Clock::now() + kWriteTimeouts * options_.write_timeout;
    for (size_t sent = 0; sent < size;) {
      const ssize_t count = send(socket_, data + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count > 0) {
        sent += static_cast<size_t>(count);
        continue;
      }
      if (errno == EINTR) continue;
      if ((errno != EAGAIN && errno != EWOULDBLOCK) || Clock::now() > end) return -1;
      if (!WaitFor(socket_, POLLOUT, options_.write_timeout)) return -1;
    }
    return static_cast<ssize_t>(size);
  }

  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (getpeername(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0) AddressOf(address, ip, port);
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0) AddressOf(address, ip, port);
  }
  socket_t socket() const override { return socket_; }

 private:
  // Adds what arrives to the bytes that were not read yet.
  bool Fill() {
    if (bytes_left_ == 0) return false;
    const auto left = std::chrono::duration_cast<milliseconds>(deadline_ - Clock::now());
    if (left.count() <= 0 || !WaitFor(socket_, POLLIN, left)) return false;
    char bytes[4096];
    const ssize_t got = recv(socket_, bytes, std::min(sizeof bytes, bytes_left_), 0);
    if (got <= 0) return false;
    bytes_left_ -= static_cast<size_t>(got);
    buffer_.erase(0, begin_);
    begin_ = 0;
    buffer_.append(bytes, static_cast<size_t>(got));
    return true;
  }

  int socket_;
  const HttpOptions& options_;
  Clock::time_point deadline_;
  size_t bytes_left_ = 0;
  std::string buffer_;
  size_t begin_ = 0;  // of what was not read yet
};

// A thread per connection, up to a limit; beyond it the system's backlog holds new ones.
class ConnectionThreads : public httplib::TaskQueue {
 public:
  explicit ConnectionThreads(int limit) : limit_(static_cast<size_t>(limit)) {}

  void enqueue(std::function<void()> task) override {
    std::unique_lock<std::mutex> lock(mutex_);
    room_.wait(lock, [this] { return busy_ < limit_ || stopping_; });
    ++busy_;
    tasks_.push_back(std::move(task));
    if (idle_ < tasks_.size()) threads_.emplace_back([this] { Loop(); });
    work_.notify_one();
  }
  void shutdown() override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    work_.notify_all();
    room_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void Loop() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      ++idle_;
      work_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      --idle_;
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
      --busy_;
      room_.notify_one();
    }
  }

  const size_t limit_;
  std::mutex mutex_;
  std::condition_variable work_, room_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  size_t busy_ = 0, idle_ = 0;
  bool stopping_ = false;
};

HttpRequest ToRequest(const httplib::Request& from) {
  return {.method = from.method,
          .path = from.path,
          .authorization = from.get_header_value("Authorization"),
          .client = from.remote_addr};
}

void SetError(httplib::Response& response, int status, const std::string& message) {
  response.status = status;
  response.set_header("Connection", "close");
  response.set_content(Dump(ErrorAnswer(status, message)), "application/json");
}

// A stream that has nothing to send would never notice that its client has left.
void Fill(HttpResponse from, int socket, httplib::Response& to) {
  to.status = from.status;
  // The rest of a refused request may still be on its way: it must not be read as the next one.
  if (from.status >= 400) to.set_header("Connection", "close");
  for (const auto& [name, value] : from.headers) to.set_header(name, value);
  if (!from.stream) return to.set_content(from.body, from.content_type);
  to.set_chunked_content_provider(
      from.content_type, [stream = std::move(from.stream), socket](size_t, httplib::DataSink& sink) {
        std::string bytes;
        const bool more = stream(bytes);
        if (bytes.empty() ? PeerIsGone(socket) : !sink.write(bytes.data(), bytes.size())) return false;
        if (!more) sink.done();
        return true;
      });
}

}  // namespace

class HttpServer::Impl : public httplib::Server {
 public:
  Impl(Service& service, const HttpOptions& options) : service_(service), options_(options) {
    new_task_queue = [this] { return new ConnectionThreads(options_.max_connections); };
    set_socket_options([](int socket) {
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    set_tcp_nodelay(true);
    set_payload_max_length(options_.max_request_bytes);
    SetHandlers();
    port_ = options_.port == 0                           ? bind_to_any_port(options_.host)
            : bind_to_port(options_.host, options_.port) ? options_.port
                                                         : -1;
    if (port_ <= 0) {
      throw Error(
          ErrorKind::kCannotCreate, "cannot listen on this address",
          {.actual = options_.host + ":" + std::to_string(options_.port), .hint = "is it in use already?"});
    }
    ::listen(svr_sock_, kBacklog);  // the library asks for 5
  }
  ~Impl() override { Finish(); }

  int port() const { return port_; }
  void Begin() {
    acceptor_ = std::thread([this] { listen_after_bind(); });
  }
  void Finish() {
    stopping_ = true;
    if (!acceptor_.joinable()) return;
    // stop() does nothing before the loop runs.
    while (!is_running()) std::this_thread::sleep_for(milliseconds(1));
    // The library cuts streams off when it stops, even before their last event is written. Each answer takes
    // a limited time: the service has ended its work, and reading and writing have deadlines.
    while (answering_ > 0) std::this_thread::sleep_for(milliseconds(1));
    stop();
    acceptor_.join();
  }

 private:
  void SetHandlers() {
    // Before a body is read: who may not ask sends none, and a packed one could unpack to anything.
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      if (HttpResponse refused = service_.CheckAccess(ToRequest(request)); refused.status >= 400) {
        Fill(std::move(refused), current_socket_, response);
      } else if (request.has_header("Content-Encoding")) {
        SetError(response, 415, "send the body without Content-Encoding");
      } else if (request.is_multipart_form_data()) {
        SetError(response, 415, "send the body as application/json");
      } else {
        return HandlerResponse::Unhandled;
      }
      return HandlerResponse::Handled;
    });
    const auto answer = [this](const httplib::Request& request, httplib::Response& response) {
      HttpRequest own = ToRequest(request);
      own.body = request.body;
      Answer(std::move(own), response);
    };
    const auto post = [this](const httplib::Request& request, httplib::Response& response,
                             const httplib::ContentReader& reader) {
      HttpRequest own = ToRequest(request);
      bool too_large = false;
      const bool whole = reader([&](const char* data, size_t size) {
        too_large = own.body.size() + size > options_.max_request_bytes;
        if (!too_large) own.body.append(data, size);
        return !too_large;
      });
      if (too_large || response.status == 413) return SetError(response, 413, TooLarge());
      if (!whole) return SetError(response, 400, "the body of the request did not arrive");
      Answer(std::move(own), response);
    };
    Get(".*", answer);
    Put(".*", answer);
    Patch(".*", answer);
    Delete(".*", answer);
    Options(".*", answer);
    Post(".*", post);
    // What the library itself refuses gets a body too.
    set_error_handler([this](const httplib::Request&, httplib::Response& response) {
      if (!response.body.empty()) return;
      const std::string why = response.status == 413   ? TooLarge()
                              : response.status == 414 ? "the address of the request is too long"
                              : response.status == 404 ? "there is no such endpoint"
                                                       : "the request is not valid HTTP";
      SetError(response, response.status, why);
    });
    set_logger([](const httplib::Request&, const httplib::Response& response) {
      refused_ = response.status >= 400;
    });
    set_exception_handler([](const httplib::Request&, httplib::Response& response, std::exception_ptr) {
      SetError(response, 500, "the request failed");
    });
  }

  std::string TooLarge() const {
    return "the request is larger than " + std::to_string(options_.max_request_bytes) + " bytes";
  }

  void Answer(HttpRequest request, httplib::Response& response) {
    request.is_gone = [socket = current_socket_] { return PeerIsGone(socket); };
    Fill(service_.Handle(request), current_socket_, response);
  }

  // Called by the library on a thread of the queue, for every accepted connection.
  bool process_and_close_socket(socket_t socket) override {
    if (options_.send_buffer > 0)
      setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &options_.send_buffer, sizeof options_.send_buffer);
    current_socket_ = socket;
    Connection connection(socket, options_);
    while (WaitForRequest(connection) && AnswerNext(connection)) {
    }
    close(socket);
    return true;
  }

  // False if the connection is to be closed. A stream that throws, e.g. for lack of memory, ends its
  // connection and nothing else.
  bool AnswerNext(Connection& connection) {
    const Answering counted(answering_);
    if (stopping_) return false;
    refused_ = false;
    connection.BeginRequest();
    const std::string_view head = connection.PeekHead();
    const std::string problem =
        head.empty() ? "the head of the request did not arrive, or is too long" : HeadProblem(head);
    if (!problem.empty()) {
      connection.RefuseHead(problem);
      return false;
    }
    bool closed = false, written = false;
    try {
      written = process_request(connection, /*close_connection=*/false, closed, [&](httplib::Request& r) {
        r.ranges.clear();  // nothing here is served in parts
        r.headers.erase("Accept-Encoding");
      });
    } catch (const std::exception& e) {
      std::fprintf(stderr, "ghost: an answer failed: %s\n", e.what());
    }
    if (refused_) connection.Linger();
    return written && !closed && !refused_;
  }

  bool WaitForRequest(const Connection& connection) const {
    const Clock::time_point end = Clock::now() + options_.idle_timeout;
    while (!stopping_ && Clock::now() < end) {
      if (connection.HasBuffered()) return true;
      if (WaitFor(connection.socket(), POLLIN, kSlice)) return !PeerIsGone(connection.socket());
    }
    return false;
  }

  // A request between its first byte and the last of its answer.
  struct Answering {
    explicit Answering(std::atomic<int>& number) : count(number) { ++count; }
    ~Answering() { --count; }
    std::atomic<int>& count;
  };

  Service& service_;
  const HttpOptions options_;
  int port_ = -1;
  std::atomic<int> answering_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread acceptor_;
  static thread_local int current_socket_;
  static thread_local bool refused_;
};

thread_local int HttpServer::Impl::current_socket_ = -1;
thread_local bool HttpServer::Impl::refused_ = false;

void ParseListen(const std::string& listen, HttpOptions& options) {
  const size_t colon = listen.rfind(':');
  const std::string port = colon == std::string::npos ? "" : listen.substr(colon + 1);
  const bool digits =
      !port.empty() && port.size() <= 5 && port.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || std::stoi(port) > 65535) {
    throw Error(ErrorKind::kUsage, "bad address to listen on",
                {.expected = "HOST:PORT, e.g. 127.0.0.1:8080", .actual = listen, .setting = "listen"});
  }
  std::string host = listen.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  options.host = host.empty() ? "0.0.0.0" : host;
  options.port = std::stoi(port);
}

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

HttpServer::HttpServer(Service& service, const HttpOptions& options)
    : impl_(std::make_unique<Impl>(service, options)) {}
HttpServer::~HttpServer() = default;
int HttpServer::port() const { return impl_->port(); }
void HttpServer::Start() { impl_->Begin(); }
void HttpServer::Stop() { impl_->Finish(); }

}  // namespace ghost
