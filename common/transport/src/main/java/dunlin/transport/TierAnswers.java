package dunlin.transport;

import dunlin.model.ReasonCode;

/**
 * Answers that tiers give each other where MQTT has one reason code for several causes, so that a drop is counted by its cause. Their codes are such as PUBACK and
 * PUBREC do not allow; clients are sent {@link #forPublisher}.
 */
public final class TierAnswers {
  /** No member of a shared subscription took the message in time. */
  public static final ReasonCode NO_MEMBER = ReasonCode.MESSAGE_RATE_TOO_HIGH;

  /** The retained messages are as many or as large as they may be. */
  public static final ReasonCode RETAINED_FULL = ReasonCode.RETAIN_NOT_SUPPORTED;

  private TierAnswers() {}

  /** The reason code of MQTT for an answer of a tier; {@link ReasonCode#QUOTA_EXCEEDED} for both of the above. */
  public static ReasonCode forPublisher(ReasonCode answer) {
    return answer == NO_MEMBER || answer == RETAINED_FULL ? ReasonCode.QUOTA_EXCEEDED : answer;
  }
}
