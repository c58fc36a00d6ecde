package dunlin.load.engine;

import static dunlin.load.Plans.open;
import static dunlin.load.Plans.plan;
import static dunlin.load.Plans.pool;
import static dunlin.load.Plans.to;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.Dunlin;
import dunlin.load.Certificates;
import dunlin.load.count.Count;
import dunlin.load.mqtt.Version;
import dunlin.load.plan.Access;
import dunlin.load.plan.Endpoint;
import dunlin.load.plan.Plan;
import dunlin.load.plan.Pool;
import dunlin.load.plan.Publishing;
import dunlin.load.plan.Step;
import dunlin.load.plan.Subscribing;
import dunlin.load.plan.Tls;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Messages arrive over TLS, WebSocket, both, and from given source addresses, against Dunlin. */
class TransportsTest {
  private static Pool over(Access access, String name, List<Subscribing> subscriptions, List<Publishing> publishings) {
    Pool plain = pool(name, 3, 1, Version.V5, subscriptions, publishings);
    return new Pool(
        plain.name(), plain.clients(), plain.first(), plain.clientId(), plain.versions(), plain.clean(), plain.sessionExpiry(), plain.keepAlive(), null, null, null, null, subscriptions,
        publishings, null, null, plain.inflightMax(), plain.queueMax(), access);
  }

  private static Result run(Access access) {
    Plan plan = plan(over(access, "sub", List.of(to("t/%i", 1)), List.of()), over(access, "pub", List.of(), List.of(open("t/%i", 1, 100))), 60);
    return new Run(plan, LocalCrew::all, null, (_, _) -> {}).execute();
  }

  private static Access access(int port, Tls tls, String webSocketPath, List<String> sources) {
    return new Access(List.of(new Endpoint("127.0.0.1", port)), tls, webSocketPath, false, sources);
  }

  private static void comesThrough(Result result) {
    assertThat(result.snapshot().get(Count.RECEIVED_1)).as(() -> "%s %s".formatted(result.snapshot().failures(), result.snapshot().counts())).isEqualTo(60);
    assertThat(result.tally().total()).isZero();
  }

  @Test
  void messagesArriveThroughEachTransport(@TempDir Path directory) throws Exception {
    Certificates own = Certificates.make(directory, "localhost");
    String certificate = own.certificate().toString();
    String key = own.key().toString();
    Tls trusting = new Tls(own.certificate(), null, null, false);
    Tls insecure = new Tls(null, null, null, true);
    try (Dunlin broker =
        Dunlin.builder()
            .inMemory()
            .tcpPort(0)
            .set("dunlin.listeners.ws.type", "ws")
            .set("dunlin.listeners.ws.port", "0")
            .set("dunlin.listeners.wss.type", "wss")
            .set("dunlin.listeners.wss.port", "0")
            .set("dunlin.listeners.wss.tls.certificate", certificate)
            .set("dunlin.listeners.wss.tls.key", key)
            .set("dunlin.listeners.tls.type", "tls")
            .set("dunlin.listeners.tls.port", "0")
            .set("dunlin.listeners.tls.tls.certificate", certificate)
            .set("dunlin.listeners.tls.tls.key", key)
            .build()) {
      comesThrough(run(new Access(List.of(new Endpoint("127.0.0.1", broker.port("ws"))), null, "/mqtt", false, List.of())));
      comesThrough(run(access(broker.port("tls"), trusting, List.of())));
      comesThrough(run(access(broker.port("tls"), insecure, List.of())));
      comesThrough(run(access(broker.port("wss"), trusting, "/mqtt", List.of())));
      comesThrough(run(new Access(List.of(new Endpoint("127.0.0.1", broker.tcpPort())), null, null, false, List.of("127.0.0.1", "127.0.0.2"))));

      Pool untrusting = over(access(broker.port("tls"), new Tls(null, null, null, false), List.of()), "c", List.of(), List.of());
      Result untrusted = new Run(plan(List.of(untrusting), List.of(new Step.Connect("connect", List.of("c"), null))), LocalCrew::all, null, (_, _) -> {}).execute();
      assertThat(untrusted.snapshot().get(Count.CONNECTED)).isZero();
      assertThat(untrusted.snapshot().get(Count.CONNECT_FAILED)).isEqualTo(3);
      assertThat(untrusted.snapshot().failures().toString()).contains("certification path");
    }
  }

  private static Access access(int port, Tls tls, List<String> sources) {
    return new Access(List.of(new Endpoint("127.0.0.1", port)), tls, null, false, sources);
  }
}
