package dunlin.inbox;

/** What happens to a message that arrives at a full inbox. Every message that is lost this way is counted. */
public enum OverflowPolicy {
  /** Makes room by dropping the oldest messages; suits telemetry. */
  DROP_OLDEST(1),
  /** Drops the arriving message. */
  DROP_NEWEST(2),
  /** Stores the message in no inbox and answers its publisher with 0x97 (Quota exceeded); suits queues. */
  REJECT(3);

  private final int code;

  OverflowPolicy(int code) {
    this.code = code;
  }

  /** The code of this policy in the log. */
  int code() {
    return code;
  }

  public static OverflowPolicy of(int code) {
    for (OverflowPolicy policy : values()) if (policy.code == code) return policy;
    throw new IllegalStateException("overflow policy " + code);
  }
}
