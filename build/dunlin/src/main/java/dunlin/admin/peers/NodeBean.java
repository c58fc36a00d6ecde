package dunlin.admin.peers;

import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** Answers as the probes do. */
public final class NodeBean implements NodeMXBean {
  /*
   * Owner: any thread. It is made when the admin port is opened, early in a start.
   */
  private final String id;
  private final String version;
  private final Supplier<Optional<String>> unhealthy;
  private final Supplier<Optional<String>> unready;
  private final long begunNanos = System.nanoTime();

  public NodeBean(String id, String version, Supplier<Optional<String>> unhealthy, Supplier<Optional<String>> unready) {
    this.id = id;
    this.version = version;
    this.unhealthy = unhealthy;
    this.unready = unready;
  }

  @Override
  public String getId() {
    return id;
  }

  @Override
  public String getVersion() {
    return version;
  }

  @Override
  public long getUptimeSeconds() {
    return TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begunNanos);
  }

  @Override
  public long getTimeMillis() {
    return System.currentTimeMillis();
  }

  @Override
  public String getUnhealthy() {
    return unhealthy.get().orElse("");
  }

  @Override
  public String getUnready() {
    return unready.get().orElse("");
  }

  @Override
  public boolean isReadyForSessionImports() {
    return true;
  }

  @Override
  public boolean isReadyForInboxLimits() {
    return true;
  }

  @Override
  public boolean isReadyForRecordedWills() {
    return true;
  }
}
