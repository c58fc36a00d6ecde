package dunlin.dist.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.dist.route.MatchSignature;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteMatch;
import dunlin.dist.route.RoutePage;
import dunlin.dist.route.RouteQuotaException;
import dunlin.dist.route.RouteRangeClient.Sums;
import dunlin.dist.route.RouteResult;
import dunlin.model.ShardId;
import dunlin.store.StoreException;
import dunlin.store.WrongEpochException;
import dunlin.transport.lane.MalformedFrameException;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is written is read again; what no correct side writes is refused with a sentence, and with nothing else. */
class RouteCallCodecTest {
  private static final Route PLAIN = MapRoutes.route("t", "a/+", ShardId.frontend("n"), 3, -5);
  private static final Route SHARED = MapRoutes.route("", "$oshare/g/#", ShardId.inbox(7), -1, 0);

  private static final MatchSignature SIGNATURE = new MatchSignature(-1, 2, Long.MIN_VALUE);

  /** Reads bytes. */
  @FunctionalInterface
  interface Reads {
    Object read(byte[] bytes) throws MalformedFrameException;
  }

  static Object[][] all() {
    Reads call = RouteCallCodec::decode;
    Reads page = RouteCallCodec::decodePage;
    Reads purged = RouteCallCodec::decodePurged;
    Reads match = RouteCallCodec::decodeMatch;
    Reads sums = RouteCallCodec::decodeSums;
    return new Object[][] {
      {RouteCallCodec.encode(new RouteCall.Add(1, PLAIN)), call},
      {RouteCallCodec.encode(new RouteCall.Remove(1L << 40, SHARED)), call},
      {RouteCallCodec.encode(new RouteCall.RemoveBefore(2, ShardId.inbox(3), 9, new byte[] {1})), call},
      {RouteCallCodec.encode(new RouteCall.Page(3, ShardId.Kind.INBOX, new byte[] {1})), call},
      {RouteCallCodec.encode(new RouteCall.Page(4, ShardId.Kind.FRONTEND, new byte[0])), call},
      {RouteCallCodec.encode(new RouteCall.PageOf(5, ShardId.frontend("n"), new byte[] {1})), call},
      {RouteCallCodec.encode(new RouteCall.PageOf(6, ShardId.inbox(3), new byte[0])), call},
      {RouteCallCodec.encode(new RouteCall.Match(7, "t", new byte[] {'a'}, MatchSignature.NONE, new byte[0])), call},
      {RouteCallCodec.encode(new RouteCall.Match(8, "", new byte[] {'a', '/'}, SIGNATURE, new byte[] {1, 2})), call},
      {RouteCallCodec.encode(new RouteCall.AskSums()), call},
      {RouteCallCodec.encode(new RoutePage(List.of(PLAIN, SHARED), new byte[] {1, 2})), page},
      {RouteCallCodec.encode(new RoutePage(List.of(), null)), page},
      {RouteCallCodec.encode(new RouteResult.Purged(1L << 40, null)), purged},
      {RouteCallCodec.encode(new RouteResult.Purged(0, new byte[] {1, 2})), purged},
      {RouteCallCodec.encode(new RouteMatch.Unchanged()), match},
      {RouteCallCodec.encode(new RouteMatch.Found(SIGNATURE, List.of(PLAIN, SHARED), null)), match},
      {RouteCallCodec.encode(new RouteMatch.Found(SIGNATURE, List.of(), new byte[] {3})), match},
      {RouteCallCodec.encode(new Sums(3, 1L << 40)), sums},
      {RouteCallCodec.encode(new RouteCall.AskTenants(List.of("blue", ""))), (Reads) RouteCallCodec::decode},
      {RouteCallCodec.encode(List.of(3L, 0L)), (Reads) RouteCallCodec::decodeRoutesOfTenants},
    };
  }

  @ParameterizedTest
  @MethodSource("all")
  void isReadAsItWasWritten(byte[] written, Reads reads) throws MalformedFrameException {
    byte[] again =
        switch (reads.read(written)) {
          case RouteCall call -> RouteCallCodec.encode(call);
          case RoutePage page -> RouteCallCodec.encode(page);
          case RouteResult.Purged removed -> RouteCallCodec.encode(removed);
          case RouteMatch match -> RouteCallCodec.encode(match);
          case Sums sums -> RouteCallCodec.encode(sums);
          case List<?> routes -> RouteCallCodec.encode(routes.stream().map(Long.class::cast).toList());
          case Object other -> throw new AssertionError(other);
        };
    assertThat(again).isEqualTo(written);
  }

