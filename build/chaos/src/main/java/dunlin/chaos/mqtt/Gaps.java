package dunlin.chaos.mqtt;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAccumulator;

/** The longest time that any client had to wait for each kind of request, over all its attempts. */
final class Gaps {
  /*
   * Owner: any thread.
   */
  enum Request {
    /** From a PUBLISH of QoS 1 until the next acknowledgement with success. */
    PUBLISH,
    /** From the first CONNECT until a CONNACK with success. */
    CONNECT,
    /** From the first SUBSCRIBE until a SUBACK that grants it. */
    SUBSCRIBE
  }

  private final Map<Request, LongAccumulator> longest = new EnumMap<>(Request.class);

  Gaps() {
    for (var each : Request.values()) longest.put(each, new LongAccumulator(Math::max, 0));
  }

  private LongAccumulator of(Request request) {
    var found = longest.get(request);
    if (found == null) throw new IllegalArgumentException(String.valueOf(request));
    return found;
  }

  /** One client has waited until now; 0 for a client that has not begun to wait. */
  void waited(Request request, long sinceNanos) {
    if (sinceNanos != 0) of(request).accumulate(System.nanoTime() - sinceNanos);
  }

  long millis(Request request) {
    return of(request).get() / 1_000_000;
  }

  @Override
  public String toString() {
    return "%,d, %,d and %,d".formatted(millis(Request.PUBLISH), millis(Request.CONNECT), millis(Request.SUBSCRIBE));
  }
}
