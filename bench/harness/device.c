/*-------------------------------------------------------------------------
 *
 * device.c
 *	  Random reads of pages of a file, so many at a time: reads a second.
 *
 * Usage: device FILE DEPTH COUNT.  Direct I/O, io_uring.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE

#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PAGE	8192

int
main(int argc, char **argv)
{
	int			fd = argc == 4 ? open(argv[1], O_RDONLY | O_DIRECT) : -1;
	int			depth = argc == 4 ? atoi(argv[2]) : 0;
	int			count = argc == 4 ? atoi(argv[3]) : 0;
	off_t		npages = fd >= 0 ? lseek(fd, 0, SEEK_END) / PAGE : 0;
	int			submitted = 0;
	int			done = 0;
	struct io_uring ring;
	struct timespec from;
	struct timespec to;
	char	   *buffers;

	if (npages == 0 || depth <= 0 || count <= 0 ||
		io_uring_queue_init(depth, &ring, 0) != 0 ||
		posix_memalign((void **) &buffers, PAGE, (size_t) PAGE * depth) != 0)
	{
		fprintf(stderr, "usage: device FILE DEPTH COUNT\n");
		return 2;
	}
	srandom(getpid());
	clock_gettime(CLOCK_MONOTONIC, &from);
	while (done < count)
	{
		struct io_uring_cqe *cqe;

		while (submitted - done < depth && submitted < count)
		{
			struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

			if (sqe == NULL)
				break;
			io_uring_prep_read(sqe, fd, buffers + (size_t) PAGE * (submitted % depth),
							   PAGE, (off_t) (random() % npages) * PAGE);
			submitted++;
		}
		io_uring_submit_and_wait(&ring, 1);
		while (io_uring_peek_cqe(&ring, &cqe) == 0)
		{
			if (cqe->res != PAGE)
			{
				fprintf(stderr, "device: a read has failed\n");
				return 1;
			}
			io_uring_cqe_seen(&ring, cqe);
			done++;
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("%.0f\n", count / ((to.tv_sec - from.tv_sec) + (to.tv_nsec - from.tv_nsec) / 1e9));
	return 0;
}
