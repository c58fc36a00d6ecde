package dunlin.transport.call;

import java.util.concurrent.Executor;

/** When a link to a tier follows the one before: at once when that had lasted, as when the tier is led elsewhere, for callers wait; else after a pause. */
public final class NextLink {
  /*
   * Owner: the links' thread.
   * Bounds: a task of the pause for each link that was taken, and for each that follows.
   */
  private final Executor owner;
  private final Executor later;
  private long links;

  /** Whether the present link has lasted for a pause since the tier took it. */
  private boolean lasted;

  /**
   * @param owner runs tasks on the links' thread, soon, in their order
   * @param later runs tasks there after a pause
   */
  public NextLink(Executor owner, Executor later) {
    this.owner = owner;
    this.later = later;
  }

  /** A link begins. Answers its number, from 1. */
  public long begins() {
    lasted = false;
    return ++links;
  }

  /** The tier has taken the present link. */
  public void isTaken() {
    long link = links;
    later.execute(() -> lasted |= link == links);
  }

  /** Runs what begins the link after the present one, which is lost. */
  public void follows(Runnable begins) {
    (lasted ? owner : later).execute(begins);
  }
}
