package dunlin.harness;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.sun.tools.attach.AttachNotSupportedException;
import com.sun.tools.attach.VirtualMachine;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.management.JMException;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/** The shipped broker as a process of its own, started like {@code bin/dunlin}, on free ports. */
public final class BrokerProcess implements AutoCloseable {
  private static final Duration START_MAX = Duration.ofMinutes(2);
  private static final Duration CLUSTER_MAX = Duration.ofMinutes(5);
  private static final Pattern ADMIN_PORT = Pattern.compile("Admin port (\\d+) on loopback");
  private static final Pattern LISTENS = listening("tcp");

  private final Process process;
  private final List<String> out = new CopyOnWriteArrayList<>();
  private final List<String> err = new CopyOnWriteArrayList<>();
  private final List<Thread> readers;

  private BrokerProcess(Process process) {
    this.process = process;
    readers = List.of(reader(process.getInputStream(), out), reader(process.getErrorStream(), err));
  }

  /** Launches the process without waiting for its start. */
  public static BrokerProcess launch(Path dataDirectory, String... settings) {
    return launchWith("-Xmx256m", dataDirectory, settings);
  }

  /** Settings of a broker of a cluster that notices failures soon and has an admin port. */
  public static final List<String> MEMBER =
      List.of(
          "dunlin.admin.port=0",
          "dunlin.cluster.heartbeat=200ms",
          "dunlin.cluster.lease=5s",
          "dunlin.cluster.down-after=6s",
          "dunlin.cluster.election-timeout=1s");

  /** Launches a broker of a cluster with the settings of {@link #MEMBER}. */
  public static BrokerProcess launchMember(Path dataDirectory, int servicePort, int raftPort, String seeds, String... more) {
    List<String> settings = new ArrayList<>(MEMBER);
    settings.add("dunlin.cluster.service-port=" + servicePort);
    settings.add("dunlin.cluster.port=" + raftPort);
    settings.add("dunlin.cluster.seeds=" + seeds);
    settings.addAll(List.of(more));
    return launch(dataDirectory, settings.toArray(String[]::new));
  }

  /**
   * Launches one of the brokers that found a cluster together, and each have a directory in the given one.
   *
   * @param ports the service ports of all of them, and then their Raft ports
   */
  public static BrokerProcess launchFounder(Path directory, int node, int[] ports, String... more) {
    int nodes = ports.length / 2;
    List<String> settings = new ArrayList<>(List.of(more));
    settings.add("dunlin.cluster.bootstrap-expect=" + nodes);
    String seeds = IntStream.range(0, nodes).mapToObj(i -> "127.0.0.1:" + ports[i]).collect(Collectors.joining(","));
    return launchMember(directory.resolve("node-" + node), ports[node], ports[nodes + node], seeds, settings.toArray(String[]::new));
  }

