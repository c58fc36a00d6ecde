package dunlin.transport.lane;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.transport.Terms;
import dunlin.transport.link.Link;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Malformed frames are refused with a sentence and have no other effect. */
class BadFramesTest {
  private static final Publication MESSAGE = Publication.of(new Publisher("t", "client"), "a/b", QoS.AT_LEAST_ONCE, true, 7, new byte[20]);

  private static final Terms TERMS = Terms.disconnecting(9).from(new Terms.Origin(3, 9, 4, true, List.of(-1L, 5L)));

  private static byte[] frame() {
    var out = new FrameWriter();
    new Messages().write(out, MESSAGE, TERMS);
    return out.take();
  }

  @Test
  void aWholeFrameIsRead() throws Exception {
    var sent = new Messages().read(new FrameReader(frame()));

    assertThat(sent.message().body()).isEqualTo(MESSAGE.body());
    assertThat(sent.terms()).isEqualTo(TERMS);
  }

  @Test
  void onlyAWillWithAnOriginHasAnExchangeWithoutAPacketIdentifier() throws Exception {
    var will = MESSAGE.asWillOf(7);
    var terms = Terms.WILL.from(Terms.Origin.ofWill(7, true));
    var out = new FrameWriter();
    new Messages().write(out, will, terms);
    var sent = new Messages().read(new FrameReader(out.take()));
    assertThat(sent.message().exchange()).isEqualTo(will.exchange());
    assertThat(sent.terms()).isEqualTo(terms);

    for (var other : List.of(Terms.WILL, Terms.ANSWERED.from(Terms.Origin.ofWill(7, true)))) {
      new Messages().write(out, will, other);
      byte[] frame = out.take();
      assertThatThrownBy(() -> new Messages().read(new FrameReader(frame))).isInstanceOf(MalformedFrameException.class).hasMessage("packet identifier 0");
    }
  }

  @Test
  void everyTruncatedFrameIsRefused() {
    byte[] whole = frame();
    for (int length = 0; length < whole.length; length++) {
      var in = new FrameReader(Arrays.copyOf(whole, length));
      assertThatThrownBy(() -> new Messages().read(in)).as("%d bytes", length).isInstanceOf(MalformedFrameException.class);
    }
  }

  @ParameterizedTest(name = "seed {0}")
  @ValueSource(longs = {1, 2, 3, 4})
  void aChangedFrameIsReadAsSomethingElseOrRefused(long seed) {
    var random = new Random(seed);
    byte[] whole = frame();
    for (int i = 0; i < 20_000; i++) {
      byte[] changed = whole.clone();
      for (int changes = 1 + random.nextInt(3); changes > 0; changes--) changed[random.nextInt(changed.length)] = (byte) random.nextInt();
      try {
        new Messages().read(new FrameReader(changed));
      } catch (MalformedFrameException refused) {
        assertThat(refused).hasMessageMatching(".+");
      }
    }
  }

  @Test
  void anUnknownPublisherIsRefused() {
    var messages = new Messages();
    var out = new FrameWriter();
    messages.write(out, MESSAGE, Terms.ANSWERED);
    out.take();
    messages.write(out, MESSAGE, Terms.ANSWERED);
    byte[] second = out.take();

    assertThatThrownBy(() -> new Messages().read(new FrameReader(second))).isInstanceOf(MalformedFrameException.class).hasMessageContaining("is empty");
  }

  @Test
  void aMessageRefersToABodyOfItsFrameOnly() throws Exception {
    var message = Publication.of(new Publisher("t", "client"), "a/b", QoS.AT_LEAST_ONCE, true, 7, new byte[Messages.REFERRED_MIN]);
    var sender = new Messages();
    var receiver = new Messages();
    var out = new FrameWriter();
    for (int i = 0; i < 3; i++) sender.write(out, message, TERMS, true);
    assertThat(sender.hasBodyOf(message)).isTrue();
    byte[] frame = out.take();
    assertThat(frame.length).isLessThan(message.body().length + 150);
    var in = new FrameReader(frame);
    byte[] first = receiver.read(in, true).message().body();
    assertThat(first).isEqualTo(message.body());
    for (int i = 0; i < 2; i++) {
      var sent = receiver.read(in, true);
      assertThat(sent.message().body()).isSameAs(first);
      assertThat(sent.message().topic()).isEqualTo("a/b");
      assertThat(sent.terms()).isEqualTo(TERMS);
    }

    sender.write(out, message, TERMS, true);
    byte[] next = out.take();
    receiver.endFrame();
    assertThatThrownBy(() -> receiver.read(new FrameReader(next), true)).isInstanceOf(MalformedFrameException.class).hasMessageContaining("none is before it");
    sender.endFrame();
    assertThat(sender.hasBodyOf(message)).isFalse();
    sender.write(out, message, TERMS, true);
    assertThat(receiver.read(new FrameReader(out.take()), true).message().body()).isEqualTo(message.body()).isNotSameAs(first);
  }

  @Test
  void aReferenceIsRefusedWhereNoneIsExpected() throws Exception {
    var message = Publication.of(new Publisher("t", "client"), "a/b", QoS.AT_LEAST_ONCE, true, 7, new byte[Messages.REFERRED_MIN]);
    var out = new FrameWriter();
    var sender = new Messages();
    for (int i = 0; i < 2; i++) sender.write(out, message, TERMS, true);
    var in = new FrameReader(out.take());
    var receiver = new Messages();

    assertThat(receiver.read(in).message().body()).isEqualTo(message.body());
    assertThatThrownBy(() -> receiver.read(in)).isInstanceOf(MalformedFrameException.class);
  }

  @Test
  void answersOfUnknownKindCodeOrLengthAreRefused() {
    for (int[] bytes : new int[][] {{4}, {0, 2, 1, 3, 0}, {0, 2, 9, 0, 0}, {0, 2}, {3, 5, 1}, {5}, {5, 2}}) {
      byte[] frame = new byte[bytes.length];
      for (int i = 0; i < bytes.length; i++) frame[i] = (byte) bytes[i];
      assertThatThrownBy(() -> Answers.read(frame, 8, new Ignoring())).as(Arrays.toString(bytes)).isInstanceOf(MalformedFrameException.class);
    }
  }

  @Test
  void aLaneAcceptsMessagesOnly() {
    var out = new FrameWriter();
    Messages.beginBesides(out);
    var settings = new Link.Settings(1_000, 10_000, Duration.ofSeconds(10));
    var link = Link.dialling(1, new byte[0], settings, Runnable::run, () -> 0, new Silent());
    var lane = new ReceivingStream(link, Runnable::run, RemoteLane.into((_, _, _) -> {}, new SharedWindow(1 << 20)));

    lane.received(out.take());

    assertThat(link.isLost()).isTrue();
    assertThat(lane.unanswered()).isZero();
  }

  private static final class Silent implements Link.Handler {
    @Override
    public void received(byte[] frame) {}

    @Override
    public void lost(String reason) {}
  }

  private static final class Ignoring implements Answers.Listener {
    @Override
    public void ends(long last) {}

    @Override
    public void picked(long number, long shard) {}

    @Override
    public void answered(long number, ReasonCode reason, boolean matched) {}

    @Override
    public void waits(long number) {}

    @Override
    public void waitsNoLonger(long number) {}

    @Override
    public void told(byte[] besides) {}
  }
}
