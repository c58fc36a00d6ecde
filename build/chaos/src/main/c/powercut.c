/*
 * powercut: shuts a file system down under those who use it, as if its power were cut.
 *
 *   powercut DIRECTORY
 *
 * Nothing that is not on the disk yet gets there any more, the journal included, and every access fails until the file system is
 * mounted again. ext4 and xfs have it; where the headers do not name the request, it is the same number on both.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#define SHUT_DOWN _IOR('X', 125, uint32_t)

int main(int argc, char **argv) {
    uint32_t without_flushing_the_journal = 2;
    int directory = argc == 2 ? open(argv[1], O_RDONLY | O_DIRECTORY) : -1;
    if (directory < 0 || ioctl(directory, SHUT_DOWN, &without_flushing_the_journal)) {
        fprintf(stderr, "powercut: %s: %s\n", argc == 2 ? argv[1] : "one directory is needed", strerror(errno));
        return 1;
    }
    return 0;
}
