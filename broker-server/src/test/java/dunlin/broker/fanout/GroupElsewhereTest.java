package dunlin.broker.fanout;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.broker.OpenFrontend;
import dunlin.dist.MatchedRoutes;
import dunlin.dist.route.Route;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.TopicFilter;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A message for a group comes to a frontend that the group's last member has just left. */
class GroupElsewhereTest {
  private static final int GONE = 63;

  @ParameterizedTest
  @CsvSource({"true, SUCCESS", "false, USE_ANOTHER_SERVER"})
  void isAcknowledgedOnlyWhereNoOtherFrontendCanHaveMembers(boolean alone, ReasonCode reason)
      throws InterruptedException, ExecutionException, TimeoutException {
    var open = new OpenFrontend(2, alone);
    try {
      var routes = new MatchedRoutes();
      routes.add(new Route(Publisher.DEFAULT_TENANT, TopicFilter.parse("$share/g/t").orElseThrow(), open.frontend().identity().shard(), 7, GONE));
      var message = Publication.of(new Publisher(Publisher.DEFAULT_TENANT, "p"), "t", QoS.AT_LEAST_ONCE, false, System.currentTimeMillis(), new byte[3]);
      var answer = new OpenFrontend.Answer();
      open.on(
          0,
          () -> {
            open.frontend().delivery().deliver(message, routes, null, answer);
            return true;
          });
      assertThat(answer.reason.get(60, TimeUnit.SECONDS)).isEqualTo(reason);
      assertThat(open.on(0, () -> open.loop(0).window().messages())).isZero();
    } finally {
      open.close();
    }
  }
}
