package dunlin.retain.remote;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.retain.RetainClient.Cursor;
import dunlin.retain.RetainClient.Page;
import dunlin.retain.RetainRangeClient;
import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallLinks;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** A range of retained messages, whichever node leads it. Answers come on the links' thread; those that fail at once have failed when the call returns. */
final class RemoteRetain implements RetainRangeClient, AutoCloseable {
  /*
   * Owner: any thread calls it (CallLinks).
   * Bounds: CallBounds. A message that is set holds credit of its publisher's lane until it is answered, so bounds that are larger than what all lanes have credit
   *   for are never reached by it: the lanes stop reading first. A page puts aside what it asks for and one message more, and waits in a line for
   *   that. What is set behind it until then may be in it.
   * Full: all calls fail, and are counted.
   * Failure: with a lost link, calls fail as unknown that were on their way: a message may be kept or not, and its publisher sends it again. Later calls wait for the
   *   next link (CallLinks). A message that may not be set any more when it is its turn is not sent.
   */
  /** Room for the keys of a listing, and for the last one of them. */
  private static final int LISTING_BYTES = 2 << 20;

  private final CallLinks links;
  private final int messageMax;
  private final BooleanSupplier maySet;

  /**
   * Without a link, until {@link #begin}.
   *
   * @param frontend its node id
   * @param incarnation which life of it, larger than those before
   * @param owner runs tasks on the links' thread, soon, in their order
   * @param messageMax bytes of the largest message there can be, from 1
   * @param maySet whether messages may be set; asked for each just before it is sent
   */
  RemoteRetain(String frontend, long incarnation, CallLinks.Network network, Executor owner, CallBounds bounds, int messageMax, BooleanSupplier maySet) {
    this(new CallLinks(RetainCallCodec.PROTOCOL, frontend, incarnation, network, owner, bounds), messageMax, maySet);
  }

  RemoteRetain(CallLinks links, int messageMax, BooleanSupplier maySet) {
    this.links = links;
    this.messageMax = messageMax;
    this.maySet = maySet;
  }

  /** Begins the first link. Completes on the links' thread when the leader has taken it. Any thread, once. */
  CompletableFuture<Void> begin() {
    return links.begin();
  }

  /** Whether the leader has taken the present link. Any thread. */
  boolean isReached() {
    return links.isReached();
  }

  /** Its calls and their fate, for meters. */
  CallLinks links() {
    return links;
  }

  @Override
  public CompletableFuture<ReasonCode> set(long epoch, Publication message) {
    assert message.retain() : "not to be retained [MQTT-3.3.1-8]: " + message;
    return links.call(RetainCallCodec.encode(new RetainCall.Set(epoch, message)), 0, RetainCallCodec::decodeReason, maySet);
  }

  @Override
  public CompletableFuture<Optional<ReasonCode>> add(long epoch, Publication message) {
    return links.call(RetainCallCodec.encode(new RetainCall.Add(epoch, message)), 0, RetainCallCodec::decodeAdded);
  }

  @Override
  public CompletableFuture<Page> find(long epoch, String tenant, String filter, @Nullable Cursor after, int messagesMax, int bytesMax) {
    var call = RetainCallCodec.encode(new RetainCall.Find(epoch, tenant, filter, after, messagesMax, bytesMax));
    return links.call(call, (long) bytesMax + messageMax, RetainCallCodec::decodePage);
  }

  @Override
  public CompletableFuture<Listing> list(long epoch, byte[] prefix, byte[] from, int max) {
    return links.call(RetainCallCodec.encode(new RetainCall.ListKeys(epoch, prefix, from, max)), LISTING_BYTES, RetainCallCodec::decodeListing);
  }

  @Override
  public CompletableFuture<Sums> sums() {
    return links.call(RetainCallCodec.encode(new RetainCall.AskSums()), 0, RetainCallCodec::decodeSums);
  }

  @Override
  public CompletableFuture<List<Held>> held(List<String> tenants) {
    return links.call(RetainCallCodec.encode(new RetainCall.AskHeld(tenants)), 0, RetainCallCodec::decodeHeld);
  }

  /** Ends the link; what is not answered fails. */
  @Override
  public void close() {
    links.close();
  }
}
