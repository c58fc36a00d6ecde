package dunlin.admin.doctor;

import dunlin.admin.doctor.RangeChecks.Replica;
import dunlin.broker.listen.ListenerMXBean;
import dunlin.cluster.ClusterMXBean;
import dunlin.runtime.LogText;
import dunlin.runtime.metrics.NodeBeans;
import dunlin.runtime.metrics.SettingsMXBean;
import dunlin.store.raft.RangeMXBean;
import io.micrometer.core.instrument.MeterRegistry;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Examines a node by its files, its settings, its meters and its other MXBeans. It reads, and changes nothing: the disk is not written to. */
public final class Doctor implements DoctorMXBean {
  /*
   * Owner: any thread that may read files; the housekeeping thread calls look().
   * Bounds: some thirty findings, and one for each listener and certificate. RecentCounts keeps an hour of some counters.
   * Failure: what cannot be read is wrong when it is of the node, and unknown when it is of the operating system. What the node does not have, such as a
   * cluster, is left out. A check that fails itself is unknown and in the log, and the others are there.
   */
  /** How often {@link #look} is to be called. */
  public static final int LOOK_SECONDS = RecentCounts.LOOK_SECONDS;

  private static final Logger LOG = LoggerFactory.getLogger(Doctor.class);
  private static final Pattern OF_LISTENER = Pattern.compile("dunlin\\.listeners\\.(?<name>[^.]+)\\.(?<key>port|backlog|connections-max)");
  private static final Pattern CERTIFICATES =
      Pattern.compile("dunlin\\.(cluster\\.tls\\.(certificate|ca)|admin\\.tls\\.certificate|listeners\\.[^.]+\\.tls\\.(certificate|client-ca))");
  private static final List<String> PORTS =
      List.of("dunlin.admin.port", "dunlin.admin.tls.port", "dunlin.cluster.port", "dunlin.cluster.service-port", "dunlin.health.port");
  private static final Pattern NUMBER = Pattern.compile("[0-9]{1,9}");

  private final NodeBeans beans;
  private final NodeMeters meters;
  private final MeterChecks metered;
  private final Supplier<Optional<String>> unready;
  private final Path data;
  private final long diskFreeMin;
  private final HostChecks host;
  private final KernelChecks kernel;
  private final InstantSource clock;

  /**
   * @param diskFreeMin bytes of the disk below which the node stores nothing new; 0 for the default
   * @param unready why no clients should be sent to the node
   */
  public Doctor(NodeBeans beans, MeterRegistry meters, Path data, long diskFreeMin, Supplier<Optional<String>> unready) {
    this(beans, meters, data, diskFreeMin, unready, new HostFiles(Path.of("/")), InstantSource.system());
  }

  Doctor(NodeBeans beans, MeterRegistry meters, Path data, long diskFreeMin, Supplier<Optional<String>> unready, HostFiles host, InstantSource clock) {
    this.beans = beans;
    this.meters = new NodeMeters(meters);
    this.metered = new MeterChecks(this.meters);
    this.data = data;
    this.diskFreeMin = diskFreeMin;
    this.unready = unready;
    this.host = new HostChecks(host);
    this.kernel = new KernelChecks(host);
    this.clock = clock;
  }

  /** Notes how far counters are, so that later findings are about the last hour. */
  public void look() {
    metered.look();
  }

  @Override
  public List<Finding> examine() {
    Map<String, String> settings = beans.find(SettingsMXBean.class).map(SettingsMXBean::getEffective).orElseGet(Map::of);
    List<Finding> findings = new ArrayList<>();
    look("ready", findings, all -> all.add(readiness()));
    look("listeners", findings, this::listeners);
    look("certificates", findings, all -> all.addAll(metered.certificates(clock.instant())));
    look("files", findings, all -> files(settings, all));
    look("disk", findings, all -> all.add(NodeChecks.disk(data, diskFreeMin)));
    look("file-system", findings, all -> all.add(NodeChecks.fileSystem(data)));
    look("free-files", findings, all -> all.add(NodeChecks.freeFiles(data)));
    look("fsync", findings, all -> all.add(NodeChecks.fsync(settings.getOrDefault("dunlin.store.fsync", "true").equals("true"))));
    look("clock", findings, all -> NodeChecks.clock(data).ifPresent(all::add));
    look("replicas", findings, this::replicas);
    look("cluster", findings, this::cluster);
    look("java", findings, all -> all.add(RunningJava.ofThisProcess().java()));
    look("collector", findings, all -> all.add(RunningJava.ofThisProcess().collector()));
    look("open-files", findings, all -> all.add(host.openFiles(connectionsWanted(settings))));
    look("memory", findings, all -> all.add(host.memory(RunningJava.ofThisProcess().heapMax())));
    look("memory-used", findings, all -> all.add(host.memoryUsed()));
    look("swap", findings, all -> all.add(host.swap()));
    look("budgets", findings, this::budgets);
    look("somaxconn", findings, all -> all.add(kernel.somaxconn(backlogMax(settings))));
    look("port-range", findings, all -> all.add(kernel.portRange(ports(settings))));
    look("tcp-memory", findings, all -> all.add(kernel.tcpMemory()));
    look("failures", findings, all -> all.add(metered.failures()));
    look("refusals", findings, all -> all.add(metered.refusals()));
    return findings;
  }

