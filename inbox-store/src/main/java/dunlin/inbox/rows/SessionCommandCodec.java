package dunlin.inbox.rows;

import static dunlin.inbox.rows.SessionFields.readConnection;
import static dunlin.inbox.rows.SessionFields.readFilter;
import static dunlin.inbox.rows.SessionFields.readOptions;
import static dunlin.inbox.rows.SessionFields.readPacketId;
import static dunlin.inbox.rows.SessionFields.readPublication;
import static dunlin.inbox.rows.SessionFields.readRequest;
import static dunlin.inbox.rows.SessionFields.readSession;
import static dunlin.inbox.rows.SessionFields.writeConnection;
import static dunlin.inbox.rows.SessionFields.writeFilter;
import static dunlin.inbox.rows.SessionFields.writeOptions;
import static dunlin.inbox.rows.SessionFields.writePublication;
import static dunlin.inbox.rows.SessionFields.writeRequest;
import static dunlin.inbox.rows.SessionFields.writeSession;
import static dunlin.inbox.rows.SessionFields.writeSubscription;

import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.InboxLimits;
import dunlin.inbox.rows.SessionCommand.AcceptTransfer;
import dunlin.inbox.rows.SessionCommand.Acknowledge;
import dunlin.inbox.rows.SessionCommand.Append;
import dunlin.inbox.rows.SessionCommand.AppendOfExchange;
import dunlin.inbox.rows.SessionCommand.AppendTo;
import dunlin.inbox.rows.SessionCommand.AppendToGroup;
import dunlin.inbox.rows.SessionCommand.AppendToGroupOfExchange;
import dunlin.inbox.rows.SessionCommand.BeginTransfer;
import dunlin.inbox.rows.SessionCommand.Beside;
import dunlin.inbox.rows.SessionCommand.Configure;
import dunlin.inbox.rows.SessionCommand.Connect;
import dunlin.inbox.rows.SessionCommand.ConnectionGone;
import dunlin.inbox.rows.SessionCommand.Delivered;
import dunlin.inbox.rows.SessionCommand.Disconnect;
import dunlin.inbox.rows.SessionCommand.DrainGroup;
import dunlin.inbox.rows.SessionCommand.EndGroup;
import dunlin.inbox.rows.SessionCommand.EndTransfer;
import dunlin.inbox.rows.SessionCommand.ForgetExchange;
import dunlin.inbox.rows.SessionCommand.ForgetPublishers;
import dunlin.inbox.rows.SessionCommand.ForgetTransfer;
import dunlin.inbox.rows.SessionCommand.FrontendGone;
import dunlin.inbox.rows.SessionCommand.Import;
import dunlin.inbox.rows.SessionCommand.PickForGroup;
import dunlin.inbox.rows.SessionCommand.Received;
import dunlin.inbox.rows.SessionCommand.Released;
import dunlin.inbox.rows.SessionCommand.Remove;
import dunlin.inbox.rows.SessionCommand.Subscribe;
import dunlin.inbox.rows.SessionCommand.Tick;
import dunlin.inbox.rows.SessionCommand.Unsubscribe;
import dunlin.inbox.rows.SessionCommand.WillPublished;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.TenantQuota;
import dunlin.store.CommandCodec;
import dunlin.store.CommandKind;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * Encodes session commands for the log: a kind byte, then the fields in the order in which the records declare them.
 */
