package dunlin.broker.users;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.broker.users.AccessEntry.Ban;
import dunlin.broker.users.AccessEntry.Kind;
import dunlin.broker.users.AccessEntry.Role;
import dunlin.broker.users.AccessEntry.RowKey;
import dunlin.broker.users.AccessEntry.User;
import dunlin.transport.lane.MalformedFrameException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls to the leader of users, roles and bans are made as they were written; broken ones make nothing. */
class AccessCallsTest {
  private static final AccessPage PAGE =
      new AccessPage(
          true, 1L << 40, 7, false, new byte[] {1, -1},
          List.of(
              new AccessPage.Change(new RowKey(Kind.ROLE, "r"), Optional.empty()),
              new AccessPage.Change(new RowKey(Kind.BANNED_USER, "u"), Optional.of(new AccessRow(5, 4, new Ban(Kind.BANNED_USER, "u", 0, ""))))));

  private final Leader leader = new Leader();
  private final AccessCalls calls = new AccessCalls(leader);

  /** Answers each call in turn with the next of its results, and keeps what it was asked. */
  private static final class Leader implements AccessClient {
    final List<Object> asked = new ArrayList<>();
    AccessResult result = new AccessResult.Done(9);

    @Override
    public CompletableFuture<AccessResult> change(AccessChange change) {
      asked.add(change);
      return CompletableFuture.completedFuture(result);
    }

    @Override
    public CompletableFuture<AccessPage> changes(long base, long since) {
      asked.add(List.of(base, since));
      return CompletableFuture.completedFuture(PAGE);
    }
  }

  static List<AccessChange> changes() {
    return List.of(
        new AccessChange.Put(AccessChange.ANY, new User("anna", "verifier", List.of("one", "two"), false), true),
        new AccessChange.Put(AccessChange.ABSENT, new Role("role", List.of("allow publish a/%c", "deny subscribe #")), false),
        new AccessChange.Put(1L << 40, new Ban(Kind.BANNED_ADDRESS, "10.0.0.0/8", 1L << 50, "reason"), false),
        new AccessChange.Put(3, new Ban(Kind.BANNED_CLIENT, "\u00e4", 0, ""), false),
        new AccessChange.Delete(AccessChange.ANY, new RowKey(Kind.USER, "anna")));
  }

  private static List<byte[]> written() {
    var all = new ArrayList<byte[]>();
    for (var change : changes()) all.add(AccessCalls.encode(change));
    all.add(AccessCalls.encode(1L << 40, 7));
    return all;
  }

  @ParameterizedTest
  @MethodSource("changes")
  void aChangeIsMadeAsItWasAskedFor(AccessChange change) throws MalformedFrameException {
    byte[] answer = calls.answer(AccessCalls.encode(change)).join();

    assertThat(leader.asked).containsExactly(change);
    assertThat(AccessCalls.decodeResult(answer)).isEqualTo(leader.result);
  }

  @Test
  void refusalsAreAnswered() throws MalformedFrameException {
    for (var why : AccessResult.Why.values()) {
      leader.result = new AccessResult.Refused(why, "a sentence about " + why);
      byte[] answer = calls.answer(AccessCalls.encode(changes().getFirst())).join();
      assertThat(AccessCalls.decodeResult(answer)).isEqualTo(leader.result);
      assertBeginningsAreRefused(answer, AccessCalls::decodeResult);
    }
  }

  @Test
  void changesAreAnswered() throws MalformedFrameException {
    byte[] answer = calls.answer(AccessCalls.encode(3, 4)).join();

    assertThat(leader.asked).containsExactly(List.of(3L, 4L));
    assertThat(AccessCalls.decodePage(answer)).usingRecursiveComparison().isEqualTo(PAGE);
    assertBeginningsAreRefused(answer, AccessCalls::decodePage);
  }

  /** Reads bytes. */
  @FunctionalInterface
  private interface Reads {
    Object read(byte[] bytes) throws MalformedFrameException;
  }

  private static void assertBeginningsAreRefused(byte[] written, Reads reads) {
    for (int length = 0; length < written.length; length++) {
      byte[] beginning = Arrays.copyOf(written, length);
      assertThatThrownBy(() -> reads.read(beginning)).as("%d bytes", length).isInstanceOf(MalformedFrameException.class).hasMessageContaining("cannot be read");
    }
    assertThatThrownBy(() -> reads.read(Arrays.copyOf(written, written.length + 1))).isInstanceOf(MalformedFrameException.class);
  }

  @Test
  void aCallThatIsCutOffOrTooLongMakesNothing() {
    for (byte[] call : written()) assertBeginningsAreRefused(call, calls::answer);

    assertThat(leader.asked).isEmpty();
  }

  @ParameterizedTest(name = "seed {0}")
  @ValueSource(longs = {1, 2, 3, 4})
  void changedBytesAreReadAsSomethingElseOrRefused(long seed) {
    var random = new Random(seed);
    for (int i = 0; i < 5_000; i++) {
      byte[] changed = written().get(random.nextInt(written().size())).clone();
      for (int changes = 1 + random.nextInt(3); changes > 0; changes--) changed[random.nextInt(changed.length)] = (byte) random.nextInt();
      int before = leader.asked.size();
      try {
        calls.answer(changed);
        assertThat(leader.asked).as("seed %d, call %d", seed, i).hasSize(before + 1);
      } catch (MalformedFrameException refused) {
        assertThat(refused).hasMessageContaining("cannot be read");
        assertThat(leader.asked).hasSize(before);
      }
    }
  }
}
