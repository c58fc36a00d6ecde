/** What serves sessions on the node that leads their range: connects, fetches, expires, sends wills, announces routes. */
@NullMarked
package dunlin.inbox.server;

import org.jspecify.annotations.NullMarked;
