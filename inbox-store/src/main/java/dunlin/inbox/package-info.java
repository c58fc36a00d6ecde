/**
 * The interfaces of the session tier for other tiers: sessions and their owners, inboxes of durable sessions, and
 * wills; MQTT 5, sections 3.1.2 and 4.1.
 */
@NullMarked
package dunlin.inbox;

import org.jspecify.annotations.NullMarked;
