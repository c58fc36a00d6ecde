package dunlin.store.raft;

import dunlin.store.RangeLogic;
import dunlin.store.RangeReader;
import dunlin.store.RangeWriter;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Opens only when the test allows it, like a logic with much to read. */
final class HeldLogic implements RangeLogic<Command, String> {
  /** Counted down when the opening begins. */
  final CountDownLatch asked = new CountDownLatch(1);

  final CountDownLatch mayOpen = new CountDownLatch(1);
  private final Command.Logic logic = new Command.Logic();

  @Override
  public void open(RangeReader state) {
    asked.countDown();
    try {
      if (!mayOpen.await(Trio.DEADLINE.toSeconds(), TimeUnit.SECONDS)) throw new IllegalStateException("held for too long");
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    logic.open(state);
  }

  @Override
  public List<String> apply(List<Command> commands, RangeWriter out) {
    return logic.apply(commands, out);
  }
}
