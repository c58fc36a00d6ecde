package dunlin.admin.spans;

import dunlin.broker.http.ServiceUrl;
import dunlin.runtime.Secret;
import dunlin.runtime.Setting;
import dunlin.runtime.SettingException;
import dunlin.runtime.Settings;
import java.net.URI;
import java.util.List;
import java.util.Optional;

/**
 * Where spans are sent, and of which messages.
 *
 * @param url of the collector's endpoint for traces
 * @param authorization the header {@code Authorization} of requests; empty for none
 * @param sampleOneIn of how many messages whose publishers name no trace one is sampled; 0 for none
 * @param perSecond the most spans that a node makes in a second
 */
public record SpanSettings(URI url, Secret authorization, int sampleOneIn, int perSecond) {
  private static final Setting<String> URL =
      Setting.text(
              "dunlin.tracing.otlp-url", "",
              "URL to which spans of messages are sent by OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces of an OpenTelemetry collector; see tracing.md. https, or http on"
                  + " loopback. Redirects are not followed. Set it on all nodes of a cluster.")
          .defaultMeans("not set");
  private static final Setting<Secret> AUTHORIZATION =
      Setting.secret("dunlin.tracing.otlp-authorization", "Text of the header Authorization in requests to the collector, such as Bearer and a token.");
  private static final Setting<Integer> SAMPLE_ONE_IN =
      Setting.integer(
          "dunlin.tracing.sample-one-in", 0, 0, 1_000_000_000,
          "Of how many messages that have no User Property traceparent one has spans. 0: none of them. Those with one have spans if it says that it is sampled. The same on all nodes of a"
              + " cluster.");
  private static final Setting<Integer> PER_SECOND =
      Setting.integer("dunlin.tracing.spans-per-second", 500, 1, 50_000, "The most spans that this node makes in a second. Further ones are left out and counted.");

  /** The settings that this class reads. */
  public static final List<Setting<?>> ALL = List.of(URL, AUTHORIZATION, SAMPLE_ONE_IN, PER_SECOND);

  /**
   * Empty when no spans are sent.
   *
   * @throws SettingException when the URL is not one that may be asked
   */
  public static Optional<SpanSettings> from(Settings settings) {
    if (!settings.isSet(URL)) return Optional.empty();
    return Optional.of(
        new SpanSettings(
            ServiceUrl.read(URL.key(), settings.get(URL)), settings.get(AUTHORIZATION), settings.get(SAMPLE_ONE_IN), settings.get(PER_SECOND)));
  }

  /** Adds what is wrong with them, in a sentence. */
  public static void find(Settings settings, List<String> problems) {
    try {
      from(settings);
    } catch (SettingException wrong) {
      problems.add(String.valueOf(wrong.getMessage()));
    }
  }
}
