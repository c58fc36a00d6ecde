package dunlin.broker.access;

import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The policy of one session, which follows the rules when they change. */
public final class Grant {
  /*
   * Owner: the event loop of the session's connection; the rules are replaced as a whole by another thread.
   */
  private final @Nullable Supplier<RuleSet> rules;
  private final @Nullable Subject subject;
  private final List<AccessRule> own;
  private @Nullable RuleSet applied;
  private Policy policy;

  private Grant(@Nullable Supplier<RuleSet> rules, @Nullable Subject subject, List<AccessRule> own, @Nullable RuleSet applied, Policy policy) {
    this.rules = rules;
    this.subject = subject;
    this.own = own;
    this.applied = applied;
    this.policy = policy;
  }

  /** A policy that lasts as long as the session is connected. */
  public static Grant of(Policy policy) {
    return new Grant(null, null, List.of(), null, policy);
  }

  /**
   * The policy of a client by rules that may change.
   *
   * @param own rules of the client, which stand behind these and do not change
   */
  public static Grant following(Supplier<RuleSet> rules, Subject subject, List<AccessRule> own) {
    RuleSet now = rules.get();
    return new Grant(rules, subject, List.copyOf(own), now, now.policyOf(subject, own));
  }

  /** The policy that is in force now; the same object as before unless the rules have changed. */
  public Policy policy() {
    if (rules == null || subject == null) return policy;
    RuleSet now = rules.get();
    if (now != applied) {
      applied = now;
      policy = now.policyOf(subject, own);
    }
    return policy;
  }
}
