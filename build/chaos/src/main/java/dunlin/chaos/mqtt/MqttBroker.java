package dunlin.chaos.mqtt;

import dunlin.chaos.FsyncFault;
import dunlin.chaos.Programs;
import dunlin.chaos.TrialException;
import dunlin.chaos.mqtt.check.Drops;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The shipped broker over all its runs, started like {@code bin/dunlin}, with one data directory and free ports. */
public final class MqttBroker implements Service, AutoCloseable {
  /*
   * Owner: the thread of the row; the thread that copies its log sets `port`, which all clients read.
   * Failure: a broker that does not start within START_MAX, or ends by itself, fails the row.
   */
  private static final Duration START_MAX = Duration.ofMinutes(2);
  private static final Duration CONNECT_MAX = Duration.ofMinutes(1);
  /** Short, so that each row has many. */
  private static final String AUDIT_INTERVAL = "1s";
  private static final Pattern LISTENS = Pattern.compile("Listener (\\S+): tcp on \\S+:(\\d+)");
  private static final String STARTED = "Started Dunlin in ";
  private static final String RECORDS_WILLS = "All nodes know the record of wills that are sent";
  private static final String RECORDS_NO_WILLS = "A node has come that has not said that it knows the record of wills that are sent";
  private static final Pattern ADMIN_PORT = Pattern.compile("Admin port (\\d+) on loopback");
  /** Prints the lines of the answer at port $1 to a GET of $2 that match $3. */
  private static final String ASK =
      "exec 3<>/dev/tcp/127.0.0.1/$1; printf \"GET $2 HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n\" >&3; grep -E \"$3\" <&3 || true";
  private static final Set<String> INBOX_FULL = Set.of("oldest", "newest");
  private static final Set<String> QUEUE_FULL = Set.of("queue-full");
  private static final Pattern DROPPED = Pattern.compile("^dunlin_(inbox|messages)_dropped_total\\{.*reason=\"([^\"]+)\".*} (\\S+)$");

  /**
   * Where and how a broker runs.
   *
   * @param data its data directory, which need not exist
   * @param log receives its output, over all runs
   * @param host the address at which clients reach it
   * @param prefix a command that runs it in a network namespace, or nothing
   * @param environment variables that make a part of its machine controllable, or nothing
   */
  public record Home(
      Path distribution, Path data, Path log, String host, List<String> prefix, Map<String, String> environment, int heapMegabytes, Map<String, String> settings) {
    /** On loopback. */
    public static Home local(Path distribution, Path data, Path log, int heapMegabytes, Map<String, String> settings) {
      return local(distribution, data, log, Map.of(), heapMegabytes, settings);
    }

    static Home local(Path distribution, Path data, Path log, Map<String, String> environment, int heapMegabytes, Map<String, String> settings) {
      return new Home(distribution, data, log, "127.0.0.1", List.of(), environment, heapMegabytes, settings);
    }
  }

  private final Home home;
  private Path distribution;
  private final @Nullable FsyncFault fsync;
  private final Lives lives;
  private @Nullable Process process;
  private CompletableFuture<Integer> listening = new CompletableFuture<>();
  private volatile int port = -1;
  private volatile int adminPort = -1;

  /** Those of all listeners, by name, in the last run. */
  private final Map<String, Integer> ports = new ConcurrentHashMap<>();

  /** Is notified of starts and ends on the thread of the row, and of what the broker logs on another one. */
  public interface Lives {
    Lives UNTOLD =
        new Lives() {
          @Override
          public void launched() {}

          @Override
          public void started() {}

          @Override
          public void recordsWills(boolean does) {}

          @Override
          public void killed() {}
        };

    void launched();

    void started();

    /** @param does whether it knows that all other brokers of the cluster record wills */
    void recordsWills(boolean does);

    void killed();
  }

  public MqttBroker(Home home, @Nullable FsyncFault fsync, Lives lives) {
    this.home = home;
    distribution = home.distribution;
    this.fsync = fsync;
    this.lives = lives;
  }

