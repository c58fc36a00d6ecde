package dunlin.load;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.Dunlin;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** Clients with their own certificates from a CSV file, and clients that send a PROXY protocol header, against Dunlin. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class AccessTest {
  @TempDir private static Path directory;
  private Dunlin broker;

  @BeforeAll
  void start() throws Exception {
    Certificates server = Certificates.make(directory, "localhost");
    Certificates one = Certificates.make(directory, "one");
    Certificates two = Certificates.make(directory, "two");
    Certificates.make(directory, "stranger");
    Path known = Files.writeString(directory.resolve("known.pem"), Files.readString(one.certificate()) + Files.readString(two.certificate()));
    String mutual = "dunlin.listeners.mutual.";
    String both = "dunlin.listeners.both.";
    broker =
        Dunlin.builder()
            .inMemory()
            .tcpPort(0)
            .set(mutual + "type", "tls")
            .set(mutual + "port", "0")
            .set(mutual + "tls.certificate", server.certificate().toString())
            .set(mutual + "tls.key", server.key().toString())
            .set(mutual + "tls.client-auth", "required")
            .set(mutual + "tls.client-ca", known.toString())
            .set(mutual + "tls.identity", "cn-client-id")
            .set("dunlin.listeners.proxied.port", "0")
            .set("dunlin.listeners.proxied.proxy-protocol", "required")
            .set(both + "type", "tls")
            .set(both + "port", "0")
            .set(both + "proxy-protocol", "required")
            .set(both + "tls.certificate", server.certificate().toString())
            .set(both + "tls.key", server.key().toString())
            .build();
  }

  @AfterAll
  void stop() {
    broker.close();
  }

  /** Runs two clients that publish to each other, with a scenario's settings of the broker and of the pool. */
  private Bench twoClients(String listener, String access, String pool) throws Exception {
    return twoClients(listener, access, pool, "30s");
  }

  /** The same with clients of which some are refused: their messages wait for as long as an acknowledgement may take. */
  private Bench refusedClients(String listener, String access, String pool) throws Exception {
    return twoClients(listener, access, pool, "1s");
  }

  private Bench twoClients(String listener, String access, String pool, String acknowledged) throws Exception {
    Path scenario =
        Files.writeString(
            directory.resolve(listener + ".yaml"),
            """
            broker: {host: "127.0.0.1", port: "${port}", %s}
            pools:
              all: {clients: 2, version: 5, %s, subscribe: {filter: "%s/#", qos: 1}, publish: {topic: "%s/%%i", qos: 1, rate: 50/s, size: 20}}
            acknowledge-timeout: %s
            phases:
              - connect: all
              - publish: {pool: all, messages: 20}
              - drain: 30s
            expect: {lost: 0, received: ">= 40", connected: ">= 2"}
            """
                .formatted(access, pool, listener, listener, acknowledged));
    return Bench.run("run", scenario.toString(), "-p", Integer.toString(broker.port(listener)), "--quiet");
  }

  private String credentials(String name, String... lines) throws Exception {
    Files.writeString(directory.resolve(name), "client-id,certificate,key\n" + String.join("\n", lines) + "\n");
    return "credentials: " + name;
  }

  @Test
  void eachClientHasItsOwnCertificate() throws Exception {
    String own = credentials("own.csv", "one,one-cert.pem,one-key.pem", "two,two-cert.pem,two-key.pem");

    Bench outcome = twoClients("mutual", "tls: {ca: localhost-cert.pem}", own);

    assertThat(outcome.status()).as(outcome.toString()).isZero();
    assertThat(outcome.out()).contains("met   connected: >= 2 (was 2)", "met   lost: 0 (was 0)");
  }

  @Test
  void aClientWithTheCertificateOfAnotherIsRefused() throws Exception {
    String swapped = credentials("swapped.csv", "one,one-cert.pem,one-key.pem", "two,one-cert.pem,one-key.pem");

    Bench outcome = refusedClients("mutual", "tls: {ca: localhost-cert.pem}", swapped);

    assertThat(outcome.status()).isEqualTo(1);
    assertThat(outcome.out()).contains("NOT MET  connected: >= 2 (was 1)", "connects refused by the broker: 1");
  }

  @Test
  void aClientWithoutATrustedCertificateIsRefused() throws Exception {
    String strange = credentials("strange.csv", "stranger,stranger-cert.pem,stranger-key.pem", "stranger2,stranger-cert.pem,stranger-key.pem");

    Bench none = refusedClients("mutual", "tls: {ca: localhost-cert.pem}", "client-id: c-%i");
    Bench strangers = refusedClients("mutual", "tls: {ca: localhost-cert.pem}", strange);

    for (Bench outcome : new Bench[] {none, strangers}) {
      assertThat(outcome.status()).as(outcome.toString()).isEqualTo(1);
      assertThat(outcome.err()).contains("no client was connected");
      assertThat(outcome.out()).contains("connects failed in the network: 2");
    }
  }

  @Test
  void anErrorNamesAMissingCertificate() throws Exception {
    Bench outcome = twoClients("mutual", "tls: {ca: localhost-cert.pem}", credentials("gone.csv", "one,none.pem,one-key.pem"));

    assertThat(outcome.status()).isEqualTo(2);
    assertThat(outcome.err()).contains("none.pem cannot be read");
  }

  @Test
  void aConnectionBeginsWithTheProxyHeader() throws Exception {
    Bench plain = twoClients("proxied", "proxy-protocol: true", "client-id: p-%i");
    Bench secure = twoClients("both", "proxy-protocol: true, tls: {ca: localhost-cert.pem}", "client-id: b-%i");

    assertThat(plain.status()).as(plain.toString()).isZero();
    assertThat(secure.status()).as(secure.toString()).isZero();
    Bench without = refusedClients("proxied", "proxy-protocol: false", "client-id: w-%i");
    assertThat(without.status()).as(without.toString()).isEqualTo(1);
    assertThat(without.err()).contains("no client was connected");
  }
}
