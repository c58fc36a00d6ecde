package dunlin.broker.auth;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.broker.auth.Authenticator.Credentials;
import dunlin.broker.auth.Authenticator.Decision;
import dunlin.broker.auth.EnhancedAuthenticator.Step;
import dunlin.broker.codec.ProtocolVersion;
import dunlin.broker.password.ScramVerifier;
import dunlin.model.ReasonCode;
import dunlin.runtime.SettingException;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The format of a password file, its changes, and how a broker uses it. */
class PasswordFileTest {
  @TempDir Path directory;
  private Path file = Path.of("");
  private int second;

  @BeforeEach
  void aFileName() {
    file = directory.resolve("passwords");
  }

  @Test
  void anAddedUserIsAcceptedOnlyWithItsPassword() throws IOException {
    put("alice", "one");
    put("bob: the builder", "two");

    PasswordFile.Content content = PasswordFile.read(file);
    assertThat(content.users()).containsOnlyKeys("alice", "bob: the builder");
    assertThat(verifier("alice").matches(utf8("one"))).isTrue();
    assertThat(verifier("alice").matches(utf8("two"))).isFalse();
    assertThat(content.saltSecret()).hasSize(32);
    assertThat(Files.readString(file)).doesNotContain("one").doesNotContain("two");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file))).isEqualTo("rw-------");
    assertThat(directory).isDirectoryNotContaining("glob:**.new");
  }

  @Test
  void twoUsersWithOnePasswordHaveDifferentVerifiers() throws IOException {
    put("alice", "one");
    put("bob", "one");

    assertThat(verifier("alice").storedKey()).isNotEqualTo(verifier("bob").storedKey());
  }

  @Test
  void aPasswordIsChangedInTheLineOfItsUser() throws IOException {
    put("alice", "one");
    put("bob", "two");
    Files.writeString(file, "# ours\n\n" + Files.readString(file));
    List<String> before = Files.readAllLines(file);

    put("alice", "three");

    List<String> after = Files.readAllLines(file);
    assertThat(after).hasSameSizeAs(before);
    assertThat(after.get(3)).startsWith("alice:").isNotEqualTo(before.get(3));
    after.set(3, before.get(3));
    assertThat(after).isEqualTo(before);
    assertThat(verifier("alice").matches(utf8("three"))).isTrue();
  }

  @Test
  void aUserIsDeletedOnce() throws IOException {
    put("alice", "one");
    put("bob", "two");

    assertThat(PasswordFile.delete(file, "alice")).isTrue();
    assertThat(PasswordFile.delete(file, "alice")).isFalse();
    assertThat(PasswordFile.read(file).users()).containsOnlyKeys("bob");
  }

  @Test
  void permissionsAreKeptAndASymbolicLinkStaysOne() throws IOException {
    put("alice", "one");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
    Path link = Files.createSymbolicLink(directory.resolve("link"), file);

    PasswordFile.put(link, "bob", utf8("two"), 4_096);

    assertThat(link).isSymbolicLink();
    assertThat(PasswordFile.read(file).users()).containsOnlyKeys("alice", "bob");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file))).isEqualTo("rw-r-----");
  }

  @Test
  void concurrentChangesExcludeEachOther() throws IOException {
    put("alice", "one");
    Path other = Files.createFile(directory.resolve(".passwords.new"));

    assertThatThrownBy(() -> put("bob", "two")).isInstanceOf(IOException.class).hasMessageContaining(other.toString());

    assertThat(PasswordFile.read(file).users()).containsOnlyKeys("alice");
    assertThat(other).exists();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "#alice", "a\nb", "a:SCRAM-SHA-256$b", " "})
  void aNameThatTheFileCannotHoldIsRefused(String name) {
    assertThatThrownBy(() -> put(name, "one")).isInstanceOf(IllegalArgumentException.class);
    assertThat(file).doesNotExist();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "a\u0000b"})
  void aPasswordThatNobodyCouldTypeIsRefused(String password) {
    assertThatThrownBy(() -> put("alice", password)).isInstanceOf(IllegalArgumentException.class);
    assertThat(file).doesNotExist();
  }

  @Test
  void aForeignFileIsNotChanged() throws IOException {
    Files.writeString(file, "root:x:0:0\n");

    assertThatThrownBy(() -> put("alice", "one")).isInstanceOf(PasswordFile.MalformedException.class).hasMessageContaining("line 1");
    assertThatThrownBy(() -> PasswordFile.delete(file, "root")).isInstanceOf(PasswordFile.MalformedException.class);
    assertThat(file).hasContent("root:x:0:0\n");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "secret", ":secret", "carol:secret", "carol:SCRAM-SHA-256$secret", "\u0007:SCRAM-SHA-256$4096:secret", ":SALTS$secret",
      })
  void aMalformedLineIsNamedByItsNumberAndNotQuoted(String line) throws IOException {
    put("alice", "one");
    Files.writeString(file, Files.readString(file) + "# a comment\n" + line + '\n');

    assertThatThrownBy(this::open)
        .isInstanceOf(SettingException.class)
        .hasMessageContainingAll("dunlin.auth.password-file", file.toString(), "line 4")
        .hasMessageNotContaining("secret");
  }

  @Test
  void aUserTwiceIsMalformed() throws IOException {
    put("a\u00AA", "one");
    String line = Files.readAllLines(file).get(1);
    Files.writeString(file, line + '\n' + line.replace("aa:", "a\u00AA:") + '\n');

    assertThatThrownBy(this::open).hasMessageContaining("line 2");
  }

  /** If the file is cut at any place, it is refused, or has the users of the complete lines. */
  @Test
  void aHalfWrittenFileIsRefusedOrHasTheUsersOfItsCompleteLines() throws IOException {
    put("alice", "one");
    put("bob", "two");
    byte[] whole = Files.readAllBytes(file);
    for (int length = 0; length < whole.length - 1; length++) {
      byte[] part = Arrays.copyOf(whole, length);
      try {
        var users = PasswordFile.parse(part).users();
        assertThat(users).as("cut at %d", length).doesNotContainKey("bob");
      } catch (PasswordFile.MalformedException e) {
        assertThat(e).hasMessageContaining("line ");
      }
    }
  }

  @Test
  void aFileThatCannotBeReadStopsTheStart() throws IOException {
    assertThatThrownBy(this::open).isInstanceOf(SettingException.class).hasMessageContainingAll(file.toString(), "no such file");
    Files.createDirectory(file);
    assertThatThrownBy(this::open).isInstanceOf(SettingException.class).hasMessageContaining(file.toString());
    Path binary = Files.write(directory.resolve("binary"), new byte[] {(byte) 0xFF, 1, 2});
    assertThatThrownBy(() -> PasswordAuthenticator.open(binary.toString(), Duration.ofMinutes(5), new SimpleMeterRegistry())).hasMessageContaining("not UTF-8");
  }

  @Test
  void permissionsBeyond0640AreNoticed() throws IOException {
    put("alice", "one");
    for (String fine : List.of("r--------", "rw-------", "rw-r-----")) {
      Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(fine));
      assertThat(PasswordFile.tooWide(file)).isEmpty();
    }
    for (String wide : List.of("rw-r--r--", "rw-rw----", "rw----r--", "rwx------")) {
      Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(wide));
      assertThat(PasswordFile.tooWide(file)).isEqualTo(wide);
    }
  }

  @Test
  void onlyTheRightPasswordIsAccepted() throws IOException {
    put("alice", "one");
    PasswordAuthenticator users = open();

    assertThat(decision(users, "alice", "one")).isEqualTo(new Decision.Accepted(Identity.of("alice")));
    var refused = new Decision.Refused(ReasonCode.BAD_USER_NAME_OR_PASSWORD, "bad user name or password");
    assertThat(decision(users, "alice", "two")).isEqualTo(refused);
    assertThat(decision(users, "alice", "")).isEqualTo(refused);
    assertThat(decision(users, "alice", null)).isEqualTo(refused);
    assertThat(decision(users, "bob", "one")).isEqualTo(refused);
    assertThat(decision(users, "", "one")).isEqualTo(refused);
    assertThat(decision(users, null, "one")).isEqualTo(refused);
    assertThat(decision(users, ":SALTS$", "one")).isEqualTo(refused);
  }

  @Test
  void namesAndPasswordsThatLookTheSameAreTheSame() throws IOException {
    put("\u2168", "p\u00E4ss");

    assertThat(decision(open(), "IX", "pa\u0308ss")).isEqualTo(new Decision.Accepted(Identity.of("IX")));
  }

  @Test
  void anEmptyFileHasNoUsers() throws IOException {
    Files.createFile(file);

    assertThat(decision(open(), "alice", "one")).isInstanceOf(Decision.Refused.class);
  }

  /** A client must not find out whether a user exists: neither by the salt nor by the number of iterations. */
  @Test
  void aUserThatDoesNotExistHasASaltLikeAnyOther() throws IOException {
    PasswordFile.put(file, "alice", utf8("one"), 5_000);
    String first = serverFirst(open(), "mallory");

    assertThat(first).endsWith(",i=5000");
    assertThat(serverFirst(open(), "mallory")).as("the same at each start").isEqualTo(first);
    put("bob", "two");
    put("carol", "two");
    assertThat(serverFirst(open(), "mallory").split(",i=", -1)[0]).as("and after a change").isEqualTo(first.split(",i=", -1)[0]);
    assertThat(serverFirst(open(), "trudy")).as("of another name").isNotEqualTo(first);
    assertThat(serverFirst(open(), "alice")).hasSameSizeAs(first);
  }

  @Test
  void aChangedFileIsReloadedOnceItNoLongerChanges() throws IOException {
    put("alice", "one");
    PasswordAuthenticator users = open();

    put("alice", "two");
    put("bob", "three");
    users.refresh();
    assertThat(decision(users, "alice", "one")).as("it may still be changing").isInstanceOf(Decision.Accepted.class);
    users.refresh();

    assertThat(decision(users, "alice", "one")).isInstanceOf(Decision.Refused.class);
    assertThat(decision(users, "alice", "two")).isInstanceOf(Decision.Accepted.class);
    assertThat(decision(users, "bob", "three")).isInstanceOf(Decision.Accepted.class);
  }

  @Test
  void aPasswordThatWasRightIsKnownAgainUntilTheFileChanges() throws IOException {
    put("alice", "one");
    PasswordAuthenticator users = open();
    byte[] password = utf8("one");
    assertThat(users.known(shown("alice", password))).isEmpty();
    assertThat(decision(users, "alice", "two")).isInstanceOf(Decision.Refused.class);
    assertThat(users.known(shown("alice", utf8("two")))).as("wrong passwords are not remembered").isEmpty();

    assertThat(decision(users, "alice", "one")).isInstanceOf(Decision.Accepted.class);

    assertThat(users.known(shown("alice", password))).contains(Identity.of("alice"));
    assertThat(users.known(shown("alice", new byte[password.length]))).as("what an overwritten one looks like").isEmpty();
    put("alice", "two");
    refreshTwice(users);
    assertThat(users.known(shown("alice", password))).isEmpty();
  }

  @Test
  void aLinkToAnotherFileIsAChange() throws IOException {
    put("alice", "one");
    Path other = directory.resolve("other");
    PasswordFile.put(other, "alice", utf8("two"), 4_096);
    Files.setLastModifiedTime(other, Files.getLastModifiedTime(file));
    Path link = Files.createSymbolicLink(directory.resolve("link"), file);
    PasswordAuthenticator users = PasswordAuthenticator.open(link.toString(), Duration.ofMinutes(5), new SimpleMeterRegistry());

    Files.delete(link);
    Files.createSymbolicLink(link, other);
    users.refresh();
    users.refresh();

    assertThat(decision(users, "alice", "one")).isInstanceOf(Decision.Refused.class);
    assertThat(decision(users, "alice", "two")).isInstanceOf(Decision.Accepted.class);
  }

  @Test
  void anInvalidFileIsCountedAndThePreviousUsersStay() throws IOException {
    put("alice", "one");
    byte[] good = Files.readAllBytes(file);
    var meters = new SimpleMeterRegistry();
    PasswordAuthenticator users = PasswordAuthenticator.open(file.toString(), Duration.ofMinutes(5), meters);

    change("alice:nonsense\n");
    refreshTwice(users);
    refreshTwice(users);
    assertThat(reloads(meters, "failed")).isEqualTo(1);
    Files.delete(file);
    refreshTwice(users);
    assertThat(reloads(meters, "failed")).isEqualTo(2);
    assertThat(decision(users, "alice", "one")).isInstanceOf(Decision.Accepted.class);
    assertThat(meters.get("dunlin.auth.password-file.users").gauge().value()).isEqualTo(1);

    change("");
    refreshTwice(users);
    assertThat(decision(users, "alice", "one")).as("an empty file is nobody's").isInstanceOf(Decision.Refused.class);
    change(new String(good, StandardCharsets.UTF_8));
    refreshTwice(users);
    assertThat(decision(users, "alice", "one")).isInstanceOf(Decision.Accepted.class);
    assertThat(reloads(meters, "loaded")).isEqualTo(2);
    assertThat(reloads(meters, "failed")).isEqualTo(2);
  }

  /** Changes the file and sets a different modification time, independent of the file system's clock. */
  private void change(String content) throws IOException {
    Files.writeString(file, content);
    second++;
    Files.setLastModifiedTime(file, FileTime.from(Instant.ofEpochSecond(1_000_000 + second)));
  }

  private static void refreshTwice(PasswordAuthenticator users) {
    users.refresh();
    users.refresh();
  }

  private static double reloads(SimpleMeterRegistry meters, String result) {
    return meters.get("dunlin.auth.password-file.reloads").tag("result", result).counter().count();
  }

  private void put(String user, String password) throws IOException {
    PasswordFile.put(file, user, utf8(password), 4_096);
  }

  private ScramVerifier verifier(String user) throws IOException {
    return Objects.requireNonNull(PasswordFile.read(file).users().get(user));
  }

  private PasswordAuthenticator open() {
    return PasswordAuthenticator.open(file.toString(), Duration.ofMinutes(5), new SimpleMeterRegistry());
  }

  private static Decision decision(PasswordAuthenticator users, @Nullable String name, @Nullable String password) {
    return users.authenticate(credentials(name, password)).toCompletableFuture().join();
  }

  private static Credentials shown(String name, byte[] password) {
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), 1);
    return new Credentials(Peer.at(address, "tcp"), ProtocolVersion.MQTT_5, "client", Optional.of(name), Optional.of(password));
  }

  private static Credentials credentials(@Nullable String name, @Nullable String password) {
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), 1);
    return new Credentials(
        Peer.at(address, "tcp"),
        ProtocolVersion.MQTT_5,
        "client",
        Optional.ofNullable(name),
        Optional.ofNullable(password).map(PasswordFileTest::utf8));
  }

  /** The server's answer to the first message, without the nonce. */
  private static String serverFirst(PasswordAuthenticator users, String name) {
    var exchange = users.begin(credentials(null, null));
    Step step = exchange.next(utf8("n,,n=" + name + ",r=nonce")).toCompletableFuture().join();
    if (!(step instanceof Step.Continue(var data))) throw new AssertionError(step);
    return new String(data, StandardCharsets.UTF_8).replaceFirst("r=[^,]*", "");
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