  private static BrokerProcess launchWith(String jvmOptions, Path dataDirectory, String... settings) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("dist.directory"), "bin", "dunlin").toString());
    command.add("-Ddunlin.data-dir=" + dataDirectory);
    command.add("-Ddunlin.listeners.tcp.port=0");
    command.add("-Ddunlin.admin.port=-1");
    // Java uses the last of two equal keys.
    for (String setting : settings) command.add("-D" + setting);
    return started(new ProcessBuilder(command), jvmOptions);
  }

  /** Launches what a command for the shell runs, in a directory, without waiting for its start. */
  public static BrokerProcess ofCommand(Path directory, String command) {
    return started(new ProcessBuilder("sh", "-c", "exec " + command).directory(directory.toFile()), "-Xmx256m");
  }

  private static BrokerProcess started(ProcessBuilder builder, String jvmOptions) {
    builder.environment().put("DUNLIN_JAVA_HOME", System.getProperty("java.home"));
    builder.environment().put("DUNLIN_JVM_OPTS", "-ea -XX:TieredStopAtLevel=1 " + jvmOptions);
    try {
      return new BrokerProcess(builder.start());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Launches and returns when clients can connect. */
  public static BrokerProcess start(Path dataDirectory, String... settings) {
    return awaitListening(launch(dataDirectory, settings));
  }

  /** The same with other limits of memory. */
  public static BrokerProcess startWith(String jvmOptions, Path dataDirectory, String... settings) {
    return awaitListening(launchWith(jvmOptions, dataDirectory, settings));
  }

  /** Waits for the line that says that it has started, which also a store node prints. */
  public BrokerProcess awaitStarted(Duration limit) {
    await("the node has started")
        .atMost(limit)
        .pollInterval(Duration.ofMillis(20))
        .until(() -> hasStarted() || !process.isAlive());
    assertThat(hasStarted()).as("has started; %s", this).isTrue();
    return this;
  }

  private boolean hasStarted() {
    return out.stream().anyMatch(line -> line.startsWith("Started Dunlin in "));
  }

  public long pid() {
    return process.pid();
  }

  private static BrokerProcess awaitListening(BrokerProcess broker) {
    try {
      await("the broker listens")
          .atMost(START_MAX)
          .pollInterval(Duration.ofMillis(20))
          .until(() -> broker.listens() || !broker.process.isAlive());
      assertThat(broker.listens()).as("listens; %s", broker).isTrue();
      return broker;
    } catch (RuntimeException | AssertionError e) {
      broker.close();
      throw e;
    }
  }

  private static Thread reader(InputStream stream, List<String> lines) {
    return Thread.ofPlatform()
        .daemon()
        .start(
            () -> {
              try (var reader = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
                for (String line = reader.readLine(); line != null; line = reader.readLine()) lines.add(line);
              } catch (IOException e) {
                lines.add("reading this stream failed: " + e);
              }
            });
  }

  public boolean listens() {
    return out.stream().anyMatch(line -> LISTENS.matcher(line).find());
  }

  /** The port of a listener of another name, which may open after the first one; the type is the same. */
  public int port(String listener) {
    await("its start").atMost(START_MAX).pollInterval(Duration.ofMillis(20)).until(() -> logged(listening(listener)).isPresent() || hasStarted() || !process.isAlive());
    return logged(listening(listener)).orElseThrow(() -> new AssertionError("has no listener " + listener + "; " + this));
  }

  private static Pattern listening(String listener) {
    return Pattern.compile("Listener %s: %s on \\S+:(\\d+)".formatted(listener, listener));
  }

  public int port() {
    return logged(LISTENS).orElseThrow(() -> new AssertionError("listens on no port; " + this));
  }

  private Optional<Integer> logged(Pattern port) {
    return out.stream().map(port::matcher).filter(Matcher::find).findFirst().map(found -> Integer.parseInt(found.group(1)));
  }

  /** Its admin port; only with {@code dunlin.admin.port=0} among its settings. */
  public int adminPort() {
    return logged(ADMIN_PORT).orElseThrow(() -> new AssertionError("has not logged its admin port; " + this));
  }

  /** The value of a metric without labels of its own; only with {@code dunlin.admin.port=0} among its settings. */
  public double metric(String name) {
    String line = metricLine(name).orElseThrow();
    return Double.parseDouble(line.substring(line.lastIndexOf(' ')));
  }

  /** Whether it has a metric now; only with {@code dunlin.admin.port=0} among its settings. */
  public boolean hasMetric(String name) {
    return metricLine(name).isPresent();
  }

  private Optional<String> metricLine(String name) {
    return answer("/metrics").body().lines().filter(each -> each.startsWith(name + " ") || each.startsWith(name + "{")).findFirst();
  }

  /** What its admin port answers to a path; only with {@code dunlin.admin.port=0} among its settings. */
  public HttpResponse<String> answer(String path) {
    try (var http = HttpClient.newHttpClient()) {
      var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + adminPort() + path)).build();
      return http.send(request, HttpResponse.BodyHandlers.ofString());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(e);
    }
  }

  /** Waits until the cluster has this many nodes, and its ranges all replicas, as far as this broker knows. */
  public void awaitReplicas(int nodes) {
    await("all replicas")
        .atMost(CLUSTER_MAX)
        .pollInterval(Duration.ofMillis(100))
        .until(() -> metric("dunlin_cluster_nodes") == nodes && metric("dunlin_cluster_replicas_missing") == 0);
  }

  /** The resident memory of the process; on Linux. */
  public long residentKib() {
    try (Stream<String> lines = Files.lines(Path.of("/proc", Long.toString(process.pid()), "status"))) {
      String line = lines.filter(each -> each.startsWith("VmRSS:")).findFirst().orElseThrow();
      return Long.parseLong(line.replaceAll("\\D", ""));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Runs a full garbage collection in the broker's JVM. */
  public void collectGarbage() {
    try {
      Process jcmd =
          new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "jcmd").toString(), Long.toString(process.pid()), "GC.run")
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start();
      assertThat(jcmd.waitFor()).as("exit code of jcmd; %s", this).isZero();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(e);
    }
  }

  /** A question to its MBean server. */
  @FunctionalInterface
  public interface BeanQuestion<T> {
    T ask(MBeanServerConnection beans) throws IOException, JMException;
  }

  /** Whether it has a bean of this type; with {@code java.rmi.server.hostname=127.0.0.1} among its settings. */
  public boolean hasBean(String type) {
    return askByJmx(beans -> !beans.queryNames(new ObjectName("dunlin:type=" + type + ",*"), null).isEmpty());
  }

  /** Asks its MBean server; with {@code java.rmi.server.hostname=127.0.0.1} among its settings. */
  public <T> T askByJmx(BeanQuestion<T> question) {
    try (var jmx = jmx()) {
      return question.ask(jmx.getMBeanServerConnection());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (JMException e) {
      throw new AssertionError(e);
    }
  }

  /** Its beans, as one who may attach to the process sees them; with the same setting. The caller closes it. */
  @SuppressWarnings("BanJNDI") // the address is the one that this JVM's own agent has just given for a process started here
  public JMXConnector jmx() {
    try {
      var machine = VirtualMachine.attach(Long.toString(process.pid()));
      try {
        return JMXConnectorFactory.connect(new JMXServiceURL(machine.startLocalManagementAgent()));
      } finally {
        machine.detach();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (AttachNotSupportedException e) {
      throw new AssertionError(e);
    }
  }

  /** Its standard output, which is its log. */
  public List<String> out() {
    return out;
  }

  public List<String> err() {
    return err;
  }

  /** SIGKILL: returns when the process is gone. */
  public void kill() {
    process.destroyForcibly();
    awaitExit(Duration.ofMinutes(1));
  }

  /** @param name such as STOP */
  public void signal(String name) {
    try {
      int exit = new ProcessBuilder("kill", "-" + name, Long.toString(pid())).inheritIO().start().waitFor();
      if (exit != 0) throw new AssertionError("kill -" + name + " has ended with " + exit);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("interrupted", e);
    }
  }

  /** Sends SIGTERM and does not wait. */
  public void terminate() {
    process.toHandle().destroy(); // Process.destroy would close the streams, and lose the last output
  }

  /** Waits for its end and its last output; returns the exit code. */
  public int awaitExit(Duration limit) {
    try {
      assertThat(process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)).as("ends within %s; %s", limit, this).isTrue();
      for (Thread reader : readers) reader.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while a broker ended", e);
    }
    return process.exitValue();
  }

  /** SIGKILL, unless it has ended. Returns when the process is gone, so that its data directory may be deleted. */
  @Override
  public void close() {
    process.destroyForcibly();
    try {
      if (!process.waitFor(1, TimeUnit.MINUTES)) throw new AssertionError("does not end; " + this);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public String toString() {
    return "standard output:\n" + String.join("\n", out) + "\nstandard error:\n" + String.join("\n", err);
  }
}
