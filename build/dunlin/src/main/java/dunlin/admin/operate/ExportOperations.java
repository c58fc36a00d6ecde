package dunlin.admin.operate;

import dunlin.admin.api.Endpoint;
import dunlin.admin.api.Endpoint.Page;
import dunlin.admin.api.Endpoints;
import dunlin.admin.exports.ExportsMXBean;
import dunlin.admin.exports.ExportsMXBean.ExportPage;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.Supplier;

/** Does what the endpoints of exports and imports say. Each node that is part of a broker does it for the whole cluster. */
final class ExportOperations {
  /*
   * Owner: any thread that may block; keeps nothing.
   * Failure: that of the bean.
   */
  private ExportOperations() {}

  /**
   * Adds an action for each of the endpoints.
   *
   * @param bean throws a Problem when the node has none
   */
  static void add(Supplier<ExportsMXBean> bean, BiConsumer<Endpoint, Function<Arguments, Object>> to) {
    to.accept(
        Endpoints.EXPORT_RETAINED,
        given -> {
          ExportPage page = bean.get().exportRetained(given.text("tenant"), given.text("filter"), given.text(Endpoints.CURSOR), given.number(Endpoints.LIMIT));
          return new Page(page.messages(), page.next());
        });
    to.accept(
        Endpoints.IMPORT_RETAINED,
        given -> bean.get().importRetained(given.text("tenant"), given.text("existing"), given.text("lines"), given.longNumber(Endpoints.FIRST_LINE)));
  }
}
