package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import com.google.gson.JsonObject;
import dunlin.Dunlin;
import dunlin.TestBroker;
import dunlin.harness.ApiCalls;
import dunlin.harness.Certificates;
import dunlin.harness.Certificates.Issued;
import dunlin.harness.FreePort;
import dunlin.harness.LoggedLines;
import dunlin.harness.RawClient;
import dunlin.harness.WebService;
import dunlin.node.NodeSettings;
import dunlin.runtime.Secret;
import dunlin.runtime.Setting;
import dunlin.runtime.keys.Der;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import javax.crypto.Cipher;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;
import javax.crypto.spec.PBEParameterSpec;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.management.RuntimeMBeanException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Each secret that the settings know, in force and wrong: no bean, metric, answer of the admin API, line of the log or message of a failed start has it. */
class SecretsIT {
  /** What all secrets of this test have in them. */
  private static final String SESAME = "sesame";

  private static final int USER_AND_PASSWORD = 0xC2;
  private static final String LISTENER = "dunlin.listeners.tls.";

  /** The two forms of a key, of which a port has one. */
  enum Form {
    KEY("key-password"),
    KEY_STORE("key-store-password");

    private final String password;

    Form(String password) {
      this.password = password;
    }
  }

  @TempDir Path directory;

  private final Certificates authority = new Certificates();

  /** Says what it was sent, as services that fail do, and is of no use. */
  private final WebService service = new WebService(exchange -> WebService.send(exchange, "no: " + exchange.getRequestHeaders().getFirst("Authorization")));

  /** The settings of a node of a cluster with a key for each port. */
  private final Map<String, String> settings = new HashMap<>();

  /** The secrets among them. */
  private final Map<String, String> secrets = new TreeMap<>();

  @AfterEach
  void stop() {
    service.close();
  }

  private void prepare(Form form) {
    int port = FreePort.any();
    settings.put("dunlin.cluster.service-port", Integer.toString(port));
    settings.put("dunlin.cluster.port", Integer.toString(FreePort.any()));
    settings.put("dunlin.cluster.seeds", "127.0.0.1:" + port);
    settings.put("dunlin.cluster.bootstrap-expect", "1");
    settings.put("dunlin.cluster.tls.ca", file("ca.pem", ascii(authority.rootPem())));
    settings.put("dunlin.admin.port", "0");
    settings.put("dunlin.admin.tls.port", Integer.toString(FreePort.any()));
    settings.put("dunlin.admin.tls.host", "127.0.0.1");
    settings.put(LISTENER + "type", "tls");
    settings.put(LISTENER + "port", "0");
    settings.put("dunlin.auth.http.url", service.url("/clients"));
    settings.put("dunlin.tracing.otlp-url", service.url("/v1/traces"));
    settings.put("dunlin.tracing.sample-one-in", "1");
    for (String each : List.of("dunlin.cluster.tls.", "dunlin.admin.tls.", LISTENER + "tls.")) key(form, each);
    secrets.put("dunlin.auth.http.authorization", "Bearer " + SESAME + "-of-the-service");
    secrets.put("dunlin.auth.provider-options", "password=" + SESAME + "-of-the-provider");
    secrets.put("dunlin.tracing.otlp-authorization", "Bearer " + SESAME + "-of-the-collector");
  }

