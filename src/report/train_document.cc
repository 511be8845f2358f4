#include "report/train_document.h"

#include "report/result_files.h"

namespace ghost {

TrainDocument ReadTrainDocument(const Json& document) {
  CheckSchema(document, "ghost.train");
  TrainDocument out;
  const Json& corpus = document.at("settings").at("corpus");
  out.parameters = document.at("parameters").get<double>();
  out.tokens = document.at("tokens").get<double>();
  out.corpus = corpus.at("file").get<std::string>();
  out.corpus_tokens = corpus.at("tokens").get<double>();
  out.seed = document.at("seed").get<uint64_t>();
  out.final_loss = document.at("final_loss").get<double>();
  for (const Json& point : ListOf(document.at("loss_curve"))) {
    out.losses.push_back({point.at("step").get<double>(), point.at("loss").get<double>()});
  }
  for (const Json& point : ListOf(document.at("validations"))) {
    out.validations.push_back({point.at("step").get<int64_t>(), point.at("nll").get<double>(),
                               point.at("perplexity").get<double>(),
                               point.at("bits_per_byte").get<double>()});
  }
  return out;
}

}  // namespace ghost
