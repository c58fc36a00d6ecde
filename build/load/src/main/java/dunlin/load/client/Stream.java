package dunlin.load.client;

import dunlin.load.plan.Publishing;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** The messages of one client to one topic, numbered from 0 without gaps. */
public final class Stream {
  /*
   * Owner: the client's event loop. Other threads read it after the run, and add deliveries of a closed loop.
   * Bounds: EXEMPT_MAX exempt messages. Full: further ones count as lost when they do not arrive.
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

  private @Nullable Flow flow; // the current flow
  long due; // the number of messages that are due
  long handled; // the number of due messages that were sent or dropped
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

  /** Sets the current flow, or none. */
  void follow(@Nullable Flow next) {
    flow = next;
    due = 0;
    handled = 0;
  }

  /** Sends the due messages as far as possible. */
  void pump() {
    if (flow != null) flow.pump(this);
  }

  long next() {
    return sequence++;
  }

  /** The number of sent messages. */
  long sent() {
    return sequence;
  }

  /** Records that a message was refused or never acknowledged. */
  void exempt(long number) {
    if (exempted == EXEMPT_MAX) return;
    if (exempted == exempt.length) exempt = Arrays.copyOf(exempt, Math.max(8, 2 * exempted));
    exempt[exempted++] = number;
  }

  /** Records the start of a step. */
  void mark(int step) {
    marks = Arrays.copyOf(marks, marks.length + 2);
    marks[marks.length - 2] = step;
    marks[marks.length - 1] = sequence;
  }

  /** Everything that it has sent; called after the run. */
  Sent sum() {
    return new Sent(id, sequence, marks.clone(), Arrays.copyOf(exempt, exempted));
  }
}
