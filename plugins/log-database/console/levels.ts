/** Levels of log records, the most severe first. */
export const LEVELS = ['ERROR', 'WARN', 'INFO', 'DEBUG', 'TRACE'] as const
/** One of {@link LEVELS}. */
export type Level = (typeof LEVELS)[number]
