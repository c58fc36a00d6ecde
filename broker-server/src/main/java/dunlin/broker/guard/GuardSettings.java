package dunlin.broker.guard;

import dunlin.runtime.Setting;
import dunlin.runtime.Settings;
import java.time.Duration;
import java.util.List;

/**
 * What is too much from one address, about one user name, and of one client.
 *
 * @param failures failed authentications of an address
 * @param userFailures failed authentications with one user name, within the window of {@code failures}, at which an event says so; 0 for none
 * @param connects accepted CONNECTs of a client identifier
 */
public record GuardSettings(BlockRule failures, int userFailures, BlockRule connects) {
  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final Duration HOUR = Duration.ofHours(1);
  private static final Duration DAY = Duration.ofHours(24);
  private static final int MAX = 1_000_000;

  private static final Setting<Integer> FAILURES_MAX =
      Setting.integer(
          "dunlin.auth.failures-max", 300, 0, MAX,
          "Failed authentications from one IPv4 address or IPv6 /64 network within dunlin.auth.failures-window after which it is refused for"
              + " dunlin.auth.failures-block, before a password is verified. 0 means no limit.");
  private static final Setting<Duration> FAILURES_WINDOW =
      Setting.duration(
          "dunlin.auth.failures-window", MINUTE, SECOND, HOUR,
          "Time within which the failed authentications of an address and of a user name are counted. It begins with the first of them.");
  private static final Setting<Duration> FAILURES_BLOCK =
      Setting.duration(
          "dunlin.auth.failures-block", Duration.ofMinutes(5), SECOND, DAY,
          "Time for which an address is refused after dunlin.auth.failures-max failures. Clients that need no verification, such as those with a certificate for"
              + " their user, are still served.");
  private static final Setting<Integer> USER_FAILURES =
      Setting.integer(
          "dunlin.auth.user-failures-alert", 100, 0, MAX,
          "Failed authentications with one user name, from all addresses, within dunlin.auth.failures-window at which the event user-guessed is logged. No client is refused for"
              + " it. 0 means no event.");
  private static final Setting<Integer> CONNECTS_MAX =
      Setting.integer(
          "dunlin.flapping.connects-max", 600, 0, MAX,
          "Accepted CONNECTs with one client identifier within dunlin.flapping.window after which further ones are refused for dunlin.flapping.block. The"
              + " connection that the client has by then stays. Each node counts for itself. 0 means no limit.");
  private static final Setting<Duration> CONNECTS_WINDOW =
      Setting.duration(
          "dunlin.flapping.window", MINUTE, SECOND, HOUR,
          "Time within which the CONNECTs of a client identifier are counted. It begins with the first of them.");
  private static final Setting<Duration> CONNECTS_BLOCK =
      Setting.duration(
          "dunlin.flapping.block", MINUTE, SECOND, DAY,
          "Time for which a client identifier is refused after dunlin.flapping.connects-max CONNECTs.");

  public static final List<Setting<?>> ALL =
      List.of(FAILURES_MAX, FAILURES_WINDOW, FAILURES_BLOCK, USER_FAILURES, CONNECTS_MAX, CONNECTS_WINDOW, CONNECTS_BLOCK);

  public static GuardSettings from(Settings settings) {
    return new GuardSettings(
        new BlockRule(settings.get(FAILURES_MAX), settings.get(FAILURES_WINDOW), settings.get(FAILURES_BLOCK)),
        settings.get(USER_FAILURES),
        new BlockRule(settings.get(CONNECTS_MAX), settings.get(CONNECTS_WINDOW), settings.get(CONNECTS_BLOCK)));
  }

  public static GuardSettings defaults() {
    return new GuardSettings(
        new BlockRule(FAILURES_MAX.defaultValue(), FAILURES_WINDOW.defaultValue(), FAILURES_BLOCK.defaultValue()),
        USER_FAILURES.defaultValue(),
        new BlockRule(CONNECTS_MAX.defaultValue(), CONNECTS_WINDOW.defaultValue(), CONNECTS_BLOCK.defaultValue()));
  }

  /** Nothing is too much. */
  public static GuardSettings none() {
    return new GuardSettings(BlockRule.none(), 0, BlockRule.none());
  }
}
