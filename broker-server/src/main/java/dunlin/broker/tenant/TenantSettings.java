package dunlin.broker.tenant;

import dunlin.runtime.LogText;
import dunlin.runtime.Setting;
import dunlin.runtime.SettingException;
import dunlin.runtime.Settings;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * What the settings say of tenants.
 *
 * @param limits of each tenant, where nothing else is said of it
 * @param own limits of some tenants by their names, before those of all
 * @param unknown whether tenants without a record and without a setting may connect
 * @param fromUserName whether the part of a user name behind its last {@code @} is the tenant
 * @param ofListeners the tenants of clients whose authentication names none, by the names of listeners
 * @param ofServerNames the tenants of names that clients call the server by, by the names of listeners
 * @param metrics the tenants that metrics name
 */
public record TenantSettings(
    TenantLimits limits,
    Map<String, TenantLimits> own,
    Unknown unknown,
    boolean fromUserName,
    Map<String, String> ofListeners,
    Map<String, ServerNames> ofServerNames,
    Set<String> metrics) {
  /** The label of all tenants that metrics do not name. */
  static final String OTHERS = "other";

  /** The most tenants that metrics name. */
  private static final int METRICS_MAX = 100;

  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._-]{1,64}");

  /** What becomes of clients of tenants of which nothing is known. */
  public enum Unknown {
    ALLOW,
    REFUSE
  }

  private static final String LANGUAGE =
      " connections, connect-rate, messages-in, bytes-in, messages-out, bytes-out, packet, sessions, subscriptions, all-subscriptions, routes, inbox-bytes, retained, retained-bytes, qos, wildcards and shared, such as"
          + " connections=1000,packet=64KiB,wildcards=no; see tenants.md.";
  private static final Setting<List<String>> LIMITS =
      Setting.textList("dunlin.tenants.limits", List.of(), "Limits of each tenant, which each node counts for itself, or the stores for the cluster:" + LANGUAGE);
  private static final Setting<List<String>> OWN =
      Setting.textList(
          "dunlin.tenants.*.limits", List.of(),
          "Limits of the tenant of this name, before those of dunlin.tenants.limits; none as a value lifts one. The record of a tenant comes before both.");
  private static final Setting<Unknown> UNKNOWN =
      Setting.choice(
          "dunlin.tenants.unknown", Unknown.ALLOW,
          "Whether clients of tenants may connect that have neither a record nor dunlin.tenants.<name>.limits. Others are refused with 0x87.");
  private static final Setting<Boolean> FROM_USER_NAME =
      Setting.flag(
          "dunlin.tenants.from-user-name", false,
          "Whether a client whose user name has an @ belongs to the tenant behind the last one, unless its authentication names a tenant. The user name stays as it is.");
  private static final Setting<String> OF_LISTENER =
      Setting.text(
          "dunlin.listeners.*.tenant", "", "Tenant of the clients of the listener for which neither their authentication nor their user name says one.");
  private static final Setting<List<String>> OF_SERVER_NAMES =
      Setting.textList(
          "dunlin.listeners.*.tenant-by-server-name", List.of(),
          "Tenants by the server names of TLS handshakes (SNI), such as mqtt.blue.example=blue, *.green.example=green or, for all other names, *=other. They come before"
              + " the tenant of the listener. Clients with a name that is not among them are refused with 0x87; those without a name get the tenant of the listener.");
  private static final Setting<List<String>> METRICS =
      Setting.textList("dunlin.tenants.metrics", List.of(), "Tenants that metrics show by name, at most 100. All others are shown together.");

  /** The settings that this class reads. */
  public static final List<Setting<?>> ALL = List.of(LIMITS, OWN, UNKNOWN, FROM_USER_NAME, OF_LISTENER, OF_SERVER_NAMES, METRICS);

  public TenantSettings {
    own = Map.copyOf(own);
    ofListeners = Map.copyOf(ofListeners);
    ofServerNames = Map.copyOf(ofServerNames);
    metrics = Set.copyOf(metrics);
  }

  /** The default: no limits, and all tenants that authentication names. */
  public static TenantSettings none() {
    return new TenantSettings(TenantLimits.none(), Map.of(), Unknown.ALLOW, false, Map.of(), Map.of(), Set.of());
  }

  /** Whether a text can be the name of a tenant: 1 to 64 letters, digits, dots, dashes and underscores. */
  public static boolean isName(String text) {
    return NAME.matcher(text).matches();
  }

  /** @throws SettingException when a value is none, naming the key */
  public static TenantSettings from(Settings settings) {
    Map<String, TenantLimits> own = new HashMap<>();
    for (String name : settings.names(OWN)) own.put(name, limits(OWN.key(name), settings.get(OWN, name)));
    return new TenantSettings(
        limits(LIMITS.key(), settings.get(LIMITS)), own, settings.get(UNKNOWN), settings.get(FROM_USER_NAME), ofListeners(settings), ofServerNames(settings),
        metrics(settings));
  }

  /** The problems of these settings, one sentence each. */
  public static List<String> problems(Settings settings) {
    List<String> problems = new ArrayList<>();
    try {
      var _ = from(settings);
    } catch (SettingException e) {
      problems.add(String.valueOf(e.getMessage()));
    }
    return problems;
  }

  private static TenantLimits limits(String key, List<String> texts) {
    try {
      return TenantLimits.parse(texts);
    } catch (IllegalArgumentException e) {
      throw new SettingException("%s: %s".formatted(key, e.getMessage()), e);
    }
  }

  private static Map<String, String> ofListeners(Settings settings) {
    Map<String, String> tenants = new HashMap<>();
    for (String listener : settings.names(OF_LISTENER)) {
      if (settings.isSet(OF_LISTENER, listener)) tenants.put(listener, name(OF_LISTENER.key(listener), settings.get(OF_LISTENER, listener)));
    }
    return tenants;
  }

  private static Map<String, ServerNames> ofServerNames(Settings settings) {
    Map<String, ServerNames> names = new HashMap<>();
    for (String listener : settings.names(OF_SERVER_NAMES)) {
      if (!settings.isSet(OF_SERVER_NAMES, listener)) continue;
      try {
        names.put(listener, ServerNames.parse(settings.get(OF_SERVER_NAMES, listener)));
      } catch (IllegalArgumentException e) {
        throw new SettingException("%s: %s".formatted(OF_SERVER_NAMES.key(listener), e.getMessage()), e);
      }
    }
    return names;
  }

  private static Set<String> metrics(Settings settings) {
    Set<String> names = new HashSet<>();
    for (String each : settings.get(METRICS)) names.add(name(METRICS.key(), each));
    if (names.contains(OTHERS)) throw new SettingException("%s: \"%s\" stands for all tenants that are not named".formatted(METRICS.key(), OTHERS));
    if (names.size() > METRICS_MAX) throw new SettingException("%s: %d tenants, at most %d".formatted(METRICS.key(), names.size(), METRICS_MAX));
    return names;
  }

  private static String name(String key, String text) {
    if (isName(text)) return text;
    throw new SettingException("%s: \"%s\" is no name of a tenant: 1 to 64 letters, digits, dots, dashes and underscores".formatted(key, LogText.escaped(text)));
  }
}
