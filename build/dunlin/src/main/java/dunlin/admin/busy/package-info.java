/**
 * What keeps a node busy: its queues by their meters, and the messages that clients publish by a sample of them. Nothing is counted for it while it is not asked
 * for.
 */
@NullMarked
package dunlin.admin.busy;

import org.jspecify.annotations.NullMarked;
