package dunlin.admin.operate;

import dunlin.admin.api.Endpoint.Page;
import dunlin.admin.api.Endpoint;
import dunlin.admin.api.Endpoints;
import dunlin.admin.peers.AllNodesMXBean.GroupPage;
import dunlin.admin.peers.AllNodesMXBean.SharedGroup;
import dunlin.admin.peers.AllNodesMXBean.SubscriberPage;
import dunlin.admin.peers.AllNodesMXBean;
import dunlin.dist.RoutesMXBean.RouteRow;
import dunlin.dist.RoutesMXBean;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.Supplier;

/** Does what the endpoints of routes, shared groups and subscribers say: who gets which messages. */
final class SubscriberOperations {
  /*
   * Owner: any thread that may block; keeps nothing.
   * Failure: that of the beans.
   */
  private static final String TENANT = "tenant";

  private SubscriberOperations() {}

  /**
   * Adds an action for each of the endpoints.
   *
   * @param nodes throws a Problem while the node has none
   * @param routes throws a Problem as well
   */
  static void add(Supplier<AllNodesMXBean> nodes, Supplier<RoutesMXBean> routes, BiConsumer<Endpoint, Function<Arguments, Object>> to) {
    to.accept(
        Endpoints.ROUTES,
        given ->
            AdminOperations.full(
                routes.get().match(given.text(TENANT), given.text("topic"), Cursor.read(given), given.number(Endpoints.LIMIT)), RouteRow::place, given));
    to.accept(
        Endpoints.GROUPS,
        given -> {
          GroupPage page = nodes.get().groups(given.text(TENANT), Cursor.read(given), given.number(Endpoints.LIMIT));
          return AdminOperations.full(page.groups(), SharedGroup::filter, given, page.unanswered());
        });
    to.accept(Endpoints.SUBSCRIBERS, given -> subscribers(nodes.get(), given));
  }

  private static Page subscribers(AllNodesMXBean nodes, Arguments given) {
    String topic = given.text("topic");
    String filter = given.text("filter");
    if (topic.isEmpty() == filter.isEmpty()) throw Problem.invalid("Subscribers are found by either topic or filter.");
    String after = Cursor.read(given);
    int max = given.number(Endpoints.LIMIT);
    SubscriberPage page = topic.isEmpty() ? nodes.subscribers(given.text(TENANT), filter, after, max) : nodes.receivers(given.text(TENANT), topic, after, max);
    return new Page(page.subscribers(), page.next().isEmpty() ? "" : Cursor.after(page.next()), page.unanswered());
  }
}
