package dunlin.broker.session;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.broker.OpenFrontend;
import dunlin.broker.access.AclFile;
import dunlin.broker.access.Grant;
import dunlin.broker.access.RoleRules;
import dunlin.broker.access.RuleSet;
import dunlin.broker.access.Subject;
import dunlin.broker.access.Verdicts;
import dunlin.broker.fanout.Subscriber;
import dunlin.broker.meter.Denials;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The moment between a change of rules and the look at the subscriptions that they may end: the new rules count already. */
class ChangedRulesTest {
  private static final Subject CLIENT = Subject.of(Publisher.DEFAULT_TENANT, "c", "user");

  private final OpenFrontend broker = new OpenFrontend(1);
  private final AtomicReference<RuleSet> rules = new AtomicReference<>(rules("allow all t"));
  private final SessionAccess access =
      new SessionAccess(CLIENT, Grant.following(rules::get, CLIENT, List.of()), new Verdicts(), broker.loop(0).meters().denials());

  @AfterEach
  void closes() {
    broker.close();
  }

  private static RuleSet rules(String rule) {
    var roles = new TreeMap<>(Map.of("role", AclFile.ofRole("role", List.of(rule))));
    return new RuleSet().with(RoleRules.of(roles, _ -> List.of("role")));
  }

  @Test
  void theyCountForWhatIsPublishedAndForLiveMessages() {
    Publication message = OpenFrontend.message("m");
    assertThat(access.mayPublish(Denials.Kind.PUBLISH, "t", QoS.AT_LEAST_ONCE, false)).isTrue();
    assertThat(access.mayReceive(message, QoS.AT_LEAST_ONCE, false, true)).isTrue();

    rules.set(rules("allow all other"));

    assertThat(access.mayReceive(message, QoS.AT_LEAST_ONCE, false, true)).isFalse();
    assertThat(access.mayPublish(Denials.Kind.PUBLISH, "t", QoS.AT_LEAST_ONCE, false)).isFalse();
  }

  /** Another one has what it refuses. */
  @Test
  void aMemberOfAGroupRefusesWhatItMayNotHaveAnyMore() {
    LiveSession session = broker.session(0, "c", false, access);
    var member = broker.on(0, () -> new Subscriber(session, OpenFrontend.handle("$share/g/t", 1), SubscriptionOptions.of(QoS.AT_LEAST_ONCE)));
    assertThat(broker.on(0, () -> session.offerShared(OpenFrontend.message("one"), member))).isTrue();

    rules.set(rules("allow all other"));

    assertThat(broker.on(0, () -> session.offerShared(OpenFrontend.message("two"), member))).isFalse();
  }
}