public final class SessionCommandCodec implements CommandCodec<SessionCommand> {
  private static final int CONFIGURE = 1;
  private static final int SUBSCRIBE = 3;
  private static final int UNSUBSCRIBE = 4;
  private static final int DISCONNECT = 5;
  private static final int APPEND = 6;
  private static final int APPEND_TO = 7;
  private static final int ACKNOWLEDGE = 8;
  private static final int RECEIVED = 9;
  private static final int RELEASED = 10;
  private static final int WILL_PUBLISHED = 11;
  private static final int TICK = 12;
  private static final int FRONTEND_GONE = 13;
  private static final int DRAIN_GROUP = 14;
  private static final int APPEND_TO_GROUP = 15;
  private static final int CONNECTION_GONE = 16;
  private static final int APPEND_ONCE = 17;
  private static final int CONNECT = 18; // kind 2 was a CONNECT without a user
  private static final int APPEND_FENCED = 19;
  private static final int REMOVE = 20;
  private static final int BESIDE = 21;
  private static final int APPEND_OF_EXCHANGE = 30; // kinds 22 and 23 had no epoch
  private static final int FORGET_EXCHANGE = 31;
  private static final int FORGET_PUBLISHERS = 32;
  private static final int BEGIN_TRANSFER = 24;
  private static final int ACCEPT_TRANSFER = 25;
  private static final int END_TRANSFER = 26;
  private static final int FORGET_TRANSFER = 27;
  private static final int END_GROUP = 28;
  private static final int DELIVERED = 29;
  private static final int APPEND_TO_GROUP_ONCE = 33;
  private static final int IMPORT = 34;
  private static final int APPEND_TO_GROUP_OF_EXCHANGE = 35;
  private static final int PICK_FOR_GROUP = 36;
  private static final int BESIDE_WITHIN = 37;

  // Marks of a message that is appended.
  private static final int WITH_EXCHANGE = 1;
  private static final int REPETITION = 2;
  private static final int WITH_ORIGIN = 4;
  private static final int OF_WILL = 8; // with an exchange, which is not written out but for its epoch

  // Marks of a message that is imported; the lower bits are its QoS.
  private static final int IMPORTED_RETAIN = 4;
  private static final int IMPORTED_RELEASED = 8;
  private static final int IMPORTED_SENT = 16;

  @Override
  public CommandKind kind(SessionCommand command) {
    return switch (command) {
      case Append _, AppendOfExchange _, AppendTo _, AppendToGroup _, AppendToGroupOfExchange _, PickForGroup _, AcceptTransfer _, Import _ -> CommandKind.FLOW;
      case Configure _, Subscribe _ -> CommandKind.CALL;
      case Connect _, Disconnect _, Unsubscribe _ -> CommandKind.RELEASE;
      case Acknowledge _, Received _, Released _, Delivered _, WillPublished _ -> CommandKind.RELEASE;
      case Tick _, FrontendGone _, ConnectionGone _, Remove _, DrainGroup _, ForgetExchange _, ForgetPublishers _ -> CommandKind.RELEASE;
      case BeginTransfer _, EndTransfer _, ForgetTransfer _, EndGroup _ -> CommandKind.RELEASE;
      case Beside beside -> kind(beside.command());
    };
  }

  @Override
  public @Nullable String source(SessionCommand command) {
    return tenantOf(command);
  }

  /** The tenant that a command is about; null for one about several, and empty for a Tick, which may come at any time. */
  public static @Nullable String tenantOf(SessionCommand command) {
    return switch (command) {
      case Append append -> append.message().publisher().tenant();
      case AppendOfExchange append -> append.append().message().publisher().tenant();
      case AppendTo append -> append.session().tenant();
      case AppendToGroup append -> append.message().publisher().tenant();
      case AppendToGroupOfExchange of -> of.append().message().publisher().tenant();
      case PickForGroup pick -> pick.tenant();
      case Import session -> session.request().tenant();
      case Connect connect -> connect.request().tenant();
      case Subscribe subscribe -> subscribe.session().tenant();
      case Unsubscribe unsubscribe -> unsubscribe.session().tenant();
      case Disconnect disconnect -> disconnect.session().tenant();
      case Acknowledge acknowledge -> acknowledge.session().tenant();
      case Received received -> received.session().tenant();
      case Released released -> released.session().tenant();
      case Delivered delivered -> delivered.session().tenant();
      case WillPublished will -> will.tenant();
      case ConnectionGone gone -> gone.tenant();
      case Remove remove -> remove.tenant();
      case ForgetExchange forget -> forget.tenant();
      case DrainGroup drain -> drain.group().tenant();
      case BeginTransfer transfer -> transfer.group().tenant();
      case AcceptTransfer transfer -> transfer.group().tenant();
      case EndTransfer transfer -> transfer.group().tenant();
      case ForgetTransfer transfer -> transfer.group().tenant();
      case EndGroup end -> end.group().tenant();
      case Beside beside -> tenantOf(beside.command());
      case Tick _ -> "";
      case Configure _, FrontendGone _, ForgetPublishers _ -> null;
    };
  }

