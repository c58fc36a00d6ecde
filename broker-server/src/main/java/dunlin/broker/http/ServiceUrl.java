package dunlin.broker.http;

import dunlin.runtime.SettingException;
import java.net.InetAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.Locale;

/** Addresses of services that decide who is let in. What they say must not be readable or changeable on its way. */
public final class ServiceUrl {
  private ServiceUrl() {}

  /**
   * Reads the URL of a setting: https, or http on loopback, without user and fragment.
   *
   * @param key of the setting
   * @throws SettingException if it is anything else; the message has nothing of the URL, which may have a secret
   */
  public static URI read(String key, String text) {
    URI uri = readSigned(key, text);
    if (!"https".equalsIgnoreCase(uri.getScheme()) && !isLoopback(uri.getHost())) throw wrong(key, "must begin with https://; http is for loopback only");
    return uri;
  }

  /**
   * Reads the URL of a service that signs its answers: https or http, without user and fragment.
   *
   * @param key of the setting
   * @throws SettingException if it is anything else; the message has nothing of the URL
   */
  public static URI readSigned(String key, String text) {
    URI uri;
    try {
      uri = new URI(text);
    } catch (URISyntaxException _) {
      throw wrong(key, "is no URL");
    }
    String scheme = uri.getScheme() == null ? "" : uri.getScheme().toLowerCase(Locale.ROOT);
    if (uri.getHost() == null || (!scheme.equals("https") && !scheme.equals("http"))) throw wrong(key, "must begin with https:// and a host");
    if (uri.getRawUserInfo() != null || uri.getRawFragment() != null) throw wrong(key, "may have neither a user nor a fragment");
    return uri;
  }

  /** Without the query, which may have a secret. */
  public static String shown(URI url) {
    return url.getScheme() + "://" + url.getRawAuthority() + url.getRawPath();
  }

  private static boolean isLoopback(String host) {
    if (host.equalsIgnoreCase("localhost")) return true;
    try {
      return InetAddress.ofLiteral(host.startsWith("[") ? host.substring(1, host.length() - 1) : host).isLoopbackAddress();
    } catch (IllegalArgumentException _) {
      return false; // a name, which may stand for anything
    }
  }

  private static SettingException wrong(String key, String what) {
    return new SettingException(key + ": " + what);
  }
}
