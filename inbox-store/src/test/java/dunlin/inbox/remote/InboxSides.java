package dunlin.inbox.remote;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections;
import dunlin.inbox.KeptConnections;
import dunlin.inbox.SessionRef;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.transport.lane.UnacknowledgedDrops;
import dunlin.transport.link.Link;
import dunlin.transport.link.LinkRefusedException;
import dunlin.transport.trace.Tracer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A frontend and the session tier with a link between both, over which a test lets things arrive. */
final class InboxSides {
  static final InboxOpening FRONTEND = new InboxOpening("frontend", 7, 1);
  static final Link.Settings LINK = Link.Settings.defaults();
  static final Publisher PUBLISHER = new Publisher("t", "p");
  static final SessionRef ONE = new SessionRef("t", "one", 1);
  static final SessionRef TWO = new SessionRef("t", "two", 1);

  final ScriptedInbox tier = new ScriptedInbox();
  final Heard heard = new Heard();
  final List<String> lost = new ArrayList<>();
  final List<String> detached = new ArrayList<>();
  final List<String> interrupted = new ArrayList<>();
  final Tracer tracer = Tracer.idle();
  final UnacknowledgedDrops drops = new UnacknowledgedDrops("push", tracer);
  @Nullable RemoteConnections attached;
  @Nullable Link accepted;
  String refuses = "";
  CompletableFuture<Void> ready = CompletableFuture.completedFuture(null);

  /** Whether the tier leads. */
  CompletableFuture<@Nullable Void> proof = CompletableFuture.completedFuture(null);
  int attachedTimes;
  int comparedTimes;
  final InboxCalls.Tier taking;
  final InboxWires wires;
  final RemoteInbox inbox;

  InboxSides(RemoteInbox.Bounds calls, RemoteConnections.Bounds pushes, Link.Settings settings) {
    taking =
        new InboxCalls.Tier() {
          @Override
          public InboxCalls.Attachment attach(InboxOpening frontend, RemoteConnections connections) {
            if (!refuses.isEmpty()) throw new LinkRefusedException(refuses);
            attached = connections;
            return new InboxCalls.Attachment(tier, ready);
          }

          @Override
          public void detach(InboxOpening frontend, RemoteConnections connections, String reason) {
            detached.add(reason);
          }

          @Override
          public void interrupt(InboxOpening frontend, RemoteConnections connections, String reason) {
            interrupted.add(reason);
            connections.close();
          }

          @Override
          public CompletableFuture<@Nullable Void> proof() {
            return proof;
          }
        };
    wires =
        new InboxWires(
            new Random(1),
            settings,
            FRONTEND,
            (link, opening) -> {
              accepted = link;
              return InboxCalls.factory(this::tierRuns, pushes, drops, taking).open(link, opening);
            });
    inbox = new RemoteInbox(FRONTEND.frontend(), FRONTEND.incarnation(), heard, wires.frontendTasks::add, calls,
        new RemoteInbox.Listener() {
          @Override
          public void compared() {
            comparedTimes++;
          }

          @Override
          public void attached() {
            attachedTimes++;
          }

          @Override
          public void lost(String reason) {
            lost.add(reason);
          }
        });
    inbox.dial(wires::dial);
  }

  void tierRuns(Runnable task) {
    wires.tierTasks.add(task);
  }

  RemoteConnections connections() {
    if (attached == null) throw new AssertionError("no frontend came");
    return attached;
  }

  Link accepted() {
    if (accepted == null) throw new AssertionError("no frontend came");
    return accepted;
  }

  /** Writes down what the connections of the frontend get. */
  static final class Heard implements KeptConnections {
    final List<String> all = new ArrayList<>();
    final List<CompletableFuture<Void>> settling = new ArrayList<>();
    final List<CompletableFuture<List<Long>>> missing = new ArrayList<>();

    @Override
    public void comparing() {
      all.add("comparing");
    }

    @Override
    public CompletableFuture<List<Long>> missing(List<Owner> owners) {
      all.add("missing " + owners);
      var answer = new CompletableFuture<List<Long>>();
      missing.add(answer);
      return answer;
    }

    @Override
    public void compared() {
      all.add("compared");
    }

    @Override
    public void push(ConnectionId connection, InboxMessage message) {
      if (message.sequence() == 13) throw new IllegalStateException("thirteen");
      all.add(message.sequence() + " to " + connection.number());
    }

    @Override
    public void behind(ConnectionId connection) {
      all.add("behind " + connection.number());
    }

    @Override
    public void displaced(ConnectionId connection) {
      all.add("displaced " + connection.number());
    }

    @Override
    public void dismissed(ConnectionId connection) {
      all.add("dismissed " + connection.number());
    }

    @Override
    public CompletableFuture<Void> settled(ConnectionId connection) {
      all.add("settled " + connection.number());
      var answer = new CompletableFuture<Void>();
      settling.add(answer);
      return answer;
    }
  }

  static ConnectionId connection(long number) {
    return new ConnectionId(FRONTEND.frontend(), FRONTEND.incarnation(), number);
  }

  static Connections.InboxMessage message(long sequence, Publication publication) {
    return new Connections.InboxMessage(sequence, sequence == 0 ? QoS.AT_MOST_ONCE : QoS.AT_LEAST_ONCE, false, false, false, new int[0], publication);
  }

  static Publication publication(int payload) {
    return Publication.of(PUBLISHER, "a", QoS.AT_LEAST_ONCE, false, 1, new byte[payload]);
  }

  void push(long connection, long sequence) {
    connections().push(connection(connection), message(sequence, publication(3)));
  }

  static @Nullable Throwable failureOf(CompletableFuture<?> call) {
    return call.isDone() ? call.handle((_, failure) -> failure).join() : null;
  }

  /** Runs what one side has to do, and lets nothing arrive. */
  static void turn(Iterable<Runnable> tasks) {
    var iterator = tasks.iterator();
    while (iterator.hasNext()) {
      var task = iterator.next();
      iterator.remove();
      task.run();
      iterator = tasks.iterator();
    }
  }

  static String kinds(List<InboxCall> calls) {
    return String.join(" ", calls.stream().map(InboxSides::kind).toList());
  }

  static String kind(InboxCall call) {
    return switch (call) {
      case InboxCall.Acknowledge(var session, var sequences) -> session.clientId() + Arrays.toString(sequences).replace(" ", "");
      case InboxCall.Received(var session, var sequence) -> session.clientId() + ":" + sequence;
      case InboxCall.Fetch(_, var from, _, _) -> "fetch:" + from;
      default -> call.getClass().getSimpleName();
    };
  }

  /** A link that is never connected, and keeps what is sent. */
  Link kept() {
    return Link.dialling(5, new byte[0], LINK, this::tierRuns, () -> 0, new Link.Handler() {
      @Override
      public void received(byte[] frame) {}

      @Override
      public void lost(String reason) {}
    });
  }
}
