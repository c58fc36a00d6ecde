package dunlin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.broker.users.AccessMXBean;
import dunlin.harness.ApiCalls;
import dunlin.harness.ClusterClients;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import dunlin.store.StoreException;
import dunlin.store.disk.NodeIdentity;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Data directories and backups that earlier builds have written, in {@code src/test/resources/formats}. Each of them must be read as long as its format is. {@code
 * -Dformats.write=true} writes one of each by this build, which is due when a format gets another number.
 */
class StoredFormatsIT {
  private static final Path FORMATS = Path.of("src/test/resources/formats");
  private static final String DATA = "data-" + NodeIdentity.format();
  private static final String BACKUP = "backup-" + NodeIdentity.format();
  private static final long NEVER = 0xFFFF_FFFFL;
  private static final int PACKET = 7;
  private static final int NO_SUBSCRIBERS = 0x10;
  private static final String END = "end";
  private static final Map<String, String> SETTINGS = Map.of("dunlin.inbox.ranges", "1", "dunlin.inbox.shards", "16", "dunlin.admin.port", "-1");

  /** What belongs to a process and not to the data. */
  private static final Set<String> LEFT_OUT = Set.of("lock", "lock.owner", "admin-access", "snapshots");

  @TempDir private Path directory;

  static Stream<String> data() throws IOException {
    return written("data-");
  }

  static Stream<String> backups() throws IOException {
    return written("backup-");
  }

  private static Stream<String> written(String prefix) throws IOException {
    try (var found = Files.list(FORMATS)) {
      return found.map(path -> path.getFileName().toString().replace(".zip", "")).filter(name -> name.startsWith(prefix)).sorted().toList().stream();
    }
  }

  @ParameterizedTest
  @MethodSource("data")
  void aDataDirectoryOfEachFormatIsRead(String name) throws IOException {
    unpack(name, directory.resolve("data"));
    isAllThere(directory.resolve("data"));
  }

  @ParameterizedTest
  @MethodSource("backups")
  void aBackupOfEachFormatIsRestored(String name) throws IOException {
    unpack(name, directory.resolve("backup"));
    var restored = RestoreRun.of(directory.resolve("backup").toString(), directory.resolve("data").toString());
    assertThat(restored.code()).as("%s", restored).isZero();
    isAllThere(directory.resolve("data"));
  }

  @Test
  void thereIsOneOfThePresentFormat() throws IOException {
    if (Boolean.getBoolean("formats.write")) write();
    assertThat(data()).contains(DATA);
    assertThat(backups()).contains(BACKUP);
  }

  @Test
  void aDataDirectoryOfANewerFormatIsRefusedAndNotChanged() throws IOException {
    Path data = directory.resolve("data");
    unpack(DATA, data);
    Path identity = data.resolve("dunlin.node");
    byte[] bytes = Files.readAllBytes(identity);
    bytes[0]++;
    var crc = new CRC32C();
    crc.update(bytes, 0, bytes.length - 4);
    ByteBuffer.wrap(bytes).putInt(bytes.length - 4, (int) crc.getValue());
    Files.write(identity, bytes);

    assertThatThrownBy(() -> TestBroker.on(data, SETTINGS).close())
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("is of format %d, this version of Dunlin reads format %d".formatted(NodeIdentity.format() + 1, NodeIdentity.format()));
    assertThat(identity).hasBinaryContent(bytes);
  }

  private static void fill(int port) {
    for (String id : List.of("absent", "member")) {
      var client = RawClient.connected(port, Connect.of(id).expiry(NEVER));
      client.subscribe(id.equals("absent") ? "m/#" : "$share/group/w/#", 1);
      if (id.equals("absent")) client.subscribe("e/#", 2);
      client.disconnect();
    }
    var exact = RawClient.connected(port, Connect.of("exact").expiry(NEVER));
    for (String text : List.of("1", "2", "3")) {
      assertThat(exact.publishAndWait("m/" + text, text)).isZero();
      assertThat(exact.publishAndWait("w/" + text, text)).isZero();
    }
    assertThat(exact.publishAndWait("r/1", "kept", true)).isEqualTo(NO_SUBSCRIBERS);
    exact.publish("e/1", "once", 2, PACKET, false);
    assertThat(exact.next(RawClient.PUBREC).reason()).isZero();
    exact.disconnect();
  }

