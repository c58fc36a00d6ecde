package dunlin.store.raft;

import dunlin.store.Replica;
import dunlin.store.StoreException;
import dunlin.store.disk.DataDirectory;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/** One replica as an MXBean. */
final class RangeBean implements RangeMXBean {
  private static final Duration DEADLINE = Duration.ofSeconds(30);

  private final Replica<?, ?> replica;
  private final RangeMeters meters;
  private final LongSupplier oldestNanos;

  /** @param oldestNanos how long its oldest command has waited */
  RangeBean(Replica<?, ?> replica, RangeMeters meters, LongSupplier oldestNanos) {
    this.replica = replica;
    this.meters = meters;
    this.oldestNanos = oldestNanos;
  }

  @Override
  public String getRole() {
    return replica.status().role().name().toLowerCase(Locale.ROOT);
  }

  @Override
  public String getLeader() {
    return replica.leader().map(UUID::toString).orElse("");
  }

  @Override
  public long getTerm() {
    return replica.status().term();
  }

  @Override
  public long getCommittedIndex() {
    return replica.status().committed();
  }

  @Override
  public long getAppliedIndex() {
    return replica.status().applied();
  }

  @Override
  public long getApplyLag() {
    return replica.status().applyLag();
  }

  @Override
  public Map<String, Long> getPeerLags() {
    var lags = new TreeMap<String, Long>();
    for (var peer : replica.status().peers()) lags.put(peer.member().node().toString(), peer.lag());
    return lags;
  }

  @Override
  public long getLogBytes() {
    return replica.status().logBytes();
  }

  @Override
  public long getOldestMillis() {
    return TimeUnit.NANOSECONDS.toMillis(oldestNanos.getAsLong());
  }

  @Override
  public int getQueued() {
    return replica.status().queued();
  }

  @Override
  public double getCommitMillis() {
    return meters.commitMillis();
  }

  @Override
  public double getCommitMillisMax() {
    return meters.commitMillisMax();
  }

  @Override
  public void transferLeadership(String node) {
    change(node, id -> replica.transferLeadership(id, DEADLINE));
  }

  @Override
  public void removePeer(String node) {
    change(node, id -> replica.remove(id, DEADLINE));
  }

  private static void change(String node, Consumer<UUID> change) {
    UUID id = DataDirectory.uuid(node);
    if (id == null) throw new IllegalArgumentException("'" + node + "' is not a node's id");
    try {
      change.accept(id);
    } catch (StoreException e) {
      throw new IllegalStateException(e.getMessage()); // without the cause, whose class a JMX client does not have
    }
  }
}
