package dunlin.harness;

import static org.awaitility.Awaitility.await;

import com.hivemq.client.mqtt.mqtt5.message.connect.Mqtt5ConnectBuilder;
import dunlin.TestBroker;
import dunlin.broker.auth.PasswordFile;
import dunlin.runtime.DropReason;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;

/** A broker with users and access rules. The user {@code admin} may do everything; each user's password is its name. */
public final class RuledBroker implements AutoCloseable {
  private static final int USER_AND_PASSWORD = 0xC0;

  private final Path acl;
  private final TestBroker broker;
  private int versions;

  /** @param rules those behind the ones of the user admin */
  public RuledBroker(Path directory, String... rules) {
    this(directory, Map.of(), rules);
  }

  /**
   * @param more settings
   * @param rules those behind the ones of the user admin
   */
  public RuledBroker(Path directory, Map<String, String> more, String... rules) {
    acl = directory.resolve("acl");
    Path passwords = directory.resolve("passwords");
    try {
      for (String user : new String[] {"admin", "reader", "other"}) PasswordFile.put(passwords, user, user.getBytes(StandardCharsets.UTF_8), 4_096);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    write(rules);
    var settings = new HashMap<>(more);
    settings.put("dunlin.auth.password-file", passwords.toString());
    settings.put("dunlin.auth.acl-file", acl.toString());
    settings.put("dunlin.store.fsync", "false");
    settings.put("dunlin.admin.port", "0");
    broker = TestBroker.on(directory.resolve("data"), settings);
  }

  public TestBroker broker() {
    return broker;
  }

  public Path acl() {
    return acl;
  }

  private void write(String... rules) {
    versions++;
    String text = "deny user admin publish version/" + (versions - 1) + "\nallow user admin all #\nallow user admin all $SYS/#\n" + String.join("\n", rules) + "\n";
    try {
      Path fresh = acl.resolveSibling("acl.new");
      Files.writeString(fresh, text);
      Files.move(fresh, acl, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Replaces the rules, and waits until they are in force for what is asked from now on. */
  public void change(String... rules) {
    write(rules);
    try (RawClient admin = connected("admin", UUID.randomUUID().toString())) {
      await().atMost(TestBroker.SOON).until(() -> admin.publishAndWait("version/" + (versions - 1), "") == 0x87);
    }
  }

  /** Connects with MQTT 5 and a session that ends with the connection. */
  public RawClient connected(String user, String clientId) {
    return RawClient.connected(broker.port(), connect(5, user, clientId, true, 0));
  }

  /** Connects with MQTT 5 and a durable session. */
  public RawClient durable(String user, String clientId) {
    return RawClient.connected(broker.port(), connect(5, user, clientId, false, 3_600));
  }

  public static byte[] connect(int level, String user, String clientId, boolean clean, long expirySeconds) {
    byte[] properties = RawClient.properties(expirySeconds == 0 ? new byte[0] : RawClient.sessionExpiry(expirySeconds));
    return RawClient.connect(level, USER_AND_PASSWORD | (clean ? 2 : 0), 0, properties, clientId, user, user);
  }

  /** A CONNECT with a will of QoS 1. */
  public static byte[] willing(int level, String user, String clientId, String topic, long delaySeconds) {
    byte[] properties = RawClient.properties(RawClient.sessionExpiry(3_600));
    byte[] ofWill = level < 5 ? new byte[0] : RawClient.properties(delaySeconds == 0 ? new byte[0] : RawClient.willDelay(delaySeconds));
    return RawClient.connect(level, USER_AND_PASSWORD | 0x0C, 0, properties, clientId, ofWill, topic, "will", user, user);
  }

  /** HiveMQ's client as the admin, to see what comes. */
  public Hive admin() {
    return Hive.connected(broker, UUID.randomUUID().toString(), RuledBroker::asAdmin);
  }

  private static Mqtt5ConnectBuilder asAdmin(Mqtt5ConnectBuilder with) {
    return with.simpleAuth().username("admin").password("admin".getBytes(StandardCharsets.UTF_8)).applySimpleAuth();
  }

  /** How often clients were denied an action, as metrics count it. */
  public int denied(String action) {
    return metric("dunlin_auth_denied_total", "kind=\"" + action + "\"");
  }

  /** The value of a metric with a tag. */
  public int metric(String name, String tag) {
    return metric(broker, name, tag);
  }

  /** The value of a metric with a tag, of a broker with an admin port. */
  public static int metric(TestBroker broker, String name, String tag) {
    return ApiCalls.metric(broker.node().adminPort(), name, tag);
  }

  /** Messages for clients that were withheld. */
  public long withheld() {
    return broker.frontend().copies().dropped(DropReason.NOT_AUTHORIZED);
  }

  @Override
  public void close() {
    broker.close();
  }
}