  private void key(Form form, String prefix) {
    Issued issued = authority.server();
    String password = SESAME + "-of-" + prefix;
    switch (form) {
      case KEY -> {
        settings.put(prefix + "certificate", file(prefix + "pem", ascii(issued.certificatePem())));
        settings.put(prefix + "key", file(prefix + "key", ascii(encrypted(issued.keys(), password))));
      }
      case KEY_STORE -> settings.put(prefix + "key-store", file(prefix + "p12", Certificates.keyStore(password, issued)));
    }
    secrets.put(prefix + form.password, password);
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  /** A key in PKCS#8, encrypted as OpenSSL does. */
  private static String encrypted(KeyPair keys, String password) {
    byte[] pbes2 = {0x06, 0x09, 0x2A, (byte) 0x86, 0x48, (byte) 0x86, (byte) 0xF7, 0x0D, 0x01, 0x05, 0x0D};
    String algorithm = "PBEWithHmacSHA256AndAES_256";
    try {
      Cipher cipher = Cipher.getInstance(algorithm);
      var key = SecretKeyFactory.getInstance(algorithm).generateSecret(new PBEKeySpec(password.toCharArray()));
      cipher.init(Cipher.ENCRYPT_MODE, key, new PBEParameterSpec(new byte[16], 2_048));
      byte[] hidden = cipher.doFinal(keys.getPrivate().getEncoded());
      return Certificates.pem(
          "ENCRYPTED PRIVATE KEY",
          Der.tagged(Der.SEQUENCE, Der.tagged(Der.SEQUENCE, pbes2, cipher.getParameters().getEncoded()), Der.tagged(Der.OCTET_STRING, hidden)));
    } catch (GeneralSecurityException e) {
      throw new AssertionError(e);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private String file(String name, byte[] content) {
    try {
      return Files.write(directory.resolve(name), content).toString();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Dunlin start() {
    var builder = Dunlin.builder().tcpPort(0).dataDirectory(directory.resolve("data")).meterRegistry(new SimpleMeterRegistry());
    settings.forEach(builder::set);
    return builder.build();
  }

  /** A secret that is added to the settings is added here. */
  @Test
  void allSecretsOfTheSettingsAreTried() {
    for (Form form : Form.values()) prepare(form);

    assertThat(NodeSettings.ALL.stream().filter(each -> each.defaultValue() instanceof Secret).map(Setting::key).map(key -> key.replace("*", "tls")))
        .containsExactlyInAnyOrderElementsOf(secrets.keySet());
  }

  @ParameterizedTest
  @CsvSource({"KEY, false", "KEY, true", "KEY_STORE, false", "KEY_STORE, true"})
  void noFaceShowsASecretThatIsInForce(Form form, boolean inFiles) throws Exception {
    prepare(form);
    secrets.forEach((key, secret) -> settings.put(key, inFiles ? "file:" + file(key, ascii(secret)) : secret));
    try (var lines = new LoggedLines("dunlin", Level.DEBUG)) {
      try (Dunlin node = start(); var client = new RawClient(node.port("tcp")); var api = ApiCalls.of(directory.resolve("data"))) {
        isRefused(client);
        await("what the service has said is known").atMost(TestBroker.SOON).until(() -> lines.all().stream().anyMatch(line -> line.contains("authentication service")));

        List<String> shown = new ArrayList<>();
        readBeans(shown);
        readApi(api, shown);
        shown.add(metrics(api.port()));
        assertHidden(shown);
        assertThat(String.join("\n", shown)).as("the settings are shown").contains(inFiles ? "file:" + directory.resolve("dunlin.auth.http.authorization") : "********");
      }
      assertHidden(lines.all());
    }
  }

  @ParameterizedTest
  @EnumSource
  void noMessageOfAFailedStartHasASecret(Form form) {
    prepare(form);
    settings.putAll(secrets);
    for (String key : secrets.keySet()) {
      if (!key.endsWith(form.password)) continue;
      settings.put(key, "wrong-" + SESAME);
      try (var lines = new LoggedLines("dunlin", Level.DEBUG)) {
        Throwable failure = catchThrowable(() -> start().close());
        assertThat(failure).as("a start with a wrong %s", key).isNotNull();
        var text = new StringWriter();
        failure.printStackTrace(new PrintWriter(text));
        assertThat(text.toString()).as("the port is named").contains(key.substring(0, key.length() - form.password.length())).doesNotContain(SESAME);
        assertHidden(lines.all());
      }
      settings.put(key, secrets.get(key));
    }
  }

  /** A client of HTTP says what is wrong with the text of a header, and quotes it. */
  @Test
  void aSecretThatIsNoHeaderIsNotQuoted() {
    String key = "dunlin.auth.http.authorization";
    settings.put("dunlin.auth.http.url", service.url("/clients"));
    settings.put(key, "file:" + file("two-lines", ascii(SESAME + "\n" + SESAME)));
    try (var lines = new LoggedLines("dunlin", Level.DEBUG);
        Dunlin node = start();
        var client = new RawClient(node.port("tcp"))) {
      isRefused(client);
      await("it is said").atMost(TestBroker.SOON).until(() -> lines.all().stream().anyMatch(line -> line.contains(key + " is no text for a header")));
      assertHidden(lines.all());
      assertThat(service.requests()).isZero();
    }
  }

  private static void isRefused(RawClient client) {
    client.send(RawClient.connect(5, USER_AND_PASSWORD, 0, RawClient.noProperties(), "client", "user", "password"));
    assertThat(client.next(RawClient.CONNACK).reason()).as("the service is of no use").isGreaterThanOrEqualTo(0x80);
  }

  private static void assertHidden(List<String> texts) {
    for (String text : texts) assertThat(text).doesNotContain(SESAME);
  }

  private static void readBeans(List<String> shown) throws JMException {
    MBeanServer server = ManagementFactory.getPlatformMBeanServer();
    for (ObjectName bean : server.queryNames(new ObjectName("dunlin:*"), null)) {
      for (MBeanAttributeInfo each : server.getMBeanInfo(bean).getAttributes()) {
        if (!each.isReadable()) continue;
        try {
          shown.add(bean + " " + each.getName() + " " + text(server.getAttribute(bean, each.getName())));
        } catch (RuntimeMBeanException refused) {
          shown.add(refused.toString());
        }
      }
    }
  }

  private static String text(Object value) {
    return value instanceof Object[] all ? Arrays.deepToString(all) : String.valueOf(value);
  }

  /** Asks all that is asked without a parameter in the path. */
  private static void readApi(ApiCalls api, List<String> shown) {
    JsonObject paths = api.get("/openapi.json").json().getAsJsonObject("paths");
    for (String path : paths.keySet()) {
      if (path.contains("{") || !paths.getAsJsonObject(path).has("get") || path.contains("events")) continue;
      String relative = path.startsWith("/api/v1") ? path.substring("/api/v1".length()) : path;
      shown.add(path + " " + api.get(relative).text());
    }
    assertThat(shown).anySatisfy(text -> assertThat(text).contains("/settings").contains("dunlin.auth.http.authorization"));
  }

  private static String metrics(int port) throws IOException, InterruptedException {
    var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/metrics")).build();
    try (HttpClient http = HttpClient.newHttpClient()) {
      return http.send(request, HttpResponse.BodyHandlers.ofString()).body();
    }
  }
}
