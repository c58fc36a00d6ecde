package dunlin.harness;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.ECGenParameterSpec;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Arrays;
import java.util.Base64;
import java.util.concurrent.atomic.AtomicLong;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import javax.security.auth.x500.X500Principal;
import org.jspecify.annotations.Nullable;

/**
 * A certificate authority for one test, and its certificates; as much of RFC 5280 as the tests need. Keys are of P-256 where a test does not bring its own: without the second compiler, an
 * RSA key takes a second of processor time.
 */
public final class Certificates {
  private static final AtomicLong SERIALS = new AtomicLong(System.nanoTime());
  private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("yyyyMMddHHmmss'Z'").withZone(ZoneOffset.UTC);
  private static final byte[] ECDSA_WITH_SHA256 = oid(0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02);
  private static final byte[] BASIC_CONSTRAINTS = oid(0x55, 0x1D, 0x13);
  private static final byte[] ALTERNATIVE_NAME = oid(0x55, 0x1D, 0x11);
  public static final int EMAIL = 0x81;
  public static final int DNS = 0x82;
  public static final int URI = 0x86;

  /** A certificate with its key. */
  public record Issued(X509Certificate certificate, KeyPair keys) {
    public String certificatePem() {
      try {
        return pem("CERTIFICATE", certificate.getEncoded());
      } catch (GeneralSecurityException e) {
        throw new AssertionError(e);
      }
    }

    public String keyPem() {
      return pem("PRIVATE KEY", keys.getPrivate().getEncoded());
    }

    private String name() {
      return certificate.getSubjectX500Principal().getName();
    }
  }

  private final KeyPair rootKeys = ec();
  private final X509Certificate root = sign("CN=root", "CN=root", rootKeys, true, new byte[0], Duration.ofDays(30)).certificate();

  public String rootPem() {
    return new Issued(root, rootKeys).certificatePem();
  }

  /** A certificate for the broker: 127.0.0.1 and localhost. */
  public Issued server() {
    return server(ec(), Duration.ofDays(9));
  }

  public Issued server(KeyPair keys, Duration valid) {
    byte[] names = concatenated(tagged(DNS, ascii("localhost")), tagged(0x87, new byte[] {127, 0, 0, 1}));
    return sign("CN=localhost", "CN=root", keys, false, names, valid);
  }

  /** A certificate for a client; names are values of the types above. */
  public Issued client(String subject, byte[]... names) {
    return sign(subject, "CN=root", ec(), false, concatenated(names), Duration.ofDays(9));
  }

  /** An intermediate authority, whose certificate this one has issued. */
  public Issued intermediate(String subject) {
    return sign(subject, "CN=root", ec(), true, new byte[0], Duration.ofDays(9));
  }

  /** A certificate for a client, of an intermediate authority. */
  public static Issued clientOf(Issued intermediate, String subject) {
    return sign(subject, intermediate.name(), intermediate.keys().getPrivate(), ec(), false, new byte[0], Duration.ofDays(9));
  }

  /** A revocation list of this authority, in PEM, of now and for the next days; critical adds an extension that says it is not the whole list. */
  public String revocationList(Duration begins, boolean critical, Issued... revoked) {
    return revocationList("CN=root", rootKeys.getPrivate(), begins, critical, revoked);
  }

  /** One of an intermediate authority, of an hour ago. */
  public static String revocationListOf(Issued intermediate, Issued... revoked) {
    return revocationList(intermediate.name(), intermediate.keys().getPrivate(), Duration.ofHours(-1), false, revoked);
  }

  private static String revocationList(String issuer, PrivateKey key, Duration begins, boolean critical, Issued... revoked) {
    Instant now = Instant.now().plus(begins);
    byte[][] entries = Arrays.stream(revoked).map(each -> sequence(number(each.certificate().getSerialNumber()), time(now))).toArray(byte[][]::new);
    byte[] extension = sequence(oid(0x55, 0x1D, 0x1C), tagged(0x01, new byte[] {-1}), tagged(0x04, sequence()));
    byte[] toSign =
        sequence(
            number(BigInteger.ONE),
            algorithm(),
            new X500Principal(issuer).getEncoded(),
            time(now),
            time(now.plus(Duration.ofDays(3))),
            revoked.length == 0 ? new byte[0] : sequence(entries),
            critical ? tagged(0xA0, sequence(extension)) : new byte[0]);
    return pem("X509 CRL", signed(toSign, key));
  }

  /** What a responder says of a certificate; RFC 6960, section 4.2.1. */
  public enum Standing {
    GOOD,
    REVOKED,
    UNKNOWN
  }

