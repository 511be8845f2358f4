#include "report/bench_document.h"

#include "base/error.h"
#include "report/result_files.h"

namespace ghost {
namespace {

SpeedRow ReadSpeedRow(const Json& row, size_t num_models) {
  SpeedRow out;
  const auto number = [&](const char* key) { return row.at(key).get<double>(); };
  out.phase = row.at("phase").get<std::string>();
  out.model = row.at("model").get<size_t>();
  if (out.model >= num_models) throw Error(ErrorKind::kCorrupt, "measures a model that is not listed");
  out.batch = row.at("batch").get<int64_t>();
  out.tokens_per_second = number("tokens_per_second");
  out.seconds_mean = number("seconds_mean");
  out.seconds_stddev = number("seconds_stddev");
  out.gflops = number("gflops");
  out.gbytes_per_second = number("gbytes_per_second");
  out.share_of_gemm = number("share_of_gemm");
  out.share_of_read_bandwidth = number("share_of_read_bandwidth");
  out.share_of_roofline = number("share_of_roofline");
  return out;
}

SpeedDocument ReadSpeed(const Json& document, size_t num_models) {
  const Json& limits = document.at("limits");
  SpeedDocument out;
  out.cpu = limits.at("cpu").get<std::string>();
  out.fma_gflops = limits.at("fma_gflops").get<double>();
  out.gemm_gflops = limits.at("gemm_gflops").get<double>();
  out.read_gbytes_per_second = limits.at("read_gbytes_per_second").get<double>();
  out.update_gbytes_per_second = limits.at("update_gbytes_per_second").get<double>();
  for (const Json& row : ListOf(document.at("rows"))) out.rows.push_back(ReadSpeedRow(row, num_models));
  return out;
}

}  // namespace

BenchDocument ReadBenchDocument(const Json& document) {
  CheckSchema(document, "ghost.bench");
  BenchDocument out;
  out.models = {document.at("model").at("path").get<std::string>()};
  for (const Json& other : document.value("compared_with", Json::array_t{})) {
    out.models.push_back(other.at("path").get<std::string>());
  }
  if (!document.contains("calibration")) {
    out.threads = document.at("threads").get<int>();
    out.repeats = document.at("options").at("repeats").get<int>();
    out.speed = ReadSpeed(document, out.models.size());
    return out;
  }
  for (const Json& row : ListOf(document["calibration"])) {
    out.calibration.push_back({row.at("method").get<std::string>(), row.at("seconds_best").get<double>(),
                               row.at("times_forward").get<double>(),
                               row.at("peak_anonymous_bytes").get<int64_t>()});
  }
  return out;
}

}  // namespace ghost
