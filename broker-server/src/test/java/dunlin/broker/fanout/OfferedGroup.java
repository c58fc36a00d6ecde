package dunlin.broker.fanout;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dunlin.broker.OpenFrontend;
import dunlin.broker.loop.FrontendSettings;
import dunlin.broker.session.SessionView;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Terms;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A group with one member, at one of several frontends. Messages come from loop 0, and wait for minutes. The test gives the session tier's answers. */
final class OfferedGroup implements AutoCloseable {
  static final Duration SOON = Duration.ofMinutes(2);
  static final Publication.Exchange EXCHANGE = new Publication.Exchange(4, 9);

  final OpenFrontend open = new OpenFrontend(2, false, new FrontendSettings.GroupWaits(SOON, SOON, 65_536));
  final FilterHandle filter;
  final Subscriber member;
  private final int loopOfMember;

  /** For a message with an origin. */
  static final class Answer extends OpenFrontend.Answer {
    @Override
    public Terms terms() {
      return Terms.ANSWERED.from(new Terms.Origin(-7, 11, 3, false, List.of(1L)));
    }
  }

  OfferedGroup(String group, int loopOfMember) {
    this.loopOfMember = loopOfMember;
    open.sessions.holdsGroups = true;
    filter = OpenFrontend.handle(group, 2);
    member = new Subscriber(open.session(loopOfMember, "member"), filter, SubscriptionOptions.of(QoS.AT_MOST_ONCE));
    Objects.requireNonNull(filter.group()).add(member);
  }

  @Override
  public void close() {
    open.close();
  }

  Answer publish(QoS qos, Publication.@Nullable Exchange exchange, FilterHandle to) {
    var answer = new Answer();
    dispatch(message(qos, exchange), to, answer);
    return answer;
  }

  static Publication message(QoS qos, Publication.@Nullable Exchange exchange) {
    var publisher = new Publisher(Publisher.DEFAULT_TENANT, "p");
    return new Publication(publisher, qos, false, System.currentTimeMillis(), Publication.NEVER_EXPIRES, -1, 1, 0, "t and a body".getBytes(US_ASCII), exchange);
  }

  void dispatch(Publication message, FilterHandle to, @Nullable Acknowledgement acknowledgement) {
    open.on(
        0,
        () -> {
          open.loop(0).readClock();
          open.fanout().on(0).groups().dispatch(message, to, null, acknowledgement);
          return true;
        });
  }

  /** Sets whether the member has room for messages. */
  void memberTakes(boolean takes) {
    open.on(
        loopOfMember,
        () -> {
          Objects.requireNonNull(OpenFrontend.sessionOf(member).connection().context().channel().unsafe().outboundBuffer()).setUserDefinedWritability(1, takes);
          SessionView.updateLoad(OpenFrontend.sessionOf(member));
          return true;
        });
  }

  void memberLeaves() {
    open.on(
        loopOfMember,
        () -> {
          Objects.requireNonNull(filter.group()).remove(member);
          return true;
        });
  }

  long counted(String what) {
    open.on(1, () -> true);
    open.on(0, () -> true);
    return (long) open.meters.find("dunlin.messages." + what).tag("hop", "session").functionCounters().stream().mapToDouble(counter -> counter.count()).sum();
  }
}
