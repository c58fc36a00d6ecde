package dunlin.broker.auth;

import dunlin.broker.guard.GuardSettings;
import dunlin.broker.http.HttpSettings;
import dunlin.broker.jwt.JwtSettings;
import dunlin.broker.tenant.TenantSettings;
import dunlin.broker.users.UsersSettings;
import dunlin.runtime.Secret;
import dunlin.runtime.Setting;
import dunlin.runtime.Settings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/**
 * Who may connect, and the bounds on authentication.
 *
 * @param anonymous whether clients without credentials are admitted where they otherwise would not be
 * @param clientIds template of the client identifiers that a user may have, {@code *} for any
 * @param passwordFile the password file, empty for none
 * @param aclFile the file of access rules, empty for none
 * @param users users, roles and bans that change while the broker runs
 * @param jwt tokens
 * @param http a service that is asked
 * @param passwordCache how long a correct password is recognized without its verifier; zero for not at all
 * @param provider name or class name of an {@link AuthenticationProvider}, empty for none
 * @param providerOptions options for the provider, in its own format
 * @param timeout how long an authenticator may take for one answer, including the time in the queue
 * @param threads threads that call authenticators
 * @param queueMax maximum number of clients that wait for one of these threads
 * @param answersMax maximum number of answers that authenticators and authorizers owe
 * @param guard when addresses and clients are blocked
 * @param tenants which tenants clients belong to, and what these may have
 */
public record AuthenticationSettings(
    boolean anonymous,
    String clientIds,
    String passwordFile,
    String aclFile,
    UsersSettings users,
    JwtSettings jwt,
    HttpSettings http,
    Duration passwordCache,
    String provider,
    Secret providerOptions,
    Duration timeout,
    int threads,
    int queueMax,
    int answersMax,
    GuardSettings guard,
    TenantSettings tenants) {

  private static final int CORES_AT_LEAST_TWO = Math.clamp(Runtime.getRuntime().availableProcessors(), 2, 64);

  private static final Setting<Boolean> ANONYMOUS =
      Setting.flag(
          "dunlin.auth.anonymous",
          false,
          "Allows clients without credentials. If false, they may connect only while no authentication is configured, and only on loopback.");
  private static final Setting<String> CLIENT_IDS =
      Setting.text(
          "dunlin.auth.client-ids", "*",
          "Template of the client identifiers that a user may have. %u stands for the user name, one * for any text: * allows all, %u the user name"
              + " only, %u* what begins with it, %u-* what begins with it and a dash. Others are refused with 0x85. With %u, clients without a user"
              + " name are refused.");
  private static final Setting<Path> PASSWORD_FILE =
      Setting.path(
              "dunlin.auth.password-file", Path.of(""), "File with users and password verifiers, written by `bin/dunlin passwd`. Reloaded when it"
                  + " changes.")
          .defaultMeans("not set");
  private static final Setting<Path> ACL_FILE =
      Setting.path(
              "dunlin.auth.acl-file", Path.of(""), "File with rules about what clients may publish, subscribe to and receive; see authorisation.md. What no"
                  + " rule allows is denied. Reloaded when it changes.")
          .defaultMeans("not set: clients may do everything within their tenant");
  private static final Setting<Duration> PASSWORD_CACHE =
      Setting.duration(
          "dunlin.auth.password-cache", Duration.ofMinutes(5), Duration.ZERO, Duration.ofHours(1),
          "How long a correct password is recognized by a keyed hash in memory, so that the client need not wait for the"
              + " verifier again. A change of the password file, or of the user, ends it at once. 0 turns it off.");
  private static final Setting<String> PROVIDER =
      Setting.text(
          "dunlin.auth.provider", "", "Name or class name of the dunlin.broker.auth.AuthenticationProvider that authenticates clients. It must be on the"
              + " class path.");
  private static final Setting<Secret> PROVIDER_OPTIONS =
      Setting.secret("dunlin.auth.provider-options", "Options for the authentication provider, in the provider's own format.");
  private static final Setting<Duration> TIMEOUT =
      Setting.duration(
          "dunlin.auth.timeout", Duration.ofSeconds(5), Duration.ofMillis(100), Duration.ofMinutes(5),
          "Maximum time that the server may take for one step of an authentication.");
  private static final Setting<Integer> THREADS =
      Setting.integer("dunlin.auth.threads", CORES_AT_LEAST_TWO, 1, 1_024, "Number of threads that authenticate clients.")
          .defaultMeans("the number of cores, 2 at least");
  private static final Setting<Integer> QUEUE_MAX =
      Setting.integer(
          "dunlin.auth.queue-max", 10_000, 1, 10_000_000, "Maximum number of clients that wait to be authenticated. Addresses"
              + " take turns. When it is reached, clients of the address with the most waiting ones are refused with \"server busy\".");
  private static final Setting<Integer> ANSWERS_MAX =
      Setting.integer(
          "dunlin.auth.answers-max", 10_000, 1, 10_000_000, "Maximum number of calls of authenticators and authorizers that are not answered yet, for dunlin.auth.timeout"
              + " each at the longest; those for clients that have disconnected, too. Beyond it, clients are refused with \"server busy\".");

  /** The settings that this class reads, those of the guard, of users, of tokens, of the service and of tenants. */
  public static final List<Setting<?>> ALL =
      Stream.of(
              List.of(ANONYMOUS, CLIENT_IDS, PASSWORD_FILE, ACL_FILE, PASSWORD_CACHE, PROVIDER, PROVIDER_OPTIONS, TIMEOUT, THREADS, QUEUE_MAX, ANSWERS_MAX),
              GuardSettings.ALL,
              UsersSettings.ALL,
              JwtSettings.ALL,
              HttpSettings.ALL,
              TenantSettings.ALL)
          .<Setting<?>>flatMap(List::stream)
          .toList();

  public static AuthenticationSettings from(Settings settings) {
    return new AuthenticationSettings(
        settings.get(ANONYMOUS),
        settings.get(CLIENT_IDS),
        settings.get(PASSWORD_FILE).toString(),
        settings.get(ACL_FILE).toString(),
        UsersSettings.from(settings),
        JwtSettings.from(settings),
        HttpSettings.from(settings),
        settings.get(PASSWORD_CACHE),
        settings.get(PROVIDER),
        settings.get(PROVIDER_OPTIONS),
        settings.get(TIMEOUT),
        settings.get(THREADS),
        settings.get(QUEUE_MAX),
        settings.get(ANSWERS_MAX),
        GuardSettings.from(settings),
        TenantSettings.from(settings));
  }

  /** The problems of these settings that have no other check, one sentence each. */
  public static List<String> problems(Settings settings) {
    return TenantSettings.problems(settings);
  }

  /** The default: no client has to authenticate, so none is accepted from other machines. */
  public static AuthenticationSettings defaults() {
    return new AuthenticationSettings(
        false, CLIENT_IDS.defaultValue(), "", "", UsersSettings.none(), JwtSettings.defaults(), HttpSettings.defaults(), PASSWORD_CACHE.defaultValue(), "", Secret.none(), TIMEOUT.defaultValue(), THREADS.defaultValue(), QUEUE_MAX.defaultValue(), ANSWERS_MAX.defaultValue(),
        GuardSettings.defaults(), TenantSettings.none());
  }
}
