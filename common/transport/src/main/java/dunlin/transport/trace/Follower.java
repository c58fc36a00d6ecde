package dunlin.transport.trace;

import dunlin.model.Publication;
import org.jspecify.annotations.Nullable;

/** What follows messages at the hops of a node: a trace or a sample of an operator, or the sampling of spans. */
sealed interface Follower permits Trace, MessageSample, SpanSampler {
  /** Whether it may follow a message, whatever the client at the hop. */
  boolean concerns(Publication message);

  /** Whether publisher or client at the hop are followed, whatever the topic. */
  boolean meets(Publication message, Trace.@Nullable Party party);

  /**
   * Takes what a hop did with a message that it follows.
   *
   * @param client the client at the hop; empty when there is none or it is not known
   */
  void add(String hop, Trace.Step step, String reason, Publication message, String client);
}
