package dunlin.node;

import dunlin.broker.listen.ListenerSettings.TlsKeys;
import dunlin.runtime.LogText;
import dunlin.runtime.Secret;
import dunlin.runtime.Setting;
import dunlin.runtime.SettingException;
import dunlin.runtime.Settings;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** The settings of the admin API's port for other machines, which has TLS. */
public final class AdminKeys {
  private static final Path NONE = Path.of("");
  private static final String ON_REQUEST = "not set";
  private static final String IN_PLACE = ", in place of dunlin.admin.tls.certificate and dunlin.admin.tls.key";

  public static final Setting<Integer> PORT =
      Setting.integer(
          "dunlin.admin.tls.port", -1, -1, 65_535, "Port of the admin API, its page, /health, /ready and /metrics for other machines, with TLS. All but the probes and the page's"
              + " files need a token or an operator's password. 0 takes any free port, -1 opens no port.");
  public static final Setting<String> HOST = Setting.text("dunlin.admin.tls.host", "0.0.0.0", "Local address that dunlin.admin.tls.port is opened at.");
  public static final Setting<Path> CERTIFICATE =
      Setting.path(
              "dunlin.admin.tls.certificate", NONE, "PEM file with the certificate of dunlin.admin.tls.port, followed by its intermediate certificates. Reloaded when it changes.")
          .defaultMeans(ON_REQUEST);
  public static final Setting<Path> KEY =
      Setting.path(
              "dunlin.admin.tls.key", NONE, "PEM file with the private key of that certificate, in PKCS#8, PKCS#1 or SEC 1 format. Reloaded when it changes.")
          .defaultMeans(ON_REQUEST);
  public static final Setting<Secret> KEY_PASSWORD =
      Setting.secret("dunlin.admin.tls.key-password", "Password of that private key, if it is encrypted (PKCS#8). As file:PATH, read again with the key.");
  public static final Setting<Path> KEY_STORE =
      Setting.path(
              "dunlin.admin.tls.key-store", NONE, "File in PKCS#12 format with the certificate, its intermediate certificates and the private key" + IN_PLACE + ". Reloaded when it"
                  + " changes.")
          .defaultMeans(ON_REQUEST);
  public static final Setting<Secret> KEY_STORE_PASSWORD =
      Setting.secret("dunlin.admin.tls.key-store-password", "Password of that key store and of its key. As file:PATH, read again with the key store.");
  public static final Setting<List<String>> NAMES =
      Setting.textList(
          "dunlin.admin.tls.names", List.of(), "Host names under which dunlin.admin.tls.port may be asked, beside its addresses and the DNS names in its certificate, such as those that a"
              + " wildcard stands for. Requests under other names are refused, because a page of another site could have sent them.");

  public static final List<Setting<?>> ALL = List.of(PORT, HOST, CERTIFICATE, KEY, KEY_PASSWORD, KEY_STORE, KEY_STORE_PASSWORD, NAMES);

  private AdminKeys() {}

  /** Whether the port is to be opened. */
  public static boolean opened(Settings settings) {
    return settings.get(PORT) >= 0;
  }

  /** @throws SettingException when the host is unknown */
  public static InetSocketAddress address(Settings settings) {
    InetSocketAddress address = new InetSocketAddress(settings.get(HOST), Math.max(0, settings.get(PORT)));
    if (address.isUnresolved()) throw new SettingException("dunlin.admin.tls.host: unknown host " + LogText.escaped(address.getHostString()));
    return address;
  }

  public static TlsKeys keys(Settings settings) {
    return new TlsKeys(
        file(settings, CERTIFICATE), file(settings, KEY), settings.get(KEY_PASSWORD), file(settings, KEY_STORE), settings.get(KEY_STORE_PASSWORD));
  }

  /** In lower case. */
  static Set<String> names(Settings settings) {
    return settings.get(NAMES).stream().map(name -> name.toLowerCase(Locale.ROOT)).collect(Collectors.toUnmodifiableSet());
  }

  private static Optional<Path> file(Settings settings, Setting<Path> setting) {
    return settings.isSet(setting) ? Optional.of(settings.get(setting)) : Optional.empty();
  }

  /** Whether it is said where the certificate and its key are. */
  public static boolean hasKeys(Settings settings) {
    return settings.isSet(KEY_STORE) || (settings.isSet(CERTIFICATE) && settings.isSet(KEY));
  }

  static void find(Settings settings, List<String> problems) {
    if (!opened(settings)) return;
    if (!hasKeys(settings)) {
      problems.add(
          "dunlin.admin.tls.port: other machines reach the admin API by TLS only; set dunlin.admin.tls.certificate and dunlin.admin.tls.key, or dunlin.admin.tls.key-store");
    }
    if (settings.get(NodeSettings.ADMIN_PORT) < 0) problems.add("dunlin.admin.tls.port: it needs the admin port on loopback as well; do not set dunlin.admin.port to -1");
  }
}
