package dunlin.broker.auth;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.broker.auth.Authenticator.Credentials;
import dunlin.broker.auth.ScramExchange.User;
import dunlin.broker.codec.ProtocolVersion;
import dunlin.broker.password.ScramVerifier;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

final class RememberedPasswordsTest {
  private static final User ALICE = new User(Identity.of("alice"), ScramVerifier.of(new byte[] {1}, ScramVerifier.ITERATIONS_MIN, new byte[16]));

  private final AtomicLong nanos = new AtomicLong();
  private final RememberedPasswords passwords = new RememberedPasswords(Duration.ofMinutes(5), nanos::get);

  @Test
  void onlyTheSameUserAndPasswordAreRecognized() {
    passwords.add(shown("alice", "one"), ALICE);

    assertThat(passwords.find(shown("alice", "one"))).contains(ALICE);
    assertThat(passwords.find(shown("alice", "two"))).isEmpty();
    assertThat(passwords.find(shown("bob", "one"))).isEmpty();
    assertThat(passwords.find(shown("aliceo", "ne"))).isEmpty();
    assertThat(passwords.find(shown("alice", ""))).isEmpty();
    assertThat(passwords.find(new Credentials(peer(), ProtocolVersion.MQTT_5, "c", Optional.of("alice"), Optional.empty()))).isEmpty();
    assertThat(new RememberedPasswords(Duration.ofMinutes(5), nanos::get).find(shown("alice", "one"))).isEmpty();
  }

  @Test
  void passwordsExpireEvenIfTheyAreUsedRepeatedly() {
    passwords.add(shown("alice", "one"), ALICE);

    for (int minute = 0; minute < 5; minute++) {
      assertThat(passwords.find(shown("alice", "one"))).isPresent();
      nanos.addAndGet(Duration.ofMinutes(1).toNanos());
    }

    assertThat(passwords.find(shown("alice", "one"))).isEmpty();
  }

  @Test
  void clearedPasswordsAreNotRecognized() {
    passwords.add(shown("alice", "one"), ALICE);

    passwords.clear();
    assertThat(passwords.find(shown("alice", "one"))).isEmpty();
  }

  @Test
  void numberAndLengthOfPasswordsAreBounded() {
    for (int i = 0; i < RememberedPasswords.ENTRIES_MAX + 1_000; i++) passwords.add(shown("user " + i, "one"), ALICE);
    assertThat(passwords.size()).isBetween(1L, (long) RememberedPasswords.ENTRIES_MAX);

    passwords.add(shown("alice", "x".repeat(2_000)), ALICE);
    assertThat(passwords.find(shown("alice", "x".repeat(2_000)))).isEmpty();
  }

  @Test
  void withoutATimeNothingIsRemembered() {
    var none = new RememberedPasswords(Duration.ZERO, nanos::get);
    none.add(shown("alice", "one"), ALICE);
    none.clear();

    assertThat(none.find(shown("alice", "one"))).isEmpty();
    assertThat(none.size()).isZero();
  }

  private static Peer peer() {
    return Peer.at(new InetSocketAddress("192.0.2.1", 1), "tcp");
  }

  private static Credentials shown(String user, String password) {
    byte[] bytes = password.getBytes(StandardCharsets.UTF_8);
    return new Credentials(peer(), ProtocolVersion.MQTT_5, "c", Optional.of(user), Optional.of(bytes));
  }
}
