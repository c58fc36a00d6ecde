package dunlin.chaos.mqtt;

import dunlin.chaos.FsyncFault;
import dunlin.chaos.Programs;
import dunlin.chaos.TrialException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The shipped broker over all its runs, started like {@code bin/dunlin}, with one data directory and free ports. */
public final class MqttBroker implements AutoCloseable {
  /*
   * Owner: the thread of the row; `port` is read by all clients.
   * Failure: a broker that does not start within START_MAX, or ends by itself, fails the row.
   */
  private static final Duration START_MAX = Duration.ofMinutes(2);
  private static final Duration ASK_MAX = Duration.ofSeconds(10);
  private static final Pattern LISTENS = Pattern.compile("listener tcp: tcp on \\S+:(\\d+)");
  private static final Set<String> INBOX_FULL = Set.of("oldest", "newest");
  private static final Set<String> QUEUE_FULL = Set.of("queue-full");
  private static final Pattern DROPPED = Pattern.compile("^dunlin_(inbox|messages)_dropped_total\\{.*reason=\"([^\"]+)\".*} (\\S+)$");

  private final Path distribution;
  private final Path data;
  private final Path log;
  private final int adminPort;
  private final int heapMegabytes;
  private final Map<String, String> settings;
  private final @Nullable FsyncFault fsync;
  private final Lives lives;
  private final HttpClient http = HttpClient.newHttpClient();
  private @Nullable Process process;
  private volatile int port = -1;

  /** Is notified of starts and ends, on the thread of the row. */
  public interface Lives {
    Lives UNTOLD =
        new Lives() {
          @Override
          public void started() {}

          @Override
          public void killed() {}
        };

    void started();

    void killed();
  }

  /**
   * @param data its data directory, which need not exist
   * @param log receives its output, over all runs
   */
  public MqttBroker(
      Path distribution, Path data, Path log, int adminPort, int heapMegabytes, Map<String, String> settings, @Nullable FsyncFault fsync,
      Lives lives) {
    this.distribution = distribution;
    this.data = data;
    this.log = log;
    this.adminPort = adminPort;
    this.heapMegabytes = heapMegabytes;
    this.settings = settings;
    this.fsync = fsync;
    this.lives = lives;
  }

  /** The port of its listener; -1 while it does not run. */
  public int port() {
    return port;
  }

  /** Starts it and waits until clients can connect; returns how long that took. */
  public Duration start() {
    long began = System.nanoTime();
    var command = new ArrayList<String>();
    command.add(distribution.resolve("bin").resolve("dunlin").toString());
    command.add("-Ddunlin.data-dir=" + data);
    command.add("-Ddunlin.listeners.tcp.port=0");
    command.add("-Ddunlin.admin.port=" + adminPort);
    settings.forEach((key, value) -> command.add("-D" + key + "=" + value));
    var builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().put("DUNLIN_JAVA_HOME", System.getProperty("java.home"));
    builder.environment().put("DUNLIN_JVM_OPTS", "-ea:dunlin... -Xmx" + heapMegabytes + "m -XX:MaxDirectMemorySize=" + heapMegabytes + "m");
    if (fsync != null) builder.environment().putAll(fsync.environment());
    var listening = new CompletableFuture<Integer>();
    try {
      var started = builder.start();
      process = started;
      Thread.startVirtualThread(() -> copy(started, listening));
      port = listening.get(START_MAX.toSeconds(), TimeUnit.SECONDS);
    } catch (IOException | ExecutionException | TimeoutException e) {
      throw new TrialException("the broker has not started, see " + log, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new TrialException("interrupted", e);
    }
    lives.started();
    return Duration.ofNanos(System.nanoTime() - began);
  }

  private void copy(Process started, CompletableFuture<Integer> listening) {
    try (var lines = new BufferedReader(new InputStreamReader(started.getInputStream(), StandardCharsets.UTF_8));
        var out = Files.newBufferedWriter(log, StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
      for (String line; (line = lines.readLine()) != null; ) {
        Matcher matcher = LISTENS.matcher(line);
        if (matcher.find()) listening.complete(Integer.parseInt(matcher.group(1)));
        out.write(line + "\n");
        out.flush();
      }
    } catch (IOException e) {
      // It was killed.
    } finally {
      listening.completeExceptionally(new TrialException("the broker has ended"));
    }
  }

  private Process running() {
    if (process == null || !process.isAlive()) throw new TrialException("the broker does not run, see " + log);
    return process;
  }

  public void mustRun() {
    running();
  }

  /** Kills the process with kill -9, and waits for its end. */
  public void kill() {
    var running = running();
    lives.killed();
    port = -1;
    running.destroyForcibly();
    try {
      if (!running.waitFor(30, TimeUnit.SECONDS)) throw new TrialException("the broker cannot be killed");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new TrialException("interrupted", e);
    }
  }

  void signal(String signal) {
    Programs.run("kill", "-" + signal, String.valueOf(running().pid()));
  }

  FsyncFault steeredFsync() {
    if (fsync == null) throw new IllegalStateException("the broker has an ordinary fsync");
    return fsync;
  }

  public long pid() {
    return running().pid();
  }

  /** The processor time used in this run. */
  Duration processorTime() {
    return running().info().totalCpuDuration().orElse(Duration.ZERO);
  }

  Drops drops() {
    var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + adminPort + "/metrics")).timeout(ASK_MAX).build();
    long inboxes = 0;
    long connected = 0;
    try (Stream<String> lines = http.send(request, HttpResponse.BodyHandlers.ofLines()).body()) {
      for (String line : (Iterable<String>) lines::iterator) {
        Matcher matcher = DROPPED.matcher(line);
        if (!matcher.find()) continue;
        long count = (long) Double.parseDouble(matcher.group(3));
        if (matcher.group(1).equals("inbox")) inboxes += INBOX_FULL.contains(matcher.group(2)) ? count : 0;
        else connected += QUEUE_FULL.contains(matcher.group(2)) ? count : 0;
      }
      return new Drops(inboxes, connected);
    } catch (IOException e) {
      throw new TrialException("no metrics from the broker", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new TrialException("interrupted", e);
    }
  }

  @Override
  public void close() {
    port = -1;
    if (process != null) {
      process.destroyForcibly();
      process.onExit().join();
    }
    http.close();
  }
}
