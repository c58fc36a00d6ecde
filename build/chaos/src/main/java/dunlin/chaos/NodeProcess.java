package dunlin.chaos;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;

/** One run of a {@link LedgerNode}, controlled by the harness. */
final class NodeProcess {
  /*
   * Owner: any thread sends requests; a virtual thread reads the answers.
   * Failure: the end of a process fails all pending requests. It ends with the harness, since it watches the pipe.
   */
  private static final int HEAP_MEGABYTES = 256;

  private final String name;
  private final Process process;
  private final Writer requests;
  private final Map<Long, CompletableFuture<String>> waiting = new ConcurrentHashMap<>();
  private final AtomicLong numbers = new AtomicLong();
  private final CompletableFuture<String> opened = new CompletableFuture<>();

  private NodeProcess(String name, Process process) {
    this.name = name;
    this.process = process;
    requests = new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8);
    waiting.put(0L, opened);
    // A read of a pipe keeps the thread that carries a virtual one.
    Thread.ofPlatform().daemon().name("answers").start(this::readAnswers);
  }

  /**
   * Starts a process; {@link #place} waits until it has opened its directory.
   *
   * @param prefix a command that runs it in another namespace, or nothing
   * @param flags additional JVM options
   * @param log its standard error is appended here
   */
  static NodeProcess start(
      String name, List<String> prefix, Map<String, String> environment, List<String> flags, Path log, NodeOptions options) {
    var command = new ArrayList<>(prefix);
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(flags);
    command.addAll(
        List.of(
            "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow", "-XX:+UseCompactObjectHeaders",
            "-XX:+ExitOnOutOfMemoryError", "-XX:-UsePerfData", "-XX:+UseSerialGC", "-Xmx" + HEAP_MEGABYTES + "m",
            "-XX:MaxDirectMemorySize=" + HEAP_MEGABYTES + "m", "-Xlog:disable", "-Xlog:all=warning,aot*=off,cds*=off:stderr",
            "-ea:dunlin...", "-cp", System.getProperty("java.class.path"), LedgerNode.class.getName()));
    command.addAll(options.arguments());
    try {
      var builder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.appendTo(log.toFile()));
      builder.environment().putAll(environment);
      return new NodeProcess(name, builder.start());
    } catch (IOException e) {
      throw new TrialException("node " + name + " cannot be started", e);
    }
  }

  private void readAnswers() {
    try (var lines = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line; (line = lines.readLine()) != null; ) {
        if (line.isEmpty() || !Character.isDigit(line.charAt(0))) continue; // output of the JVM
        var words = line.split(" ", 3);
        var asked = waiting.remove(Long.valueOf(words[0]));
        if (asked == null) continue;
        String rest = words.length > 2 ? words[2] : "";
        if (words[1].equals("ok")) asked.complete(rest);
        else asked.completeExceptionally(new TrialException("node " + name + ": " + rest));
      }
    } catch (IOException e) {
      // It was killed, as in most trials.
    } finally {
      waiting.values().forEach(asked -> asked.completeExceptionally(gone()));
    }
  }

  private TrialException gone() {
    return new TrialException("node " + name + " has ended");
  }

  /** Its identity and addresses. */
  Place place(Duration deadline) {
    return Place.parse(await("open its directory", opened, deadline));
  }

  /** Sends a request and returns the node's answer. */
  String ask(Duration deadline, String request) {
    long number = numbers.incrementAndGet();
    var answer = new CompletableFuture<String>();
    waiting.put(number, answer);
    try {
      synchronized (requests) {
        requests.write(number + " " + request + "\n");
        requests.flush();
      }
      if (!process.isAlive()) answer.completeExceptionally(gone());
      return await(request, answer, deadline);
    } catch (IOException e) {
      throw new TrialException("node " + name + " cannot be asked", e);
    } finally {
      waiting.remove(number);
    }
  }

  private String await(String what, CompletableFuture<String> answer, Duration deadline) {
    try {
      return answer.get(deadline.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException e) {
      throw new TrialException(String.valueOf(e.getCause() == null ? e : e.getCause().getMessage()), e);
    } catch (TimeoutException e) {
      throw new TrialException("node " + name + " has not answered '" + what + "' within " + deadline, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new TrialException("interrupted", e);
    }
  }

  boolean alive() {
    return process.isAlive();
  }

  /** Sends a signal, such as STOP. */
  void signal(String signal) {
    Programs.run("kill", "-" + signal, String.valueOf(process.pid()));
  }

  /** Kills the process with kill -9, and waits for its end. */
  void kill() {
    process.destroyForcibly();
    exit(Duration.ofSeconds(30));
  }

  /** The exit code of the process, which must end within the time. */
  int exit(Duration deadline) {
    try {
      if (!process.waitFor(deadline.toMillis(), TimeUnit.MILLISECONDS))
        throw new TrialException("node " + name + " has not ended within " + deadline);
      return process.exitValue();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new TrialException("interrupted", e);
    }
  }
}
