package dunlin.admin.doctor;

import dunlin.broker.listen.ListenerMXBean;
import dunlin.runtime.metrics.NodeBeans;
import dunlin.runtime.metrics.SettingsMXBean;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Examines a node by its files, its settings and its other MXBeans. */
public final class Doctor implements DoctorMXBean {
  /*
   * Owner: any thread that may read files.
   * Bounds: a few findings, and one for each listener and certificate.
   * Failure: what cannot be read is wrong, when it is of the node, and is left out when it is of the operating system.
   */
  private static final Pattern OF_LISTENER = Pattern.compile("dunlin\\.listeners\\.(?<name>[^.]+)\\.(?<key>port|backlog|connections-max)");

  private final HostChecks host;
  private final NodeBeans beans;
  private final Supplier<Optional<String>> unready;
  private final Path data;
  private final long diskFreeMin;
  private final InstantSource clock;

  /**
   * @param diskFreeMin bytes of the disk below which the node stores nothing new; 0 for the default
   * @param unready why no clients should be sent to the node
   */
  public Doctor(NodeBeans beans, Path data, long diskFreeMin, Supplier<Optional<String>> unready) {
    this(beans, data, diskFreeMin, unready, new HostFiles(Path.of("/")), InstantSource.system());
  }

  Doctor(NodeBeans beans, Path data, long diskFreeMin, Supplier<Optional<String>> unready, HostFiles host, InstantSource clock) {
    this.beans = beans;
    this.data = data;
    this.diskFreeMin = diskFreeMin;
    this.unready = unready;
    this.host = new HostChecks(host);
    this.clock = clock;
  }

  @Override
  public List<Finding> examine() {
    Map<String, String> settings = beans.find(SettingsMXBean.class).map(SettingsMXBean::getEffective).orElseGet(Map::of);
    Map<String, String> sources = beans.find(SettingsMXBean.class).map(SettingsMXBean::getSources).orElseGet(Map::of);
    List<Finding> findings = new ArrayList<>();
    findings.add(readiness());
    listeners(findings);
    certificates(settings, findings);
    findings.add(NodeChecks.disk(data, diskFreeMin));
    findings.add(NodeChecks.fsync(settings.getOrDefault("dunlin.store.fsync", "true").equals("true")));
    NodeChecks.clock(data).ifPresent(findings::add);
    // A listener without such a setting takes as many connections as there are file descriptors.
    long wanted =
        ofListeners(settings, "connections-max").entrySet().stream()
            .filter(each -> !sources.getOrDefault("dunlin.listeners.%s.connections-max".formatted(each.getKey()), "default").equals("default"))
            .mapToLong(Map.Entry::getValue)
            .sum();
    host.openFiles(wanted).ifPresent(findings::add);
    host.memory(Runtime.getRuntime().maxMemory()).ifPresent(findings::add);
    host.swap().ifPresent(findings::add);
    host.hugePages().ifPresent(findings::add);
    host.somaxconn(ofListeners(settings, "backlog").values().stream().mapToLong(Integer::longValue).max().orElse(0)).ifPresent(findings::add);
    host.portRange(ofListeners(settings, "port")).ifPresent(findings::add);
    return findings;
  }

  private Finding readiness() {
    return unready
        .get()
        .map(reason -> Finding.wrong("ready", "The node is not ready for clients: %s.".formatted(reason), "Wait until it has started, or stop its drain; its log says more."))
        .orElseGet(() -> Finding.ok("ready", "The node is ready for clients."));
  }

  private void listeners(List<Finding> findings) {
    Instant now = clock.instant();
    beans.all(ListenerMXBean.class, "name").forEach(
        (name, listener) -> {
          String check = "listener " + name;
          if (listener.isAccepting()) findings.add(Finding.ok(check, "It accepts connections at %s, and has %d.".formatted(listener.getAddress(), listener.getConnections())));
          else findings.add(Finding.warning(check, "It accepts no connections at %s.".formatted(listener.getAddress()), "Open it again by bin/dunlinctl listeners open %s.".formatted(name)));
          if (!listener.getCertificateExpiry().isEmpty()) {
            findings.add(NodeChecks.expiry("certificate " + name, Instant.parse(listener.getCertificateExpiry()), now, "of this listener"));
          }
        });
  }

  private void certificates(Map<String, String> settings, List<Finding> findings) {
    for (String key : List.of("dunlin.cluster.tls.certificate", "dunlin.cluster.tls.ca", "dunlin.admin.tls.certificate")) {
      String file = settings.getOrDefault(key, "");
      if (!file.isEmpty()) findings.add(NodeChecks.certificate(key, Path.of(file), clock.instant()));
    }
  }

  /** The numbers that a setting has for each listener. */
  private static SortedMap<String, Integer> ofListeners(Map<String, String> settings, String key) {
    SortedMap<String, Integer> numbers = new TreeMap<>();
    settings.forEach(
        (setting, value) -> {
          Matcher matcher = OF_LISTENER.matcher(setting);
          if (matcher.matches() && matcher.group("key").equals(key) && value.matches("[0-9]{1,9}")) numbers.put(matcher.group("name"), Integer.valueOf(value));
        });
    return numbers;
  }
}
