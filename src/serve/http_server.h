// Sockets, threads and HTTP around a Service.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "serve/service.h"

namespace ghost {

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 8080;  // 0: any free one
  int max_connections = 256;
  size_t max_request_bytes = size_t{4} << 20;                         // of the body
  std::chrono::milliseconds read_timeout = std::chrono::seconds(10);  // of a whole request, once it has begun
  std::chrono::milliseconds write_timeout =
      std::chrono::seconds(10);                                       // in which a client must read something
  std::chrono::milliseconds idle_timeout = std::chrono::seconds(30);  // between requests of a connection
  int send_buffer = 0;  // bytes the system may hold for a slow reader; 0: its default
};

// "HOST:PORT", "[V6]:PORT", or ":PORT" for every address. Error(kUsage) for anything else.
void ParseListen(const std::string& listen, HttpOptions& options);

// Whether only this machine can reach the address.
bool IsLoopback(const std::string& host);

// The service must outlive it.
class HttpServer {
 public:
  // Binds: Error(kCannotCreate) if the address is not to be had.
  HttpServer(Service& service, const HttpOptions& options);
  ~HttpServer();

  int port() const;
  // Answers requests on threads of its own until Stop. Returns at once.
  void Start();
  // Answers no further request, waits until the answers under way are written and returns when all threads
  // have ended. The service must have been stopped before, or it waits for whatever that still does.
  void Stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ghost
