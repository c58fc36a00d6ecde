@NullMarked
package dunlin.load.count;

import org.jspecify.annotations.NullMarked;