  private static void isAllThere(Path data) {
    try (var broker = TestBroker.on(data, SETTINGS)) {
      try (var exact = RawClient.connected(broker.port(), Connect.of("exact").expiry(NEVER))) {
        assertThat(exact.sessionPresent()).isTrue();
        exact.publish("e/1", "once", 2, PACKET, true);
        assertThat(exact.next(RawClient.PUBREC).reason()).isZero();
        exact.pubrel(PACKET);
        exact.next(RawClient.PUBCOMP);
        for (String topic : List.of("m/x", "w/x")) assertThat(exact.publishAndWait(topic, END)).isZero();
      }
      assertThat(waiting(broker.port(), "absent")).containsExactly("1", "2", "3", "once");
      assertThat(waiting(broker.port(), "member")).containsExactly("1", "2", "3");
      try (var reader = RawClient.connected(broker.port(), Connect.of("reader").clean().expiry(0))) {
        reader.subscribe("r/#", 1);
        assertThat(reader.take().text()).isEqualTo("kept");
      }
    }
    TestBroker.awaitFree(data);
    try (var broker = TestBroker.on(data, with("dunlin.auth.users.enabled", "true"))) {
      await().atMost(TestBroker.SOON).until(() -> ClusterClients.answer(broker.port(), signedIn("secret")) == 0);
      assertThat(ClusterClients.answer(broker.port(), signedIn("wrong"))).isEqualTo(0x86);
    }
  }

  private static List<String> waiting(int port, String id) {
    try (var client = RawClient.connected(port, Connect.of(id).expiry(NEVER))) {
      assertThat(client.sessionPresent()).as(id).isTrue();
      return client.before(END).stream().map(RawClient.Message::text).toList();
    }
  }

  private static byte[] signedIn(String password) {
    return RawClient.connect(5, 0xC2, 0, RawClient.noProperties(), "", "alice", password);
  }

  private static Map<String, String> with(String... more) {
    var all = new HashMap<>(SETTINGS);
    for (int i = 0; i < more.length; i += 2) all.put(more[i], more[i + 1]);
    return all;
  }

  private void write() throws IOException {
    Path data = directory.resolve("written");
    Path backups = directory.resolve("backups");
    try (var broker = TestBroker.on(data, with("dunlin.auth.users.enabled", "true"))) {
      broker.bean("Access", AccessMXBean.class).putUser("alice", "secret", "", true, 0);
    }
    TestBroker.awaitFree(data);
    try (var broker = TestBroker.on(data, with("dunlin.admin.port", "0", "dunlin.backup.directory", backups.toString()));
        var api = ApiCalls.of(data)) {
      fill(broker.port());
      assertThat(api.post("/backup/one", "{}").status()).isEqualTo(200);
      await().atMost(TestBroker.SOON).until(() -> api.get("/backup").member("state").equals("complete"));
    }
    TestBroker.awaitFree(data);
    Files.createDirectories(FORMATS);
    pack(data, DATA);
    pack(backups.resolve("one"), BACKUP);
  }

  private static void pack(Path from, String name) throws IOException {
    try (OutputStream file = Files.newOutputStream(FORMATS.resolve(name + ".zip"));
        var zip = new ZipOutputStream(file);
        var found = Files.walk(from)) {
      for (Path path : found.sorted().toList()) {
        Path inside = from.relativize(path);
        if (path.equals(from) || LEFT_OUT.contains(inside.getName(0).toString())) continue;
        zip.putNextEntry(new ZipEntry(inside + (Files.isDirectory(path) ? "/" : "")));
        if (!Files.isDirectory(path)) Files.copy(path, zip);
        zip.closeEntry();
      }
    }
  }

  private static void unpack(String name, Path to) throws IOException {
    Files.createDirectories(to);
    try (InputStream file = Files.newInputStream(FORMATS.resolve(name + ".zip"));
        var zip = new ZipInputStream(file)) {
      for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
        Path path = to.resolve(entry.getName()).normalize();
        assertThat(path).startsWithRaw(to);
        if (entry.isDirectory()) Files.createDirectories(path);
        else Files.copy(zip, path);
      }
    }
  }
}
