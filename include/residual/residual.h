/* ResiDual for programs: loads a model and translates with it.
 *
 *   residual_translator* translator = residual_open("models/de-en", "beam=4 precision=int8");
 *   const char* line = "Guten Morgen!";
 *   residual_translations* found = residual_translate(translator, &line, 1);
 *   puts(residual_text(found, 0, 0));
 *   residual_free(found);
 *   residual_close(translator);
 *
 * A translation is that of `residual translate` with the same settings, to the last byte; it
 * depends on its line and the settings alone, not on other lines or on threads.
 *
 * Errors. A function that fails says so by its value: a null pointer, -1 or NaN. residual_error()
 * then has the reason. No exception leaves the library, and it neither ends the process nor prints.
 *
 * Text is UTF-8 that ends with a zero byte. What a function returns as `const char*` belongs to the
 * library.
 *
 * Threads. Many may use one translator at once; their lines then share batches. Each of the other
 * objects may be read by many threads. Closing or freeing an object must be the last use of it. A
 * process that forks must open its translators after it has forked.
 *
 * Stability. Nothing in this file changes its meaning while the library is called libresidual.so.0;
 * functions and settings may be added. */
#ifndef RESIDUAL_RESIDUAL_H
#define RESIDUAL_RESIDUAL_H

#include <stddef.h>

#if defined(__GNUC__)
#define RESIDUAL_API __attribute__((visibility("default")))
#else
#define RESIDUAL_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A model in memory with its threads. */
typedef struct residual_translator residual_translator;
/* What one call of residual_translate() found. */
typedef struct residual_translations residual_translations;

/* "0.1.0" */
RESIDUAL_API const char* residual_version(void);

/* Why the last call in this thread that can fail did; "" if it did not. Valid until the thread's
 * next call of a function of this file. Never null. */
RESIDUAL_API const char* residual_error(void);

/* Opens a model directory, a one-file bundle, or a run, of which it takes the best model.
 *
 * `settings` are words like "beam=4 length_penalty=0.6"; null or "" takes the defaults, which are
 * those of `residual translate`. residual_settings() lists all of them. Null on failure. */
RESIDUAL_API residual_translator* residual_open(const char* model, const char* settings);

/* Every setting with its default and meaning, as a TOML file. */
RESIDUAL_API const char* residual_settings(void);

/* Ends the translator's threads and frees it; null is allowed. */
RESIDUAL_API void residual_close(residual_translator* translator);

/* Translates `count` lines, none of which may contain a line break. A line without a word gives an
 * empty line. Null on failure: then nothing was translated. */
RESIDUAL_API residual_translations* residual_translate(residual_translator* translator,
                                                       const char* const* lines, size_t count);

/* How many translations line `line`, from 0, has: the setting n_best, or fewer if the search found
 * fewer, at least 1. 0 if there is no such line. */
RESIDUAL_API size_t residual_ranks(const residual_translations* translations, size_t line);

/* The translation of a line at `rank`, from 0, which is the best, and its score. The text lives
 * until residual_free(). Null and NaN if there is none such. */
RESIDUAL_API const char* residual_text(const residual_translations* translations, size_t line,
                                       size_t rank);
RESIDUAL_API double residual_score(const residual_translations* translations, size_t line,
                                   size_t rank);

/* Null is allowed. */
RESIDUAL_API void residual_free(residual_translations* translations);

/* Writes log p(targets[i] | sources[i]), natural and summed over the pieces and the end, for
 * `count` pairs of lines. 0, or -1 on failure. */
RESIDUAL_API int residual_log_probabilities(residual_translator* translator,
                                            const char* const* sources, const char* const* targets,
                                            size_t count, double* log_probabilities);

#ifdef __cplusplus
}
#endif

#endif
