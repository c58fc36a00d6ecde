package dunlin.inbox.remote;

import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.InboxClient.Appended;
import dunlin.inbox.InboxClient.Connected;
import dunlin.inbox.InboxClient.Page;
import dunlin.inbox.InboxClient.Statistics;
import dunlin.inbox.rows.SessionFields;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import dunlin.transport.lane.MalformedFrameException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * How the answer to a call crosses: whether it has failed, then how, or its value.
 *
 * @param <T> what the call answers
 */
final class AnswerForm<T> {
  static final AnswerForm<Connected> CONNECTED = new AnswerForm<>(AnswerForm::writeConnected, AnswerForm::readConnected);
  static final AnswerForm<List<Boolean>> FLAGS =
      new AnswerForm<>((out, flags) -> out.list(flags, FieldWriter::flag), in -> in.list(FieldReader::flag));
  static final AnswerForm<Boolean> FLAG = new AnswerForm<>(FieldWriter::flag, FieldReader::flag);
  static final AnswerForm<Void> NOTHING = new AnswerForm<>((_, _) -> {}, _ -> null);
  static final AnswerForm<Appended> APPENDED =
      new AnswerForm<>(
          (out, appended) -> {
            out.list(appended.taken(), FieldWriter::flag);
            out.number(appended.next());
          },
          in -> new Appended(in.list(FieldReader::flag), in.number()));
  static final AnswerForm<Page> PAGE =
      new AnswerForm<>(
          (out, page) -> {
            out.list(page.messages(), AnswerForm::writeMessage);
            out.number(page.nextSequence());
            out.flag(page.end());
          },
          in -> new Page(in.list(AnswerForm::readMessage), in.number(), in.flag()));
  static final AnswerForm<Statistics> STATISTICS =
      new AnswerForm<>(
          (out, all) -> {
            out.number(all.sessions());
            out.number(all.online());
            out.number(all.sessionsExpired());
            out.number(all.subscriptions());
            out.number(all.sharedSubscriptions());
            out.number(all.queued());
            out.number(all.queuedBytes());
          },
          in -> new Statistics(in.number(), in.number(), in.number(), in.number(), in.number(), in.number(), in.number()));

  private final BiConsumer<FieldWriter, T> writer;
  private final Function<FieldReader, @Nullable T> reader;

  private AnswerForm(BiConsumer<FieldWriter, T> writer, Function<FieldReader, @Nullable T> reader) {
    this.writer = writer;
    this.reader = reader;
  }

  byte[] encode(T value) {
    return FieldWriter.bytesOf(
        out -> {
          out.flag(false);
          writer.accept(out, value);
        });
  }

  static byte[] encodeFailure(Throwable failure) {
    return FieldWriter.bytesOf(
        out -> {
          out.flag(true);
          CallFailure.write(out, failure);
        });
  }

  /** Completes a call with its answer, and answers how that is done: nothing is completed before all of it was read. */
  Runnable decode(byte[] bytes, CompletableFuture<T> call) throws MalformedFrameException {
    try {
      return FieldReader.read(
          bytes,
          in -> {
            if (in.flag()) {
              var failure = CallFailure.read(in);
              return () -> call.completeExceptionally(failure);
            }
            @Nullable T value = reader.apply(in);
            return () -> call.complete(value);
          });
    } catch (IllegalStateException e) {
      throw new MalformedFrameException("an answer that cannot be read: " + e.getMessage());
    }
  }

  private static void writeConnected(FieldWriter out, Connected value) {
    SessionFields.writeSession(out, value.session());
    out.number(value.birth());
    out.flag(value.sessionPresent());
    out.list(value.subscriptions(), SessionFields::writeSubscription);
    out.number(value.firstUnacknowledged());
    out.number(value.nextSequence());
    out.number(value.receivedPacketIds().length);
    for (int packetId : value.receivedPacketIds()) out.number(packetId);
    out.list(value.openExchanges(), SessionFields::writeOpenExchange);
    var displaced = value.displaced();
    out.flag(displaced != null);
    if (displaced != null) SessionFields.writeConnection(out, displaced);
  }

  private static Connected readConnected(FieldReader in) {
    return new Connected(
        SessionFields.readSession(in),
        in.number(),
        in.flag(),
        in.list(SessionFields::readSubscription),
        in.number(),
        in.number(),
        readPacketIds(in),
        in.list(SessionFields::readOpenExchange),
        in.flag() ? SessionFields.readConnection(in) : null);
  }

  private static int[] readPacketIds(FieldReader in) {
    int[] packetIds = new int[in.countWithin()];
    for (int i = 0; i < packetIds.length; i++) packetIds[i] = SessionFields.readPacketId(in);
    return packetIds;
  }

  private static void writeMessage(FieldWriter out, InboxMessage value) {
    out.number(value.sequence());
    out.octet(MessageFlags.of(value));
    out.number(value.subscriptionIdentifiers().length);
    for (int identifier : value.subscriptionIdentifiers()) out.number(identifier);
    SessionFields.writePublication(out, value.message());
  }

  private static InboxMessage readMessage(FieldReader in) {
    long sequence = in.number();
    int flags = in.octet();
    if (!MessageFlags.areValid(flags)) throw new IllegalStateException("flags " + flags + " of a message");
    int[] identifiers = new int[in.countWithin()];
    for (int i = 0; i < identifiers.length; i++) identifiers[i] = in.count();
    return MessageFlags.message(sequence, flags, identifiers, SessionFields.readPublication(in));
  }
}
