package dunlin.admin.events;

import dunlin.admin.api.ApiAnswers.SeenMessage;
import dunlin.broker.MessageWatch;
import dunlin.model.Publication;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;

/** The messages of a topic filter as they are published, as many as a person can look at. */
public final class MessageEvents implements EventSource {
  /*
   * Owner: the thread of its stream.
   * Bounds: MESSAGES_MAX messages for each look, of BYTES_MAX bytes together unless it is one; the watch skips what comes beyond that until the next look, and
   * counts it. PAYLOAD_MAX bytes of a payload.
   */
  private static final Duration PAUSE = Duration.ofMillis(250);
  public static final int MESSAGES_MAX = 25;
  public static final long BYTES_MAX = 1_048_576;
  private static final int PAYLOAD_MAX = 4_096;

  private final MessageWatch watch;
  private long skipped;

  public MessageEvents(MessageWatch watch) {
    this.watch = watch;
  }

  @Override
  public Duration pause() {
    return PAUSE;
  }

  @Override
  public List<SeenMessage> look() {
    MessageWatch.Look look = watch.look();
    List<SeenMessage> seen = new ArrayList<>();
    for (Publication message : look.messages()) {
      seen.add(seen(message, skipped));
      skipped = 0;
    }
    skipped += look.skipped();
    return seen;
  }

  private static SeenMessage seen(Publication message, long skippedBefore) {
    int from = message.payloadOffset();
    byte[] beginning = Arrays.copyOfRange(message.body(), from, from + Math.min(PAYLOAD_MAX, message.payloadLength()));
    return new SeenMessage(
        skippedBefore, message.acceptedAtMillis(), message.topic(), message.publisher().clientId(), message.qos().code(), message.retain(),
        message.payloadLength(), Base64.getEncoder().encodeToString(beginning));
  }

  @Override
  public void close() {
    watch.close();
  }
}
