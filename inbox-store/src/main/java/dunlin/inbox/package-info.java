/** Sessions and their owners, the inboxes of durable sessions, and wills, as other tiers see them; MQTT 5, sections 3.1.2 and 4.1. */
@NullMarked
package dunlin.inbox;

import org.jspecify.annotations.NullMarked;
