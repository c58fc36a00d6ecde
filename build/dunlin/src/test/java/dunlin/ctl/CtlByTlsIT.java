package dunlin.ctl;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.TestBroker;
import dunlin.harness.ApiCalls;
import dunlin.harness.Certificates;
import dunlin.harness.FreePort;
import dunlin.harness.SecureBroker;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** dunlinctl from another machine: by TLS, with a token or an operator's password. */
class CtlByTlsIT {
  private static final String PASSWORD = "correct horse battery staple";

  @TempDir private Path directory;

  private final int port = FreePort.any();
  private final String address = "https://127.0.0.1:" + port;
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final ByteArrayOutputStream err = new ByteArrayOutputStream();
  private SecureBroker secure;
  private TestBroker broker;
  private String ca;
  private String password;

  @BeforeEach
  void start() {
    secure = new SecureBroker(directory);
    secure.settings.clear();
    secure.settings.put("dunlin.store.fsync", "false");
    secure.settings.put("dunlin.admin.port", "0");
    secure.settings.put("dunlin.admin.tls.port", Integer.toString(port));
    secure.settings.put("dunlin.admin.tls.host", "127.0.0.1");
    secure.settings.put("dunlin.admin.tls.key-store-password", "file:" + secure.file("store-password", "changeit\n"));
    show(secure.authority.server());
    ca = secure.file("ca.pem", secure.authority.rootPem());
    password = secure.file("password", PASSWORD + "\n");
    broker = secure.start();
  }

  private void show(Certificates.Issued issued) {
    secure.settings.put("dunlin.admin.tls.key-store", secure.file("admin.p12", Certificates.keyStore("changeit", issued)));
  }

  @AfterEach
  void stop() {
    broker.close();
  }

  private int run(String... arguments) {
    out.reset();
    err.reset();
    return Ctl.run(
        new PrintStream(out, true, StandardCharsets.UTF_8), new PrintStream(err, true, StandardCharsets.UTF_8), directory.resolve("data/admin-access"), arguments);
  }

  private String out() {
    return out.toString(StandardCharsets.UTF_8);
  }

  private String err() {
    return err.toString(StandardCharsets.UTF_8);
  }

  private int asVera(String... command) {
    Stream<String> options = Stream.of("--address", address, "--ca", ca, "--as-user", "vera", "--password-file", password);
    return run(Stream.concat(Stream.of(command), options).toArray(String[]::new));
  }

  @Test
  void anOperatorIsAddedAndSignsIn() throws IOException {
    assertThat(run("operators", "set", "vera", "--role", "operator", "--new-password-from", password)).as(err()).isZero();
    assertThat(asVera("status", "-o", "json")).as(err()).isZero();
    assertThat(out()).contains("\"role\": \"operator\"").doesNotContain(PASSWORD);
    assertThat(asVera("operators", "list")).isEqualTo(Ctl.REFUSED);
    assertThat(err()).contains("needs the role admin; yours is operator");

    String token;
    try (ApiCalls local = ApiCalls.of(directory.resolve("data"))) {
      token = secure.file("token", local.token() + "\n");
    }
    assertThat(run("operators", "list", "--address", address, "--ca", ca, "--token-file", token)).as(err()).isZero();
    assertThat(out()).contains("admin", "vera");
    Path access = Files.writeString(directory.resolve("access"), address + "\n" + Files.readString(Path.of(token)));
    assertThat(run("status", "--access", access.toString(), "--ca", ca)).as(err()).isZero();

    assertThat(run("operators", "delete", "vera")).isZero();
    assertThat(asVera("status")).isEqualTo(Ctl.REFUSED);
    assertThat(err()).contains("no operator with this name and password");
  }

  @Test
  void aCertificateThatIsNotTrustedOrHasExpiredIsSaid() {
    assertThat(run("operators", "set", "vera", "--role", "viewer", "--new-password-from", password)).isZero();
    String other = secure.file("other-ca.pem", new Certificates().rootPem());
    assertThat(run("status", "--address", address, "--ca", other, "--as-user", "vera", "--password-file", password)).isEqualTo(Ctl.UNREACHED);
    assertThat(err()).contains("its certificate is not trusted", "--ca");
    assertThat(run("status", "--address", address, "--as-user", "vera", "--password-file", password)).isEqualTo(Ctl.UNREACHED);

    broker.close();
    show(secure.authority.server(Certificates.ec(), Duration.ofMinutes(-10)));
    broker = secure.start();

    assertThat(asVera("status")).isEqualTo(Ctl.UNREACHED);
    assertThat(err()).contains("its certificate is not trusted").doesNotContain(PASSWORD);
  }

  @Test
  void whatIsMissingOrWrongOnTheCommandLineIsSaid() {
    for (List<String> wrong :
        List.of(
            List.of("--address", address), List.of("--as-user", "vera"), List.of("--password-file", password),
            List.of("--as-user", "vera", "--password-file", password, "--token-file", password), List.of("--ca", password),
            List.of("--address", "http://node.example:8080", "--token-file", password), List.of("--address", "ftp://x", "--token-file", password),
            List.of("--address", "no address", "--token-file", password), List.of("--token-file", directory.resolve("none").toString()))) {
      assertThat(run(Stream.concat(Stream.of("status"), wrong.stream()).toArray(String[]::new))).as("%s: %s", wrong, err()).isEqualTo(Ctl.UNREACHED);
      assertThat(err()).startsWith("dunlinctl: ").hasLineCount(1);
    }
    assertThat(run("operators", "set", "vera", "--role", "viewer")).as("without a password").isEqualTo(Ctl.USAGE);
  }
}
