package dunlin.admin.operate;

import dunlin.admin.api.ApiAnswers.BlockView;
import dunlin.admin.api.ApiAnswers.Done;
import dunlin.admin.api.Endpoint;
import dunlin.admin.api.Endpoints;
import dunlin.broker.guard.BlockKind;
import dunlin.broker.guard.BlocksMXBean;
import dunlin.broker.guard.BlocksMXBean.BlockRow;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.Supplier;

/** Does what the endpoints of blocks say, which are those of one node. */
final class BlockOperations {
  /*
   * Owner: any thread; keeps nothing.
   * Failure: that of the bean. A block that is not there is a 404.
   */
  private BlockOperations() {}

  /**
   * Adds an action for each of the endpoints.
   *
   * @param bean throws a Problem when the node has none
   */
  static void add(Supplier<BlocksMXBean> bean, BiConsumer<Endpoint, Function<Arguments, Object>> to) {
    to.accept(
        Endpoints.BLOCKS,
        given -> {
          List<BlockRow> rows = bean.get().blocks(kind(given), given.text("tenant"), Cursor.read(given), given.number("limit"));
          return AdminOperations.full(rows.stream().map(BlockOperations::shown).toList(), BlockView::value, given);
        });
    to.accept(Endpoints.DELETE_BLOCK, given -> removed(bean.get(), given));
  }

  private static Done removed(BlocksMXBean bean, Arguments given) {
    try {
      bean.remove(kind(given), given.text("tenant"), given.text("value"));
      return Done.DONE;
    } catch (NoSuchElementException _) {
      throw new Problem(404, "There is no such block.");
    }
  }

  private static BlockKind kind(Arguments given) {
    return BlockKind.of(given.text("kind"));
  }

  private static BlockView shown(BlockRow row) {
    return new BlockView(row.kind().label(), row.tenant(), row.value(), row.until(), row.reason());
  }
}
