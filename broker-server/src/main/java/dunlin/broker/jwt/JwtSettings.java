package dunlin.broker.jwt;

import dunlin.broker.http.ServiceUrl;
import dunlin.runtime.Setting;
import dunlin.runtime.SettingException;
import dunlin.runtime.SettingSource;
import dunlin.runtime.Settings;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Whether clients are authenticated by JSON Web Tokens, and by which.
 *
 * @param tokenIn where CONNECT has the token
 * @param tokenMax bytes of the longest token that is looked at
 */
public record JwtSettings(Keys keys, TokenField tokenIn, int tokenMax, Demands demands, Meaning meaning) {
  /** The field of CONNECT that has the token. */
  public enum TokenField {
    PASSWORD,
    USER_NAME
  }

  /**
   * What tokens are signed with.
   *
   * @param secretFile for HS256 and the like; empty for none
   * @param keysFile public keys in PEM or as a JWK Set; empty for none
   * @param url of a JWK Set; empty for none
   * @param refresh how often it is fetched
   * @param intervalMin the shortest time between two fetches
   * @param timeout of a fetch
   */
  public record Keys(
      Set<TokenAlgorithm> algorithms, String secretFile, String keysFile, String url, Duration refresh, Duration intervalMin, Duration timeout) {
    public Keys {
      algorithms = Set.copyOf(algorithms);
    }

    boolean any() {
      return !secretFile.isEmpty() || !keysFile.isEmpty() || !url.isEmpty();
    }

    /** Those with public keys. */
    public Set<TokenAlgorithm> signing() {
      return algorithms.stream().filter(each -> !each.isSecret()).collect(Collectors.toUnmodifiableSet());
    }

    /** Those with a secret. */
    public Set<TokenAlgorithm> secret() {
      return algorithms.stream().filter(TokenAlgorithm::isSecret).collect(Collectors.toUnmodifiableSet());
    }
  }

  /**
   * What has to be in a token.
   *
   * @param issuer empty for any
   * @param audience one of which is enough; empty for any
   * @param required {@code name} or {@code name=text}
   */
  public record Demands(String issuer, List<String> audience, Duration clockSkew, List<String> required) {
    public Demands {
      audience = List.copyOf(audience);
      required = List.copyOf(required);
    }
  }

  /**
   * What a token says of its client, by names of claims; empty for none.
   *
   * @param matchUserName whether a user name in CONNECT must be that of the token
   */
  public record Meaning(String user, boolean matchUserName, String tenant, String clientId, String rules, List<String> attributes) {
    public Meaning {
      attributes = List.copyOf(attributes);
    }
  }

  private static final Pattern ATTRIBUTE = Pattern.compile("[A-Za-z0-9_-]{1,64}");
  private static final int TOKEN_MAX = 64 * 1_024;

  private static final Setting<Set<TokenAlgorithm>> ALGORITHMS =
      Setting.choices(
          "dunlin.auth.jwt.algorithms", TokenAlgorithm.class, Set.of(TokenAlgorithm.RS256, TokenAlgorithm.ES256),
          "Algorithms that tokens may be signed with. Those that begin with hs take the secret, all others a public key. eddsa is the curve Ed25519.");
  private static final Setting<Path> SECRET_FILE =
      Setting.path(
              "dunlin.auth.jwt.secret-file", Path.of(""),
              "File with the secret of hs256, hs384 or hs512: its bytes without a line end behind them, 32, 48 or 64 at least. Reloaded when it changes.")
          .defaultMeans("not set");
  private static final Setting<Path> KEYS_FILE =
      Setting.path(
              "dunlin.auth.jwt.keys-file", Path.of(""),
              "File with public keys that tokens are signed with: public keys and certificates in PEM, or a JWK Set. Reloaded when it changes.")
          .defaultMeans("not set");
  private static final Setting<String> URL =
      Setting.text(
              "dunlin.auth.jwt.jwks-url", "",
              "URL of a JWK Set with public keys that tokens are signed with. https, or http on loopback. Redirects are not followed.")
          .defaultMeans("not set");
  private static final Setting<Duration> REFRESH =
      Setting.duration(
          "dunlin.auth.jwt.jwks-refresh", Duration.ofMinutes(5), Duration.ofSeconds(1), Duration.ofDays(1), "How often the JWK Set is fetched.");
  private static final Setting<Duration> INTERVAL_MIN =
      Setting.duration(
          "dunlin.auth.jwt.jwks-interval-min", Duration.ofSeconds(30), Duration.ofSeconds(1), Duration.ofHours(1),
          "The shortest time between two fetches of the JWK Set. It is fetched out of turn when a token names a key that is not known, and after a fetch that failed.");
  private static final Setting<Duration> FETCH_TIMEOUT =
      Setting.duration(
          "dunlin.auth.jwt.jwks-timeout", Duration.ofSeconds(5), Duration.ofMillis(100), Duration.ofMinutes(1), "Maximum time for a fetch of the JWK Set.");
  private static final Setting<TokenField> TOKEN_IN =
      Setting.choice("dunlin.auth.jwt.token-in", TokenField.PASSWORD, "The field of CONNECT that has the token.");
  private static final Setting<Long> LENGTH_MAX =
      Setting.bytes(
          "dunlin.auth.jwt.token-max", 8 * 1_024, 256, TOKEN_MAX, "Longest token that is looked at; clients with longer ones are refused.");
  private static final Setting<String> ISSUER =
      Setting.text("dunlin.auth.jwt.issuer", "", "The issuer (iss) that tokens must have.").defaultMeans("not set: any");
  private static final Setting<List<String>> AUDIENCE =
      Setting.textList(
              "dunlin.auth.jwt.audience", List.of(),
              "Tokens must have one of these audiences (aud). Without it, a token that the issuer has made for another application is accepted.")
          .defaultMeans("not set: any");
  private static final Setting<Duration> CLOCK_SKEW =
      Setting.duration(
          "dunlin.auth.jwt.clock-skew", Duration.ofSeconds(30), Duration.ZERO, Duration.ofMinutes(5),
          "How far the issuer's clock may differ from the broker's. A token is valid for that much longer, and so is its client's connection.");
  private static final Setting<List<String>> REQUIRED =
      Setting.textList(
          "dunlin.auth.jwt.required-claims", List.of(),
          "Further claims that tokens must have, each as name or as name=text. exp must always be there.");
  private static final Setting<String> USER = Setting.text("dunlin.auth.jwt.user-claim", "sub", "The claim that is the user name of the client.");
  private static final Setting<Boolean> MATCH_USER_NAME =
      Setting.flag(
          "dunlin.auth.jwt.match-user-name", false,
          "Refuses a client whose CONNECT has another user name than its token. If false, the user name of CONNECT is ignored.");
  private static final Setting<String> TENANT =
      Setting.text("dunlin.auth.jwt.tenant-claim", "", "The claim that is the tenant of the client.").defaultMeans("not set: the default tenant");
  private static final Setting<String> CLIENT_ID =
      Setting.text(
              "dunlin.auth.jwt.client-id-claim", "",
              "The claim with the client identifier, or a list of those, that the client may have. A token without it is refused.")
          .defaultMeans("not set");
  private static final Setting<String> RULES =
      Setting.text(
              "dunlin.auth.jwt.acl-claim", "",
              "The claim with the access rules of the client, a list of texts; see authorisation.md. They stand behind those of dunlin.auth.acl-file. What no rule"
                  + " allows is denied, also to clients without this claim.")
          .defaultMeans("not set");
  private static final Setting<List<String>> ATTRIBUTES =
      Setting.textList(
          "dunlin.auth.jwt.attribute-claims", List.of(), "Claims that access rules may name: %{token.NAME} stands for the text of the claim NAME, as one level of a topic.");

