package dunlin.admin.operate;

import dunlin.admin.api.ApiAnswers.Done;
import dunlin.admin.api.Endpoint.Page;
import dunlin.admin.api.Endpoint;
import dunlin.admin.api.Endpoints;
import dunlin.admin.peers.AllNodesMXBean.ClientPage;
import dunlin.admin.peers.AllNodesMXBean;
import dunlin.broker.client.ClientFigure;
import dunlin.broker.client.ClientsMXBean.ClientDetails;
import dunlin.broker.client.ClientsMXBean.ClientRow;
import dunlin.inbox.SessionsMXBean.SubscriptionRow;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.Supplier;

/** Does what the endpoints of connected clients say, whichever nodes they are connected to. */
final class ClientOperations {
  /*
   * Owner: any thread that may block; keeps nothing.
   * Failure: that of the bean. A client that is not connected is a 404.
   */
  private static final String TENANT = "tenant";
  private static final String CLIENT = "clientId";

  private final Supplier<AllNodesMXBean> nodes;

  private ClientOperations(Supplier<AllNodesMXBean> nodes) {
    this.nodes = nodes;
  }

  /**
   * Adds an action for each of the endpoints.
   *
   * @param nodes throws a Problem while the node has none
   */
  static void add(Supplier<AllNodesMXBean> nodes, BiConsumer<Endpoint, Function<Arguments, Object>> to) {
    var added = new ClientOperations(nodes);
    added.clients(to);
    added.messages(to);
  }

  private void clients(BiConsumer<Endpoint, Function<Arguments, Object>> to) {
    to.accept(
        Endpoints.CLIENTS,
        given -> {
          ClientPage page =
              nodes.get().clients(
                  given.text(TENANT), given.text("prefix"), given.text("user"), given.text("listener"), Cursor.read(given), given.number(Endpoints.LIMIT));
          return AdminOperations.full(page.clients(), ClientRow::clientId, given, page.unanswered());
        });
    to.accept(Endpoints.CLIENT_DETAILS, given -> client(given).orElseThrow(() -> notConnected(given)));
    to.accept(
        Endpoints.CLIENT_SUBSCRIPTIONS,
        given ->
            ofClient(
                nodes.get().subscriptions(given.text(TENANT), given.text(CLIENT), Cursor.read(given), given.number(Endpoints.LIMIT)), SubscriptionRow::filter,
                given));
    to.accept(
        Endpoints.DISCONNECT_CLIENT,
        given -> {
          if (nodes.get().disconnect(given.text(TENANT), given.text(CLIENT))) return Done.DONE;
          throw notConnected(given);
        });
    to.accept(
        Endpoints.TOP_CLIENTS,
        given -> {
          ClientPage page = nodes.get().top(ClientFigure.of(given.text("by")), given.number(Endpoints.LIMIT));
          return new Page(page.clients(), "", page.unanswered());
        });
  }

  private void messages(BiConsumer<Endpoint, Function<Arguments, Object>> to) {
    to.accept(
        Endpoints.CLIENT_IN_FLIGHT,
        given ->
            ofClient(
                nodes.get().inFlight(given.text(TENANT), given.text(CLIENT), Cursor.readNumber(given), given.number(Endpoints.LIMIT)),
                row -> Long.toString(row.place()), given));
    to.accept(
        Endpoints.CLIENT_QUEUE,
        given ->
            ofClient(
                nodes.get().queue(given.text(TENANT), given.text(CLIENT), Cursor.readNumber(given), given.number(Endpoints.LIMIT)),
                row -> Long.toString(row.place()), given));
  }

  /** A page of what a client has. */
  private <T extends Record> Page ofClient(List<T> rows, Function<T, String> name, Arguments given) {
    if (rows.isEmpty() && client(given).isEmpty()) throw notConnected(given);
    return AdminOperations.full(rows, name, given);
  }

  private Optional<ClientDetails> client(Arguments given) {
    return nodes.get().client(given.text(TENANT), given.text(CLIENT)).stream().findFirst();
  }

  private static Problem notConnected(Arguments given) {
    return new Problem(404, "No client of the tenant " + given.text(TENANT) + " with this client identifier is connected.");
  }
}