  /** Whether a command carries messages. */
  public static boolean isMessage(SessionCommand command) {
    return switch (command) {
      case Append _, AppendOfExchange _, AppendTo _, AppendToGroup _, AppendToGroupOfExchange _, AcceptTransfer _, Import _ -> true;
      default -> false;
    };
  }

  @Override
  public int encodedLength(SessionCommand command) {
    return FieldWriter.lengthOf(out -> write(command, out));
  }

  @Override
  public void encode(SessionCommand command, ByteBuffer out) {
    write(command, new FieldWriter(out));
  }

  @Override
  public SessionCommand decode(ByteBuffer in) {
    return FieldReader.read(in, SessionCommandCodec::readCommand);
  }

  private static void write(SessionCommand command, FieldWriter out) {
    switch (command) {
      case Configure(var limits) -> {
        out.octet(CONFIGURE);
        limits.writeTo(out);
      }
      case Connect(var now, var request) -> {
        out.octet(CONNECT);
        out.number(now);
        writeRequest(out, request);
      }
      case Subscribe(var session, var subscriptions) -> {
        out.octet(SUBSCRIBE);
        writeSession(out, session);
        out.number(subscriptions.size());
        subscriptions.forEach(subscription -> writeSubscription(out, subscription));
      }
      case Unsubscribe(var session, var filters) -> {
        out.octet(UNSUBSCRIBE);
        writeSession(out, session);
        out.number(filters.size());
        filters.forEach(filter -> writeFilter(out, filter));
      }
      case Disconnect(var now, var session, var publishWill, var expirySeconds, var handed) -> {
        out.octet(DISCONNECT);
        out.number(now);
        writeSession(out, session);
        out.flag(publishWill);
        out.number(expirySeconds);
        out.number(handed);
      }
      case Append append -> writeAppend(out, append);
      case AppendOfExchange(var birth, var epoch, var packetId, var append) -> {
        out.octet(APPEND_OF_EXCHANGE);
        out.number(birth);
        out.number(epoch);
        out.number(packetId);
        writeAppend(out, append);
      }
      case ForgetExchange(var tenant, var clientId, var birth, var epoch, var packetId) -> {
        out.octet(FORGET_EXCHANGE);
        out.text(tenant);
        out.text(clientId);
        out.number(birth);
        out.number(epoch);
        out.number(packetId);
      }
      case ForgetPublishers(var over) -> {
        out.octet(FORGET_PUBLISHERS);
        out.list(over, SessionCommandCodec::writeOver);
      }
      case AppendTo(var now, var session, var options, var from, var retained) -> {
        out.octet(APPEND_TO);
        out.number(now);
        writeSession(out, session);
        writeOptions(out, options);
        out.number(from);
        out.number(retained.size());
        retained.forEach(message -> writePublication(out, message));
      }
      case AppendToGroup(var now, var group, var message, var exchange) -> {
        out.octet(exchange == null ? APPEND_TO_GROUP : APPEND_TO_GROUP_ONCE);
        out.number(now);
        writeFilter(out, group);
        writePublication(out, message);
        if (exchange != null) SessionFields.writeOpenExchange(out, exchange);
      }
      case AppendToGroupOfExchange(var birth, var append) -> {
        out.octet(APPEND_TO_GROUP_OF_EXCHANGE);
        out.number(birth);
        write(append, out);
      }
      case PickForGroup(var tenant, var clientId, var exchange, var group, var pick) -> {
        out.octet(PICK_FOR_GROUP);
        out.text(tenant);
        out.text(clientId);
        SessionFields.writeOpenExchange(out, exchange);
        writeFilter(out, group);
        out.number(pick);
      }
      case Acknowledge(var session, var sequences, var expired) -> {
        out.octet(ACKNOWLEDGE);
        writeSession(out, session);
        out.numbers(sequences);
        out.flag(expired);
      }
      case Received(var session, var sequence) -> {
        out.octet(RECEIVED);
        writeSession(out, session);
        out.number(sequence);
      }
      case Released(var session, var packetId) -> {
        out.octet(RELEASED);
        writeSession(out, session);
        out.number(packetId);
      }
      case Delivered(var session, var packetIds) -> {
        out.octet(DELIVERED);
        writeSession(out, session);
        out.list(packetIds, (to, packetId) -> to.number(packetId));
      }
      case WillPublished(var tenant, var clientId, var epoch) -> {
        out.octet(WILL_PUBLISHED);
        out.text(tenant);
        out.text(clientId);
        out.number(epoch);
      }
      case Tick(var now, var stepsMax, var willsMax) -> {
        out.octet(TICK);
        out.number(now);
        out.number(stepsMax);
        out.number(willsMax);
      }
      case ConnectionGone(var now, var tenant, var clientId, var connection) -> {
        out.octet(CONNECTION_GONE);
        out.number(now);
        out.text(tenant);
        out.text(clientId);
        writeConnection(out, connection);
      }
      case Remove(var now, var tenant, var clientId) -> {
        out.octet(REMOVE);
        out.number(now);
        out.text(tenant);
        out.text(clientId);
      }
      case FrontendGone(var now, var frontend, var incarnation, var stepsMax) -> {
        out.octet(FRONTEND_GONE);
        out.number(now);
        out.text(frontend);
        out.number(incarnation);
        out.number(stepsMax);
      }
      case DrainGroup(var now, var group, var messagesMax) -> {
        out.octet(DRAIN_GROUP);
        out.number(now);
        writeGroup(out, group);
        out.number(messagesMax);
      }
      case BeginTransfer(var now, var group, var target, var messagesMax) -> {
        out.octet(BEGIN_TRANSFER);
        out.number(now);
        writeGroup(out, group);
        out.number(target);
        out.number(messagesMax);
      }
      case AcceptTransfer(var now, var group, var number, var messages) -> {
        out.octet(ACCEPT_TRANSFER);
        out.number(now);
        writeGroup(out, group);
        out.number(number);
        out.number(messages.size());
        messages.forEach(message -> writePublication(out, message));
      }
      case EndTransfer(var now, var group, var number, var accepted) -> {
        out.octet(END_TRANSFER);
        out.number(now);
        writeGroup(out, group);
        out.number(number);
        out.flag(accepted);
      }
      case ForgetTransfer(var group, var number) -> {
        out.octet(FORGET_TRANSFER);
        writeGroup(out, group);
        out.number(number);
      }
      case EndGroup(var group) -> {
        out.octet(END_GROUP);
        writeGroup(out, group);
      }
      case Import(var now, var request, var received, var messages) -> {
        out.octet(IMPORT);
        out.number(now);
        writeRequest(out, request);
        out.list(received, (to, packetId) -> to.number(packetId));
        out.list(messages, SessionCommandCodec::writeImported);
      }
      case Beside(var sessions, var memory, var messageBytes, var tenantBytes, var beside) -> {
        out.octet(tenantBytes == TenantQuota.NONE ? BESIDE : BESIDE_WITHIN);
        out.number(sessions);
        out.number(memory);
        out.number(messageBytes);
        if (tenantBytes != TenantQuota.NONE) out.number(tenantBytes);
        write(beside, out);
      }
    }
  }

