package dunlin.admin.ledger;

import dunlin.runtime.DropReason;
import dunlin.runtime.HopLedger;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Supplier;

/** Reads the accounts of the frontend's hops, and what all other hops of the node have dropped. */
public final class Ledger implements LedgerMXBean {
  /*
   * Owner: any thread that may block; keeps nothing.
   * Bounds: a row for each hop, of which there are six.
   * Failure: event loops that do not answer are an IllegalStateException. A hop that the node does not have now has no row, such as that of inboxes which
   * another node leads.
   */
  private static final String INBOX = "inbox";

  private final String node;
  private final Supplier<List<HopLedger.Reading>> accounts;
  private final MeterRegistry registry;

  /** @param accounts of the frontend's hops, each of which balances */
  public Ledger(String node, Supplier<List<HopLedger.Reading>> accounts, MeterRegistry registry) {
    this.node = node;
    this.accounts = accounts;
    this.registry = registry;
  }

  @Override
  public List<HopRow> getHops() {
    SortedMap<String, HopRow> rows = new TreeMap<>();
    dropsOfOthers().forEach((hop, reasons) -> rows.put(hop, HopRow.ofDrops(node, hop, reasons)));
    for (HopLedger.Reading each : accounts.get()) rows.put(each.hop(), row(each));
    return List.copyOf(rows.values());
  }

  private HopRow row(HopLedger.Reading account) {
    Map<String, Long> reasons = new HashMap<>();
    for (Map.Entry<DropReason, Long> each : account.dropped().entrySet()) reasons.put(each.getKey().tag(), each.getValue());
    return new HopRow(node, account.hop(), account.received(), account.delivered(), account.returned(), HopRow.sum(reasons), account.inFlight(), reasons);
  }

  /** Inboxes have reasons of their own, which their traces have too. */
  private Map<String, Map<String, Long>> dropsOfOthers() {
    Map<String, Map<String, Long>> hops = new HashMap<>();
    for (FunctionCounter each : registry.find("dunlin.messages.dropped").functionCounters()) {
      String hop = Objects.requireNonNullElse(each.getId().getTag("hop"), "");
      if (!hop.equals(INBOX)) add(hops, hop, each.getId(), each.count());
    }
    for (Counter each : registry.find("dunlin.inbox.dropped").counters()) add(hops, INBOX, each.getId(), each.count());
    return hops;
  }

  private static void add(Map<String, Map<String, Long>> hops, String hop, Meter.Id id, double count) {
    Map<String, Long> reasons = hops.computeIfAbsent(hop, _ -> new HashMap<>());
    if (count > 0) reasons.merge(Objects.requireNonNullElse(id.getTag("reason"), ""), (long) count, Long::sum);
  }
}
