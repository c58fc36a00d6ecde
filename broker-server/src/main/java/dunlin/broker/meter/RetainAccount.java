package dunlin.broker.meter;

import dunlin.model.ReasonCode;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** What has become of the messages that this frontend wanted stored as the retained messages of their topics, or these removed. */
public final class RetainAccount {
  /*
   * Owner: any thread, as answers come on any. Each of these messages is a command for a log, beside which an addition costs nothing.
   * Bounds: a count for each reason code.
   */
  private final LongAdder received = new LongAdder();
  private final LongAdder stored = new LongAdder();
  private final LongAdder waiting = new LongAdder();
  private final Map<ReasonCode, LongAdder> refused = new ConcurrentHashMap<>();

  /**
   * The counts at about one moment: {@code received = stored + refused + waiting} when none is on its way.
   *
   * @param refused by reason code, as traces spell it
   */
  public record Reading(long received, long stored, Map<String, Long> refused, long waiting) {
    public Reading {
      refused = Map.copyOf(refused);
    }
  }

  /** A message is handed to the retain tier. */
  public void asked() {
    received.increment();
    waiting.increment();
  }

  public void answered(ReasonCode reason) {
    waiting.decrement();
    if (reason.isError()) refused.computeIfAbsent(reason, _ -> new LongAdder()).increment();
    else stored.increment();
  }

  public Reading reading() {
    Map<String, Long> reasons = new TreeMap<>();
    refused.forEach((reason, count) -> reasons.put(reason.label(), count.sum()));
    return new Reading(received.sum(), stored.sum(), reasons, waiting.sum());
  }
}
