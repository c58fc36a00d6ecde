package dunlin.admin.operate;

import dunlin.admin.api.Endpoint;
import dunlin.admin.api.Endpoint.Page;
import dunlin.admin.api.Endpoints;
import dunlin.admin.exports.ExportsMXBean;
import dunlin.admin.exports.ExportsMXBean.ExportPage;
import dunlin.admin.exports.SessionExportsMXBean;
import dunlin.admin.exports.SessionExportsMXBean.SessionPage;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.Supplier;

/** Does what the endpoints of exports and imports say, for the whole cluster. */
final class ExportActions {
  /*
   * Owner: any thread that may block; keeps nothing.
   * Failure: that of the beans.
   */
  private final Supplier<ExportsMXBean> retained;
  private final Supplier<SessionExportsMXBean> sessions;

  private ExportActions(Supplier<ExportsMXBean> retained, Supplier<SessionExportsMXBean> sessions) {
    this.retained = retained;
    this.sessions = sessions;
  }

  /**
   * Adds an action for each of the endpoints.
   *
   * @param retained throws a Problem when the node has none, as sessions
   */
  static void add(
      Supplier<ExportsMXBean> retained, Supplier<SessionExportsMXBean> sessions, BiConsumer<Endpoint, Function<Arguments, Object>> to) {
    var added = new ExportActions(retained, sessions);
    to.accept(Endpoints.EXPORT_RETAINED, added::exportRetained);
    to.accept(
        Endpoints.IMPORT_RETAINED,
        given -> retained.get().importRetained(given.text("tenant"), given.text("existing"), given.text("lines"), given.longNumber(Endpoints.FIRST_LINE)));
    to.accept(Endpoints.EXPORT_SESSIONS, added::exportSessions);
    to.accept(
        Endpoints.IMPORT_SESSIONS, given -> sessions.get().importSessions(given.text("tenant"), given.text("lines"), given.longNumber(Endpoints.FIRST_LINE)));
  }

  private Page exportRetained(Arguments given) {
    ExportPage page = retained.get().exportRetained(given.text("tenant"), given.text("filter"), given.text(Endpoints.CURSOR), given.number(Endpoints.LIMIT));
    return new Page(page.messages(), page.next());
  }

  private Page exportSessions(Arguments given) {
    SessionPage page = sessions.get().exportSessions(given.text("tenant"), given.text("prefix"), given.text(Endpoints.CURSOR), given.number(Endpoints.LIMIT));
    return new Page(page.lines(), page.next());
  }
}