  @Test
  void aRouteIsReadWhole() throws MalformedFrameException {
    assertThat(RouteCallCodec.decode(RouteCallCodec.encode(new RouteCall.Add(7, SHARED)))).isEqualTo(new RouteCall.Add(7, SHARED));
  }

  @ParameterizedTest
  @MethodSource("all")
  void eachBeginningIsRefused(byte[] written, Reads reads) {
    for (int length = 0; length < written.length; length++) {
      byte[] beginning = Arrays.copyOf(written, length);
      assertThatThrownBy(() -> reads.read(beginning)).as("%d bytes", length).isInstanceOf(MalformedFrameException.class);
    }
    assertThatThrownBy(() -> reads.read(Arrays.copyOf(written, written.length + 1))).isInstanceOf(MalformedFrameException.class);
  }

  @ParameterizedTest(name = "seed {0}")
  @ValueSource(longs = {1, 2, 3, 4})
  void changedBytesAreReadAsSomethingElseOrRefused(long seed) {
    var random = new Random(seed);
    for (int i = 0; i < 5_000; i++) {
      var one = all()[random.nextInt(all().length)];
      byte[] changed = ((byte[]) one[0]).clone();
      for (int changes = 1 + random.nextInt(3); changes > 0; changes--) changed[random.nextInt(changed.length)] = (byte) random.nextInt();
      try {
        ((Reads) one[1]).read(changed);
      } catch (MalformedFrameException refused) {
        assertThat(refused).hasMessageMatching(".+");
      }
    }
  }

  @ParameterizedTest
  @EnumSource(RouteQuotaException.Kind.class)
  void aQuotaIsReadAsItWasWritten(RouteQuotaException.Kind kind) throws MalformedFrameException {
    var quota = new RouteQuotaException(kind, 77);
    byte[] written = Objects.requireNonNull(RouteCallCodec.PROTOCOL.kinds().encode(quota));

    assertThat(RouteCallCodec.PROTOCOL.kinds().decode(written))
        .isInstanceOfSatisfying(RouteQuotaException.class, read -> assertThat(read.kind()).isEqualTo(kind))
        .hasMessage(quota.getMessage());
    assertThatThrownBy(() -> RouteCallCodec.PROTOCOL.kinds().decode(new byte[] {9, 1})).isInstanceOf(MalformedFrameException.class);
    assertThatThrownBy(() -> RouteCallCodec.PROTOCOL.kinds().decode(new byte[] {1, 9, 1})).isInstanceOf(MalformedFrameException.class);
  }

  @Test
  void anotherEpochSaysWhatTheRangeHas() throws MalformedFrameException {
    var refused = new WrongEpochException(MapRoutes.DESCRIPTOR.lower(new byte[] {7}), 1);
    byte[] written = Objects.requireNonNull(RouteCallCodec.PROTOCOL.kinds().encode(refused));

    assertThat(RouteCallCodec.PROTOCOL.kinds().decode(written))
        .isInstanceOfSatisfying(
            WrongEpochException.class,
            read -> {
              assertThat(read.now()).isEqualTo(refused.now());
              assertThat(read.asked()).isEqualTo(1);
            });
    for (int length = 0; length < written.length; length++) {
      byte[] beginning = Arrays.copyOf(written, length);
      assertThatThrownBy(() -> RouteCallCodec.PROTOCOL.kinds().decode(beginning)).as("%d bytes", length).isInstanceOf(MalformedFrameException.class);
    }
    assertThatThrownBy(() -> RouteCallCodec.PROTOCOL.kinds().decode(new byte[] {2, 1, 0})).isInstanceOf(MalformedFrameException.class);
  }

  @Test
  void otherFailuresAreNoRefusals() {
    assertThat(RouteCallCodec.PROTOCOL.kinds().encode(new StoreException("other"))).isNull();
  }
}
