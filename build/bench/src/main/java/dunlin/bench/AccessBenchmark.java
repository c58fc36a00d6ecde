package dunlin.bench;

import dunlin.broker.access.Access;
import dunlin.broker.access.AclFile;
import dunlin.broker.access.Decision;
import dunlin.broker.access.Policy;
import dunlin.broker.access.RuleSet;
import dunlin.broker.access.Subject;
import dunlin.broker.access.Verdicts;
import dunlin.model.QoS;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
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

/**
 * What a decision by access rules costs with a file of 10,000 lines, decided anew and remembered. Half of the rules are
 * about one user each, or half of them are about everyone, with topics that begin alike.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class AccessBenchmark {
  private static final int LINES = 10_000;

  @Param({"users", "everyone"})
  public String about = "";

  private final Verdicts verdicts = new Verdicts();
  private Access[] asked = {};
  private Policy policy = Policy.of(Subject.of("", "", ""), List.of());
  private int next;

  @Setup
  public void read() throws IOException {
    var text = new StringBuilder("deny everyone publish plant/+/secret\n");
    for (int i = 0; i < LINES / 2; i++) {
      text.append(about.equals("users") ? "allow user u" + i + " publish plant/" + i + "/#\n" : "allow everyone publish plant/" + i + "/+/state\n");
      text.append("allow group g").append(i % 10).append(" publish group/").append(i).append("/%c/#\n");
    }
    for (int i = 0; i < 10; i++) text.append("group g").append(i).append(" u42\n");
    text.append("allow everyone publish devices/%c/up\n");
    Path file = Files.createTempFile("acl", "");
    try {
      Files.writeString(file, text);
      RuleSet rules = AclFile.read(file);
      policy = rules.policyOf(Subject.of("default", "c42", "u42"));
    } finally {
      Files.delete(file);
    }
    String[] topics = {"plant/42/a/state", "plant/4999/a/state", "group/42/c42/x", "devices/c42/up", "plant/42/secret", "elsewhere/a/b/c"};
    asked = new Access[topics.length];
    for (int i = 0; i < topics.length; i++) asked[i] = Access.publish(topics[i], QoS.AT_LEAST_ONCE, false);
  }

  private Access question() {
    next = (next + 1) % asked.length;
    return asked[next];
  }

  @Benchmark
  public Decision decided() {
    return policy.decide(question());
  }

  @Benchmark
  public boolean remembered() {
    return verdicts.allows(policy, question());
  }
}
