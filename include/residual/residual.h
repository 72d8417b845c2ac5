/* The C interface of ResiDual: load a model and translate with it.
 *
 *   residual_translator* translator = residual_open("models/de-en", "beam=4 precision=int8");
 *   const char* line = "Guten Morgen!";
 *   residual_translations* found = residual_translate(translator, &line, 1);
 *   puts(residual_text(found, 0, 0));
 *   residual_free(found);
 *   residual_close(translator);
 *
 * Results. A translation is byte-identical to that of `residual translate` with the same settings.
 * It depends only on its line and the settings, not on other lines or on the number of threads.
 *
 * Errors. A function reports failure by its return value: a null pointer, -1, NaN, or, for
 * residual_ranks(), 0. residual_error() then returns the reason. The library throws no exceptions,
 * does not end the process, and does not print.
 *
 * Text. All text is UTF-8 and ends with a zero byte. Returned strings (`const char*`) belong to the
 * library.
 *
 * Threads. Several threads may use one translator at once; their lines then share batches. Several
 * threads may read one residual_translations. Closing or freeing an object must be its last use. A
 * process that forks must open its translators after the fork.
 *
 * Stability. No declaration in this file changes its meaning while the library is called
 * libresidual.so.0. Functions and settings may be added. */
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

/* A loaded model and its threads. */
typedef struct residual_translator residual_translator;
/* The results of one call of residual_translate(). */
typedef struct residual_translations residual_translations;

/* Returns the version, such as "0.1.0". */
RESIDUAL_API const char* residual_version(void);

/* Returns why the last call in this thread failed, or "" if it succeeded. Calls of functions that
 * cannot fail do not count. The text is valid until the thread's next call of a function of this
 * file. Never returns null. */
RESIDUAL_API const char* residual_error(void);

/* Opens a model directory, a one-file bundle, or the best model of a run.
 *
 * `settings` are words like "beam=4 length_penalty=0.6"; null or "" selects the defaults, which are
 * those of `residual translate`. residual_settings() lists every setting. Returns null on
 * failure. */
RESIDUAL_API residual_translator* residual_open(const char* model, const char* settings);

/* Returns every setting with its default and meaning, as the text of a TOML file. */
RESIDUAL_API const char* residual_settings(void);

/* Stops the translator's threads and frees it. `translator` may be null. */
RESIDUAL_API void residual_close(residual_translator* translator);

/* Translates `count` lines. A line must not contain a line break. A line with several sentences is
 * split into them, unless the settings say sentences=keep; with markup=html, a line is HTML and so
 * is its translation. The translation of a line without words is empty. Returns null on failure;
 * then no line was translated. */
RESIDUAL_API residual_translations* residual_translate(residual_translator* translator,
                                                       const char* const* lines, size_t count);

/* Returns the number of translations of line `line`, counted from 0: the setting n_best, or fewer
 * if the search found fewer, but at least 1. Returns 0 if there is no such line. */
RESIDUAL_API size_t residual_ranks(const residual_translations* translations, size_t line);

/* Return the text and the score of a line's translation at `rank`, counted from 0 (the best). The
 * text is valid until residual_free(). They return null and NaN if there is no such translation. */
RESIDUAL_API const char* residual_text(const residual_translations* translations, size_t line,
                                       size_t rank);
RESIDUAL_API double residual_score(const residual_translations* translations, size_t line,
                                   size_t rank);

/* Returns what makes that translation implausible: "short" (it has far fewer pieces than its
 * source), "repeats" (it repeats itself, and its source does not), "untranslated" (it is its
 * source), several of these with spaces between them, or "" if nothing does. Returns null if there
 * is no such translation. */
RESIDUAL_API const char* residual_warning(const residual_translations* translations, size_t line,
                                          size_t rank);

/* Frees the results. `translations` may be null. */
RESIDUAL_API void residual_free(residual_translations* translations);

/* Writes log p(targets[i] | sources[i]) for `count` pairs of lines: the natural logarithm, summed
 * over the pieces and the end of the sentence. Returns 0, or -1 on failure. */
RESIDUAL_API int residual_log_probabilities(residual_translator* translator,
                                            const char* const* sources, const char* const* targets,
                                            size_t count, double* log_probabilities);

#ifdef __cplusplus
}
#endif

#endif
