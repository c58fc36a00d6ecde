package dunlin.broker.access;

import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The policy of one session, which follows the rules when they change. */
public final class Grant {
  /*
   * Owner: the event loop of the session's connection; the rules are replaced as a whole by another thread.
   */
  private final @Nullable Supplier<RuleSet> rules;
  private final @Nullable Subject subject;
  private @Nullable RuleSet applied;
  private Policy policy;

  private Grant(@Nullable Supplier<RuleSet> rules, @Nullable Subject subject, @Nullable RuleSet applied, Policy policy) {
    this.rules = rules;
    this.subject = subject;
    this.applied = applied;
    this.policy = policy;
  }

  /** A policy that lasts as long as the session is connected. */
  public static Grant of(Policy policy) {
    return new Grant(null, null, null, policy);
  }

  /** The policy of a client by rules that may change. */
  public static Grant following(Supplier<RuleSet> rules, Subject subject) {
    RuleSet now = rules.get();
    return new Grant(rules, subject, now, now.policyOf(subject));
  }

  /** The policy that is in force now; the same object as before unless the rules have changed. */
  public Policy policy() {
    if (rules == null || subject == null) return policy;
    RuleSet now = rules.get();
    if (now != applied) {
      applied = now;
      policy = now.policyOf(subject);
    }
    return policy;
  }
}