  /** The serial number of the certificate that a question for a responder is about. */
  public static BigInteger asked(byte[] question) {
    byte[] named = named(question);
    int at = content(named, 0);
    for (int i = 0; i < 3; i++) at = content(named, at) + length(named, at); // the algorithm and two digests
    return new BigInteger(Arrays.copyOfRange(named, content(named, at), content(named, at) + length(named, at)));
  }

  /** The name of the certificate, in the list in what could be signed of a question. */
  private static byte[] named(byte[] question) {
    int at = 0;
    for (int i = 0; i < 4; i++) at = content(question, at);
    return Arrays.copyOfRange(question, at, content(question, at) + length(question, at));
  }

  /** A responder's answer to a question, of this authority, in force for an hour from a time before or after now. */
  public byte[] answer(byte[] question, Standing standing, Duration begins) {
    Instant from = Instant.now().plus(begins);
    byte[] status =
        switch (standing) {
          case GOOD -> tagged(0x80, new byte[0]);
          case REVOKED -> tagged(0xA1, time(from));
          case UNKNOWN -> tagged(0x82, new byte[0]);
        };
    byte[] one = sequence(named(question), status, time(from), tagged(0xA0, time(from.plus(Duration.ofHours(1)))));
    byte[] toSign = sequence(tagged(0xA1, new X500Principal("CN=root").getEncoded()), time(from), sequence(one));
    byte[] basic = oid(0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x30, 0x01, 0x01);
    return sequence(new byte[] {0x0A, 0x01, 0x00}, tagged(0xA0, sequence(basic, tagged(0x04, signed(toSign, rootKeys.getPrivate())))));
  }

  /** A key store in PKCS#12. */
  public static byte[] keyStore(String password, Issued... issued) {
    try {
      KeyStore store = KeyStore.getInstance("PKCS12");
      store.load(null, null);
      for (int i = 0; i < issued.length; i++) {
        store.setKeyEntry("key-" + i, issued[i].keys().getPrivate(), password.toCharArray(), new X509Certificate[] {issued[i].certificate()});
      }
      var out = new ByteArrayOutputStream();
      store.store(out, password.toCharArray());
      return out.toByteArray();
    } catch (GeneralSecurityException | IOException e) {
      throw new AssertionError(e);
    }
  }

  public static byte[] name(int type, String text) {
    return tagged(type, ascii(text));
  }

  /** The context of a client that trusts this authority, with or without a certificate of its own. */
  public SSLContext context(Issued... own) {
    try {
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(keys(own).getKeyManagers(), trust().getTrustManagers(), null);
      return context;
    } catch (GeneralSecurityException e) {
      throw new AssertionError(e);
    }
  }

  /** The same with the intermediate authority that has issued its certificate, which the client sends with it. */
  public SSLContext contextBelow(Issued intermediate, Issued own) {
    try {
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(keysOf(own, own.certificate(), intermediate.certificate()).getKeyManagers(), trust().getTrustManagers(), null);
      return context;
    } catch (GeneralSecurityException e) {
      throw new AssertionError(e);
    }
  }

  public TrustManagerFactory trust() {
    try {
      KeyStore trusted = KeyStore.getInstance("PKCS12");
      trusted.load(null, null);
      trusted.setCertificateEntry("root", root);
      TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
      trust.init(trusted);
      return trust;
    } catch (GeneralSecurityException | IOException e) {
      throw new AssertionError(e);
    }
  }

  public static KeyManagerFactory keys(Issued... own) {
    return own.length == 0 ? keysOf(null) : keysOf(own[0], own[0].certificate());
  }

  private static KeyManagerFactory keysOf(@Nullable Issued own, X509Certificate... chain) {
    try {
      KeyStore store = KeyStore.getInstance("PKCS12");
      store.load(null, null);
      if (own != null) store.setKeyEntry("own", own.keys().getPrivate(), new char[0], chain);
      KeyManagerFactory keys = KeyManagerFactory.getInstance("PKIX");
      keys.init(store, new char[0]);
      return keys;
    } catch (GeneralSecurityException | IOException e) {
      throw new AssertionError(e);
    }
  }

  public static KeyPair rsa() {
    try {
      KeyPairGenerator generator = KeyPairGenerator.getInstance("RSA");
      generator.initialize(2_048);
      return generator.generateKeyPair();
    } catch (GeneralSecurityException e) {
      throw new AssertionError(e);
    }
  }

  public static KeyPair ec() {
    try {
      KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
      generator.initialize(new ECGenParameterSpec("secp256r1"));
      return generator.generateKeyPair();
    } catch (GeneralSecurityException e) {
      throw new AssertionError(e);
    }
  }