  private static void writeGroup(FieldWriter out, GroupKey group) {
    out.text(group.tenant());
    writeFilter(out, group.filter());
  }

  private static GroupKey readGroup(FieldReader in) {
    return new GroupKey(in.text(), readFilter(in));
  }

  private static void writeOver(FieldWriter out, ForeignExchanges.Over over) {
    out.text(over.session().tenant());
    out.text(over.session().clientId());
    out.number(over.birth());
    out.number(over.epoch());
    out.flag(over.ended());
  }

  private static ForeignExchanges.Over readOver(FieldReader in) {
    return new ForeignExchanges.Over(new SessionKey(in.text(), in.text()), in.number(), in.number(), in.flag());
  }

  private static void writeAppend(FieldWriter out, Append append) {
    var exchange = append.exchange();
    long fence = append.fence();
    out.octet(fence != 0 ? APPEND_FENCED : append.once() ? APPEND_ONCE : APPEND);
    out.number(append.now());
    writePublication(out, append.message());
    var origin = append.origin();
    int ofExchange = exchange == null ? 0 : exchange.isOfWill() ? WITH_EXCHANGE | OF_WILL : WITH_EXCHANGE;
    out.octet(ofExchange | (append.message().isRepetition() ? REPETITION : 0) | (origin != null ? WITH_ORIGIN : 0));
    if (exchange != null) out.number(exchange.epoch());
    if (exchange != null && !exchange.isOfWill()) out.number(exchange.packetId());
    if (origin != null) SessionFields.writeOrigin(out, origin);
    out.number(append.groups().size());
    append.groups().forEach(group -> writeFilter(out, group));
    if (fence != 0) out.number(fence);
  }

