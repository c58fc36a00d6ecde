package dunlin.load;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs the tool in its own process. */
public final class BenchProcess implements AutoCloseable {
  private final Process process;
  private final BufferedReader out;

  public BenchProcess(String... arguments) throws IOException {
    var command = new ArrayList<String>(heedingCtrlC());
    command.addAll(
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(), "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow",
            "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"), Main.class.getName()));
    command.addAll(List.of(arguments));
    process = new ProcessBuilder(command).redirectErrorStream(true).start();
    out = process.inputReader();
  }

  /** The prefix of the command that restores SIGINT: a shell's background job and all its children ignore it. */
  private static List<String> heedingCtrlC() throws IOException {
    Path status = Path.of("/proc/self/status");
    if (!Files.exists(status)) return List.of();
    String ignored = Files.readAllLines(status).stream().filter(line -> line.startsWith("SigIgn:")).findFirst().orElse("SigIgn: 0");
    boolean ignoresSigint = (Long.parseUnsignedLong(ignored.substring("SigIgn:".length()).strip(), 16) & 1 << 1) != 0;
    return ignoresSigint ? List.of("env", "--default-signal=INT") : List.of();
  }

  /** Reads lines until one contains a text, and returns it. */
  public String lineWith(String text) throws IOException {
    var before = new ArrayList<String>();
    for (String line; (line = out.readLine()) != null; before.add(line)) if (line.contains(text)) return line;
    throw new AssertionError("no line with \"%s\", but %s".formatted(text, before));
  }

  /** Reads all remaining output. */
  public String rest() throws IOException {
    var rest = new StringBuilder();
    for (String line; (line = out.readLine()) != null; ) rest.append(line).append('\n');
    return rest.toString();
  }

  /** Sends SIGINT, as Ctrl-C does. */
  public void interrupt() throws IOException, InterruptedException {
    int status = new ProcessBuilder("kill", "-INT", Long.toString(process.pid())).inheritIO().start().waitFor();
    if (status != 0) throw new AssertionError("kill answered " + status);
  }

  public void kill() {
    process.destroyForcibly();
  }

  public int status() throws InterruptedException {
    if (!process.waitFor(120, TimeUnit.SECONDS)) throw new AssertionError("the process does not end");
    return process.exitValue();
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
