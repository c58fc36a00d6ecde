package dunlin.admin.busy;

import dunlin.admin.doctor.NodeMeters;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;

/** Reads the queues' meters. */
public final class Queues implements QueuesMXBean {
  /*
   * Owner: any thread; keeps nothing.
   * Bounds: a few rows, and one for each replica.
   * Failure: a queue that the node does not have now, such as one of a tier that another node leads, has no row.
   */
  private static final double MILLIS_OF_SECOND = 1_000;

  /**
   * The meters of a queue.
   *
   * @param name what waits
   * @param tag that distinguishes several of them; empty for none
   * @param bytes empty when there is no such meter
   * @param oldest in seconds; empty when there is no such meter
   */
  record Meters(String name, String tag, String waiting, String bytes, String oldest) {}

  static final List<Meters> ALL =
      List.of(
          new Meters("clients to authenticate", "", "dunlin.auth.waiting", "", ""),
          new Meters("commands of sessions", "kind", "dunlin.inbox.waiting", "", "dunlin.inbox.waiting.oldest"),
          new Meters("commands of the range", "range", "dunlin.store.queued", "dunlin.store.queued.bytes", "dunlin.store.oldest"),
          new Meters("connections held back by lanes", "", "dunlin.lane.held-connections", "", ""),
          new Meters("copies for other nodes", "", "dunlin.dist.deliver.waiting", "dunlin.dist.deliver.size", ""),
          new Meters("inboxes to read", "", "dunlin.inbox.fetches-waiting", "", ""),
          new Meters("messages for groups", "", "dunlin.group.waiting", "", "dunlin.group.oldest-wait"),
          new Meters("messages for many subscribers", "", "dunlin.fanout.waiting", "", ""),
          new Meters("messages from inboxes", "", "dunlin.push.waiting", "dunlin.push.waiting.bytes", "dunlin.push.waiting.oldest"),
          new Meters("messages in lanes", "", "dunlin.lane.messages", "dunlin.lane.bytes", ""),
          new Meters("retained messages to store", "", "dunlin.retain.waiting", "", "dunlin.retain.waiting.oldest"),
          new Meters("subscriptions that read retained messages", "", "dunlin.subscriptions.retained-reads", "", ""),
          new Meters("tasks of event loops", "", "dunlin.loop.arrivals", "", ""));

  private final NodeMeters meters;

  public Queues(MeterRegistry meters) {
    this.meters = new NodeMeters(meters);
  }

  @Override
  public List<QueueRow> getQueues() {
    List<QueueRow> rows = new ArrayList<>();
    for (Meters each : ALL) {
      SortedMap<String, Double> bytes = meters.gauges(each.bytes(), each.tag());
      SortedMap<String, Double> oldest = meters.gauges(each.oldest(), each.tag());
      meters
          .gauges(each.waiting(), each.tag())
          .forEach(
              (of, waiting) -> {
                String name = of.isEmpty() ? each.name() : each.name() + ' ' + of;
                rows.add(new QueueRow(name, waiting.longValue(), number(bytes, of, 1), number(oldest, of, MILLIS_OF_SECOND)));
              });
    }
    rows.sort(Comparator.comparing(QueueRow::name));
    return rows;
  }

  private static long number(Map<String, Double> values, String of, double factor) {
    Double value = values.get(of);
    return value == null ? -1 : Math.round(value * factor);
  }
}
