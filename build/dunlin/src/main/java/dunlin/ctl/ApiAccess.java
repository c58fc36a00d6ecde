package dunlin.ctl;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.Base64;
import java.util.List;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/**
 * Where the admin API is and how one signs in to it.
 *
 * @param authorization the header of this name
 * @param trust whose certificates are accepted; null for what the JDK trusts
 */
record ApiAccess(URI address, String authorization, @Nullable SSLSocketFactory trust) {
  private static final int LINE_MAX = 65_536;
  private static final Pattern PLAIN_ELSEWHERE = Pattern.compile("http://(?!(localhost|127\\.0\\.0\\.1|\\[::1])([:/]|$)).*");

  /**
   * What the command line says of it; null where it says nothing.
   *
   * @param access file with the address and a token, used where neither an address nor a token or user is named
   * @param ca file in PEM with the certificates that the node's is verified against
   */
  record Named(Path access, @Nullable String address, @Nullable Path ca, @Nullable Path tokenFile, @Nullable String user, @Nullable Path passwordFile) {}

  /** @throws IOException saying what is wrong with a file, or what is missing */
  static ApiAccess of(Named named) throws IOException {
    SSLSocketFactory trust = named.ca() == null ? null : trust(named.ca());
    if ((named.user() == null) != (named.passwordFile() == null)) throw new IOException("--as-user and --password-file belong together");
    if (named.user() != null && named.tokenFile() != null) throw new IOException("sign in either by --token-file or by --as-user");
    if (named.address() != null && named.user() == null && named.tokenFile() == null) {
      throw new IOException("--address needs --token-file, or --as-user with --password-file");
    }
    List<String> file = named.address() == null || (named.user() == null && named.tokenFile() == null) ? read(named.access()) : List.of();
    URI address = address(named.address() == null ? file.getFirst() : named.address());
    return new ApiAccess(address, authorization(named, file), trust);
  }

  private static String authorization(Named named, List<String> file) throws IOException {
    if (named.user() != null && named.passwordFile() != null) {
      String pair = named.user() + ":" + firstLine(named.passwordFile());
      return "Basic " + Base64.getEncoder().encodeToString(pair.getBytes(StandardCharsets.UTF_8));
    }
    return "Bearer " + (named.tokenFile() == null ? file.getLast().strip() : firstLine(named.tokenFile()).strip());
  }

  private static List<String> read(Path file) throws IOException {
    if (!Files.exists(file)) {
      throw new IOException(
          file + " does not exist: name the file admin-access in the node's data directory by --access or DUNLINCTL_ACCESS, or sign in to another machine's node by --address");
    }
    List<String> lines = Files.readAllLines(file, StandardCharsets.US_ASCII);
    if (lines.size() != 2 || !lines.getFirst().matches("https?://.*") || lines.getLast().isBlank()) {
      throw new IOException(file + " has not two lines, an address with http:// or https:// and a token");
    }
    return lines;
  }

  private static URI address(String text) throws IOException {
    try {
      URI address = URI.create(text.strip());
      if (PLAIN_ELSEWHERE.matcher(address.toString()).matches()) throw new IOException("another machine's node is reached by https://, not by " + address);
      if (address.getHost() == null || !address.toString().matches("https?://.*")) throw new IOException("not an address such as https://node.example:8443: " + text);
      return address;
    } catch (IllegalArgumentException e) {
      throw new IOException("not a valid address: " + e.getMessage(), e);
    }
  }

  /** The first line of a file, or of standard input for -; not empty. */
  private static String firstLine(Path file) throws IOException {
    if (file.toString().equals(GivenFile.STANDARD_INPUT)) return GivenFile.firstLine(System.in.readNBytes(LINE_MAX), "the standard input");
    try (InputStream in = Files.newInputStream(file)) {
      return GivenFile.firstLine(in.readNBytes(LINE_MAX), file.toString());
    }
  }

  private static SSLSocketFactory trust(Path ca) throws IOException {
    try (InputStream in = Files.newInputStream(ca)) {
      KeyStore trusted = KeyStore.getInstance("PKCS12");
      trusted.load(null, null);
      int number = 0;
      for (Certificate each : CertificateFactory.getInstance("X.509").generateCertificates(in)) trusted.setCertificateEntry("ca-" + number++, each);
      if (number == 0) throw new IOException(ca + " has no certificate");
      TrustManagerFactory managers = TrustManagerFactory.getInstance("PKIX");
      managers.init(trusted);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, managers.getTrustManagers(), null);
      return context.getSocketFactory();
    } catch (GeneralSecurityException e) {
      throw new IOException(ca + " has no certificates in PEM format: " + e.getMessage(), e);
    }
  }
}
