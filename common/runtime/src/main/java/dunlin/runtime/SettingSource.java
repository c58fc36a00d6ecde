package dunlin.runtime;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.regex.Pattern;

/** A source of settings. It returns every {@code dunlin.*} key that it has, known or not. */
public final class SettingSource {
  static final String SYSTEM_PROPERTY = "system property";

  private static final String ROOT = "dunlin.";
  private static final String ENVIRONMENT_ROOT = "DUNLIN_";

  /** Variables that bin/dunlin reads itself, before there is a JVM. */
  private static final Set<String> LAUNCHER = Set.of("DUNLIN_HOME", "DUNLIN_JAVA_HOME", "DUNLIN_JVM_OPTS", "DUNLIN_BENCH_JVM_OPTS", "DUNLIN_LOG");

  /**
   * Variables that Kubernetes sets in each container for a Service whose name begins with "dunlin": address and ports,
   * in the form of Docker's links. Settings never have these names: keys of several parts have two underscores.
   */
  private static final Pattern KUBERNETES_NAME =
      Pattern.compile("DUNLIN_(?!.*__)(.*_)?(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)");

  private static final Pattern KUBERNETES_PORT = Pattern.compile("DUNLIN_(?!.*__)(.*_)?PORT");
  private static final Pattern KUBERNETES_URL = Pattern.compile("(tcp|udp|sctp)://.*");

  /** The beginning of a key after {@code -Dunlin.}, where its first letter was omitted. */
  private static final String ROOT_WITHOUT_ITS_FIRST_LETTER = "unlin.";

  private final List<RawSetting> values;

  private SettingSource(List<RawSetting> values) {
    this.values = List.copyOf(values);
  }

  /** A source without settings. */
  public static SettingSource none() {
    return new SettingSource(List.of());
  }

  /** This JVM's system properties, {@code -Ddunlin.key=value}. */
  public static SettingSource systemProperties() {
    return properties(System.getProperties());
  }

  static SettingSource properties(Properties properties) {
    List<RawSetting> values = new ArrayList<>();
    for (String key : properties.stringPropertyNames()) {
      if (key.startsWith(ROOT_WITHOUT_ITS_FIRST_LETTER)) {
        throw new SettingException("Unknown system property -D%s; did you mean -Dd%1$s?".formatted(LogText.escaped(key)));
      }
      if (key.startsWith(ROOT)) values.add(RawSetting.ofText(key, properties.getProperty(key), SYSTEM_PROPERTY));
    }
    return new SettingSource(values);
  }

  /** This process's environment: {@code DUNLIN_A__B_C} sets {@code dunlin.a.b-c}. */
  public static SettingSource environment() {
    return environment(System.getenv());
  }

  static SettingSource environment(Map<String, String> environment) {
    List<RawSetting> values = new ArrayList<>();
    environment.forEach(
        (name, text) -> {
          if (!name.startsWith(ENVIRONMENT_ROOT) || LAUNCHER.contains(name) || isOfKubernetes(name, text)) return;
          String path = name.substring(ENVIRONMENT_ROOT.length()).toLowerCase(Locale.ROOT);
          String key = ROOT + path.replace("__", ".").replace('_', '-');
          values.add(RawSetting.ofText(key, text, "environment variable " + name));
        });
    return new SettingSource(values);
  }

  private static boolean isOfKubernetes(String name, String text) {
    return KUBERNETES_NAME.matcher(name).matches()
        || (KUBERNETES_PORT.matcher(name).matches() && KUBERNETES_URL.matcher(text).matches());
  }

  /**
   * Settings from a program, such as the embedded builder.
   *
   * @param name names the source in messages
   */
  public static SettingSource map(String name, Map<String, String> textByKey) {
    List<RawSetting> values = new ArrayList<>();
    textByKey.forEach((key, text) -> values.add(RawSetting.ofText(key, text, name)));
    return new SettingSource(values);
  }

  /**
   * A file in HOCON, or in properties format when its name ends in {@code .properties}.
   *
   * @throws SettingException when it is missing, does not parse, or has another root than {@code dunlin}
   */
  public static SettingSource file(Path file) {
    return new SettingSource(SettingFile.read(file));
  }

  List<RawSetting> values() {
    return values;
  }
}
