/** What has become of messages at each hop, as counted since the node started. */
@NullMarked
package dunlin.admin.ledger;

import org.jspecify.annotations.NullMarked;