  /** The settings that this class reads. */
  public static final List<Setting<?>> ALL =
      List.of(
          ALGORITHMS, SECRET_FILE, KEYS_FILE, URL, REFRESH, INTERVAL_MIN, FETCH_TIMEOUT, TOKEN_IN, LENGTH_MAX, ISSUER, AUDIENCE, CLOCK_SKEW, REQUIRED, USER,
          MATCH_USER_NAME, TENANT, CLIENT_ID, RULES, ATTRIBUTES);

  public static JwtSettings from(Settings settings) {
    return new JwtSettings(
        new Keys(
            settings.get(ALGORITHMS),
            settings.get(SECRET_FILE).toString(),
            settings.get(KEYS_FILE).toString(),
            settings.get(URL),
            settings.get(REFRESH),
            settings.get(INTERVAL_MIN),
            settings.get(FETCH_TIMEOUT)),
        settings.get(TOKEN_IN),
        Math.toIntExact(settings.get(LENGTH_MAX)),
        new Demands(settings.get(ISSUER), settings.get(AUDIENCE), settings.get(CLOCK_SKEW), settings.get(REQUIRED)),
        new Meaning(
            settings.get(USER),
            settings.get(MATCH_USER_NAME),
            settings.get(TENANT),
            settings.get(CLIENT_ID),
            settings.get(RULES),
            settings.get(ATTRIBUTES)));
  }

  /** The default: no tokens are accepted. */
  public static JwtSettings defaults() {
    return from(Settings.load(ALL, SettingSource.map("defaults", Map.of())));
  }

  /** Whether tokens are accepted at all. */
  public boolean enabled() {
    return keys.any();
  }

  /**
   * Checks what the settings say together. Files are not read.
   *
   * @throws SettingException if something does not fit
   */
  public void check() {
    if (!enabled()) return;
    boolean files = !keys.keysFile.isEmpty() || !keys.url.isEmpty();
    if (!keys.secretFile.isEmpty() && keys.secret().isEmpty()) throw wrong("algorithms", "has none of hs256, hs384 and hs512, but secret-file is set");
    if (keys.secretFile.isEmpty() && !keys.secret().isEmpty()) throw wrong("secret-file", "must be set for " + keys.secret().iterator().next().label());
    if (files && keys.signing().isEmpty()) throw wrong("algorithms", "has no algorithm for public keys, but keys-file or jwks-url is set");
    if (!files && !keys.signing().isEmpty()) {
      throw wrong("algorithms", "has %s, but neither keys-file nor jwks-url is set".formatted(keys.signing().iterator().next().label()));
    }
    if (meaning.user.isEmpty()) throw wrong("user-claim", "must not be empty");
    if (meaning.matchUserName && tokenIn == TokenField.USER_NAME) throw wrong("match-user-name", "cannot be, since token-in is user-name");
    for (String each : meaning.attributes) {
      if (!ATTRIBUTE.matcher(each).matches()) throw wrong("attribute-claims", "an attribute has 1 to 64 letters, digits, dashes and underscores");
    }
    for (String each : demands.required) {
      if (each.startsWith("=")) throw wrong("required-claims", "a claim has a name");
    }
    if (!keys.url.isEmpty()) uri(keys.url);
  }

  /** The address of a JWK Set. */
  static URI uri(String text) {
    return ServiceUrl.read(URL.key(), text);
  }

  private static SettingException wrong(String key, String what) {
    return new SettingException("dunlin.auth.jwt." + key + ": " + what);
  }
}
