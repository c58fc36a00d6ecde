package dunlin.retain.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.retain.RetainClient.Cursor;
import dunlin.retain.RetainClient.Page;
import dunlin.retain.RetainRangeClient.Held;
import dunlin.retain.RetainRangeClient.Listing;
import dunlin.retain.RetainRangeClient.Row;
import dunlin.retain.RetainRangeClient.Sums;
import dunlin.store.WrongEpochException;
import dunlin.store.ways.WantedTenants;
import dunlin.transport.lane.MalformedFrameException;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is written is read again; what no correct side writes is refused with a sentence, and with nothing else. */
class RetainCallCodecTest {
  private static final Publication MESSAGE = MapRetain.message("a/b", "payload");
  private static final Page PAGE = new Page(List.of(MESSAGE, MapRetain.message("c", "")), new Cursor(new byte[] {0, -1}));

  /** Reads bytes. */
  @FunctionalInterface
  interface Reads {
    Object read(byte[] bytes) throws MalformedFrameException;
  }

  static Object[][] all() {
    Reads call = RetainCallCodec::decode;
    Reads page = RetainCallCodec::decodePage;
    Reads reason = RetainCallCodec::decodeReason;
    Reads added = RetainCallCodec::decodeAdded;
    Reads listing = RetainCallCodec::decodeListing;
    Reads sums = RetainCallCodec::decodeSums;
    Reads held = RetainCallCodec::decodeHeld;
    Reads failure = RetainCallCodec.PROTOCOL.kinds()::decode;
    return new Object[][] {
      {RetainCallCodec.encode(new RetainCall.Set(7, MESSAGE)), call},
      {RetainCallCodec.encode(new RetainCall.Add(7, MESSAGE)), call},
      {RetainCallCodec.encode(new RetainCall.Find(1L << 40, "t", "a/#", new Cursor(new byte[] {1, 2}), 256, 131_072)), call},
      {RetainCallCodec.encode(new RetainCall.Find(1, "", "+", null, 1, 0)), call},
      {RetainCallCodec.encode(new RetainCall.ListKeys(2, new byte[] {1}, new byte[] {1, 2}, 1_000)), call},
      {RetainCallCodec.encode(new RetainCall.AskSums()), call},
      {RetainCallCodec.encode(new RetainCall.AskHeld(List.of("blue", ""))), call},
      {RetainCallCodec.encode(new RetainCall.AskHeld(List.of())), call},
      {RetainCallCodec.encode(PAGE), page},
      {RetainCallCodec.encode(new Page(List.of(), null)), page},
      {RetainCallCodec.encode(ReasonCode.QUOTA_EXCEEDED), reason},
      {RetainCallCodec.encodeAdded(Optional.of(ReasonCode.QUOTA_EXCEEDED)), added},
      {RetainCallCodec.encodeAdded(Optional.empty()), added},
      {RetainCallCodec.encode(new Listing(List.of(new Row(new byte[] {1, 2}, 30), new Row(new byte[0], 0)), new byte[] {1, 2, 0})), listing},
      {RetainCallCodec.encode(new Listing(List.of(), null)), listing},
      {RetainCallCodec.encode(new Sums(1L << 40, 2, 3)), sums},
      {RetainCallCodec.encode(List.of(new Held(1L << 40, 2), Held.NONE)), held},
      {RetainCallCodec.PROTOCOL.kinds().encode(new WrongEpochException(MapRetain.descriptor(), 2)), failure},
    };
  }

  @ParameterizedTest
  @MethodSource("all")
  void isReadAsItWasWritten(byte[] written, Reads reads) throws MalformedFrameException {
    byte[] again =
        switch (reads.read(written)) {
          case RetainCall call -> RetainCallCodec.encode(call);
          case Page page -> RetainCallCodec.encode(page);
          case Optional<?> reason -> RetainCallCodec.encodeAdded(reason.map(ReasonCode.class::cast));
          case ReasonCode reason -> RetainCallCodec.encode(reason);
          case Listing listing -> RetainCallCodec.encode(listing);
          case Sums sums -> RetainCallCodec.encode(sums);
          case List<?> held -> RetainCallCodec.encode(held.stream().map(Held.class::cast).toList());
          case WrongEpochException moved -> RetainCallCodec.PROTOCOL.kinds().encode(moved);
          case Object other -> throw new AssertionError(other);
        };
    assertThat(again).isEqualTo(written);
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
        assertThat(refused).hasMessageContaining("cannot be read");
      }
    }
  }

  @Test
  void aQuestionOfTooManyTenantsIsRefused() {
    var tenants = IntStream.rangeClosed(0, WantedTenants.TENANTS_MAX).mapToObj(Integer::toString).toList();
    byte[] most = RetainCallCodec.encode(new RetainCall.AskHeld(tenants.subList(1, tenants.size())));
    assertThatCode(() -> RetainCallCodec.decode(most)).doesNotThrowAnyException();
    byte[] more = RetainCallCodec.encode(new RetainCall.AskHeld(tenants));
    assertThatThrownBy(() -> RetainCallCodec.decode(more)).isInstanceOf(MalformedFrameException.class).hasMessageContaining("1025 tenants");
  }

  @Test
  void aMessageThatIsNotToBeRetainedIsRefused() {
    var message = Publication.of(new Publisher("t", "c"), "a", QoS.AT_LEAST_ONCE, false, 0, new byte[1]);
    for (RetainCall call : List.of(new RetainCall.Set(1, message), new RetainCall.Add(1, message))) {
      byte[] written = RetainCallCodec.encode(call);

      assertThatThrownBy(() -> RetainCallCodec.decode(written)).isInstanceOf(MalformedFrameException.class).hasMessageContaining("not to be retained");
    }
  }
}
