/** Serves sessions on the node that leads their range: CONNECT, fetches, expiry, wills and route announcements. */
@NullMarked
package dunlin.inbox.server;

import org.jspecify.annotations.NullMarked;
