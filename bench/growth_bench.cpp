// Measures how time and memory of training and decoding grow with depth, sentence length, beam,
// batch, width and threads, and what each scheme costs, beside the law that is expected of each.
//
//   growth_bench -o DIRECTORY                writes growth.md, growth.csv and two plots for each
//   axis growth_bench --axes depth,width --rounds 5
// Every point runs once in each round, in a process of its own, which also gives its peak memory.
// A training point is one update, a decoding point one sentence of a batch. Each axis changes one
// number of the same base point.
//
// The law of CPU time is the multiply-adds of the point, scaled to the base point; that of memory
// is the base point's memory and the difference of the bytes that the point needs. "over" is
// measured by law: above 1, the point costs more than expected.

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "decode/translator.h"
#include "random_model.h"
#include "report/report.h"
#include "schemes/registry.h"
#include "train/learner.h"
#include "turns.h"

namespace residual {
namespace {

constexpr int64_t kSymbols = 4000;

// One measurement. Sentences have `length` tokens on both sides, </s> included.
struct Point {
  int64_t depth = 6, width = 128, length = 25;  // depth: layers of the encoder and of the decoder
  int beam = 4, threads = 1;
  int64_t tokens = 1000;  // of a training batch, on each side
  int sentences = 16;     // of a decoding batch
  std::string scheme = "resi-dual";

