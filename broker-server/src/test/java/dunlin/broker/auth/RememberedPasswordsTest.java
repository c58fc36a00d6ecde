package dunlin.broker.auth;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.broker.auth.Authenticator.Credentials;
import dunlin.broker.codec.ProtocolVersion;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

final class RememberedPasswordsTest {
  private static final Identity ALICE = Identity.of("alice");

  private final AtomicLong nanos = new AtomicLong();
  private final RememberedPasswords passwords = new RememberedPasswords(Duration.ofMinutes(5), nanos::get);

  @Test
  void onlyTheSameUserAndPasswordAreRecognized() {
    passwords.add(1, shown("alice", "one"), ALICE);

    assertThat(passwords.find(1, shown("alice", "one"))).contains(ALICE);
    assertThat(passwords.find(1, shown("alice", "two"))).isEmpty();
    assertThat(passwords.find(1, shown("bob", "one"))).isEmpty();
    assertThat(passwords.find(1, shown("aliceo", "ne"))).isEmpty();
    assertThat(passwords.find(1, shown("alice", ""))).isEmpty();
    assertThat(passwords.find(1, new Credentials(peer(), ProtocolVersion.MQTT_5, "c", Optional.of("alice"), Optional.empty()))).isEmpty();
    assertThat(new RememberedPasswords(Duration.ofMinutes(5), nanos::get).find(1, shown("alice", "one"))).isEmpty();
  }

  @Test
  void passwordsExpireEvenIfTheyAreUsedRepeatedly() {
    passwords.add(1, shown("alice", "one"), ALICE);

    for (int minute = 0; minute < 5; minute++) {
      assertThat(passwords.find(1, shown("alice", "one"))).isPresent();
      nanos.addAndGet(Duration.ofMinutes(1).toNanos());
    }

    assertThat(passwords.find(1, shown("alice", "one"))).isEmpty();
  }

  @Test
  void passwordsOfAnEarlierReadOfTheFileAreNotRecognized() {
    passwords.add(1, shown("alice", "one"), ALICE);

    assertThat(passwords.find(2, shown("alice", "one"))).isEmpty();
    passwords.clear();
    assertThat(passwords.find(1, shown("alice", "one"))).isEmpty();
  }

  @Test
  void numberAndLengthOfPasswordsAreBounded() {
    for (int i = 0; i < RememberedPasswords.ENTRIES_MAX + 1_000; i++) passwords.add(1, shown("user " + i, "one"), ALICE);
    assertThat(passwords.size()).isBetween(1L, (long) RememberedPasswords.ENTRIES_MAX);

    passwords.add(1, shown("alice", "x".repeat(2_000)), ALICE);
    assertThat(passwords.find(1, shown("alice", "x".repeat(2_000)))).isEmpty();
  }

  @Test
  void withoutATimeNothingIsRemembered() {
    var none = new RememberedPasswords(Duration.ZERO, nanos::get);
    none.add(1, shown("alice", "one"), ALICE);
    none.clear();

    assertThat(none.find(1, shown("alice", "one"))).isEmpty();
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
