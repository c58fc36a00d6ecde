package dunlin.transport.link;

import static dunlin.transport.link.LinkParts.ACCEPTOR;
import static dunlin.transport.link.LinkParts.DIALLER;
import static dunlin.transport.link.LinkParts.OPENING;
import static dunlin.transport.link.LinkParts.SETTINGS;
import static dunlin.transport.link.LinkParts.bytes;
import static dunlin.transport.link.LinkParts.confirm;
import static dunlin.transport.link.LinkParts.data;
import static dunlin.transport.link.LinkParts.dialled;
import static dunlin.transport.link.LinkParts.hello;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.transport.link.LinkFrame.Goodbye;
import dunlin.transport.link.LinkParts.Ear;
import dunlin.transport.link.LinkParts.Sent;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class LinkAcceptorTest {
  private final ArrayDeque<Runnable> round = new ArrayDeque<>();
  private final List<Link> opened = new ArrayList<>();
  private final List<String> openings = new ArrayList<>();
  private final Ear accepting = new Ear();
  private long now = Long.MAX_VALUE - 5;
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

  private static final Duration SECOND = Duration.ofSeconds(1);

  private void ticks(int seconds) {
    for (int i = 0; i < seconds; i++) {
      now += SECOND.toNanos();
      acceptor.tick();
    }
  }

  private void endRound() {
    while (!round.isEmpty()) round.remove().run();
  }

  @Test
  void aLinkThatEndsInSilenceIsLostWhenItsDiallerGivesNoSignOfLife() {
    Sent pipe = calls(dialled(DIALLER, 0, 0));
    opened.getFirst().endInSilence(Duration.ofSeconds(4));
    ticks(3);
    assertThat(accepting.lost).isEmpty();

    ticks(1);
    acceptor.arrived(pipe, data(1, 1, "late"));

    assertThat(accepting.lost).containsExactly("the other side was silent for PT4S");
    assertThat(accepting.received).isEmpty();
    assertThat(pipe.texts()).endsWith("REFUSE link: the other side was silent for PT4S");
  }

  @Test
  void aLinkThatEndsInSilenceLastsWhileItsDiallerConfirmsEmptyFrames() {
    Sent pipe = calls(dialled(DIALLER, 0, 0));
    opened.getFirst().endInSilence(Duration.ofSeconds(4));
    for (int i = 1; i <= 10; i++) {
      ticks(3);
      assertThat(pipe.texts().getLast()).isEqualTo("DATA " + i + " 0 ");
      acceptor.arrived(pipe, confirm(i));
    }

    assertThat(accepting.lost).isEmpty();
    assertThat(accepting.received).isEmpty();
  }

  @Test
  void aLinkThatEndsInSilenceIsLostWithoutAPipeAsWell() {
    Sent pipe = calls(dialled(DIALLER, 0, 0));
    opened.getFirst().endInSilence(Duration.ofSeconds(4));
    acceptor.broken(pipe);
    ticks(3);
    Sent next = calls(dialled(DIALLER, ACCEPTOR, 0), data(1, 0, "x"));
    ticks(3);
    assertThat(accepting.lost).as("it was there in between").isEmpty();

    acceptor.broken(next);
    ticks(1);

    assertThat(accepting.lost).hasSize(1);
  }

  @Test
  void timeInWhichItsOwnSideStoodStillHardlyCounts() {
    Sent pipe = calls(dialled(DIALLER, 0, 0));
    opened.getFirst().endInSilence(Duration.ofSeconds(4));
    ticks(1);
    now += Duration.ofSeconds(9).toNanos();
    for (int i = 0; i < 5; i++) acceptor.tick();
    acceptor.arrived(pipe, data(1, 1, "x"));

    assertThat(accepting.received).containsExactly("x");
    assertThat(accepting.lost).isEmpty();
  }

  @Test
  void oneEmptyFrameIsSentAtATimeAndNoneWhenTheLinkIsHalfFull() {
    Sent pipe = calls(dialled(DIALLER, 0, 0));
    opened.getFirst().endInSilence(Duration.ofSeconds(4));
    opened.getFirst().send(bytes("a"));
    ticks(2);
    endRound();

    assertThat(pipe.texts()).containsExactly("HELLO -22 11 0 ", "DATA 1 0 a", "DATA 2 0 ");

    opened.getFirst().send(bytes("b"));
    acceptor.arrived(pipe, confirm(2));
    opened.getFirst().send(bytes("c"));
    ticks(1);
    assertThat(pipe.texts()).containsExactly("HELLO -22 11 0 ", "DATA 1 0 a", "DATA 2 0 ", "DATA 3 0 b", "DATA 4 0 c");
  }

  /** Whether each frame that has arrived may be late. */
  private List<Boolean> arrivals() {
    var late = new ArrayList<Boolean>();
    accepting.uponReceived = () -> late.add(opened.getFirst().isLate());
    return late;
  }

  @Test
  void afterASilenceFramesMayBeLateUntilOneConfirmsWhatWasSentSince() {
    var late = arrivals();
    Sent pipe = calls(dialled(DIALLER, 0, 0));
    opened.getFirst().noteSilence(Duration.ofSeconds(3));
    acceptor.arrived(pipe, data(1, 0, "at first"));
    ticks(2);
    acceptor.arrived(pipe, data(2, 1, "after less"));
    ticks(3);
    assertThat(late).containsExactly(false, false);

    acceptor.arrived(pipe, data(3, 1, "sent before it"));
    assertThat(pipe.texts()).as("the frame of a tick, and one to prove that the other side is there").endsWith("DATA 2 2 ", "DATA 3 2 ");
    acceptor.arrived(pipe, data(4, 2, "sent before it as well"));
    acceptor.arrived(pipe, data(5, 3, "sent since"));
    acceptor.arrived(pipe, data(6, 3, "and later"));

    assertThat(late).containsExactly(false, false, true, true, false, false);
    assertThat(accepting.lost).isEmpty();
  }

  @Test
  void whatIsSentAgainOverTheNextPipeMayBeLate() {
    var late = arrivals();
    Sent pipe = calls(dialled(DIALLER, 0, 0));
    opened.getFirst().noteSilence(Duration.ofSeconds(3));
    acceptor.broken(pipe);
    ticks(2);
    Sent second = calls(dialled(DIALLER, ACCEPTOR, 0));
    acceptor.broken(second);
    ticks(1);
    Sent third = calls(dialled(DIALLER, ACCEPTOR, 0), data(1, 0, "sent again"));
    assertThat(third.texts()).endsWith("DATA 1 0 ");
    acceptor.arrived(third, data(2, 1, "since"));

    assertThat(late).containsExactly(true, false);
  }

  @Test
  void aPipeThatIsReplacedSoonMakesNothingLate() {
    var late = arrivals();
    Sent pipe = calls(dialled(DIALLER, 0, 0), data(1, 0, "x"));
    opened.getFirst().noteSilence(Duration.ofSeconds(3));
    acceptor.broken(pipe);
    ticks(2);
    calls(dialled(DIALLER, ACCEPTOR, 0), data(2, 0, "y"));

    assertThat(late).containsExactly(false, false);
  }

  @Test
  void signsOfLifeAreNotCounted() {
    calls(dialled(DIALLER, 0, 0));
    opened.getFirst().noteSilence(Duration.ofSeconds(3));
    ticks(1);
    assertThat(opened.getFirst().unconfirmedFrames()).isZero();
    opened.getFirst().send(bytes("a"));

    assertThat(opened.getFirst().unconfirmedFrames()).isEqualTo(1);
  }
}
