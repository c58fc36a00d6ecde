/**
 * From a message that is for this frontend to the sessions that want it: who has subscribed to which filter, the routes that say so to the dist
 * tier, and the groups of shared subscriptions.
 *
 * <p>Promises: a session gets the messages of a filter in the order in which they came through a lane, each once for all its subscriptions; and of a
 * group one member gets each, as long as one takes any.
 *
 * <p>It knows sessions by {@link dunlin.broker.fanout.Recipient} alone. Sessions, connections and the frontend know it.
 */
@NullMarked
package dunlin.broker.fanout;

import org.jspecify.annotations.NullMarked;
