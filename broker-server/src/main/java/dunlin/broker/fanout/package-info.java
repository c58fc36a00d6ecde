/**
 * Delivers messages for this frontend to the subscribed sessions: the subscribers of each filter, the routes to this
 * frontend in the dist tier, and the groups of shared subscriptions.
 *
 * <p>Promises: a session gets the messages of a filter in the order of their lane, each once for all its subscriptions;
 * each message of a group goes to one member, as long as one takes any.
 *
 * <p>It uses sessions only through {@link dunlin.broker.fanout.Recipient}. Sessions, connections and the frontend use
 * it.
 */
@NullMarked
package dunlin.broker.fanout;

import org.jspecify.annotations.NullMarked;
