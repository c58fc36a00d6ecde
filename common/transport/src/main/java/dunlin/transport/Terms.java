package dunlin.transport;

/**
 * What the publisher of a message asks of those who take it. It travels with the message.
 *
 * @param toldOfDrops whether the publisher can be told that one copy was dropped, without everybody getting the message again for it
 * @param storesFirst whether those who store the message get it first, and the others only when they have it or a bound has refused it: then an
 *     attempt that fails since the store cannot take it now has delivered it nowhere, and can be made again
 * @param publishedOnce whether the message is not published again when it is refused, as with a will: then a bound of one who stores it keeps it
 *     from that one alone, and not from all of them
 * @param fence the number of the connection that ends when the message is refused, and that no other has: its client then sends the message and
 *     all that it published behind it again. A destination that refuses the message must not take these first, or they would come in front of
 *     it. 0 when a refusal ends nothing
 */
public record Terms(boolean toldOfDrops, boolean storesFirst, boolean publishedOnce, long fence) {
  /** Of a publisher that is answered with a reason code for each message. */
  public static final Terms ANSWERED = new Terms(true, false, false, 0);

  /** Of a will, which is published by the broker. */
  public static final Terms WILL = new Terms(true, true, true, 0);

  /** Of a publisher that can only be disconnected: the connection with this number. */
  public static Terms disconnecting(long fence) {
    return new Terms(false, false, false, fence);
  }
}