  /** The older form of a key, which is the octet string at the end of PKCS#8. */
  public static String oldKeyPem(KeyPair keys) {
    byte[] pkcs8 = keys.getPrivate().getEncoded();
    int at = content(pkcs8, 0); // the version
    for (int i = 0; i < 2; i++) at = content(pkcs8, at) + length(pkcs8, at); // then the algorithm, then the key
    byte[] old = Arrays.copyOfRange(pkcs8, content(pkcs8, at), content(pkcs8, at) + length(pkcs8, at));
    return pem(keys.getPrivate().getAlgorithm() + " PRIVATE KEY", old);
  }

  public static String pem(String what, byte[] der) {
    String text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der);
    return "-----BEGIN " + what + "-----\n" + text + "\n-----END " + what + "-----\n";
  }

  private Issued sign(String subject, String issuer, KeyPair keys, boolean authority, byte[] names, Duration valid) {
    return sign(subject, issuer, rootKeys.getPrivate(), keys, authority, names, valid);
  }

  /** @param by the issuer's key */
  private static Issued sign(String subject, String issuer, PrivateKey by, KeyPair keys, boolean authority, byte[] names, Duration valid) {
    try {
      Instant now = Instant.now();
      byte[] extensions = new byte[0];
      if (authority) extensions = sequence(BASIC_CONSTRAINTS, tagged(0x01, new byte[] {-1}), tagged(0x04, sequence(tagged(0x01, new byte[] {-1}))));
      else if (names.length > 0) extensions = sequence(ALTERNATIVE_NAME, tagged(0x04, sequence(names)));
      byte[] toSign =
          sequence(
              tagged(0xA0, new byte[] {0x02, 0x01, 0x02}),
              number(BigInteger.valueOf(SERIALS.incrementAndGet())),
              algorithm(),
              new X500Principal(issuer).getEncoded(),
              sequence(time(now.minusSeconds(3_600)), time(now.plus(valid))),
              new X500Principal(subject).getEncoded(),
              keys.getPublic().getEncoded(),
              extensions.length == 0 ? extensions : tagged(0xA3, sequence(extensions)));
      var certificate = CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(signed(toSign, by)));
      return new Issued((X509Certificate) certificate, keys);
    } catch (GeneralSecurityException e) {
      throw new AssertionError(e);
    }
  }

  /** The bytes with an authority's signature behind them. */
  private static byte[] signed(byte[] toSign, PrivateKey by) {
    try {
      Signature signature = Signature.getInstance("SHA256withECDSA");
      signature.initSign(by);
      signature.update(toSign);
      return sequence(toSign, algorithm(), tagged(0x03, concatenated(new byte[1], signature.sign())));
    } catch (GeneralSecurityException e) {
      throw new AssertionError(e);
    }
  }

  private static byte[] algorithm() {
    return sequence(ECDSA_WITH_SHA256);
  }

  private static byte[] number(BigInteger number) {
    return tagged(0x02, number.toByteArray());
  }

  private static byte[] time(Instant time) {
    return tagged(0x18, ascii(TIME.format(time)));
  }

  private static byte[] oid(int... bytes) {
    byte[] content = new byte[bytes.length];
    for (int i = 0; i < bytes.length; i++) content[i] = (byte) bytes[i];
    return tagged(0x06, content);
  }

  private static byte[] sequence(byte[]... parts) {
    return tagged(0x30, concatenated(parts));
  }

  private static byte[] tagged(int tag, byte[] content) {
    int n = content.length;
    byte[] head;
    if (n < 0x80) head = new byte[] {(byte) tag, (byte) n};
    else if (n < 0x100) head = new byte[] {(byte) tag, (byte) 0x81, (byte) n};
    else head = new byte[] {(byte) tag, (byte) 0x82, (byte) (n >> 8), (byte) n};
    return concatenated(head, content);
  }

  private static byte[] concatenated(byte[]... parts) {
    var out = new ByteArrayOutputStream();
    for (byte[] part : parts) out.writeBytes(part);
    return out.toByteArray();
  }

  private static int content(byte[] der, int index) {
    int first = der[index + 1] & 0xFF;
    return index + 2 + (first < 0x80 ? 0 : first & 0x7F);
  }

  private static int length(byte[] der, int index) {
    int end = content(der, index);
    if (end == index + 2) return der[index + 1];
    int length = 0;
    for (int i = index + 2; i < end; i++) length = length << 8 | (der[i] & 0xFF);
    return length;
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
