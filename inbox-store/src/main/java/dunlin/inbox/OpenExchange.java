package dunlin.inbox;

import dunlin.model.Publication;
import dunlin.transport.Terms;

/**
 * A recorded QoS 2 exchange of which it is unknown whether connected sessions without expiry have its message: the frontend of its publisher has not
 * {@linkplain InboxClient#delivered said so}. When the client repeats its PUBLISH, the message is delivered again, with the same origin, by which frontends recognise it.
 *
 * <p>That of a will says the same of the will's message. Only frontends and ranges give it to each other.
 *
 * @param packetId the client's packet identifier; {@link Publication.Exchange#WILL} for a will
 * @param epoch of the session's owner when it was recorded
 * @param origin of the message, from the record
 */
public record OpenExchange(int packetId, long epoch, Terms.Origin origin) {
  public boolean isOfWill() {
    return packetId == Publication.Exchange.WILL;
  }
}
