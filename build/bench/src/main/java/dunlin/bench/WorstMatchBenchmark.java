package dunlin.bench;

import dunlin.model.FilterIndex;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.infra.Blackhole;

/**
 * How long the dearest match takes that {@code dunlin.dist.patterns-max} lets filters bring about, for nothing gives way within it: all patterns of eleven levels, which are nearly
 * 4,096. The topic leads to each of them and finds no filter there, or one with a {@code #} at each.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class WorstMatchBenchmark {
  private static final int LEVELS = 11;

  @Param({"NONE", "ALL"})
  Finds finds = Finds.NONE;

  /** What the topic finds. */
  public enum Finds {
    NONE,
    ALL
  }

  private final FilterIndex<Integer> index = new FilterIndex<>();
  private byte[] topic = {};
  private Consumer<Object> visitor = _ -> {};

  @Setup
  public void fill(Blackhole blackhole) {
    visitor = blackhole::consume;
    put("", 0);
    var name = new StringBuilder("a");
    for (int level = 1; level < LEVELS; level++) name.append("/a");
    if (finds == Finds.NONE) name.append("/a"); // a level that no filter has
    topic = name.toString().getBytes(StandardCharsets.UTF_8);
    if (match() < 1 << LEVELS) throw new IllegalStateException("the topic does not lead to all patterns");
  }

  /** Puts each filter that begins so, with one level more in each step. */
  private void put(String beginning, int levels) {
    if (finds == Finds.ALL && levels > 0) index.put(Filters.TENANT, beginning + "/#", levels);
    if (finds == Finds.NONE && levels == LEVELS) index.put(Filters.TENANT, beginning, levels);
    if (levels == LEVELS) return;
    for (String level : new String[] {"+", "a"}) put(levels == 0 ? level : beginning + "/" + level, levels + 1);
  }

  @Benchmark
  public int match() {
    return index.match(Filters.TENANT, topic, 0, topic.length, visitor);
  }
}
