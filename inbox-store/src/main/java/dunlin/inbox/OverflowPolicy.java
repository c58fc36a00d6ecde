package dunlin.inbox;

/** What happens to a message that finds an inbox full; every message that is lost by it is counted. */
public enum OverflowPolicy {
  /** Makes room by dropping the oldest messages; suits telemetry. */
  DROP_OLDEST(1),
  /** Drops the message that came. */
  DROP_NEWEST(2),
  /** Stores the message nowhere and answers its publisher with 0x97, quota exceeded; suits queues. */
  REJECT(3);

  private final int code;

  OverflowPolicy(int code) {
    this.code = code;
  }

  /** The byte that stands for it in the log. */
  int code() {
    return code;
  }

  public static OverflowPolicy of(int code) {
    for (OverflowPolicy policy : values()) if (policy.code == code) return policy;
    throw new IllegalStateException("overflow policy " + code);
  }
}
