/**
 * Exports retained messages and sessions as lines of JSON, and imports such lines.
 *
 * <p>It promises that an export has every message that lasts while it is made, with its properties; that lines are looked at before anything of them is done, so a
 * wrong one costs nothing but its request; and that a message which is to be kept is not overwritten, whatever clients publish in the same moment, nor
 * a session that is there. It keeps nothing between two pages, has no thread of its own, and leaves it to the tiers to change what they have. See docs/admin-api.md.
 */
@NullMarked
package dunlin.admin.exports;

import org.jspecify.annotations.NullMarked;
