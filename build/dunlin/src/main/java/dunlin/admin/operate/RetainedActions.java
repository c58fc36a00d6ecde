package dunlin.admin.operate;

import dunlin.admin.api.ApiAnswers.Deleted;
import dunlin.admin.api.ApiAnswers.Done;
import dunlin.admin.api.Endpoint;
import dunlin.admin.api.Endpoint.Page;
import dunlin.admin.api.Endpoints;
import dunlin.admin.exports.ExportsMXBean;
import dunlin.admin.exports.ExportsMXBean.ExportPage;
import dunlin.retain.RetainedMessagesMXBean;
import dunlin.retain.RetainedMessagesMXBean.RetainedRow;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.Supplier;

/** Does what the endpoints of retained messages say, with those of the whole cluster. */
final class RetainedActions {
  /*
   * Owner: any thread that may block; keeps nothing.
   * Failure: that of the beans. A topic without a message is a 404.
   */
  private final Supplier<RetainedMessagesMXBean> messages;
  private final Supplier<ExportsMXBean> exports;

  private RetainedActions(Supplier<RetainedMessagesMXBean> messages, Supplier<ExportsMXBean> exports) {
    this.messages = messages;
    this.exports = exports;
  }

  /**
   * Adds an action for each of the endpoints.
   *
   * @param messages throws a Problem when the node has none, as exports
   */
  static void add(Supplier<RetainedMessagesMXBean> messages, Supplier<ExportsMXBean> exports, BiConsumer<Endpoint, Function<Arguments, Object>> to) {
    var added = new RetainedActions(messages, exports);
    to.accept(
        Endpoints.RETAINED,
        given ->
            AdminOperations.full(
                messages.get().list(given.text("tenant"), given.text("prefix"), Cursor.read(given), given.number("limit")), RetainedRow::topic, given));
    to.accept(
        Endpoints.RETAINED_MESSAGE,
        given -> messages.get().get(given.text("tenant"), given.text("topic")).stream().findFirst().orElseThrow(RetainedActions::none));
    to.accept(
        Endpoints.DELETE_RETAINED_MESSAGE,
        given -> {
          if (messages.get().deleteOne(given.text("tenant"), given.text("topic"))) return Done.DONE;
          throw none();
        });
    to.accept(Endpoints.DELETE_RETAINED, added::delete);
    to.accept(Endpoints.EXPORT_RETAINED, added::export);
    to.accept(
        Endpoints.IMPORT_RETAINED,
        given -> exports.get().importRetained(given.text("tenant"), given.text("existing"), given.text("lines"), given.longNumber(Endpoints.FIRST_LINE)));
  }

  private static Problem none() {
    return new Problem(404, "The topic has no retained message.");
  }

  private Deleted delete(Arguments given) {
    String prefix = given.text("prefix");
    String filter = given.text("filter");
    if (prefix.isEmpty() == filter.isEmpty()) throw Problem.invalid("Retained messages are deleted either by a prefix or by a filter; # is the filter of all.");
    int max = given.number("max");
    return new Deleted(
        filter.isEmpty() ? messages.get().delete(given.text("tenant"), prefix, max) : messages.get().deleteMatching(given.text("tenant"), filter, max));
  }

  private Page export(Arguments given) {
    ExportPage page = exports.get().exportRetained(given.text("tenant"), given.text("filter"), given.text(Endpoints.CURSOR), given.number(Endpoints.LIMIT));
    return new Page(page.messages(), page.next());
  }
}
