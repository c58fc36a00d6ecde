package dunlin.admin.ledger;

import dunlin.broker.meter.RetainAccount;
import dunlin.dist.RoutesMXBean;
import dunlin.dist.RoutesMXBean.RouteAccount;
import dunlin.runtime.DropReason;
import dunlin.runtime.HopLedger;
import dunlin.runtime.metrics.NodeBeans;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Reads the accounts of the frontend's hops, of the routes and of inboxes, and what all other hops of the node have dropped. */
public final class Ledger implements LedgerMXBean {
  /*
   * Each hop counts what it does in its own way: event loops and lanes for themselves, the session tier by the effects of commands. Nothing is counted for the ledger
   * alone on the way of a message.
   *
   * Owner: any thread that may block; keeps nothing.
   * Bounds: a row for each hop, of which there are nine.
   * Failure: event loops and lanes that do not answer are an IllegalStateException. A hop that the node does not have now has no row, such as that of inboxes which
   * another node leads.
   */
  private static final String INBOX = "inbox";
  private static final String REASON = "reason";
  private static final String LOST = "lost";

  /** Messages that an inbox is not offered. */
  private static final List<String> PASSED_BY = List.of("offline", "repeated");

  private final String node;
  private final Supplier<List<HopLedger.Reading>> accounts;
  private final Supplier<RetainAccount.Reading> retained;
  private final NodeBeans beans;
  private final MeterRegistry registry;

  /**
   * @param accounts of the frontend's hops, each of which balances
   * @param retained what has become of the messages that the frontend wanted retained
   * @param beans has that of the routes, if this node leads them
   */
  public Ledger(String node, Supplier<List<HopLedger.Reading>> accounts, Supplier<RetainAccount.Reading> retained, NodeBeans beans, MeterRegistry registry) {
    this.node = node;
    this.accounts = accounts;
    this.retained = retained;
    this.beans = beans;
    this.registry = registry;
  }

  @Override
  public List<HopRow> getHops() {
    SortedMap<String, HopRow> rows = new TreeMap<>();
    dropsOfOthers().forEach((hop, reasons) -> rows.put(hop, other(hop, reasons)));
    List<HopLedger.Reading> own = accounts.get();
    for (HopLedger.Reading each : own) rows.put(each.hop(), row(each));
    if (!own.isEmpty()) rows.put("retained", row(retained.get()));
    beans.find(RoutesMXBean.class).ifPresent(bean -> rows.put("routes", row(bean.getAccount())));
    if (registry.find("dunlin.inbox.queued").gauge() != null) {
      rows.put(INBOX, inbox());
      rows.put("will", wills());
    }
    return List.copyOf(rows.values());
  }

  /** A hop that counts by meters: all of its messages, or only what it drops. */
  private HopRow other(String hop, Map<String, Long> reasons) {
    FunctionCounter received = counter("dunlin.messages.received", hop);
    FunctionCounter delivered = counter("dunlin.messages.delivered", hop);
    FunctionCounter returned = counter("dunlin.messages.returned", hop);
    Gauge inFlight = registry.find("dunlin.messages.in-flight").tag("hop", hop).gauge();
    if (received == null || delivered == null || returned == null || inFlight == null) return HopRow.ofDrops(node, hop, reasons);
    long lost = reasons.getOrDefault(LOST, 0L); // by workers, in front of the links
    return new HopRow(
        node, hop, (long) received.count() + lost, (long) delivered.count(), 0, (long) returned.count(), HopRow.sum(reasons), (long) inFlight.value(), reasons);
  }

  private @Nullable FunctionCounter counter(String meter, String hop) {
    return registry.find(meter).tag("hop", hop).functionCounter();
  }

  private HopRow row(HopLedger.Reading account) {
    Map<String, Long> reasons = new HashMap<>();
    for (Map.Entry<DropReason, Long> each : account.dropped().entrySet()) reasons.put(each.getKey().tag(), each.getValue());
    return new HopRow(node, account.hop(), account.received(), account.delivered(), 0, account.returned(), HopRow.sum(reasons), account.inFlight(), reasons);
  }

  private HopRow row(RetainAccount.Reading account) {
    return new HopRow(node, "retained", account.received(), account.stored(), 0, 0, HopRow.sum(account.refused()), account.waiting(), account.refused());
  }

  private HopRow row(RouteAccount account) {
    return new HopRow(node, "routes", account.received(), account.forwarded(), account.unmatched(), account.returned(), 0, 0, Map.of());
  }

  /** Inboxes have reasons of their own, which their traces have too. What was there when this node began to serve them has come in, too. */
  private HopRow inbox() {
    Map<String, Long> reasons = byReason("dunlin.inbox.dropped");
    long passedBy = PASSED_BY.stream().mapToLong(reason -> reasons.getOrDefault(reason, 0L)).sum();
    return new HopRow(
        node, INBOX, count("dunlin.inbox.found") + count("dunlin.inbox.appended") + passedBy, count("dunlin.inbox.acknowledged"), 0, count("dunlin.inbox.left"),
        HopRow.sum(reasons), gauge("dunlin.inbox.queued") + gauge("dunlin.inbox.overtaken"), reasons);
  }

  private HopRow wills() {
    Map<String, Long> reasons = byReason("dunlin.inbox.wills-refused");
    return new HopRow(
        node, "will", count("dunlin.inbox.wills-due"), count("dunlin.inbox.wills-published"), 0, count("dunlin.inbox.wills-withdrawn"), HopRow.sum(reasons),
        gauge("dunlin.inbox.wills-publishing"), reasons);
  }

  private Map<String, Map<String, Long>> dropsOfOthers() {
    Map<String, Map<String, Long>> hops = new HashMap<>();
    for (FunctionCounter each : registry.find("dunlin.messages.dropped").functionCounters()) {
      String hop = Objects.requireNonNullElse(each.getId().getTag("hop"), "");
      if (!hop.equals(INBOX)) add(hops.computeIfAbsent(hop, _ -> new HashMap<>()), each.getId(), each.count());
    }
    FunctionCounter lost = registry.find("dunlin.dist.deliver.lost").functionCounter();
    if (lost != null && lost.count() > 0) hops.computeIfAbsent("delivery", _ -> new HashMap<>()).put(LOST, (long) lost.count());
    return hops;
  }

  private Map<String, Long> byReason(String meter) {
    Map<String, Long> reasons = new HashMap<>();
    for (Counter each : registry.find(meter).counters()) add(reasons, each.getId(), each.count());
    return reasons;
  }

  private static void add(Map<String, Long> reasons, Meter.Id id, double count) {
    if (count > 0) reasons.merge(Objects.requireNonNullElse(id.getTag(REASON), ""), (long) count, Long::sum);
  }

  private long count(String meter) {
    Counter counter = registry.find(meter).counter();
    return counter == null ? 0 : (long) counter.count();
  }

  private long gauge(String meter) {
    Gauge gauge = registry.find(meter).gauge();
    return gauge == null ? 0 : (long) gauge.value();
  }
}
