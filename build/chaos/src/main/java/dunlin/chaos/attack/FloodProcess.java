package dunlin.chaos.attack;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;

/**
 * A flood in a process of its own, with the lowest priority: it takes only processor time that broker and neighbours leave. So what neighbours notice is the broker's
 * doing.
 */
final class FloodProcess implements AutoCloseable {
  /*
   * The process says READY, waits for a line, floods, says what came of it in one line, and ends.
   *
   * Owner: the thread of the row.
   * Failure: a process that ends early fails the row.
   */
  private static final String READY = "ready";
  private static final String PROBLEM = "problem: ";
  private static final String HEAP = "-Xmx256m";

  private final Process process;
  private final BufferedReader lines;

  private FloodProcess(Process process) {
    this.process = process;
    lines = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
  }

  /** Starts the process of a flood, which waits for {@link #play}. */
  static FloodProcess start(Flood flood, int port, int perSecond, int seconds, Path log) throws IOException {
    var command =
        List.of(
            "nice", "-n", "19", Path.of(System.getProperty("java.home"), "bin", "java").toString(), HEAP, "-XX:+UseSerialGC", "-cp",
            System.getProperty("java.class.path"), FloodProcess.class.getName(), flood.name(), String.valueOf(port), String.valueOf(perSecond),
            String.valueOf(seconds));
    var flooding = new FloodProcess(new ProcessBuilder(command).redirectError(Redirect.appendTo(log.toFile())).start());
    if (READY.equals(flooding.lines.readLine())) return flooding;
    flooding.close();
    throw new IOException("the process of the flood has not started, see " + log);
  }

  /** Lets it flood; returns what came of it. */
  String play(List<String> problems) throws IOException {
    process.getOutputStream().write('\n');
    process.getOutputStream().flush();
    String figures = "";
    for (String line; (line = lines.readLine()) != null; ) {
      if (line.startsWith(PROBLEM)) problems.add(line.substring(PROBLEM.length()));
      else figures = line;
    }
    if (figures.isEmpty()) problems.add("the process of the flood has ended early");
    return figures;
  }

  @Override
  public void close() {
    process.destroyForcibly();
    process.onExit().join();
  }

  /** The process itself: the name of the flood, a port, requests a second, and seconds. */
  public static void main(String[] args) throws IOException, InterruptedException {
    var flood = Floods.ALL.stream().filter(each -> each.name().equals(args[0])).findFirst().orElseThrow();
    System.out.println(READY);
    if (System.in.read() < 0) return;
    try (var assault = new Assault(Integer.parseInt(args[1]), Integer.parseInt(args[3]))) {
      flood.play().play(assault, Integer.parseInt(args[2]));
      assault.problems().forEach(each -> System.out.println(PROBLEM + each));
      System.out.println(assault.figures());
    } catch (UncheckedIOException e) {
      System.out.println(PROBLEM + e.getMessage());
    }
  }
}
