package dunlin.page;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.TestBroker;
import dunlin.admin.AdminTokens;
import dunlin.admin.api.Role;
import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** The operations page of a broker that runs alone, anew for each test. */
abstract class PageOfBroker extends PageInChromium {
  @TempDir Path directory;

  TestBroker broker;
  ApiCalls api;

  private Path tokens;

  /** Further settings of the broker. */
  Map<String, String> settings() {
    return Map.of();
  }

  @BeforeEach
  void startBroker() throws IOException {
    Path data = directory.resolve("data");
    tokens = Files.createFile(directory.resolve("tokens"));
    Map<String, String> all = new HashMap<>(settings());
    all.putAll(Map.of("dunlin.store.fsync", "false", "dunlin.admin.port", "0", "dunlin.admin.token-file", tokens.toString()));
    broker = TestBroker.on(data, all);
    api = ApiCalls.of(data);
  }

  @AfterEach
  void stopBroker() {
    if (broker == null) return; // skipped
    api.close();
    broker.close();
  }

  void signIn(String token) throws Exception {
    signIn(api.address(), token);
  }

  void signIn(Role role) throws Exception {
    signIn(tokenOf(role));
  }

  String tokenOf(Role role) throws IOException {
    String token = AdminTokens.create();
    Files.writeString(tokens, AdminTokens.line("x", role, token) + "\n");
    return token;
  }

  void noTokenIsValidAnyMore() throws IOException {
    Files.writeString(tokens, "# none any more\n");
  }

  /** Sets something by the API. */
  void put(String path, String body) {
    Answer answer = api.put(path, body);
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
  }

  /** Leaves a durable session with these subscriptions. */
  void absent(String clientId, String... filters) {
    RawClient.connected(broker.port(), Connect.of(clientId))
        .disconnectAfter(
            client -> {
              for (String filter : filters) client.subscribe(filter, 1);
            });
  }

  void publish(String topic, String payload, int messages) {
    try (var client = RawClient.connected(broker.port(), Connect.of("publisher").expiry(0))) {
      for (int i = 0; i < messages; i++) client.publishAndWait(topic, payload);
    }
  }

  void nothingWasAskedOfOthersAndNothingFailed() {
    assertThat(browser().requests()).isNotEmpty().allMatch(request -> request.startsWith(api.address()));
    assertThat(browser().errors()).isEmpty();
  }
}
