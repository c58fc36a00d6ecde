/** Private keys and certificates in files, as servers and nodes have them. Pure: what is read comes from the caller. */
@NullMarked
package dunlin.runtime.keys;

import org.jspecify.annotations.NullMarked;
