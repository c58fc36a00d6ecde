package dunlin.transport.link;

import static dunlin.transport.link.LinkParts.ACCEPTOR;
import static dunlin.transport.link.LinkParts.DIALLER;
import static dunlin.transport.link.LinkParts.OPENING;
import static dunlin.transport.link.LinkParts.SETTINGS;
import static dunlin.transport.link.LinkParts.bytes;
import static dunlin.transport.link.LinkParts.confirm;
import static dunlin.transport.link.LinkParts.data;
import static dunlin.transport.link.LinkParts.hello;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.transport.link.LinkFrame.Confirm;
import dunlin.transport.link.LinkFrame.Goodbye;
import dunlin.transport.link.LinkFrame.Refuse;
import dunlin.transport.link.LinkParts.Ear;
import dunlin.transport.link.LinkParts.Sent;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The dialling side of a link. */
class LinkTest {
  private final ArrayDeque<Runnable> round = new ArrayDeque<>();
  private final Ear ear = new Ear();
  private final Sent pipe = new Sent();
  private long now = Long.MAX_VALUE - 5;
  private final Link link = Link.dialling(DIALLER, OPENING, SETTINGS, round::add, () -> now, ear);

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

  @Test
  void settingsAndIdentitiesAreChecked() {
    assertThatThrownBy(() -> new Link.Settings(0, 1, Duration.ofSeconds(1))).hasMessage("framesMax 0");
    assertThatThrownBy(() -> new Link.Settings(1, 0, Duration.ofSeconds(1))).hasMessage("bytesMax 0");
    assertThatThrownBy(() -> new Link.Settings(1, 1, Duration.ZERO)).hasMessage("awayMax PT0S");
    assertThatThrownBy(() -> Link.dialling(0, OPENING, SETTINGS, round::add, () -> now, ear)).hasMessage("identity 0");
    assertThatThrownBy(() -> Link.dialling(1, new byte[65_537], SETTINGS, round::add, () -> now, ear)).hasMessage("opening of 65537 bytes");
  }
}
