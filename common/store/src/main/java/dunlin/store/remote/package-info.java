/** Ranges on other nodes: the store service, and the client that finds leaders, retries and keeps deadlines. */
@NullMarked
package dunlin.store.remote;

import org.jspecify.annotations.NullMarked;
