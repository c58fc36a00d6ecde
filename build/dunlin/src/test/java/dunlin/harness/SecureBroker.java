package dunlin.harness;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.cert.X509Certificate;
import java.util.HashMap;
import java.util.Map;
import javax.management.JMException;
import javax.management.ObjectName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;

/** The files and settings of a broker with a listener {@code tls}, and its clients over TLS. */
public final class SecureBroker {
  public static final String ROOT = "dunlin.listeners.tls.";

  public final Certificates authority = new Certificates();
  public final Map<String, String> settings = new HashMap<>();
  private final Path directory;

  /** A listener without a certificate, which a test must set. */
  public SecureBroker(Path directory) {
    this.directory = directory;
    settings.put(ROOT + "type", "tls");
    settings.put(ROOT + "port", "0");
  }

  /** Sets the listener's certificate, in PEM. */
  public SecureBroker withCertificate() {
    return with(authority.server());
  }

  public SecureBroker with(Certificates.Issued server) {
    settings.put(ROOT + "tls.certificate", file("server.pem", server.certificatePem()));
    settings.put(ROOT + "tls.key", file("server.key", server.keyPem()));
    return this;
  }

  /** Lets the listener ask for certificates of the authority. */
  public SecureBroker askingClients() {
    settings.put(ROOT + "tls.client-auth", "required");
    settings.put(ROOT + "tls.client-ca", file("ca.pem", authority.rootPem()));
    return this;
  }

  public TestBroker start() {
    return TestBroker.on(directory.resolve("data"), settings);
  }

  /** Writes a file in one step. */
  public String file(String name, String content) {
    return file(name, content.getBytes(StandardCharsets.UTF_8));
  }

  public String file(String name, byte[] content) {
    try {
      Path fresh = Files.write(directory.resolve(name + ".new"), content);
      return Files.move(fresh, directory.resolve(name), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING).toString();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A socket of a client, before its handshake. */
  public static SSLSocket socket(TestBroker broker, SSLContext context) throws IOException {
    return (SSLSocket) context.getSocketFactory().createSocket("127.0.0.1", broker.node().port("tls"));
  }

  /** A client of MQTT 5, after its CONNACK; it fails if the listener refuses the certificate. */
  public static RawClient connected(TestBroker broker, SSLContext context, String clientId) {
    try {
      SSLSocket socket = socket(broker, context);
      socket.startHandshake();
      RawClient client = new RawClient(socket);
      client.connect(RawClient.connect(5, true, 0, clientId, RawClient.noProperties()));
      return client;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The certificate that the broker shows to a new client. */
  public X509Certificate shown(TestBroker broker) {
    try (SSLSocket socket = socket(broker, authority.context())) {
      socket.startHandshake();
      return (X509Certificate) socket.getSession().getPeerCertificates()[0];
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Waits until a counter of the broker has this value. */
  public static void awaitCount(TestBroker broker, String name, long count) {
    await(name).atMost(TestBroker.SOON).untilAsserted(() -> assertThat(meter(broker, name, "Count")).isEqualTo(count));
  }

  /** What a meter of the broker says, by its name and tags. */
  public static Object meter(TestBroker broker, String name, String attribute) throws JMException {
    String node = broker.node().nodeId().substring(0, 8);
    return ManagementFactory.getPlatformMBeanServer().getAttribute(new ObjectName("dunlin:type=Metrics,node=" + node + ",name=" + name), attribute);
  }
}