  private static void writeImported(FieldWriter out, InboxMessage message) {
    out.number(message.sequence());
    out.octet(message.qos().code() | (message.retain() ? IMPORTED_RETAIN : 0) | (message.released() ? IMPORTED_RELEASED : 0) | (message.delivered() ? IMPORTED_SENT : 0));
    int[] identifiers = message.subscriptionIdentifiers();
    out.number(identifiers.length);
    for (int identifier : identifiers) out.number(identifier);
    writePublication(out, message.message());
  }

  private static InboxMessage readImported(FieldReader in) {
    long sequence = in.number();
    int marks = in.octet();
    if (marks >= 2 * IMPORTED_SENT) throw new IllegalStateException("an imported message with marks " + marks);
    int[] identifiers = in.list(FieldReader::count).stream().mapToInt(Integer::intValue).toArray();
    return new InboxMessage(
        sequence, QoS.of(marks & 0x03), (marks & IMPORTED_RETAIN) != 0, (marks & IMPORTED_RELEASED) != 0, (marks & IMPORTED_SENT) != 0, identifiers,
        readPublication(in));
  }

  private static SessionCommand readCommand(FieldReader in) {
    int kind = in.octet();
    return switch (kind) {
      case BESIDE -> new Beside(in.number(), in.number(), in.number(), readPlain(in, in.octet()));
      case BESIDE_WITHIN -> new Beside(in.number(), in.number(), in.number(), in.number(), readPlain(in, in.octet()));
      default -> readPlain(in, kind);
    };
  }

  private static SessionCommand readPlain(FieldReader in, int kind) {
    return switch (kind) {
      case CONFIGURE -> new Configure(InboxLimits.readFrom(in));
      case CONNECT -> new Connect(in.number(), readRequest(in));
      case SUBSCRIBE -> new Subscribe(readSession(in), in.list(SessionFields::readSubscription));
      case UNSUBSCRIBE -> new Unsubscribe(readSession(in), in.list(SessionFields::readFilter));
      case DISCONNECT -> new Disconnect(in.number(), readSession(in), in.flag(), in.number(), in.number());
      case APPEND, APPEND_ONCE, APPEND_FENCED -> readAppend(in, kind);
      case APPEND_OF_EXCHANGE -> new AppendOfExchange(in.number(), in.number(), SessionFields.readPacketIdOrWill(in), readAppendWithoutExchange(in));
      case FORGET_EXCHANGE -> new ForgetExchange(in.text(), in.text(), in.number(), in.number(), readPacketId(in));
      case FORGET_PUBLISHERS -> new ForgetPublishers(in.list(SessionCommandCodec::readOver));
      case APPEND_TO ->
          new AppendTo(in.number(), readSession(in), readOptions(in), in.number(), in.list(SessionFields::readPublication));
      case APPEND_TO_GROUP -> new AppendToGroup(in.number(), readFilter(in), readPublication(in), null);
      case APPEND_TO_GROUP_ONCE -> readAppendToGroupOnce(in);
      case APPEND_TO_GROUP_OF_EXCHANGE -> readAppendToGroupOfExchange(in);
      case PICK_FOR_GROUP -> new PickForGroup(in.text(), in.text(), SessionFields.readOpenExchangeOrWill(in), readFilter(in), in.number());
      case ACKNOWLEDGE -> new Acknowledge(readSession(in), in.numbers(), in.flag());
      case RECEIVED -> new Received(readSession(in), in.number());
      case RELEASED -> new Released(readSession(in), readPacketId(in));
      case DELIVERED -> new Delivered(readSession(in), in.list(SessionFields::readPacketId));
      case WILL_PUBLISHED -> new WillPublished(in.text(), in.text(), in.number());
      case TICK -> new Tick(in.number(), in.count(), in.count());
      case CONNECTION_GONE -> new ConnectionGone(in.number(), in.text(), in.text(), readConnection(in));
      case REMOVE -> new Remove(in.number(), in.text(), in.text());
      case FRONTEND_GONE -> new FrontendGone(in.number(), in.text(), in.number(), in.count());
      case DRAIN_GROUP -> new DrainGroup(in.number(), readGroup(in), in.count());
      case BEGIN_TRANSFER -> new BeginTransfer(in.number(), readGroup(in), in.count(), in.count());
      case ACCEPT_TRANSFER -> new AcceptTransfer(in.number(), readGroup(in), in.number(), in.list(SessionFields::readPublication));
      case END_TRANSFER -> new EndTransfer(in.number(), readGroup(in), in.number(), in.flag());
      case FORGET_TRANSFER -> new ForgetTransfer(readGroup(in), in.number());
      case END_GROUP -> new EndGroup(readGroup(in));
      case IMPORT -> new Import(in.number(), readRequest(in), in.list(SessionFields::readPacketId), in.list(SessionCommandCodec::readImported));
      default -> throw new IllegalStateException("session command of unknown kind " + kind);
    };
  }

