package dunlin.load.scenario;

import dunlin.load.mqtt.Version;
import dunlin.load.plan.Access;
import dunlin.load.plan.Credentials;
import dunlin.load.plan.Endpoint;
import dunlin.load.plan.Payload;
import dunlin.load.plan.Pool;
import dunlin.load.plan.Publishing;
import dunlin.load.plan.Rate;
import dunlin.load.plan.Subscribing;
import dunlin.load.plan.Template;
import dunlin.load.plan.Tls;
import dunlin.load.plan.Units;
import dunlin.load.plan.WillPlan;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads one pool of a scenario. */
final class PoolReader {
  private final Path directory;

  /** @param directory the base of relative paths in the scenario */
  PoolReader(Path directory) {
    this.directory = directory;
  }

  Pool read(String name, Section pool, Section scenario) {
    if (!pool.has("clients")) throw pool.error(pool.line(), "the pool %s does not say how many clients it has".formatted(name), null);
    Template clientId = template(pool, "client-id", name + "-%i");
    List<Version> versions = pool.list("version", PoolReader::version);
    String credentials = pool.text("credentials");
    Section broker = pool.section("broker", "a broker");
    if (broker == null) broker = scenario.section("broker", "a broker");
    Access access = access(broker, scenario);
    List<Subscribing> subscriptions = subscriptions(pool);
    List<Publishing> publishings = publishings(pool);
    WillPlan will = will(pool);
    Template user = optional(pool, "user");
    Template password = optional(pool, "password");
    Pool read =
        pool.at(
            "clients",
            of ->
                new Pool(
                    name,
                    of.integer("clients", 0),
                    of.integer("first", 0),
                    clientId,
                    versions.isEmpty() ? List.of(Version.V5) : versions,
                    of.truth("clean", true),
                    of.duration("session-expiry", Duration.ofHours(1)),
                    of.duration("keep-alive", Duration.ofMinutes(5)),
                    user,
                    password,
                    credentials == null ? null : Credentials.read(path(credentials)),
                    will,
                    subscriptions,
                    publishings,
                    of.rate("connect-rate"),
                    of.duration("reconnect"),
                    of.integer("inflight", 100),
                    of.integer("queue", 1_000),
                    access));
    pool.finish();
    return read;
  }

  private static Template template(Section section, String key, String usual) {
    return section.at(key, of -> new Template(of.text(key, usual)));
  }

  private static @Nullable Template optional(Section section, String key) {
    return section.has(key) ? template(section, key, "") : null;
  }

  private static Version version(String text) {
    return switch (text) {
      case "4", "3.1.1" -> Version.V3_1_1;
      case "5", "5.0" -> Version.V5;
      default -> throw new IllegalArgumentException("there is no version \"%s\"; there are 3.1.1 and 5".formatted(text));
    };
  }

  private static int qos(String text) {
    return switch (text) {
      case "0" -> 0;
      case "1" -> 1;
      case "2" -> 2;
      default -> throw new IllegalArgumentException("QoS is 0, 1 or 2, and not " + text);
    };
  }

  private static List<Subscribing> subscriptions(Section pool) {
    var subscriptions = new ArrayList<Subscribing>();
    for (Section one : pool.sections("subscribe", "a subscription", "filter")) {
      String filter = one.needed("filter");
      int qos = one.list("qos", PoolReader::qos).stream().findFirst().orElse(0);
      int repeated = one.integer("times", 1);
      if (repeated < 1 || repeated > Pool.SUBSCRIPTIONS_MAX) throw one.error("times", "a subscription is repeated 1 to %,d times, and not %,d".formatted(Pool.SUBSCRIPTIONS_MAX, repeated));
      for (int i = 0; i < repeated; i++) {
        String numbered = filter.replace("%n", Integer.toString(i));
        subscriptions.add(one.at("filter", _ -> new Subscribing(new Template(numbered), qos)));
      }
      one.finish();
    }
    return subscriptions;
  }

  private static List<Publishing> publishings(Section pool) {
    var publishings = new ArrayList<Publishing>();
    for (Section one : pool.sections("publish", "a publication", "topic")) {
      String topic = one.needed("topic");
      List<Integer> qos = one.list("qos", PoolReader::qos);
      Rate rate = one.rate("rate");
      boolean closed = one.has("window");
      if (closed == (rate != null)) throw one.error(one.line(), "a publication has either a \"rate\" or, for a closed loop, a \"window\"", null);
      int window = one.integer("window", 1);
      Payload payload = payload(one);
      boolean retain = one.truth("retain", false);
      publishings.add(one.at("topic", _ -> new Publishing(new Template(topic), qos.isEmpty() ? List.of(0) : qos, retain, rate, window, payload)));
      one.finish();
    }
    return publishings;
  }

  private static Payload payload(Section one) {
    String text = one.text("payload");
    if (text != null && one.has("size")) throw one.error("size", "a publication has a \"payload\" or a \"size\", and not both");
    if (text != null) return one.at("payload", _ -> Payload.ofText(new Template(text)));
    return one.at("size", of -> Payload.ofSize(Units.bytes(of.text("size", "256"))));
  }

  private static @Nullable WillPlan will(Section pool) {
    Section will = pool.section("will", "a will");
    if (will == null) return null;
    String topic = will.needed("topic");
    int qos = will.list("qos", PoolReader::qos).stream().findFirst().orElse(0);
    WillPlan read = will.at("topic", of -> new WillPlan(new Template(topic), qos, of.truth("retain", false)));
    will.finish();
    return read;
  }

  private Access access(@Nullable Section broker, Section scenario) {
    if (broker == null) {
      return scenario.at("name", of -> Access.plain(of.filled("${host}"), Integer.parseInt(of.filled("${port}"))));
    }
    List<String> hosts = broker.list("host", text -> text);
    Tls tls = tls(broker);
    int port = broker.integer("port", tls == null ? Integer.parseInt(scenario.filled("${port}")) : 8883);
    String webSocket = broker.text("websocket");
    boolean proxyHeader = broker.truth("proxy-protocol", false);
    List<String> sources = broker.list("sources", text -> text);
    Access access =
        broker.at(
            "host",
            of -> new Access((hosts.isEmpty() ? List.of(of.filled("${host}")) : hosts).stream().map(host -> new Endpoint(host, port)).toList(), tls, webSocket, proxyHeader, sources));
    broker.finish();
    return access;
  }

  private @Nullable Tls tls(Section broker) {
    Section tls = broker.section("tls", "tls");
    if (tls == null) return null;
    String ca = tls.text("ca");
    String certificate = tls.text("certificate");
    String key = tls.text("key");
    Tls read =
        tls.at(
            "certificate",
            of ->
                new Tls(
                    ca == null ? null : path(ca), certificate == null ? null : path(certificate), key == null ? null : path(key), of.truth("insecure", false)));
    tls.finish();
    return read;
  }

  private Path path(String text) {
    return directory.resolve(text);
  }
}
