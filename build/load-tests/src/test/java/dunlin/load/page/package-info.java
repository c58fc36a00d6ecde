@NullMarked
package dunlin.load.page;

import org.jspecify.annotations.NullMarked;