  private static Append readAppend(FieldReader in, int kind) {
    long now = in.number();
    var message = readPublication(in);
    int marks = in.octet();
    boolean ofWill = (marks & OF_WILL) != 0;
    boolean valid = (marks & ~(WITH_EXCHANGE | REPETITION | WITH_ORIGIN | OF_WILL)) == 0 && ((marks & (WITH_ORIGIN | OF_WILL)) == 0 || (marks & WITH_EXCHANGE) != 0);
    if (!valid || (ofWill && ((marks & WITH_ORIGIN) == 0 || kind != APPEND_ONCE))) throw new IllegalStateException("a message with marks " + marks);
    return new Append(
        now,
        (marks & REPETITION) != 0 ? message.asRepetition() : message,
        ofWill ? Publication.Exchange.ofWill(in.number()) : (marks & WITH_EXCHANGE) != 0 ? readExchange(in) : null,
        (marks & WITH_ORIGIN) != 0 ? SessionFields.readOrigin(in) : null,
        in.list(SessionFields::readFilter),
        kind == APPEND_ONCE,
        kind == APPEND_FENCED ? readFence(in) : 0);
  }

  private static Append readAppendWithoutExchange(FieldReader in) {
    int kind = in.octet();
    if (kind != APPEND && kind != APPEND_ONCE && kind != APPEND_FENCED) throw new IllegalStateException("no message in a command of kind " + kind);
    var append = readAppend(in, kind);
    if (append.exchange() != null) throw new IllegalStateException("an exchange that is recorded in two ranges");
    return append;
  }

  private static AppendToGroup readAppendToGroupOnce(FieldReader in) {
    return new AppendToGroup(in.number(), readFilter(in), readPublication(in), SessionFields.readOpenExchangeOrWill(in));
  }

  private static AppendToGroupOfExchange readAppendToGroupOfExchange(FieldReader in) {
    long birth = in.number();
    int kind = in.octet();
    if (kind != APPEND_TO_GROUP_ONCE) throw new IllegalStateException("no message of an exchange in a command of kind " + kind);
    return new AppendToGroupOfExchange(birth, readAppendToGroupOnce(in));
  }

  private static Publication.Exchange readExchange(FieldReader in) {
    return new Publication.Exchange(in.number(), readPacketId(in));
  }

  private static long readFence(FieldReader in) {
    long fence = in.number();
    if (fence == 0) throw new IllegalStateException("a fence without a number");
    return fence;
  }
}
