/** Backups of a node's or a cluster's data: how they are made while it runs, and what is in them. */
@NullMarked
package dunlin.admin.backup;

import org.jspecify.annotations.NullMarked;
