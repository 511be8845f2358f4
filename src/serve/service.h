// The endpoints: what each path answers. Knows no sockets.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "serve/answer.h"
#include "serve/api_request.h"
#include "serve/http.h"
#include "serve/metrics.h"
#include "serve/served_model.h"

namespace ghost {

struct ServiceOptions {
  RequestLimits limits;
  std::string api_key;  // empty: everybody may ask
  std::chrono::milliseconds request_timeout = std::chrono::minutes(5);
  size_t stream_bytes = size_t{1} << 20;  // that may wait for a client to read them
};

// Handle may be called from many threads at once.
class Service {
 public:
  // The first model answers requests that name none.
  Service(std::vector<ServedModel> models, ServiceOptions options);

  HttpResponse Handle(const HttpRequest& request);
  // Before the body of a request is read: an answer with a status of 400 or more if it is refused.
  HttpResponse CheckAccess(const HttpRequest& request) const;

  // Refuses new work and ends what runs after `patience`.
  void Stop(std::chrono::milliseconds patience);

  std::vector<ServedModel>& models() { return models_; }
  const HttpCounts& counts() const { return counts_; }

 private:
  const ServedModel& FindModel(const std::string& name) const;
  HttpResponse Route(const HttpRequest& request);
  HttpResponse ListModels() const;
  HttpResponse Completions(const HttpRequest& request);
  HttpResponse ChatCompletions(const HttpRequest& request);
  HttpResponse Status() const;
  HttpResponse Start(const ServedModel& model, const GenerationParameters& parameters,
                     std::vector<PromptTokens> prompts, AnswerOptions options, const HttpRequest& request);
  HttpResponse Collect(TextAnswer& answer, const HttpRequest& request);
  HttpResponse Stream(std::unique_ptr<TextAnswer> answer);

  std::vector<ServedModel> models_;
  ServiceOptions options_;
  int64_t started_;  // seconds since 1970
  HttpCounts counts_;
};

}  // namespace ghost
