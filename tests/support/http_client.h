// A client of HTTP/1.1 on the loopback address, for tests of a server: sends what it is told, right or wrong.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace ghost {

struct HttpReply {
  int status = 0;    // 0: the server closed the connection without an answer
  std::string head;  // status line and headers
  std::string body;  // chunks joined
};

class HttpClient {
 public:
  explicit HttpClient(int port, int receive_buffer = 0) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer > 0)
      setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    const timeval patience{30, 0};  // a test must not hang
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("cannot connect to the test's server");
  }
  ~HttpClient() { Close(); }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  void Close() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
  }
  void Send(const std::string& bytes) {
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t count = send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return;  // refused early; the answer says why
      sent += static_cast<size_t>(count);
    }
  }
  void SendRequest(const std::string& method, const std::string& path, const std::string& body,
                   const std::string& headers = "") {
    Send(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  // Waits for at least one byte of the answer.
  void ReceiveSome() { Fill(); }

  HttpReply Receive() {
    HttpReply reply;
    size_t end;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (!Fill()) return reply;
    }
    reply.head = buffer_.substr(0, end);
    buffer_.erase(0, end + 4);
    if (const size_t space = reply.head.find(' '); space != std::string::npos)
      reply.status = std::atoi(reply.head.c_str() + space);
    if (reply.head.find("chunked") != std::string::npos) {
      while (TakeChunk(reply.body)) {
      }
    } else if (const size_t at = reply.head.find("Content-Length: "); at != std::string::npos) {
      const auto size = static_cast<size_t>(std::atoll(reply.head.c_str() + at + 16));
      while (buffer_.size() < size && Fill()) {
      }
      reply.body = buffer_.substr(0, size);
      buffer_.erase(0, size);
    }
    return reply;
  }
  HttpReply Ask(const std::string& method, const std::string& path, const std::string& body = "",
                const std::string& headers = "") {
    SendRequest(method, path, body, headers);
    return Receive();
  }

 private:
  bool Fill() {
    char bytes[4096];
    const ssize_t got = recv(socket_, bytes, sizeof bytes, 0);
    if (got <= 0) return false;
    buffer_.append(bytes, static_cast<size_t>(got));
    return true;
  }
  // False at the last chunk and at the end of the connection.
  bool TakeChunk(std::string& body) {
    size_t end;
    while ((end = buffer_.find("\r\n")) == std::string::npos) {
      if (!Fill()) return false;
    }
    const size_t size = std::strtoul(buffer_.c_str(), nullptr, 16);
    while (buffer_.size() < end + 2 + size + 2) {
      if (!Fill()) return false;
    }
    body.append(buffer_, end + 2, size);
    buffer_.erase(0, end + 2 + size + 2);
    return size > 0;
  }

  int socket_;
  std::string buffer_;
};

}  // namespace ghost
