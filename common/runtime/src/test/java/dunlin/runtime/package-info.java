@NullMarked
package dunlin.runtime;

import org.jspecify.annotations.NullMarked;
