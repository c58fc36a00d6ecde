package dunlin.transport.link;

import static dunlin.transport.link.LinkParts.ACCEPTOR;
import static dunlin.transport.link.LinkParts.DIALLER;
import static dunlin.transport.link.LinkParts.OPENING;
import static dunlin.transport.link.LinkParts.SETTINGS;
import static dunlin.transport.link.LinkParts.bytes;
import static dunlin.transport.link.LinkParts.confirm;
import static dunlin.transport.link.LinkParts.data;
import static dunlin.transport.link.LinkParts.decoded;
import static dunlin.transport.link.LinkParts.dialled;
import static dunlin.transport.link.LinkParts.hello;
import static dunlin.transport.link.LinkParts.text;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.transport.link.LinkFrame.Refuse;
import dunlin.transport.link.LinkParts.Ear;
import dunlin.transport.link.LinkParts.Sent;
import java.util.ArrayDeque;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Frames, good and bad, as a link reads them. */
class LinkFrameTest {
  private final ArrayDeque<Runnable> round = new ArrayDeque<>();
  private final Ear ear = new Ear();
  private final Sent pipe = new Sent();
  private long now = Long.MAX_VALUE - 5;
  private final Link link = Link.dialling(DIALLER, OPENING, SETTINGS, round::add, () -> now, ear);

  /** Greets the link as an acceptor that has received nothing. */
  private void greet() {
    link.connected(pipe);
    link.arrived(pipe, hello(ACCEPTOR, DIALLER, 0));
    pipe.frames.clear();
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
}
