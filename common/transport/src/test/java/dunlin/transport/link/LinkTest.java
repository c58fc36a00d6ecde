package dunlin.transport.link;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.transport.link.Link.Handler;
import dunlin.transport.link.LinkFrame.Confirm;
import dunlin.transport.link.LinkFrame.Data;
import dunlin.transport.link.LinkFrame.Goodbye;
import dunlin.transport.link.LinkFrame.Hello;
import dunlin.transport.link.LinkFrame.Refuse;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class LinkTest {
  private static final Link.Settings SETTINGS = new Link.Settings(4, 100, Duration.ofSeconds(10));
  private static final long DIALLER = 11;
  private static final long ACCEPTOR = -22;
  private static final byte[] OPENING = "node a".getBytes(UTF_8);

  private final ArrayDeque<Runnable> round = new ArrayDeque<>();
  private final Ear ear = new Ear();
  private final Sent pipe = new Sent();
  private final List<Link> opened = new ArrayList<>();
  private final List<String> openings = new ArrayList<>();
  private final Ear accepting = new Ear();
  private long now = Long.MAX_VALUE - 5;
  private final Link link = Link.dialling(DIALLER, OPENING, SETTINGS, round::add, () -> now, ear);
  private final LinkAcceptor acceptor = acceptor(ACCEPTOR);

  private LinkAcceptor acceptor(long identity) {
    return new LinkAcceptor(
        identity,
        SETTINGS,
        2,
        round::add,
        () -> now,
        (newLink, opening) -> {
          String says = new String(opening, UTF_8);
          openings.add(says);
          if (says.isEmpty()) throw new LinkRefusedException("A dialler must say who it is.");
          opened.add(newLink);
          return accepting;
        });
  }

  /** Records what a link tells its owner. */
  private static final class Ear implements Handler {
    private final List<String> received = new ArrayList<>();
    private final List<String> lost = new ArrayList<>();
    private int confirmed;
    private int connected;
    private Runnable uponReceived = () -> {};
    private Runnable uponConfirmed = () -> {};

    @Override
    public void received(byte[] frame) {
      received.add(new String(frame, UTF_8));
      uponReceived.run();
    }

    @Override
    public void connected() {
      connected++;
    }

    @Override
    public void confirmed() {
      confirmed++;
      uponConfirmed.run();
    }

    @Override
    public void lost(String reason) {
      lost.add(reason);
    }
  }

  /** A pipe that records the sent frames. */
  private static final class Sent implements Pipe {
    private final List<LinkFrame> frames = new ArrayList<>();
    private boolean closed;

    @Override
    public void send(byte[] frame) {
      frames.add(decoded(frame));
    }

    @Override
    public void close() {
      closed = true;
    }

    List<String> texts() {
      return frames.stream().map(LinkTest::text).toList();
    }
  }

  private static LinkFrame decoded(byte[] bytes) {
    try {
      return LinkFrame.decode(bytes, SETTINGS.bytesMax());
    } catch (MalformedLinkFrameException e) {
      throw new AssertionError(e);
    }
  }

  private static String text(LinkFrame frame) {
    return switch (frame) {
      case Hello(var identity, var other, var received, var opening) -> "HELLO " + identity + " " + other + " " + received + " " + new String(opening, UTF_8);
      case Data(var number, var confirms, var payload) -> "DATA " + number + " " + confirms + " " + new String(payload, UTF_8);
      case Confirm(var upTo) -> "CONFIRM " + upTo;
      case Goodbye() -> "GOODBYE";
      case Refuse(var lost, var sentence) -> "REFUSE " + (lost ? "link: " : "pipe: ") + sentence;
    };
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  private static byte[] hello(long identity, long other, long received) {
    return new Hello(identity, other, received, new byte[0]).encode();
  }

  private static byte[] dialled(long identity, long other, long received) {
    return new Hello(identity, other, received, OPENING).encode();
  }

  private static byte[] data(long number, long confirms, String payload) {
    return new Data(number, confirms, bytes(payload)).encode();
  }

  private static byte[] confirm(long upTo) {
    return new Confirm(upTo).encode();
  }

  private void endRound() {
    while (!round.isEmpty()) round.remove().run();
  }

  /** Greets the link as an acceptor that has received nothing. */
  private void greet() {
    link.connected(pipe);
    link.arrived(pipe, hello(ACCEPTOR, DIALLER, 0));
    pipe.frames.clear();
  }

  @Test
  void sendsHelloFirstAndNothingElseBeforeTheOtherHello() {
    link.send(bytes("a"));
    link.connected(pipe);
    link.send(bytes("b"));
    assertThat(pipe.texts()).containsExactly("HELLO 11 0 0 node a");
    assertThat(link.isConnected()).isFalse();

    link.arrived(pipe, hello(ACCEPTOR, DIALLER, 0));

    assertThat(pipe.texts()).containsExactly("HELLO 11 0 0 node a", "DATA 1 0 a", "DATA 2 0 b");
    assertThat(link.isConnected()).isTrue();
  }

  @Test
  void saysEachTimeThatItIsConnected() {
    link.connected(pipe);
    assertThat(ear.connected).isZero();
    link.arrived(pipe, hello(ACCEPTOR, DIALLER, 0));
    link.arrived(pipe, data(1, 0, "x"));
    assertThat(ear.connected).isEqualTo(1);

    link.broken(pipe);
    var next = new Sent();
    link.connected(next);
    assertThat(ear.connected).isEqualTo(1);
    link.arrived(next, hello(ACCEPTOR, DIALLER, 0));
    assertThat(ear.connected).isEqualTo(2);

    link.broken(next);
    var third = new Sent();
    link.connected(third);
    link.arrived(third, hello(ACCEPTOR + 1, DIALLER, 0));
    assertThat(ear.lost).hasSize(1);
    assertThat(ear.connected).as("a link that is lost is not connected").isEqualTo(2);
  }

  @Test
  void anAcceptedLinkSaysEachTimeThatItIsConnected() {
    for (int i = 1; i <= 2; i++) {
      var from = new Sent();
      acceptor.connected(from);
      acceptor.arrived(from, dialled(DIALLER, i == 1 ? 0 : opened.getFirst().identity(), 0));
      assertThat(opened).hasSize(1);
      assertThat(accepting.connected).isEqualTo(i);
    }
  }

  @Test
  void keepsUnconfirmedFramesAndResumesAfterThoseReceived() {
    greet();
    for (String each : List.of("a", "b", "c")) link.send(bytes(each));
    link.arrived(pipe, confirm(1));
    link.arrived(pipe, data(1, 1, "x"));
    assertThat(link.unconfirmedFrames()).isEqualTo(2);
    assertThat(link.unconfirmedBytes()).isEqualTo(2);

    link.broken(pipe);
    link.send(bytes("d"));
    var next = new Sent();
    link.connected(next);
    link.arrived(next, hello(ACCEPTOR, DIALLER, 2));

    assertThat(next.texts()).containsExactly("HELLO 11 -22 1 node a", "DATA 3 1 c", "DATA 4 1 d");
    link.arrived(next, confirm(4));
    assertThat(link.unconfirmedFrames()).isZero();
    assertThat(link.unconfirmedBytes()).isZero();
  }

  @Test
  void closesAndIgnoresThePreviousPipe() {
    greet();
    var next = new Sent();
    link.connected(next);
    assertThat(pipe.closed).isTrue();

    link.arrived(pipe, data(1, 0, "late"));
    link.arrived(pipe, new Refuse(true, "late").encode());
    link.arrived(pipe, new byte[] {99});
    link.broken(pipe);
    link.arrived(next, hello(ACCEPTOR, DIALLER, 0));

    assertThat(ear.received).isEmpty();
    assertThat(ear.lost).isEmpty();
    assertThat(link.isConnected()).isTrue();
  }

  @Test
  void confirmsARoundAtOnceUnlessAFrameCarriesIt() {
    greet();
    for (int i = 1; i <= 3; i++) link.arrived(pipe, data(i, 0, "x"));
    assertThat(round).hasSize(1);
    assertThat(pipe.texts()).isEmpty();
    endRound();
    assertThat(pipe.texts()).containsExactly("CONFIRM 3");

    link.arrived(pipe, data(4, 0, "x"));
    link.send(bytes("a"));
    endRound();
    assertThat(pipe.texts()).containsExactly("CONFIRM 3", "DATA 1 4 a");
  }

  @Test
  void dropsRepeatedFrames() {
    greet();
    link.arrived(pipe, data(1, 0, "x"));
    link.arrived(pipe, data(2, 0, "y"));

    link.arrived(pipe, data(1, 0, "x"));
    link.arrived(pipe, data(2, 0, "y"));
    link.arrived(pipe, data(3, 0, ""));

    assertThat(ear.received).containsExactly("x", "y", "");
    assertThat(pipe.closed).isFalse();
  }

  @Test
  void isLostBeyondTheNumberOfFrames() {
    greet();
    for (int i = 0; i < 4; i++) {
      assertThat(link.hasRoom()).isEqualTo(i < 2);
      link.send(bytes("a"));
    }
    assertThat(link.isLost()).isFalse();

    link.send(bytes("a"));
    link.send(bytes("a"));

    assertThat(ear.lost).containsExactly("4 frames with 4 bytes are unconfirmed");
    assertThat(link.unconfirmedFrames()).isZero();
    assertThat(link.unconfirmedBytes()).isZero();
    assertThat(pipe.texts()).hasSize(5).last().isEqualTo("REFUSE link: 4 frames with 4 bytes are unconfirmed");
    assertThat(pipe.closed).isTrue();
  }

  @Test
  void isLostBeyondTheNumberOfBytes() {
    link.send(new byte[49]);
    assertThat(link.hasRoom()).isTrue();
    link.send(new byte[51]);
    assertThat(link.hasRoom()).isFalse();
    assertThat(link.unconfirmedBytes()).isEqualTo(100);

    link.send(new byte[0]);
    assertThat(link.isLost()).isFalse();
    link.send(new byte[1]);
    assertThat(ear.lost).containsExactly("3 frames with 100 bytes are unconfirmed");
  }

  @Test
  void afterLossDoesNothing() {
    greet();
    link.arrived(pipe, new Goodbye().encode());
    assertThat(ear.lost).containsExactly("the other side has ended the link");

    var next = new Sent();
    link.connected(next);
    link.arrived(next, hello(ACCEPTOR, DIALLER, 0));
    link.arrived(pipe, data(1, 0, "x"));
    link.send(new byte[1000]);
    now += Duration.ofDays(1).toNanos();
    link.tick();
    link.close();
    endRound();

    assertThat(ear.lost).hasSize(1);
    assertThat(ear.received).isEmpty();
    assertThat(next.frames).isEmpty();
    assertThat(next.closed).isTrue();
    assertThat(pipe.frames).isEmpty();
  }

  @Test
  void notifiesOfConfirmationsAndMayBeSentOnInTheCallback() {
    greet();
    ear.uponConfirmed = () -> link.send(bytes("c"));
    link.send(bytes("a"));
    link.send(bytes("b"));
    assertThat(ear.confirmed).isZero();

    link.arrived(pipe, new Confirm(1).encode());
    assertThat(ear.confirmed).isEqualTo(1);
    link.arrived(pipe, new Confirm(1).encode());
    assertThat(ear.confirmed).as("nothing more is").isEqualTo(1);
    link.arrived(pipe, data(1, 3, "x"));

    assertThat(ear.confirmed).isEqualTo(2);
    assertThat(pipe.texts()).containsExactly("DATA 1 0 a", "DATA 2 0 b", "DATA 3 0 c", "DATA 4 1 c");
    assertThat(link.unconfirmedFrames()).isEqualTo(1);
  }

  @Test
  void notifiesOfConfirmationsByANewPipe() {
    greet();
    link.send(bytes("a"));
    link.send(bytes("b"));
    link.broken(pipe);
    ear.uponConfirmed = () -> link.send(bytes("c"));

    var next = new Sent();
    link.connected(next);
    link.arrived(next, hello(ACCEPTOR, DIALLER, 1));

    assertThat(ear.confirmed).isEqualTo(1);
    assertThat(next.texts().subList(1, 3)).containsExactly("DATA 2 0 b", "DATA 3 0 c");
  }

  @Test
  void doesNotNotifyOfConfirmationsAfterLoss() {
    greet();
    link.send(bytes("a"));
    ear.uponReceived = link::close;

    link.arrived(pipe, data(1, 1, "x"));

    assertThat(ear.received).containsExactly("x");
    assertThat(ear.confirmed).isZero();
  }

  @Test
  void sendsGoodbyeWithoutCallingItsOwnHandler() {
    greet();
    link.arrived(pipe, data(1, 0, "x"));
    link.close();
    link.close();
    endRound();

    assertThat(pipe.texts()).containsExactly("GOODBYE");
    assertThat(pipe.closed).isTrue();
    assertThat(ear.lost).isEmpty();
    assertThat(link.isLost()).isTrue();
  }

  @Test
  void isLostWhenNoPipeIsGreetedForTooLong() {
    greet();
    now += Duration.ofHours(1).toNanos();
    link.tick();
    link.broken(pipe);

    now += SETTINGS.awayMax().toNanos() - 1;
    link.tick();
    link.connected(new Sent());
    link.tick();
    assertThat(ear.lost).isEmpty();
    now++;
    link.tick();
    link.tick();

    assertThat(ear.lost).containsExactly("the other side was away for PT10S");
  }

  @Test
  void isLostWhenNothingIsConfirmedForTooLong() {
    greet();
    now += Duration.ofHours(1).toNanos();
    link.send(bytes("a"));
    link.send(bytes("b"));
    now += SETTINGS.awayMax().toNanos() - 1;
    link.arrived(pipe, confirm(1));

    now += SETTINGS.awayMax().toNanos() - 1;
    link.tick();
    assertThat(ear.lost).isEmpty();
    now++;
    link.tick();

    assertThat(ear.lost).containsExactly("1 frames with 1 bytes are unconfirmed, and none was confirmed for PT10S");
  }

  @Test
  void timeWithoutAPipeDoesNotCountForConfirmations() {
    greet();
    link.send(bytes("a"));
    now += 1_000;
    link.broken(pipe);
    now += SETTINGS.awayMax().toNanos() - 1;
    var next = new Sent();
    link.connected(next);
    link.arrived(next, hello(ACCEPTOR, DIALLER, 0));

    now += SETTINGS.awayMax().toNanos() - 1_001;
    link.tick();
    assertThat(ear.lost).isEmpty();
    now++;
    link.tick();
    assertThat(ear.lost).hasSize(1);
  }

  @Test
  void isLostWhenTheOtherSideWasRestarted() {
    greet();
    link.broken(pipe);
    var next = new Sent();
    link.connected(next);

    link.arrived(next, hello(-23, DIALLER, 0));

    assertThat(ear.lost).containsExactly("the other side was restarted");
  }

  @Test
  void isLostWhenTheOtherSideRefusesTheLinkAndNotWhenItRefusesThePipe() {
    greet();
    link.arrived(pipe, new Refuse(false, "bad bytes").encode());
    assertThat(pipe.closed).isTrue();
    assertThat(ear.lost).isEmpty();
    now += SETTINGS.awayMax().toNanos() - 1;

    var next = new Sent();
    link.connected(next);
    link.arrived(next, new Refuse(true, "no room").encode());

    assertThat(ear.lost).containsExactly("the other side refuses: no room");
    assertThat(next.texts()).containsExactly("HELLO 11 -22 0 node a");
  }

  static Stream<Arguments> badBytes() {
    return Stream.of(
        Arguments.of("nothing", ""),
        Arguments.of("an unknown kind", "06"),
        Arguments.of("kind 0", "00"),
        Arguments.of("HELLO twice", "01010b16" + "00"),
        Arguments.of("HELLO that ends early", "01"),
        Arguments.of("HELLO in version 2", "01020b0b00"),
        Arguments.of("HELLO without an identity", "01010000" + "00"),
        Arguments.of("DATA without a number", "02"),
        Arguments.of("DATA that ends within a number", "0283"),
        Arguments.of("DATA without confirms", "0203"),
        Arguments.of("DATA behind a gap", "020400"),
        Arguments.of("DATA that confirms what was not sent", "020303"),
        Arguments.of("DATA with more bytes than are allowed", "020300" + "78".repeat(101)),
        Arguments.of("a number in more bytes than it needs", "02830000"),
        Arguments.of("a number in 11 bytes", "02" + "ff".repeat(10) + "0100"),
        Arguments.of("a number of 65 bits", "02" + "ff".repeat(9) + "0200"),
        Arguments.of("a number of 64 bits", "02" + "ff".repeat(9) + "0100"),
        Arguments.of("CONFIRM without a number", "03"),
        Arguments.of("CONFIRM of what was not sent", "0303"),
        Arguments.of("CONFIRM with more behind it", "030100"),
        Arguments.of("GOODBYE with more behind it", "0400"),
        Arguments.of("REFUSE without anything", "05"),
        Arguments.of("REFUSE of something else", "050278"),
        Arguments.of("REFUSE with too long a sentence", "0501" + "78".repeat(1025)));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("badBytes")
  void malformedFramesEndThePipeAndNotTheLink(String what, String hex) {
    greet();
    for (String each : List.of("a", "b")) link.send(bytes(each));
    link.arrived(pipe, data(1, 1, "x"));
    link.arrived(pipe, data(2, 1, "y"));
    pipe.frames.clear();

    link.arrived(pipe, HexFormat.of().parseHex(hex));

    assertThat(pipe.texts()).as(what).singleElement().asString().startsWith("REFUSE pipe: ");
    assertThat(pipe.closed).isTrue();
    assertThat(link.isConnected()).isFalse();
    var next = new Sent();
    link.connected(next);
    link.arrived(next, hello(ACCEPTOR, DIALLER, 1));
    link.arrived(next, data(3, 2, "z"));
    assertThat(next.texts()).containsExactly("HELLO 11 -22 2 node a", "DATA 2 2 b");
    assertThat(ear.received).containsExactly("x", "y", "z");
    assertThat(ear.lost).isEmpty();
  }

  static Stream<Arguments> goodBytes() {
    return Stream.of(
        Arguments.of("DATA", "02030078", List.of("x", "y", "x"), List.of()),
        Arguments.of("DATA that confirms everything", "020302", List.of("x", "y", ""), List.of()),
        Arguments.of("DATA that it has", "020201", List.of("x", "y"), List.of()),
        Arguments.of("DATA with as many bytes as are allowed", "020300" + "78".repeat(100), List.of("x", "y", "x".repeat(100)), List.of()),
        Arguments.of("CONFIRM", "0302", List.of("x", "y"), List.of()),
        Arguments.of("CONFIRM of before", "0300", List.of("x", "y"), List.of()),
        Arguments.of("GOODBYE", "04", List.of("x", "y"), List.of("the other side has ended the link")),
        Arguments.of("REFUSE", "050178", List.of("x", "y"), List.of("the other side refuses: x")),
        Arguments.of("REFUSE without a sentence", "0501", List.of("x", "y"), List.of("the other side refuses: ")));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("goodBytes")
  void validFramesAreAccepted(String what, String hex, List<String> received, List<String> lost) {
    greet();
    for (String each : List.of("a", "b")) link.send(bytes(each));
    link.arrived(pipe, data(1, 1, "x"));
    link.arrived(pipe, data(2, 1, "y"));

    link.arrived(pipe, HexFormat.of().parseHex(hex));

    assertThat(ear.received).as(what).isEqualTo(received);
    assertThat(ear.lost).isEqualTo(lost);
    assertThat(pipe.closed).isEqualTo(!lost.isEmpty());
  }

  @Test
  void anInvalidHelloEndsThePipeAndNotTheLink() {
    greet();
    for (String each : List.of("a", "b")) link.send(bytes(each));
    link.arrived(pipe, confirm(1));

    Map<String, byte[]> bad =
        Map.of(
            "a confirmation of 3 frames, sent are 2", hello(ACCEPTOR, DIALLER, 3),
            "HELLO with 0 frames received, 1 were confirmed before", hello(ACCEPTOR, DIALLER, 0),
            "HELLO for another link", hello(ACCEPTOR, 12, 1),
            "an opening, which only diallers send", dialled(ACCEPTOR, DIALLER, 1),
            "DATA before HELLO", data(1, 0, "x"),
            "CONFIRM before HELLO", confirm(1));
    bad.forEach(
        (reason, bytes) -> {
          var next = new Sent();
          link.connected(next);
          link.arrived(next, bytes);
          assertThat(next.texts()).containsExactly("HELLO 11 -22 0 node a", "REFUSE pipe: " + reason);
          assertThat(next.closed).isTrue();
        });
    assertThat(link.isLost()).isFalse();

    now += SETTINGS.awayMax().toNanos();
    link.tick();
    assertThat(ear.lost).singleElement().asString().startsWith("the other side was away for PT10S, at last: the other side has sent ");
  }

  @Test
  void randomBytesNeverThrow() {
    var random = new Random(7);
    for (int i = 0; i < 20_000; i++) {
      byte[] bytes = new byte[random.nextInt(30)];
      random.nextBytes(bytes);
      if (bytes.length > 0) bytes[0] = (byte) random.nextInt(7);
      var next = new Sent();
      var other = Link.dialling(DIALLER, OPENING, SETTINGS, round::add, () -> now, new Ear());
      other.connected(next);
      if (random.nextBoolean()) other.arrived(next, hello(ACCEPTOR, DIALLER, 0));
      other.arrived(next, bytes);
      acceptor.connected(next);
      acceptor.arrived(next, bytes);
      acceptor.arrived(next, bytes);
    }
    assertThat(acceptor.links()).isLessThanOrEqualTo(2);
  }

  @Test
  void framesAreReadAsWritten() throws MalformedLinkFrameException {
    for (long each : new long[] {1, 127, 128, 16_383, 16_384, Integer.MAX_VALUE, Long.MAX_VALUE}) {
      for (byte[] bytes : List.of(hello(-each, each, each), dialled(each, -each, each), data(each, each, "x"), confirm(each))) {
        assertThat(LinkFrame.decode(bytes, 1).encode()).isEqualTo(bytes);
      }
      assertThat(LinkFrame.decode(hello(-each, each, 0), 0)).extracting("identity", "other").containsExactly(-each, each);
    }
    assertThat(data(300, 1, "x")).isEqualTo(HexFormat.of().parseHex("02ac020178"));
  }

  @Test
  void aLongSentenceIsShortenedBetweenCharacters() {
    byte[] bytes = new Refuse(true, "x" + "ö".repeat(600)).encode();

    assertThat(text(decoded(bytes))).isEqualTo("REFUSE link: x" + "ö".repeat(511));
  }

  @Test
  void settingsAndIdentitiesAreChecked() {
    assertThatThrownBy(() -> new Link.Settings(0, 1, Duration.ofSeconds(1))).hasMessage("framesMax 0");
    assertThatThrownBy(() -> new Link.Settings(1, 0, Duration.ofSeconds(1))).hasMessage("bytesMax 0");
    assertThatThrownBy(() -> new Link.Settings(1, 1, Duration.ZERO)).hasMessage("awayMax PT0S");
    assertThatThrownBy(() -> Link.dialling(0, OPENING, SETTINGS, round::add, () -> now, ear)).hasMessage("identity 0");
    assertThatThrownBy(() -> Link.dialling(1, new byte[65_537], SETTINGS, round::add, () -> now, ear)).hasMessage("opening of 65537 bytes");
  }

  /** A pipe of the acceptor on which these frames were received. */
  private Sent calls(byte[]... said) {
    var calling = new Sent();
    acceptor.connected(calling);
    for (byte[] each : said) acceptor.arrived(calling, each);
    return calling;
  }

  @Test
  void theAcceptorOpensALinkForADiallerAndContinuesIt() {
    Sent first = calls(dialled(DIALLER, 0, 0), data(1, 0, "x"));
    opened.getFirst().send(bytes("a"));
    assertThat(first.texts()).containsExactly("HELLO -22 11 0 ", "DATA 1 1 a");

    acceptor.broken(first);
    opened.getFirst().send(bytes("b"));
    Sent second = calls(dialled(DIALLER, ACCEPTOR, 1), data(2, 1, "y"));

    assertThat(second.texts()).containsExactly("HELLO -22 11 1 ", "DATA 2 1 b");
    assertThat(accepting.received).containsExactly("x", "y");
    assertThat(openings).containsExactly("node a");
    assertThat(acceptor.links()).isEqualTo(1);
  }

  @Test
  void theAcceptorReplacesAPipeThatHasNotBrokenYet() {
    Sent first = calls(dialled(DIALLER, 0, 0));
    Sent second = calls(dialled(DIALLER, ACCEPTOR, 0));
    assertThat(first.closed).isTrue();

    acceptor.arrived(first, data(1, 0, "late"));
    acceptor.broken(first);
    acceptor.arrived(second, data(1, 0, "x"));

    assertThat(accepting.received).containsExactly("x");
  }

  @Test
  void anOvertakenHelloDoesNotReplaceAPipe() {
    Sent first = calls(dialled(DIALLER, 0, 0));
    opened.getFirst().send(bytes("a"));
    acceptor.arrived(first, confirm(1));

    Sent overtaken = calls(dialled(DIALLER, 0, 0));

    assertThat(overtaken.texts()).singleElement().asString().startsWith("REFUSE pipe: ").contains("1 were confirmed before");
    assertThat(first.closed).isFalse();
    assertThat(opened.getFirst().isConnected()).isTrue();
  }

  @Test
  void theAcceptorRefusesADiallerOfAnEarlierRunOrOfAClosedLink() {
    String unknown = "REFUSE link: The link is not known, or not any more.";
    assertThat(calls(dialled(DIALLER, -23, 0)).texts()).containsExactly(unknown);
    calls(dialled(DIALLER, 0, 0));
    assertThat(calls(dialled(DIALLER, -23, 0)).texts()).containsExactly(unknown);

    opened.getFirst().close();
    assertThat(acceptor.links()).isZero();
    assertThat(calls(dialled(DIALLER, ACCEPTOR, 0)).texts()).containsExactly(unknown);
    assertThat(openings).hasSize(1);
  }

  /** Without an identity for each link, the dialler would continue with a second link that lacks the state of the first. */
  @Test
  void anOldHelloThatBeginsASecondLinkIsNotUsedByTheDialler() {
    calls(dialled(DIALLER, 0, 0), data(1, 0, "x"));
    opened.getFirst().close();
    calls(dialled(DIALLER, 0, 0));
    assertThat(opened).hasSize(2);

    Sent unaware = calls(dialled(DIALLER, ACCEPTOR, 0), data(1, 0, "x"));

    assertThat(unaware.texts()).containsExactly("REFUSE link: The link is not known, or not any more.");
    assertThat(accepting.received).containsExactly("x");
  }

  @Test
  void theFactoryMayRefuse() {
    Sent refused = calls(hello(DIALLER, 0, 0));

    assertThat(refused.texts()).containsExactly("REFUSE link: A dialler must say who it is.");
    assertThat(refused.closed).isTrue();
    assertThat(acceptor.links()).isZero();
  }

  @Test
  void theLinksOfAnAcceptorAreBounded() {
    calls(dialled(1, 0, 0));
    calls(dialled(2, 0, 0));

    assertThat(calls(dialled(3, 0, 0)).texts()).containsExactly("REFUSE link: There are 2 links already.");
    opened.getFirst().close();
    calls(dialled(3, 0, 0));
    assertThat(acceptor.links()).isEqualTo(2);
  }

  @Test
  void theAcceptorClosesPipesWithoutAValidHello() {
    for (byte[] each : List.of(data(1, 0, "x"), confirm(0), new Goodbye().encode(), new byte[] {1, 1}, new byte[0], dialled(DIALLER, 0, 1))) {
      Sent bad = calls(each, dialled(DIALLER, 0, 0));
      assertThat(bad.texts()).as(Arrays.toString(each)).singleElement().asString().startsWith("REFUSE pipe: ");
      assertThat(bad.closed).isTrue();
    }
    assertThat(opened).isEmpty();
  }

  @Test
  void aSilentPipeIsClosedAfterATimeOrForAnotherOne() {
    Sent first = calls();
    now++;
    Sent second = calls();
    Sent third = calls();
    assertThat(List.of(first.closed, second.closed, third.closed)).containsExactly(true, false, false);

    now += SETTINGS.awayMax().toNanos() - 1;
    acceptor.tick();
    assertThat(second.closed).isFalse();
    now++;
    acceptor.tick();
    assertThat(second.closed && third.closed).isTrue();
  }

  @Test
  void theAcceptorLosesLinksWhoseDiallersAreAway() {
    Sent first = calls(dialled(DIALLER, 0, 0));
    acceptor.broken(first);
    now += SETTINGS.awayMax().toNanos();
    acceptor.tick();

    assertThat(accepting.lost).containsExactly("the other side was away for PT10S");
    assertThat(acceptor.links()).isZero();
  }

  @Test
  void aClosedAcceptorClosesItsLinksAndAcceptsNoPipe() {
    Sent first = calls(dialled(DIALLER, 0, 0));
    Sent silent = calls();

    acceptor.close();

    assertThat(first.texts()).endsWith("GOODBYE");
    assertThat(first.closed && silent.closed && calls(dialled(DIALLER, 0, 0)).closed).isTrue();
    assertThat(accepting.lost).isEmpty();
    assertThat(acceptor.links()).isZero();
  }

  @Test
  void identitiesOfLinksSkipZero() {
    LinkAcceptor about = acceptor(-1);
    List<String> said = new ArrayList<>();
    for (long dialler = 1; dialler <= 2; dialler++) {
      var calling = new Sent();
      about.connected(calling);
      about.arrived(calling, dialled(dialler, 0, 0));
      said.addAll(calling.texts());
    }
    assertThat(said).containsExactly("HELLO -1 1 0 ", "HELLO 1 2 0 ");
  }
}
