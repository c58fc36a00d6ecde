package dunlin.broker.auth;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.broker.access.Access;
import dunlin.broker.access.Subject;
import dunlin.model.QoS;
import dunlin.runtime.SettingException;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.Closeable;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** A process that has no file descriptors left: the rules in force stay so, and it does not start without those that it should have. */
@EnabledOnOs({OS.LINUX, OS.MAC})
class DescriptorsRunOutTest {
  private static final int DESCRIPTORS = 400;
  private static final int MINUTES_MAX = 5;

  @Test
  void rulesThatCannotBeReadLeaveTheOldOnesInForceAndAreReadLater(@TempDir Path directory) throws Exception {
    Path output = directory.resolve("output");
    var command = new ArrayList<>(List.of("sh", "-c", "ulimit -n " + DESCRIPTORS + " && exec \"$0\" \"$@\""));
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-cp", System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")), Exhausted.class.getName()));
    command.add(directory.resolve("acl").toString());
    var process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile()).start();
    try {
      assertThat(process.waitFor(MINUTES_MAX, TimeUnit.MINUTES)).as("the process ends").isTrue();
    } finally {
      process.destroyForcibly();
    }
    assertThat(Files.readString(output, StandardCharsets.UTF_8)).endsWith(Exhausted.GOOD + System.lineSeparator());
  }

  /** The process. */
  static final class Exhausted {
    static final String GOOD = "all as it should be";
    private static final Subject CLIENT = Subject.of("default", "c", "");

    private final Path file;
    private final Authorization rules;

    private Exhausted(Path file) throws IOException {
      this.file = file;
      write("allow everyone publish early");
      rules = opened();
    }

    public static void main(String[] arguments) throws IOException {
      new Exhausted(Path.of(arguments[0])).run();
      System.out.println(GOOD);
    }

    private Authorization opened() {
      return Authorization.open(file.toString(), false, false, List.of(), new SimpleMeterRegistry());
    }

    /** Without descriptors no class can be loaded, so all that is to happen happens once before. */
    private void run() throws IOException {
      write("nonsense");
      looks();
      expect(allows("early") && !opens(), "a wrong file");
      write("allow everyone publish first");
      looks();
      expect(allows("first") && !allows("early") && opens(), "a changed file");

      write("allow everyone publish second");
      List<Closeable> held = exhaust();
      looks();
      boolean kept = allows("first") && !allows("second");
      boolean opened = opens();
      for (Closeable each : held) each.close();
      expect(kept, "what was in force");
      expect(!opened, "no start without rules");
      looks();
      expect(allows("second") && !allows("first"), "the file is read once it can be");
    }

    private List<Closeable> exhaust() {
      List<Closeable> held = new ArrayList<>();
      File any = file.toFile();
      while (true) {
        try {
          held.add(new FileInputStream(any));
        } catch (IOException none) {
          return held;
        }
      }
    }

    private void write(String text) throws IOException {
      Files.writeString(file, text + "\n");
    }

    /** A changed file is read when it has not changed any more between two looks. */
    private void looks() {
      for (int i = 0; i < 3; i++) rules.refresh();
    }

    private boolean opens() {
      try {
        opened();
        return true;
      } catch (SettingException refused) {
        return false;
      }
    }

    private boolean allows(String topic) {
      return rules.policyOf(CLIENT).decide(Access.publish(topic, QoS.AT_MOST_ONCE, false)).allowed();
    }

    private static void expect(boolean holds, String what) {
      if (!holds) throw new IllegalStateException("not as expected: " + what);
    }
  }
}
