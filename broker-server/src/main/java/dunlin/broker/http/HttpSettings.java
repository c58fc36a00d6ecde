package dunlin.broker.http;

import dunlin.runtime.Secret;
import dunlin.runtime.Setting;
import dunlin.runtime.SettingSource;
import dunlin.runtime.Settings;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * Whether a service is asked about clients, and how.
 *
 * @param url empty for none
 * @param authorization the header {@code Authorization} of requests; empty for none
 * @param timeout from a request to the end of its answer
 * @param requestsMax requests at a time
 * @param remember how long a client that was let in is let in again without a request; zero for not at all
 * @param rules whether answers have access rules
 * @param failuresMax failures in a row, after which the service is not asked for a while
 * @param pause how long it is not asked
 */
public record HttpSettings(
    String url, Secret authorization, Duration timeout, int requestsMax, Duration remember, boolean rules, int failuresMax, Duration pause) {
  private static final Setting<String> URL =
      Setting.text(
              "dunlin.auth.http.url", "",
              "URL of a service that is asked whether a client may connect; see authentication.md. https, or http on loopback. Redirects are not followed.")
          .defaultMeans("not set");
  private static final Setting<Secret> AUTHORIZATION =
      Setting.secret("dunlin.auth.http.authorization", "Text of the header Authorization in requests to the service, such as Bearer and a token.");
  private static final Setting<Duration> TIMEOUT =
      Setting.duration(
          "dunlin.auth.http.timeout", Duration.ofSeconds(3), Duration.ofMillis(50), Duration.ofMinutes(1),
          "Maximum time from a request to the service to the end of its answer. dunlin.auth.timeout includes the time in the line.");
  private static final Setting<Integer> REQUESTS_MAX =
      Setting.integer(
          "dunlin.auth.http.requests-max", 64, 1, 4_096,
          "Maximum number of requests to the service at a time, and so of connections to it. Further clients wait in a line; addresses take turns.");
  private static final Setting<Duration> REMEMBER =
      Setting.duration(
          "dunlin.auth.http.cache", Duration.ofSeconds(30), Duration.ZERO, Duration.ofHours(1),
          "How long a client that the service has let in is let in again, from the same address with the same credentials, without a request. An answer may give a shorter time."
              + " 0 turns it off.");
  private static final Setting<Boolean> RULES =
      Setting.flag(
          "dunlin.auth.http.acl", false,
          "Says that the service's answers have access rules; see authorisation.md. They stand behind those of dunlin.auth.acl-file. What no rule allows is denied, also to"
              + " clients whose answer has none.");
  private static final Setting<Integer> FAILURES_MAX =
      Setting.integer(
          "dunlin.auth.http.failures-max", 5, 1, 10_000,
          "Number of requests in a row without a usable answer, after which the service is not asked for a while. Those for clients of one address count as one.");
  private static final Setting<Duration> PAUSE =
      Setting.duration(
          "dunlin.auth.http.pause", Duration.ofSeconds(5), Duration.ofMillis(100), Duration.ofMinutes(10),
          "How long the service is not asked after it has failed. Clients are refused with 0x88 then. After that it is asked about one client.");

  /** The settings that this class reads. */
  public static final List<Setting<?>> ALL = List.of(URL, AUTHORIZATION, TIMEOUT, REQUESTS_MAX, REMEMBER, RULES, FAILURES_MAX, PAUSE);

  public static HttpSettings from(Settings settings) {
    return new HttpSettings(
        settings.get(URL),
        settings.get(AUTHORIZATION),
        settings.get(TIMEOUT),
        settings.get(REQUESTS_MAX),
        settings.get(REMEMBER),
        settings.get(RULES),
        settings.get(FAILURES_MAX),
        settings.get(PAUSE));
  }

  /** The default: no service is asked. */
  public static HttpSettings defaults() {
    return from(Settings.load(ALL, SettingSource.map("defaults", Map.of())));
  }

  /** Whether a service is asked at all. */
  public boolean enabled() {
    return !url.isEmpty();
  }

  /**
   * The address of the service.
   *
   * @throws dunlin.runtime.SettingException if it is not one that may be asked
   */
  public URI uri() {
    return ServiceUrl.read(URL.key(), url);
  }
}
