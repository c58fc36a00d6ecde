package dunlin.broker.access;

import org.jspecify.annotations.Nullable;

/**
 * What a policy says, and why.
 *
 * @param rule the rule that decides, or null if no rule matches
 */
public record Decision(boolean allowed, @Nullable AccessRule rule) {}
