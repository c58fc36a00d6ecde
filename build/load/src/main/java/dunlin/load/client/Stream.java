package dunlin.load.client;

import dunlin.load.plan.Publishing;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** What one client publishes to one topic: numbers without a gap, from 0. */
public final class Stream {
  /*
   * Owner: the client's event loop. Others read after the run, and enter deliveries of a closed loop.
   * Bounds: EXEMPT_MAX messages that nobody promised to deliver; what comes on top counts as lost when it does not arrive.
   */
  private static final int EXEMPT_MAX = 100_000;

  private final int id;
  private final LoadClient client;
  private final Publishing publishing;
  private final byte[] topic;
  private final String topicText;
  private final int qos;
  final AtomicLong delivered = new AtomicLong(); // first deliveries, in a closed loop without acknowledgements

  private long sequence;
  private long[] exempt = {};
  private int exempted;
  private long[] marks = {}; // step, sequence at its start, step, ...

  private @Nullable Flow flow; // the one that is under way
  long due; // of its messages
  long handled; // of those that were due: sent or dropped
  long deliveredBefore;
  long progress;
  long progressNanos;
  int fanOut;

  Stream(int id, LoadClient client, Publishing publishing, String topic, int qos) {
    this.id = id;
    this.client = client;
    this.publishing = publishing;
    this.qos = qos;
    topicText = topic;
    this.topic = topic.getBytes(StandardCharsets.UTF_8);
  }

  int id() {
    return id;
  }

  LoadClient client() {
    return client;
  }

  int qos() {
    return qos;
  }

  String topic() {
    return topicText;
  }

  byte[] topicBytes() {
    return topic;
  }

  Publishing publishing() {
    return publishing;
  }

  /** Begins to follow a flow, or none. */
  void follow(@Nullable Flow next) {
    flow = next;
    due = 0;
    handled = 0;
  }

  /** Sends what is due and can be sent. */
  void pump() {
    if (flow != null) flow.pump(this);
  }

  long next() {
    return sequence++;
  }

  /** How many messages it has sent. */
  long sent() {
    return sequence;
  }

  /** Says that a message was refused, or never acknowledged. */
  void exempt(long number) {
    if (exempted == EXEMPT_MAX) return;
    if (exempted == exempt.length) exempt = Arrays.copyOf(exempt, Math.max(8, 2 * exempted));
    exempt[exempted++] = number;
  }

  /** Notes where a step begins. */
  void mark(int step) {
    marks = Arrays.copyOf(marks, marks.length + 2);
    marks[marks.length - 2] = step;
    marks[marks.length - 1] = sequence;
  }

  /** All that it has sent, for after the run. */
  Sent sum() {
    return new Sent(id, sequence, marks.clone(), Arrays.copyOf(exempt, exempted));
  }
}
