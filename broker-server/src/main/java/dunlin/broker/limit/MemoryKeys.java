package dunlin.broker.limit;

import dunlin.runtime.Setting;
import dunlin.runtime.Settings;
import java.util.ArrayList;
import java.util.List;

/** The settings that bound the memory that all clients of a node together can make it use. */
public final class MemoryKeys {
  private static final long KIB = 1_024;
  private static final long MIB = 1_024 * KIB;
  private static final long MOST = 1_024 * 1_024 * MIB;

  private static final Setting<Long> OUTGOING =
      Setting.bytes(
          "dunlin.memory.outgoing-max", 0, 0, MOST,
          "Maximum number of bytes of QoS 1 and 2 messages that wait for all connected clients or are in flight to them. When it is nearly"
              + " used up, the clients that hold most receive no more: messages to sessions that are not durable are dropped, those to durable sessions stay in"
              + " their inboxes. 0: a"
              + " quarter of the maximum heap.");
  private static final Setting<Long> SOCKETS =
      Setting.bytes(
          "dunlin.memory.sockets-max", 0, 0, MOST,
          "Maximum number of bytes that wait for the sockets of all clients. When it is nearly used up, QoS 0 messages to the clients with most"
              + " waiting bytes are dropped. 0: a quarter of the direct memory.");
  private static final Setting<Long> UNFINISHED =
      Setting.bytes(
          "dunlin.memory.unfinished-max", 0, 0, MOST,
          "Maximum number of bytes of incomplete packets, of all clients together. When it is nearly used up, clients with large incomplete packets are not"
              + " read from. When they have waited for 5 seconds, clients that do not complete their packets are disconnected with 0x97. At least 8 MiB. 0: a quarter of the"
              + " direct memory.");
  private static final Setting<Long> UNAUTHENTICATED =
      Setting.bytes(
          "dunlin.memory.unauthenticated-max", 0, 0, MOST,
          "Maximum number of bytes of incomplete packets, of all clients that are not authenticated yet. When it is used up, a"
              + " connection that sends more of its CONNECT is closed. At least 8 MiB. 0: a sixteenth of the direct memory.");
  private static final Setting<Long> SUBSCRIPTIONS =
      Setting.bytes(
          "dunlin.memory.subscriptions-max", 0, 0, MOST,
          "Maximum amount of memory that the subscriptions of all connected clients take: 512 bytes for each, and four times the length of its topic"
              + " filter. A route that is to be removed counts as a subscription until it is. When it is nearly used up, new subscriptions of the clients that have most are refused with"
              + " 0x97. 0: an eighth of the maximum heap.");
  private static final Setting<Long> REQUESTS =
      Setting.bytes(
          "dunlin.memory.requests-max", 0, 0, MOST,
          "Maximum amount of memory that the SUBSCRIBE and UNSUBSCRIBE packets of all clients take until they are answered: 256 bytes"
              + " for each topic filter, and twice its length. When it is nearly used up, a SUBSCRIBE of the clients that have most is answered with 0x97 for each"
              + " topic filter, and a client that has sent an UNSUBSCRIBE is not read from until that is answered. 0: a sixteenth of the maximum heap.");
  private static final Setting<Integer> LIVE =
      Setting.integer(
          "dunlin.memory.live-max", 70, 10, 100,
          "Maximum part of the heap, in percent, that may be live after a garbage collection of its old objects (of the old generation, with collectors that give it a part of its own)."
              + " As long as more is live, new durable sessions, subscriptions and retained topics are refused with 0x97, and dunlin.memory.outgoing-max is lowered to a quarter of itself, or to what waits at that time and a sixteenth of itself."
              + " 100: no limit.");
  static final Setting<Long> FILTERS =
      Setting.bytes(
          "dunlin.session.filter-bytes-max", 2 * MIB, KIB, 1_024 * MIB,
          "Maximum sum of the lengths of the topic filters of one session. Beyond it, a new subscription is refused with 0x97.");
  static final Setting<Long> IN_FLIGHT =
      Setting.bytes(
          "dunlin.session.in-flight-bytes-max", 16 * MIB, 16 * KIB, 1_024 * MIB,
          "Maximum number of bytes of unacknowledged QoS 1 and 2 messages that the broker sends to a client. One message may exceed it. Further"
              + " messages wait.");

  /** The settings of this class. */
  public static final List<Setting<?>> ALL = List.of(OUTGOING, SOCKETS, UNFINISHED, UNAUTHENTICATED, SUBSCRIPTIONS, REQUESTS, LIVE, IN_FLIGHT, FILTERS);

  private MemoryKeys() {}

  public static NodeBudget.Bounds read(Settings settings) {
    NodeBudget.Bounds usual = NodeBudget.Bounds.ofThisProcess();
    return new NodeBudget.Bounds(
        given(settings, OUTGOING, usual.outgoing()),
        given(settings, SOCKETS, usual.sockets()),
        given(settings, UNFINISHED, usual.unfinished()),
        given(settings, UNAUTHENTICATED, usual.unauthenticated()),
        given(settings, SUBSCRIPTIONS, usual.subscriptions()),
        given(settings, REQUESTS, usual.requests()),
        Math.toIntExact(settings.get(IN_FLIGHT)),
        Math.toIntExact(settings.get(FILTERS)));
  }

  /** The part of the heap that may be live, in percent. */
  public static int livePercent(Settings settings) {
    return settings.get(LIVE);
  }

  /** The problems of these settings, one sentence each. */
  public static List<String> problems(Settings settings) {
    List<String> problems = new ArrayList<>();
    for (Setting<Long> setting : List.of(UNFINISHED, UNAUTHENTICATED)) {
      long bytes = settings.get(setting);
      if (bytes != 0 && bytes < NodeBudget.Bounds.INPUT_MIN) problems.add(setting.key() + ": " + bytes + " bytes are too few, it must be at least 8MiB, or 0");
    }
    return problems;
  }

  private static long given(Settings settings, Setting<Long> setting, long usual) {
    long bytes = settings.get(setting);
    return bytes == 0 ? usual : bytes;
  }
}
