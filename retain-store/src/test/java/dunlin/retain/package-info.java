@NullMarked
package dunlin.retain;

import org.jspecify.annotations.NullMarked;
