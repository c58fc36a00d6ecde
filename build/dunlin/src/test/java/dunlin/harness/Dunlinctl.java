package dunlin.harness;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A command of the distribution's {@code bin/dunlinctl} that has ended. */
public record Dunlinctl(int code, String out, String err) {
  private static final int SECONDS_MAX = 90;

  /**
   * @param scratch where the output is kept
   * @param data data directory of the node
   */
  public static Dunlinctl run(Path scratch, Path data, String... arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("dist.directory")).resolve("bin/dunlinctl").toString()));
    command.addAll(List.of(arguments));
    Path out = Files.createTempFile(scratch, "out", "");
    Path err = Files.createTempFile(scratch, "err", "");
    ProcessBuilder builder = new ProcessBuilder(command).redirectOutput(out.toFile()).redirectError(err.toFile());
    builder.environment().put("DUNLIN_JAVA_HOME", System.getProperty("java.home"));
    builder.environment().put("DUNLINCTL_ACCESS", data.resolve("admin-access").toString());
    Process process = builder.start();
    try {
      assertThat(process.waitFor(SECONDS_MAX, TimeUnit.SECONDS)).as("it ends").isTrue();
    } finally {
      process.destroyForcibly();
    }
    return new Dunlinctl(process.exitValue(), Files.readString(out, StandardCharsets.UTF_8), Files.readString(err, StandardCharsets.UTF_8));
  }
}