  model::Config model() const {
    model::Config c;
    c.width = width;
    c.inner = 4 * width;
    c.heads = width / 32;
    c.encoder_layers = c.decoder_layers = depth;
    c.source_vocabulary = c.target_vocabulary = kSymbols;
    c.residual.name = scheme;
    return c;
  }
  int64_t pairs() const { return std::max<int64_t>(1, tokens / length); }
  // What decides the cost of training or of decoding.
  auto training() const { return std::tuple(depth, width, length, threads, tokens, scheme); }
  auto decoding() const {
    return std::tuple(depth, width, length, beam, threads, sentences, scheme);
  }
};

// Multiply-adds and bytes: what a point is expected to cost, each up to a constant.
struct Law {
  double work, bytes;
};

double parameters(const Point& p) {
  double sum = 0;
  for (const auto& parameter : model::parameters(p.model())) {
    sum += static_cast<double>(parameter.size());
  }
  return sum;
}

// A layer's matrices as multiply-adds of one row; the decoder's without cross-attention's keys and
// values, which are computed from source rows.
double layer(const Point& p, bool decoder) {
  const auto d = static_cast<double>(p.width);
  return (decoder ? 14 : 12) * d * d;
}

// An update: forward, input gradients and weight gradients. Fused attention computes the visible
// half of the decoder's scores. What is kept for the backward pass, in rows of the model's width:
// 12 for an encoder layer, 18 for a decoder layer, of one pass for each thread. Parameters,
// gradients and two moments; a further thread has parameters and gradients of its own.
Law train_law(const Point& p) {
  const auto n = static_cast<double>(p.depth), d = static_cast<double>(p.width),
             length = static_cast<double>(p.length), threads = static_cast<double>(p.threads);
  const double attention = 2 * d * length * (1 + 0.5 + 1);
  const double row = n * (layer(p, false) + layer(p, true) + 2 * d * d + attention) + d * kSymbols;
  const auto rows = static_cast<double>(p.pairs() * p.length);
  const double pass = std::min<double>(1024, rows / threads);
  return {3 * row * rows,
          4 * (parameters(p) * (2 + 2 * threads) + threads * pass * n * (12 + 18) * d)};
}

// A sentence: its source once, then a step for each target token and hypothesis. The weights are in
// memory twice, as they are in the file and packed; the cache has keys and values of both
// attentions.
Law decode_law(const Point& p) {
  const auto n = static_cast<double>(p.depth), d = static_cast<double>(p.width),
             length = static_cast<double>(p.length);
  const double source = length * n * (layer(p, false) + 2 * d * d + 2 * d * length);
  const double step = n * (layer(p, true) + 2 * d * length + d * length) + d * kSymbols;
  const double cache = 2 * d * n * length * (p.beam + 1) * p.sentences * p.threads;
  return {source + length * p.beam * step, 4 * (2 * parameters(p) + cache)};
}

data::Batch batch_of(const Point& p) {
  data::Batch batch{.source_offsets = {0}, .target_offsets = {0}};
  const Random random(1);
  const auto symbol = [&](int64_t place) {
    return 4 + static_cast<int32_t>(random.below(static_cast<uint64_t>(place), kSymbols - 4));
  };
  for (int64_t pair = 0; pair < p.pairs(); ++pair) {
    for (int64_t i = 0; i + 1 < p.length; ++i) {
      batch.source.push_back(symbol(2 * (pair * p.length + i)));
      batch.target.push_back(symbol(2 * (pair * p.length + i) + 1));
    }
    batch.source.push_back(2);
    batch.target.push_back(2);
    batch.source_offsets.push_back(static_cast<int32_t>(batch.source.size()));
    batch.target_offsets.push_back(static_cast<int32_t>(batch.target.size()));
    batch.pairs.push_back(pair);
  }
  return batch;
}

// Repeats the work for the given time, at least twice, after once to warm up. Returns the medians.
bench::Sample repeated(double seconds, const std::function<void()>& work) {
  work();
  bench::Series series;
  for (double spent = 0; spent < seconds || series.samples.size() < 2;) {
    series.samples.push_back(bench::measure(work));
    spent += series.samples.back().wall;
  }
  return {series.wall(), series.cpu()};
}

bench::Sample train(const Point& p, double seconds) {
  run::TrainConfig c;
  c.model = p.model();
  c.dropout = {.residual = 0.3, .attention = 0.1, .activation = 0.1};
  c.train.workers = p.threads;
  set_thread_count(p.threads);
  train::Learner learner(run::resolve(c));
  const data::Batch batch = batch_of(p);
  int64_t number = 0;
  return repeated(seconds, [&] {
    learner.update(std::span(&batch, 1), {.number = ++number, .learning_rate = 1e-5});
  });
}

bench::Sample decode(const Point& p, double seconds, const fs::path& model) {
  const int tokens = static_cast<int>(p.length);
  decode::TranslatorOptions options;
  options.pieces = true;
  options.search.beam = p.beam;
  options.search.min_length = tokens - 1;
  options.search.max_length_factor = 0;
  options.search.max_length_offset = tokens - 1;
  options.crew.threads = p.threads;
  options.crew.batch_tokens = tokens * p.sentences;
  options.crew.batch_sentences = p.sentences;
  decode::Translator translator({model}, options);
  translator.pack();
  std::vector<std::string> lines;
  for (int i = 0; i < 2 * p.sentences * p.threads; ++i) {
    lines.push_back(bench::random_line(i, tokens, kSymbols - 1000));
  }
  const bench::Sample all = repeated(seconds, [&] { translator.translate(lines); });
  const auto count = static_cast<double>(lines.size());
  return {all.wall / count, all.cpu / count};
}

struct Cost {
  bench::Sample sample;
  double megabytes = 0;
};

// Runs the work in a child process and returns what it cost.
Cost apart(const std::function<bench::Sample()>& work) {
  int ends[2];
  require(pipe(ends) == 0, "cannot open a pipe");
  const pid_t child = fork();
  require(child >= 0, "cannot fork");
  Cost cost;
  if (child == 0) {
    try {
      cost.sample = work();
    } catch (const std::exception& error) {
      fmt::print(stderr, "growth_bench: {}\n", error.what());
      _exit(1);
    }
    _exit(write(ends[1], &cost.sample, sizeof(cost.sample)) == sizeof(cost.sample) ? 0 : 1);
  }
  close(ends[1]);
  const bool complete = read(ends[0], &cost.sample, sizeof(cost.sample)) == sizeof(cost.sample);
  close(ends[0]);
  struct rusage usage {};
  int status = 0;
  wait4(child, &status, 0, &usage);
  require(complete && status == 0, "a measurement failed with status {}", status);
  cost.megabytes = static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
  return cost;
}

// The costs of one point, one for each round, beside its law.
struct Measured {
  Law law;
  std::vector<Cost> costs = {};

