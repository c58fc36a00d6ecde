package dunlin.inbox.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.InboxClient.Connected;
import dunlin.inbox.OpenExchange;
import dunlin.inbox.QuotaExceededException;
import dunlin.inbox.SessionRef;
import dunlin.inbox.StaleSessionException;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.store.FieldWriter;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import dunlin.transport.Terms;
import dunlin.transport.lane.FrameReader;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.lane.MalformedFrameException;
import dunlin.transport.link.LinkRefusedException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What crosses between frontends and the session tier is read as it was written, and nothing else is read without a refusal. */
class InboxCodecTest {
  static LongStream seeds() {
    return LongStream.range(0, 4);
  }

  private static byte[] written(TierMessageCodec codec, TierMessage said) {
    var out = new FrameWriter();
    codec.write(out, said);
    return out.take();
  }

  private static <T> CompletableFuture<T> decoded(AnswerForm<T> form, byte[] bytes) throws MalformedFrameException {
    var call = new CompletableFuture<T>();
    form.decode(bytes, call).run();
    assertThat(call).isDone();
    return call;
  }

  private static <T> void comesBack(AnswerForm<T> form, T value) throws MalformedFrameException {
    byte[] bytes = form.encode(value);
    assertThat(decoded(form, bytes).join()).usingRecursiveComparison().isEqualTo(value);
    for (int length = 0; length < bytes.length; length++) {
      byte[] cut = Arrays.copyOf(bytes, length);
      assertThatThrownBy(() -> form.decode(cut, new CompletableFuture<>())).isInstanceOf(MalformedFrameException.class);
    }
  }

