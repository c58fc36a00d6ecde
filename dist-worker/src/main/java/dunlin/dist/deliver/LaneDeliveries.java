package dunlin.dist.deliver;

import dunlin.dist.Deliveries;
import dunlin.dist.Delivery;
import dunlin.dist.DeliveryThreads;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;

/** Gathers the copies of one lane for the workers: those of a round are one batch for each worker. */
final class LaneDeliveries implements DeliveryThreads.OfLane {
  /*
   * Owner: the lane's thread.
   * Bounds: a batch has BATCH_MAX copies; a long round makes several, so that workers can begin.
   * Failure: none of its own. The workers are shut down after its last batch.
   */
  private static final int BATCH_MAX = 256;

  private final DeliverExecutor executor;
  private final int number;
  private final Executor thread;
  private final LaneAnswers answers;

  /** By worker. */
  private final List<List<MessageCopy>> gathered = new ArrayList<>();

  private boolean handDue;
  private boolean wide;

  /** The number of the message that is being delivered. */
  private long message;

  LaneDeliveries(DeliverExecutor executor, int number, Executor thread) {
    this.executor = executor;
    this.number = number;
    this.thread = thread;
    answers = new LaneAnswers(thread);
    for (int i = 0; i < executor.workers(); i++) gathered.add(new ArrayList<>());
  }

  @Override
  public Delivery open(int destination, Deliveries deliveries) {
    int worker = (number + destination) % executor.workers();
    var serving = new ServingThread(thread, executor.worker(worker));
    return new DestinationDelivery(this, worker, serving, deliveries.open(number, serving), executor.bounds(), executor.meters());
  }

  @Override
  public void copies(int count) {
    message++;
    wide = count > executor.threshold();
  }

  /** Whether the message that is being delivered has more destinations than the lane serves itself. */
  boolean isWide() {
    return wide;
  }

  /** The number of the message that is being delivered: a destination gets it once for each of its groups. */
  long message() {
    return message;
  }

  LaneAnswers answers() {
    return answers;
  }

  /** Takes a copy for a worker. */
  void gather(int worker, MessageCopy copy) {
    var copies = gathered.get(worker);
    copies.add(copy);
    if (copies.size() == BATCH_MAX) {
      hand(worker);
    } else if (!handDue) {
      handDue = true;
      thread.execute(this::handAll);
    }
  }

  private void handAll() {
    handDue = false;
    for (int worker = 0; worker < gathered.size(); worker++) hand(worker);
  }

  private void hand(int worker) {
    var copies = gathered.get(worker);
    if (copies.isEmpty()) return;
    gathered.set(worker, new ArrayList<>());
    executor.worker(worker).execute(new CopyBatch(copies));
  }

  @Override
  public void close() {
    handAll();
    executor.closedLane();
  }
}