  std::vector<double> of(const std::function<double(const Cost&)>& value) const {
    std::vector<double> all;
    for (const Cost& cost : costs) all.push_back(value(cost));
    return all;
  }
  std::vector<double> cpus() const {
    return of([](const Cost& c) { return c.sample.cpu; });
  }
  double cpu() const { return bench::median(cpus()); }
  double wall() const {
    return bench::median(of([](const Cost& c) { return c.sample.wall; }));
  }
  double megabytes() const {
    return bench::median(of([](const Cost& c) { return c.megabytes; }));
  }
  // By the law and the measured base point.
  double expected_cpu(const Measured& base) const { return base.cpu() * law.work / base.law.work; }
  double expected_megabytes(const Measured& base) const {
    return base.megabytes() + (law.bytes - base.law.bytes) / 1e6;
  }
};

struct Tick {
  std::string label;
  double x;
  Point point;
};

struct Axis {
  std::string name, label;
  std::vector<Tick> ticks;
  bool trains = true;  // false: it matters only for decoding
};

Axis axis(const std::string& name, const std::string& label, const std::vector<double>& values,
          const std::function<void(Point&, double)>& set, bool trains = true) {
  Axis a{name, label, {}, trains};
  for (const double value : values) {
    Tick& tick = a.ticks.emplace_back(fmt::format("{}", value), value, Point());
    set(tick.point, value);
  }
  return a;
}

std::vector<Axis> all_axes() {
  std::vector<Axis> all = {
      axis("depth", "layers of the encoder and of the decoder", {6, 12, 18, 24, 36},
           [](Point& p, double v) { p.depth = static_cast<int64_t>(v); }),
      axis("length", "tokens of a sentence", {10, 25, 50, 100, 200, 350, 500},
           [](Point& p, double v) { p.length = static_cast<int64_t>(v); }),
      axis(
          "beam", "beam", {1, 2, 4, 8, 16},
          [](Point& p, double v) { p.beam = static_cast<int>(v); }, false),
      axis("batch", "sentences of a batch (training: of 25 tokens)", {4, 8, 16, 40, 80, 160, 320},
           [](Point& p, double v) {
             p.sentences = static_cast<int>(v);
             p.tokens = static_cast<int64_t>(25 * v);
           }),
      axis("width", "width of the model", {64, 128, 256, 512},
           [](Point& p, double v) { p.width = static_cast<int64_t>(v); }),
      axis("threads", "threads", {1, 2},
           [](Point& p, double v) { p.threads = static_cast<int>(v); })};
  Axis schemes{"scheme", "", {}};
  for (const auto& entry : schemes::registry()) {
    schemes.ticks.push_back({entry.name, 0, Point()});
    schemes.ticks.back().point.scheme = entry.name;
  }
  all.push_back(schemes);
  return all;
}

struct Options {
  fs::path output = "growth";
  std::vector<std::string> axes = {"depth", "length",  "beam",  "batch",
                                   "width", "threads", "scheme"};
  double seconds = 0.3;
  int rounds = 3;
};

// Measures every point once in each round. Points that several axes share are measured once.
class Growth {
 public:
  explicit Growth(const Options& o) : options_(o) {
    for (Axis& a : all_axes()) {
      if (std::ranges::count(o.axes, a.name) > 0) axes_.push_back(std::move(a));
    }
  }

  void measure() {
    const fs::path models = options_.output / "models";
    for (int round = 0; round < options_.rounds; ++round) {
      fmt::print(stderr, "round {} of {}\n", round + 1, options_.rounds);
      std::set<decltype(Point().training())> trained;
      std::set<decltype(Point().decoding())> decoded;
      const auto run = [&](const Point& p, bool trains) {
        if (trains && trained.insert(p.training()).second) {
          train_.try_emplace(p.training(), train_law(p)).first->second.costs.push_back(apart([&] {
            return train(p, options_.seconds);
          }));
        }
        if (decoded.insert(p.decoding()).second) {
          const fs::path model = model_of(models, p);
          decode_.try_emplace(p.decoding(), decode_law(p)).first->second.costs.push_back(apart([&] {
            return decode(p, options_.seconds, model);
          }));
        }
      };
      run(Point(), true);
      for (const Axis& a : axes_) {
        for (const Tick& tick : a.ticks) run(tick.point, a.trains);
      }
    }
    fs::remove_all(models);
  }

  void write() const {
    std::string page,
        csv = "axis,value,work,cpu_ms,law_ms,spread,wall_ms,megabytes,law_megabytes,rounds\n";
    for (const Axis& a : axes_) {
      page += table(a);
      csv += lines(a);
      if (a.name != "scheme") draw(a);
    }
    replace_file(options_.output / "growth.md", page);
    replace_file(options_.output / "growth.csv", csv);
    fmt::print("{}", page);
  }

 private:
  // Writes the model unless it exists, in a process of its own: this one must not grow.
  static fs::path model_of(const fs::path& models, const Point& p) {
    const fs::path model = models / fmt::format("{}-{}-{}", p.scheme, p.depth, p.width) / "model";
    if (!fs::exists(model)) {
      apart([&] {
        bench::write_model(model, p.model());
        return bench::Sample{};
      });
    }
    return model;
  }

  const Measured& trained(const Point& p) const { return train_.at(p.training()); }
  const Measured& decoded(const Point& p) const { return decode_.at(p.decoding()); }