  /** The port of its listener; -1 while it does not run, and when it has none. */
  public int port() {
    return port;
  }

  /** The port of one of several listeners, which are on loopback; it has started. */
  public int port(String listener) {
    Integer found = ports.get(listener);
    if (found == null) throw new TrialException("the broker has no listener " + listener);
    return found;
  }

  /** A listener as the only way to it. */
  public Entrance entrance(String listener) {
    var entry = new Entrance.Entry(1, new InetSocketAddress(home.host, port(listener)), CONNECT_MAX);
    return () -> Optional.of(entry);
  }

  @Override
  public Entrance entrance(Random random) {
    return () -> entry(1, CONNECT_MAX);
  }

  /** Its listener, while it runs. */
  Optional<Entrance.Entry> entry(int node, Duration connectMax) {
    int at = port;
    return at < 0 ? Optional.empty() : Optional.of(new Entrance.Entry(node, new InetSocketAddress(home.host, at), connectMax));
  }

  /** Starts it and waits until clients can connect; returns how long that took. */
  public Duration start() {
    long began = System.nanoTime();
    launch();
    awaitListening();
    return Duration.ofNanos(System.nanoTime() - began);
  }

  /** Sets the distribution from which it is started next. */
  void runFrom(Path other) {
    distribution = other;
  }

  /** Starts it without waiting. */
  void launch() {
    var command = new ArrayList<>(home.prefix);
    command.add(distribution.resolve("bin").resolve("dunlin").toString());
    command.add("-Ddunlin.data-dir=" + home.data);
    command.add("-Ddunlin.listeners.tcp.port=0");
    command.add("-Ddunlin.admin.port=0");
    command.add("-Ddunlin.dist.audit-interval=" + AUDIT_INTERVAL);
    home.settings.forEach((key, value) -> command.add("-D" + key + "=" + value));
    var builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().put("DUNLIN_JAVA_HOME", System.getProperty("java.home"));
    String heap = "-Xmx%1$dm -XX:MaxDirectMemorySize=%1$dm".formatted(home.heapMegabytes);
    String more = System.getenv().getOrDefault("DUNLIN_JVM_OPTS", "");
    builder.environment().put("DUNLIN_JVM_OPTS", "-ea:dunlin... -Djava.rmi.server.hostname=127.0.0.1 " + heap + " " + more);
    builder.environment().putAll(home.environment);
    var listens = new CompletableFuture<Integer>();
    listening = listens;
    ports.clear();
    lives.launched();
    try {
      var started = builder.start();
      process = started;
      // A read of a pipe keeps the thread that carries a virtual one.
      Thread.ofPlatform().daemon().name("log-of-broker").start(() -> copy(started, listens));
    } catch (IOException e) {
      throw new TrialException("the broker cannot be started", e);
    }
  }