  /**
   * Adds what a check finds, and that it is unknown when it fails.
   *
   * @param check its name, or that of several, for this case
   */
  private static void look(String check, List<Finding> findings, Consumer<List<Finding>> finds) {
    try {
      finds.accept(findings);
    } catch (RuntimeException failure) {
      LOG.warn("The doctor's check {} has failed", check, failure);
      String reason = "The check has failed, and the log says where: %s.".formatted(LogText.escaped(String.valueOf(failure)));
      findings.add(new Finding(check, UNKNOWN, reason, "Look at it on the machine itself, and report the failure with the lines of the log."));
    }
  }

  private void budgets(List<Finding> findings) {
    RunningJava java = RunningJava.ofThisProcess();
    metered.budgets(java.heapMax(), java.directMax()).ifPresent(findings::add);
  }

  private static long backlogMax(Map<String, String> settings) {
    return ofListeners(settings, "backlog").values().stream().mapToLong(Integer::longValue).max().orElse(0);
  }

  private Finding readiness() {
    return unready
        .get()
        .map(reason -> Finding.wrong("ready", "The node is not ready for clients: %s.".formatted(reason), "Wait until it has started, or stop its drain; its log says more."))
        .orElseGet(() -> Finding.ok("ready", "The node is ready for clients."));
  }

  private void listeners(List<Finding> findings) {
    beans.all(ListenerMXBean.class, "name").forEach(
        (name, listener) -> {
          String check = "listener " + name;
          if (listener.isAccepting()) findings.add(Finding.ok(check, "It accepts connections at %s, and has %d.".formatted(listener.getAddress(), listener.getConnections())));
          else findings.add(Finding.warning(check, "It accepts no connections at %s.".formatted(listener.getAddress()), "Open it again by bin/dunlinctl listeners open %s.".formatted(name)));
        });
  }

  /** Files that are not as they should be; what is in use is found by the meters. */
  private void files(Map<String, String> settings, List<Finding> findings) {
    Instant now = clock.instant();
    new TreeMap<>(settings).forEach(
        (key, file) -> {
          if (file.isEmpty() || !CERTIFICATES.matcher(key).matches()) return;
          Finding finding = NodeChecks.certificate(key, Path.of(file), now);
          if (!finding.verdict().equals(OK)) findings.add(finding);
        });
  }

  private void replicas(List<Finding> findings) {
    List<Replica> replicas =
        beans.all(RangeMXBean.class, "range").entrySet().stream()
            .map(each -> new Replica(each.getKey(), each.getValue().getRole(), each.getValue().getLeader(), each.getValue().getCommitMillisMax()))
            .toList();
    if (!replicas.isEmpty()) {
      findings.add(RangeChecks.replicas(replicas));
      findings.add(RangeChecks.commits(replicas));
    }
  }

  private void cluster(List<Finding> findings) {
    beans.find(ClusterMXBean.class).ifPresent(
        cluster -> {
          findings.add(RangeChecks.membership(cluster.isConnected(), cluster.getUnreachedNodes()));
          findings.add(RangeChecks.roles(cluster.getMissingRoles()));
          long missing = meters.gauges("dunlin.cluster.replicas.missing", "").values().stream().mapToLong(Double::longValue).sum();
          findings.add(RangeChecks.ranges(cluster.getRanges(), missing));
          findings.add(RangeChecks.operations(cluster.getOperations()));
        });
  }

  /** A listener without such a setting takes as many connections as there are file descriptors. */
  private long connectionsWanted(Map<String, String> settings) {
    Map<String, String> sources = beans.find(SettingsMXBean.class).map(SettingsMXBean::getSources).orElseGet(Map::of);
    return ofListeners(settings, "connections-max").entrySet().stream()
        .filter(each -> !sources.getOrDefault("dunlin.listeners.%s.connections-max".formatted(each.getKey()), "default").equals("default"))
        .mapToLong(Map.Entry::getValue)
        .sum();
  }

  /** The ports that the settings name, by listener or setting. */
  private static SortedMap<String, Integer> ports(Map<String, String> settings) {
    SortedMap<String, Integer> ports = ofListeners(settings, "port");
    for (String key : PORTS) {
      String value = settings.getOrDefault(key, "");
      if (NUMBER.matcher(value).matches()) ports.put(key, Integer.valueOf(value));
    }
    return ports;
  }

  /** The numbers that a setting has for each listener. */
  private static SortedMap<String, Integer> ofListeners(Map<String, String> settings, String key) {
    SortedMap<String, Integer> numbers = new TreeMap<>();
    settings.forEach(
        (setting, value) -> {
          Matcher matcher = OF_LISTENER.matcher(setting);
          if (matcher.matches() && matcher.group("key").equals(key) && NUMBER.matcher(value).matches()) numbers.put(matcher.group("name"), Integer.valueOf(value));
        });
    return numbers;
  }
}
