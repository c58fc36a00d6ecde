package dunlin.broker.users;

import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallProtocol;
import dunlin.transport.call.CallReceiver;
import dunlin.transport.lane.MalformedFrameException;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The wire between frontends and the leader of users, roles and bans, and its end at the leader, which makes the calls in their order. A call is a kind byte, then the fields in
 * the order in which the records declare them. Rows are written as in the store.
 */
public final class AccessCalls implements CallReceiver.Answerer {
  /** The gauge that {@link #receiver} registers. Its owner removes it with the receiver. */
  public static final String SERVED = "dunlin.auth.users.calls.served";

  static final CallProtocol PROTOCOL =
      new CallProtocol(
          "access 1",
          "leader of users, roles and bans",
          StoreException::new,
          why -> new OutcomeUnknownException(why, new StoreException("the answer of the leader of users, roles and bans is not known")),
          StoreException::isForNextLeader,
          CallProtocol.Kinds.none());

  private static final int PUT = 1;
  private static final int DELETE = 2;
  private static final int CHANGES = 3;
  private static final int DONE = 1;
  private static final int REFUSED = 2;

  private final AccessClient access;

  AccessCalls(AccessClient access) {
    this.access = access;
  }

  /**
   * Takes the links of frontends.
   *
   * @param owner runs tasks on the thread of the links, soon, in their order; calls are made on it
   * @param bounds of each frontend
   */
  public static CallReceiver receiver(Executor owner, CallBounds bounds, AccessClient access, MeterRegistry registry) {
    var receiver = new CallReceiver(PROTOCOL, owner, bounds, new AccessCalls(access));
    Gauge.builder(SERVED, receiver, CallReceiver::unanswered)
        .description("Calls of frontends that this node has not answered as the leader of users, roles and bans")
        .register(registry);
    return receiver;
  }

  @Override
  public CompletableFuture<byte[]> answer(byte[] call) throws MalformedFrameException {
    return read(call, this::readCall, "a call").get(); // nothing is made before all of it is read
  }

  private Supplier<CompletableFuture<byte[]>> readCall(FieldReader in) {
    int kind = in.octet();
    return switch (kind) {
      case PUT -> changing(AccessCodec.readPut(in));
      case DELETE -> changing(AccessCodec.readDelete(in));
      case CHANGES -> {
        long base = in.number();
        long since = in.number();
        yield () -> access.changes(base, since).thenApply(AccessCalls::encode);
      }
      default -> throw new IllegalStateException("kind " + kind + " of a call");
    };
  }

  private Supplier<CompletableFuture<byte[]>> changing(AccessChange change) {
    return () -> access.change(change).thenApply(AccessCalls::encode);
  }

  static byte[] encode(AccessChange change) {
    return FieldWriter.bytesOf(
        out -> {
          switch (change) {
            case AccessChange.Put put -> {
              out.octet(PUT);
              AccessCodec.writePut(out, put);
            }
            case AccessChange.Delete delete -> {
              out.octet(DELETE);
              AccessCodec.writeDelete(out, delete);
            }
          }
        });
  }

  static byte[] encode(long base, long since) {
    return FieldWriter.bytesOf(
        out -> {
          out.octet(CHANGES);
          out.number(base);
          out.number(since);
        });
  }

  private static byte[] encode(AccessResult result) {
    return FieldWriter.bytesOf(
        out -> {
          switch (result) {
            case AccessResult.Done(var version) -> {
              out.octet(DONE);
              out.number(version);
            }
            case AccessResult.Refused(var why, var sentence) -> {
              out.octet(REFUSED);
              out.octet(why.code());
              out.text(sentence);
            }
          }
        });
  }

  static AccessResult decodeResult(byte[] answer) throws MalformedFrameException {
    return read(
        answer,
        in -> {
          int kind = in.octet();
          return switch (kind) {
            case DONE -> new AccessResult.Done(in.number());
            case REFUSED -> new AccessResult.Refused(AccessResult.Why.of(in.octet()), in.text());
            default -> throw new IllegalStateException("kind " + kind + " of a result");
          };
        },
        "a result");
  }

  private static byte[] encode(AccessPage page) {
    return FieldWriter.bytesOf(
        out -> {
          out.flag(page.fromStart());
          out.number(page.base());
          out.number(page.upTo());
          out.flag(page.complete());
          out.bytes(page.secret());
          out.list(page.changes(), AccessCalls::writeChange);
        });
  }

  private static void writeChange(FieldWriter out, AccessPage.Change change) {
    out.flag(change.row().isPresent());
    if (change.row().isPresent()) AccessCodec.writeRow(out, change.row().get());
    else AccessCodec.writeKey(out, change.key());
  }

  static AccessPage decodePage(byte[] answer) throws MalformedFrameException {
    return read(
        answer, in -> new AccessPage(in.flag(), in.number(), in.number(), in.flag(), in.bytes(), in.list(AccessCalls::readChange)), "a page");
  }

  private static AccessPage.Change readChange(FieldReader in) {
    if (!in.flag()) return new AccessPage.Change(AccessCodec.readKey(in), Optional.empty());
    var row = AccessCodec.readRow(in);
    return new AccessPage.Change(row.entry().key(), Optional.of(row));
  }

  private static <T> T read(byte[] bytes, Function<FieldReader, T> fields, String what) throws MalformedFrameException {
    try {
      return FieldReader.read(bytes, fields);
    } catch (IllegalStateException e) {
      throw new MalformedFrameException(what + " that cannot be read: " + e.getMessage());
    }
  }
}