  /** Waits until it has started: then clients can connect, if it has listeners. */
  void awaitListening() {
    try {
      port = listening.get(START_MAX.toSeconds(), TimeUnit.SECONDS);
    } catch (ExecutionException | TimeoutException e) {
      throw new TrialException("the broker has not started, see " + home.log, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new TrialException("interrupted", e);
    }
    lives.started();
  }

  private void copy(Process started, CompletableFuture<Integer> listens) {
    try (var lines = new BufferedReader(new InputStreamReader(started.getInputStream(), StandardCharsets.UTF_8));
        var out = Files.newBufferedWriter(home.log, StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
      for (String line; (line = lines.readLine()) != null; ) {
        Matcher admin = ADMIN_PORT.matcher(line);
        if (admin.find()) adminPort = Integer.parseInt(admin.group(1));
        Matcher listener = LISTENS.matcher(line);
        if (listener.find()) ports.put(listener.group(1), Integer.parseInt(listener.group(2)));
        if (line.contains(RECORDS_WILLS)) lives.recordsWills(true);
        else if (line.contains(RECORDS_NO_WILLS)) lives.recordsWills(false);
        // Without the role frontend, a process has no listener.
        if (line.startsWith(STARTED)) listens.complete(ports.getOrDefault("tcp", -1));
        out.write(line + "\n");
        out.flush();
      }
    } catch (IOException e) {
      // It was killed.
    } finally {
      listens.completeExceptionally(new TrialException("the broker has ended"));
    }
  }

  private Process running() {
    if (process == null || !process.isAlive()) throw new TrialException("the broker does not run, see " + home.log);
    return process;
  }

  @Override
  public void mustRun() {
    running();
  }

  public boolean alive() {
    return process != null && process.isAlive();
  }

  /** Waits until it has ended by itself; answers its exit code, or -1 when it goes on. */
  public int ends(Duration most) {
    if (process == null) throw new TrialException("the broker was not started");
    try {
      if (!process.waitFor(most.toMillis(), TimeUnit.MILLISECONDS)) return -1;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new TrialException("interrupted", e);
    }
    lives.killed();
    port = -1;
    return process.exitValue();
  }

  /** Kills the process with kill -9, and waits for its end. */
  public void kill() {
    var running = running();
    lives.killed();
    port = -1;
    running.destroyForcibly();
    awaitEnd(running, Duration.ofSeconds(30));
  }

  /** Has it stop by itself, and waits for its end. */
  public void stop(Duration most) {
    var running = running();
    port = -1;
    running.toHandle().destroy(); // Process.destroy would close the stream with its last output
    awaitEnd(running, most);
  }

  private static void awaitEnd(Process ending, Duration most) {
    try {
      if (!ending.waitFor(most.toMillis(), TimeUnit.MILLISECONDS)) throw new TrialException("the broker has not ended within " + most);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new TrialException("interrupted", e);
    }
  }

  public void signal(String signal) {
    Programs.run("kill", "-" + signal, String.valueOf(running().pid()));
  }

  public FsyncFault steeredFsync() {
    if (fsync == null) throw new IllegalStateException("the broker has an ordinary fsync");
    return fsync;
  }

  public long pid() {
    return running().pid();
  }

  /** The processor time used in this run. */
  public Duration processorTime() {
    return running().info().totalCpuDuration().orElse(Duration.ZERO);
  }

  @Override
  public Drops drops() {
    long inboxes = 0;
    long connected = 0;
    for (String line : metrics("dunlin_(inbox|messages)_dropped_total")) {
      Matcher matcher = DROPPED.matcher(line);
      if (!matcher.find()) continue;
      long count = (long) Double.parseDouble(matcher.group(3));
      if (matcher.group(1).equals("inbox")) inboxes += INBOX_FULL.contains(matcher.group(2)) ? count : 0;
      else connected += QUEUE_FULL.contains(matcher.group(2)) ? count : 0;
    }
    return new Drops(inboxes, connected);
  }

  @Override
  public long mendedRoutes() {
    return sum("dunlin_routes_repaired_total");
  }

  /** The sum of a metric over all its tags. */
  public long sum(String metric) {
    return metrics(metric).stream().mapToLong(line -> (long) Double.parseDouble(line.substring(line.lastIndexOf(' ')))).sum();
  }

  /** The lines of its metrics that begin with a pattern. */
  public List<String> metrics(String pattern) {
    return answer("/metrics", "^" + pattern);
  }

  /** Whether it answers that it is ready. */
  public boolean ready() {
    return !answer("/ready", "^HTTP/1.[01] 200").isEmpty();
  }

  /** The lines that match a pattern. */
  private List<String> answer(String path, String pattern) {
    // The admin port is on the loopback device of the broker's network namespace.
    return inItsNetwork(Stream.of("bash", "-c", ASK, "ask", String.valueOf(adminPort), path, pattern)).lines().toList();
  }

  /** Runs a command where it runs; answers what that prints. */
  String inItsNetwork(Stream<String> command) {
    return Programs.run(Stream.concat(home.prefix.stream(), command).toArray(String[]::new));
  }

  @Override
  public void close() {
    port = -1;
    if (process != null) {
      process.destroyForcibly();
      process.onExit().join();
    }
  }
}