  // A star marks times whose quartiles lie further apart than a tenth.
  static std::string cells(const Measured& m, const Measured& base) {
    const double cpu = m.cpu();
    return fmt::format(" {:.4g}{} | {:.2f} | {:.4g} | {:.0f} | {:.0f} |", 1e3 * cpu,
                       bench::spread(m.cpus()) > bench::kMostSpread ? "*" : "",
                       cpu / m.expected_cpu(base), 1e3 * m.wall(), m.megabytes(),
                       m.expected_megabytes(base));
  }

  std::string table(const Axis& a) const {
    std::string text = fmt::format("| {} |", a.name), rule = "|---|";
    for (const char* what : {"training", "decoding"}) {
      if (!a.trains && what == std::string("training")) continue;
      text += fmt::format(" {}, CPU ms | over | wall ms | MB | law |", what);
      rule += "---|---|---|---|---|";
    }
    text += "\n" + rule + "\n";
    for (const Tick& tick : a.ticks) {
      text += fmt::format("| {} |", tick.label);
      if (a.trains) text += cells(trained(tick.point), trained(Point()));
      text += cells(decoded(tick.point), decoded(Point())) + "\n";
    }
    return text + "\n";
  }

  std::string lines(const Axis& a) const {
    std::string text;
    const auto line = [&](const Tick& tick, const char* work, const Measured& m,
                          const Measured& base) {
      text +=
          fmt::format("{},{},{},{:.4f},{:.4f},{:.3f},{:.4f},{:.1f},{:.1f},{}\n", a.name, tick.label,
                      work, 1e3 * m.cpu(), 1e3 * m.expected_cpu(base), bench::spread(m.cpus()),
                      1e3 * m.wall(), m.megabytes(), m.expected_megabytes(base), m.costs.size());
    };
    for (const Tick& tick : a.ticks) {
      if (a.trains) line(tick, "training", trained(tick.point), trained(Point()));
      line(tick, "decoding", decoded(tick.point), decoded(Point()));
    }
    return text;
  }

  // One plot of CPU time and one of memory, measured and by law, both in units of the base point.
  void draw(const Axis& a) const {
    report::Figure time{.id = "growth-" + a.name, .title = "CPU time by " + a.name};
    report::Figure memory{.id = "growth-" + a.name + "-memory", .title = "Memory by " + a.name};
    for (report::Figure* figure : {&time, &memory}) {
      figure->x_label = a.label;
      figure->y_label = "times the base point";
      figure->log_y = true;
    }
    const auto add = [&](const std::string& name, int colour, const auto& find) {
      report::Series seconds{.name = name, .colour = colour}, bytes = seconds;
      report::Series law{.name = name + ", law", .dashed = true, .colour = colour}, more = law;
      const Measured& base = find(Point());
      for (const Tick& tick : a.ticks) {
        const Measured& m = find(tick.point);
        for (report::Series* series : {&seconds, &bytes, &law, &more}) series->x.push_back(tick.x);
        seconds.y.push_back(m.cpu() / base.cpu());
        law.y.push_back(m.expected_cpu(base) / base.cpu());
        bytes.y.push_back(m.megabytes() / base.megabytes());
        more.y.push_back(m.expected_megabytes(base) / base.megabytes());
      }
      time.series.insert(time.series.end(), {seconds, law});
      memory.series.insert(memory.series.end(), {bytes, more});
    };
    if (a.trains)
      add(
          "training", 0, [&](const Point& p) -> auto& { return trained(p); });
    add(
        "decoding", 1, [&](const Point& p) -> auto& { return decoded(p); });
    for (const auto& figure : {time, memory}) {
      replace_file(options_.output / (figure.id + ".svg"), report::to_svg(figure));
    }
  }

  Options options_;
  std::vector<Axis> axes_;
  std::map<decltype(Point().training()), Measured> train_;
  std::map<decltype(Point().decoding()), Measured> decode_;
};

}  // namespace
}  // namespace residual

int main(int argc, char** argv) {
  residual::keep_freed_memory();
  residual::Options options;
  CLI::App app("Measures how costs grow", "growth_bench");
  app.add_option("-o,--output", options.output, "directory of the tables and plots");
  app.add_option("--axes", options.axes, "depth, length, beam, batch, width, threads, scheme")
      ->delimiter(',')
      ->check(CLI::IsMember(options.axes));
  app.add_option("--rounds", options.rounds, "measurements of each point")
      ->check(CLI::PositiveNumber);
  app.add_option("--seconds", options.seconds, "measuring time of each point and round");
  CLI11_PARSE(app, argc, argv);
  try {
    residual::Growth growth(options);
    growth.measure();
    growth.write();
  } catch (const std::exception& error) {
    fmt::print(stderr, "growth_bench: {}\n", error.what());
    return 1;
  }
}
