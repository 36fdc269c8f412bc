/*
 * Preloaded into a writer under test: keeps an image of what a power cut leaves at least. Every file of MUNIMENT_REAL is copied
 * to MUNIMENT_IMAGE when it is synced; names go with the sync of their directory.
 *
 * A file that the writer may have locked is read by the descriptor that it has, or by another process: closing any
 * descriptor of a file drops all locks of the process on it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

/* Where a path lies in the image; 0 if it is not below MUNIMENT_REAL. */
static int image_of(const char *path, char *image) {
  const char *real = getenv("MUNIMENT_REAL"), *root = getenv("MUNIMENT_IMAGE");
  size_t length = real == NULL ? 0 : strlen(real);
  if (root == NULL || length == 0 || strncmp(path, real, length) != 0 || (path[length] != '/' && path[length] != 0))
    return 0;
  return snprintf(image, PATH_MAX, "%s%s", root, path + length) < PATH_MAX;
}

static void copy(int from, const char *image) {
  char writing[PATH_MAX + 16], bytes[65536];
  snprintf(writing, sizeof writing, "%s.image", image);
  int to = open(writing, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (to < 0) return;
  ssize_t count;
  for (off_t at = 0; (count = pread(from, bytes, sizeof bytes, at)) > 0; at += count)
    if (write(to, bytes, (size_t)count) != count) abort();
  close(to);
  rename(writing, image);
}

static void copy_path(const char *path, const char *image) {
  int status;
  pid_t child = fork();
  if (child < 0) abort();
  if (child == 0) {
    int from = open(path, O_RDONLY);
    if (from >= 0) copy(from, image);
    _exit(0);
  }
  while (waitpid(child, &status, 0) < 0)
    ;
  if (!WIFEXITED(status)) abort();
}

/* What is gone from the directory goes from its image; what has come or was renamed enters it. */
static void copy_names(const char *path, const char *image) {
  char one[PATH_MAX + 300];
  struct stat found;
  mkdir(image, 0700);
  DIR *names = opendir(image);
  for (struct dirent *name; names != NULL && (name = readdir(names)) != NULL;) {
    snprintf(one, sizeof one, "%s/%s", path, name->d_name);
    if (access(one, F_OK) == 0) continue;
    snprintf(one, sizeof one, "%s/%s", image, name->d_name);
    unlink(one);
  }
  if (names != NULL) closedir(names);
  names = opendir(path);
  for (struct dirent *name; names != NULL && (name = readdir(names)) != NULL;) {
    snprintf(one, sizeof one, "%s/%s", image, name->d_name);
    if (access(one, F_OK) == 0) continue;
    snprintf(one, sizeof one, "%s/%s", path, name->d_name);
    if (stat(one, &found) != 0 || !S_ISREG(found.st_mode)) continue;
    char there[PATH_MAX + 300];
    snprintf(there, sizeof there, "%s/%s", image, name->d_name);
    copy_path(one, there);
  }
  if (names != NULL) closedir(names);
}

static void note_synced(int descriptor) {
  char link[64], path[PATH_MAX], image[PATH_MAX];
  struct stat found;
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return;
  path[length] = 0;
  if (!image_of(path, image) || fstat(descriptor, &found) != 0) return;
  pthread_mutex_lock(&turn);
  if (S_ISDIR(found.st_mode)) {
    copy_names(path, image);
  } else {
    if ((fcntl(descriptor, F_GETFL) & O_ACCMODE) == O_WRONLY)
      copy_path(path, image);
    else
      copy(descriptor, image);
  }
  pthread_mutex_unlock(&turn);
}

int fsync(int descriptor) {
  int result = REAL(fsync)(descriptor);
  if (result == 0) note_synced(descriptor);
  return result;
}

int fdatasync(int descriptor) {
  int result = REAL(fdatasync)(descriptor);
  if (result == 0) note_synced(descriptor);
  return result;
}