  private static Throwable failureOf(CompletableFuture<?> call) {
    return call.handle((_, failure) -> failure).join();
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void callsComeAsTheyWereMade(long seed) throws Exception {
    var random = new RandomInbox(new Random(seed));
    for (int i = 0; i < 140; i++) {
      var call = random.call(i);
      assertThat(InboxCallCodec.decode(InboxCallCodec.encode(call))).usingRecursiveComparison().isEqualTo(call);
    }
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void answersComeAsTheyWereGiven(long seed) throws Exception {
    var random = new RandomInbox(new Random(seed));
    for (int i = 0; i < 3; i++) {
      comesBack(AnswerForm.CONNECTED, random.connected());
      comesBack(AnswerForm.FLAGS, random.flags());
      comesBack(AnswerForm.FLAG, i % 2 == 0);
      comesBack(AnswerForm.APPENDED, random.appended());
      comesBack(AnswerForm.STATISTICS, random.statistics());
    }
    for (int i = 0; i < 50; i++) {
      var page = random.page();
      assertThat(decoded(AnswerForm.PAGE, AnswerForm.PAGE.encode(page)).join()).usingRecursiveComparison().isEqualTo(page);
      var failure = random.failure();
      assertThat(failureOf(decoded(AnswerForm.PAGE, AnswerForm.encodeFailure(failure))))
          .usingRecursiveComparison().ignoringFields("cause", "stackTrace", "suppressedExceptions").isEqualTo(failure);
    }
    assertThat(decoded(AnswerForm.NOTHING, AnswerForm.encodeFailure(new StoreException("no")))).isCompletedExceptionally();
  }

  @Test
  void anAnswerWithoutAValueIsOne() throws Exception {
    var call = new CompletableFuture<Void>();
    AnswerForm.NOTHING.decode(new byte[] {0}, call).run();

    assertThat(call).isCompletedWithValue(null);
  }

  @Test
  void failuresOfOtherKindsAreTheStores() throws Exception {
    var wrapped = decoded(AnswerForm.FLAG, AnswerForm.encodeFailure(new CompletionException(new StaleSessionException(new SessionRef("t", "c", 4)))));
    var other = decoded(AnswerForm.FLAG, AnswerForm.encodeFailure(new IllegalStateException("odd")));
    var mute = decoded(AnswerForm.FLAG, AnswerForm.encodeFailure(new ArithmeticException()));
    var wordy = decoded(AnswerForm.FLAG, AnswerForm.encodeFailure(new StoreException("x".repeat(5_000))));
    var unknown = decoded(AnswerForm.FLAG, AnswerForm.encodeFailure(new OutcomeUnknownException("who knows", new StoreException("why"))));

    assertThat(failureOf(wrapped)).isInstanceOf(StaleSessionException.class).hasMessageContaining("epoch 4");
    assertThat(failureOf(other)).isInstanceOf(StoreException.class).hasMessage("odd");
    assertThat(failureOf(mute)).isInstanceOf(StoreException.class).hasMessage("ArithmeticException");
    assertThat(failureOf(wordy)).hasMessage("x".repeat(1_000));
    assertThat(failureOf(unknown)).isInstanceOf(OutcomeUnknownException.class).hasMessage("who knows");
  }

  @Test
  void kindsOfQuotasHaveCodesOfTheirOwn() {
    for (var kind : QuotaExceededException.Kind.values()) assertThat(QuotaExceededException.Kind.of(kind.code())).hasValue(kind);
    assertThat(QuotaExceededException.Kind.of(0)).isEmpty();
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void whatTheTierSaysComesAsItWasSaid(long seed) throws Exception {
    var chance = new Random(seed);
    var random = new RandomInbox(chance);
    var said = new ArrayList<TierMessage>();
    for (int i = 0; i < 150; i++) {
      said.add(random.said(i));
      if (chance.nextBoolean() && said.getLast() instanceof TierMessage.Push(_, var message)) said.add(new TierMessage.Push(chance.nextLong(), message));
    }
    var out = new FrameWriter();
    var writing = new TierMessageCodec();
    for (var each : said) writing.write(out, each);

    var in = new FrameReader(out.take());
    var reading = new TierMessageCodec();
    for (var each : said) assertThat(reading.read(in)).usingRecursiveComparison().isEqualTo(each);
    assertThat(in.hasMore()).isFalse();
  }

  @Test
  void aMessageForManyIsSaidOnceWhateverFramesItGoesIn() throws Exception {
    var message = Publication.of(new Publisher("t", "c"), "a", QoS.AT_LEAST_ONCE, false, 1, new byte[10_000]);
    var writing = new TierMessageCodec();
    var reading = new TierMessageCodec();
    long bytes = 0;
    for (int i = 1; i <= 100; i++) {
      byte[] frame = written(writing, new TierMessage.Push(i, new InboxMessage(i, QoS.AT_LEAST_ONCE, false, false, false, new int[] {i}, message)));
      bytes += frame.length;
      if (reading.read(new FrameReader(frame)) instanceof TierMessage.Push(var connection, var came)) {
        assertThat(connection).isEqualTo(i);
        assertThat(came.message().body()).isEqualTo(message.body());
        assertThat(came.subscriptionIdentifiers()).containsExactly(i);
      } else {
        throw new AssertionError("not a push");
      }
    }
    assertThat(bytes).isLessThan(11_000);
  }

  @Test
  void thePushOfAMessageThatWasNeverSaidIsRefused() {
    var message = Publication.of(new Publisher("t", "c"), "a", QoS.AT_LEAST_ONCE, false, 1, new byte[3]);
    var push = new TierMessage.Push(1, new InboxMessage(1, QoS.AT_LEAST_ONCE, false, false, false, new int[0], message));
    var writing = new TierMessageCodec();
    written(writing, push);
    byte[] second = written(writing, push);

    assertThatThrownBy(() -> new TierMessageCodec().read(new FrameReader(second)))
        .isInstanceOf(MalformedFrameException.class).hasMessageContaining("there was none");
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void eachBeginningOfAFrameIsRefused(long seed) {
    var random = new RandomInbox(new Random(seed));
    for (int kind = 0; kind < 14; kind++) {
      byte[] whole = InboxCallCodec.encode(random.call(kind));
      for (int length = 0; length < Math.min(whole.length, 500); length++) {
        byte[] cut = Arrays.copyOf(whole, length);
        assertThatThrownBy(() -> InboxCallCodec.decode(cut)).isInstanceOf(MalformedFrameException.class);
      }
      byte[] longer = Arrays.copyOf(whole, whole.length + 1);
      assertThatThrownBy(() -> InboxCallCodec.decode(longer)).isInstanceOf(MalformedFrameException.class);
    }
    for (int kind = 0; kind < 7; kind++) {
      byte[] whole = written(new TierMessageCodec(), random.said(kind));
      for (int length = 0; length < Math.min(whole.length, 500); length++) {
        var cut = new FrameReader(Arrays.copyOf(whole, length));
        assertThatThrownBy(() -> new TierMessageCodec().read(cut)).isInstanceOf(MalformedFrameException.class);
      }
    }
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void changedAndRandomBytesAreReadAsSomethingElseOrRefused(long seed) {
    var chance = new Random(seed);
    var random = new RandomInbox(chance);
    for (int i = 0; i < 2_000; i++) {
      byte[] call = changed(InboxCallCodec.encode(random.call(i)), chance);
      byte[] said = changed(written(new TierMessageCodec(), random.said(i)), chance);
      byte[] connected = changed(AnswerForm.CONNECTED.encode(random.connected()), chance);
      byte[] page = changed(AnswerForm.PAGE.encode(random.page()), chance);
      byte[] failure = changed(AnswerForm.encodeFailure(random.failure()), chance);
      isReadOrRefused(() -> InboxCallCodec.decode(call));
      isReadOrRefused(() -> new TierMessageCodec().read(new FrameReader(said)));
      isReadOrRefused(() -> AnswerForm.CONNECTED.decode(connected, new CompletableFuture<>()));
      isReadOrRefused(() -> AnswerForm.PAGE.decode(page, new CompletableFuture<>()));
      isReadOrRefused(() -> AnswerForm.STATISTICS.decode(failure, new CompletableFuture<>()));
    }
  }

  private static byte[] changed(byte[] whole, Random chance) {
    if (chance.nextInt(4) == 0) {
      byte[] other = new byte[chance.nextInt(40)];
      chance.nextBytes(other);
      if (other.length > 0) other[0] = (byte) chance.nextInt(17);
      return other;
    }
    for (int changes = 1 + chance.nextInt(3); changes > 0; changes--) whole[chance.nextInt(Math.min(whole.length, 300))] = (byte) chance.nextInt();
    return whole;
  }

  private interface Reading {
    void read() throws MalformedFrameException;
  }

  private static void isReadOrRefused(Reading reading) {
    try {
      reading.read();
    } catch (MalformedFrameException refused) {
      assertThat(refused).hasMessageMatching("(?s).+");
    }
  }

  @Test
  void valuesOutOfBoundsAreRefused() {
    assertThatThrownBy(() -> InboxCallCodec.decode(new byte[] {99})).isInstanceOf(MalformedFrameException.class).hasMessageContaining("kind 99");
    for (int packetId : new int[] {0, 65_536}) {
      byte[] released = InboxCallCodec.encode(new InboxCall.Released(new SessionRef("t", "c", 1), 7, packetId));
      assertThatThrownBy(() -> InboxCallCodec.decode(released)).isInstanceOf(MalformedFrameException.class).hasMessageContaining("packet identifier");
    }
    var will = new OpenExchange(Publication.Exchange.WILL, 9, Terms.Origin.ofWill(9, true));
    byte[] connected = AnswerForm.CONNECTED.encode(new Connected(new SessionRef("t", "c", 1), 1, true, List.of(), 1, 1, new int[0], List.of(will), null));
    assertThatThrownBy(() -> decoded(AnswerForm.CONNECTED, connected)).as("a session has no such exchange").isInstanceOf(MalformedFrameException.class).hasMessageContaining("packet identifier 0");
    byte[] nothing = InboxCallCodec.encode(new InboxCall.Fetch(new SessionRef("t", "c", 1), 1, 0, 9));
    assertThatThrownBy(() -> InboxCallCodec.decode(nothing)).isInstanceOf(MalformedFrameException.class).hasMessageContaining("no messages");
    for (byte[] frame : new byte[][] {{10}, {8, 2, 1, 1}, {8, 100, 1, 1}, {0, 1, 3, 1, 0}, {0, 1, 0x40, 1, 0}, {0, 1, 1, 1, 100}}) {
      assertThatThrownBy(() -> new TierMessageCodec().read(new FrameReader(frame)))
          .as(Arrays.toString(frame)).isInstanceOf(MalformedFrameException.class);
    }
  }

  @Test
  void anOpeningSaysWhoTheFrontendIs() {
    var opening = new InboxOpening("node", -4, 6);
    byte[] whole = opening.encode();

    assertThat(InboxOpening.decode(whole)).isEqualTo(opening);
    for (int length = 0; length < whole.length; length++) {
      byte[] cut = Arrays.copyOf(whole, length);
      assertThatThrownBy(() -> InboxOpening.decode(cut)).isInstanceOf(LinkRefusedException.class).hasMessageContaining("cannot be read");
    }
    assertThatThrownBy(() -> InboxOpening.decode(new InboxOpening("", 1, 1).encode()))
        .isInstanceOf(LinkRefusedException.class).hasMessageContaining("no node id");
  }

  @Test
  void anOpeningOfAnotherVersionIsRefusedWithBothVersions() {
    byte[] later =
        FieldWriter.bytesOf(
            out -> {
              out.number(6);
              out.text("something that version 5 does not know");
            });

    assertThatThrownBy(() -> InboxOpening.decode(later))
        .isInstanceOf(LinkRefusedException.class).hasMessage("The frontend speaks version 6 of the protocol, the session tier version 5.");
  }
}
