package dunlin.broker.tenant;

import dunlin.runtime.LogText;
import java.net.IDN;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The tenants that names of the server stand for: the names by which clients call it in their TLS handshakes (SNI; RFC 6066, section 3).
 *
 * @param exact by whole names
 * @param below by what stands behind {@code *}, with its dot; empty for all names
 */
record ServerNames(Map<String, String> exact, Map<String, String> below) {
  /** The most names of a listener. */
  static final int NAMES_MAX = 10_000;

  private static final int LENGTH_MAX = 253; // RFC 1035, section 2.3.4, without the root
  private static final Pattern NAME = Pattern.compile("[a-z0-9_-]{1,63}(\\.[a-z0-9_-]{1,63})*");
  private static final Pattern NUMBER_AT_END = Pattern.compile("(.*\\.)?[0-9]+");

  ServerNames {
    exact = Map.copyOf(exact);
    below = Map.copyOf(below);
  }

  /**
   * Reads texts such as {@code mqtt.blue.example=blue}, {@code *.green.example=green} and {@code *=other}.
   *
   * @throws IllegalArgumentException that says what is wrong
   */
  static ServerNames parse(List<String> texts) {
    if (texts.size() > NAMES_MAX) throw new IllegalArgumentException("%d names, at most %d".formatted(texts.size(), NAMES_MAX));
    Map<String, String> exact = new HashMap<>();
    Map<String, String> below = new HashMap<>();
    for (String text : texts) {
      int equals = text.indexOf('=');
      String tenant = text.substring(equals + 1).strip();
      if (equals < 0 || !TenantSettings.isName(tenant)) {
        throw new IllegalArgumentException("\"%s\" is no server name, = and name of a tenant: 1 to 64 letters, digits, dots, dashes and underscores".formatted(LogText.escaped(text)));
      }
      String pattern = text.substring(0, equals).strip();
      String before;
      if (pattern.equals("*")) before = below.put("", tenant);
      else if (pattern.startsWith("*.")) before = below.put("." + named(pattern.substring(2)), tenant);
      else before = exact.put(named(pattern), tenant);
      if (before != null) throw new IllegalArgumentException("the server name \"%s\" is there twice".formatted(LogText.escaped(pattern)));
    }
    return new ServerNames(exact, below);
  }

  /** A name of the settings, in the form in which clients send it. */
  private static String named(String name) {
    Optional<String> form;
    try {
      form = form(IDN.toASCII(name));
    } catch (IllegalArgumentException _) {
      form = Optional.empty();
    }
    // An address is never sent as a server's name.
    return form.filter(each -> !NUMBER_AT_END.matcher(each).matches()).orElseThrow(() -> new IllegalArgumentException("\"%s\" is no name of a server".formatted(LogText.escaped(name))));
  }

  /** In lower case, without the dot of the root; empty if it is no name. */
  private static Optional<String> form(String name) {
    String form = (name.endsWith(".") ? name.substring(0, name.length() - 1) : name).toLowerCase(Locale.ROOT);
    return form.length() <= LENGTH_MAX && NAME.matcher(form).matches() ? Optional.of(form) : Optional.empty();
  }

  /** The tenant of a name that a client has sent: that of the whole name, else of the longest {@code *.}, which stands for one or more labels, else of {@code *}. */
  Optional<String> tenantOf(String name) {
    Optional<String> form = form(name);
    if (form.isEmpty()) return Optional.empty();
    String whole = form.get();
    String tenant = exact.get(whole);
    for (int dot = whole.indexOf('.'); tenant == null && dot >= 0; dot = whole.indexOf('.', dot + 1)) tenant = below.get(whole.substring(dot));
    return Optional.ofNullable(tenant == null ? below.get("") : tenant);
  }
}
