package dunlin.admin.operate;

import dunlin.admin.api.ApiAnswers.Deleted;
import dunlin.admin.api.ApiAnswers.Done;
import dunlin.admin.api.Endpoint;
import dunlin.admin.api.Endpoints;
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

  private RetainedActions(Supplier<RetainedMessagesMXBean> messages) {
    this.messages = messages;
  }

  /**
   * Adds an action for each of the endpoints.
   *
   * @param messages throws a Problem when the node has none
   */
  static void add(Supplier<RetainedMessagesMXBean> messages, BiConsumer<Endpoint, Function<Arguments, Object>> to) {
    var added = new RetainedActions(messages);
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
}
